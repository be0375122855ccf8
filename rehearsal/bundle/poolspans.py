# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which parts of a range of addresses lie in networks, and what is left of it. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rehearsal.bundle.poolgrammar import Span
from rehearsal.maas.networks import Network

Ends = tuple[int, int]
"""First and last address as numbers, both included."""


@dataclass(frozen=True, slots=True)
class Cover:
    """What networks of one family cover: ends in order, none touches another."""

    ends: tuple[Ends, ...]

    @classmethod
    def of(cls, networks: Iterable[Network]) -> "Cover":
        """Return what networks cover, which may lie within each other."""
        merged: list[Ends] = []
        for first, last in sorted((int(one[0]), int(one[-1])) for one in networks):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(last, merged[-1][1])
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    def outside(self, span: Span) -> list[Span]:
        """Return the parts of a range that are not covered, in order."""
        begin = max(bisect_left(self.ends, (span.first, 0)) - 1, 0)
        return list(cut(span, self.ends[begin : bisect_left(self.ends, (span.last + 1, 0))]))


def cut(span: Span, holes: Iterable[Ends]) -> Iterator[Span]:
    """Yield the parts of a range that are in none of the holes, in order.

    Args:
        span: The range.
        holes: In order; they may overlap, and lie outside.
    """
    first = span.first
    for start, end in holes:
        if first < start and first <= span.last:
            yield _part(span, first, min(start - 1, span.last))
        first = max(first, end + 1)
    if first <= span.last:
        yield _part(span, first, span.last)


def _part(whole: Any, first: int, last: int) -> Span:
    return replace(whole, first=first, last=last)
