# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the webhook counts, as text that Prometheus reads. Pure.

kubectl says Unauthorized to everything; these numbers tell why.
"""

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

PREFIX = "keystone_auth"
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds; a validation takes 40 to 300 ms on a loaded Keystone."""


@dataclass(slots=True)
class Metrics:
    """Counters since the service started.

    Attributes:
        reviews: By outcome and reason.
        sources: By where the answer came from: cache, keystone, stale, rule.
        calls: To Keystone, by what came of them.
        durations: Calls to Keystone by bucket, the last one being all.
        seconds: Spent on them.
        rejects: Requests that were no reviews, by reason.
    """

    reviews: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    sources: Counter[str] = field(default_factory=Counter[str])
    calls: Counter[str] = field(default_factory=Counter[str])
    durations: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0
    rejects: Counter[str] = field(default_factory=Counter[str])

    def observe(self, outcome: str, seconds: float) -> None:
        """Count a call to Keystone."""
        self.calls[outcome] += 1
        self.seconds += seconds
        for index, bound in enumerate(BUCKETS):
            self.durations[index] += seconds <= bound
        self.durations[-1] += 1

    def render(self, gauges: Mapping[str, float]) -> str:
        """Return the text format 0.0.4 of Prometheus, with gauges of the moment."""
        lines = [
            *_counter("reviews", ("outcome", "reason"), self.reviews),
            *_counter("answers", ("source",), {(key,): n for key, n in self.sources.items()}),
            *_counter("keystone_calls", ("result",), {(k,): n for k, n in self.calls.items()}),
            *_counter(
                "rejected_requests", ("reason",), {(k,): n for k, n in self.rejects.items()}
            ),
            *self._histogram(),
        ]
        for name, value in gauges.items():
            lines += [f"# TYPE {PREFIX}_{name} gauge", f"{PREFIX}_{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _histogram(self) -> list[str]:
        name = f"{PREFIX}_keystone_seconds"
        bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
        rows = zip(bounds, self.durations, strict=True)
        return [
            f"# TYPE {name} histogram",
            *(f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in rows),
            f"{name}_sum {self.seconds:.6f}",
            f"{name}_count {self.durations[-1]}",
        ]


def parse_gauges(text: str) -> dict[str, float]:
    """Return the gauges of the text, by name without prefix; lines that are none are passed."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name.startswith(f"{PREFIX}_") and "{" not in name:
            with contextlib.suppress(ValueError):
                found[name.removeprefix(f"{PREFIX}_")] = float(value)
    return found


def _counter(
    name: str, labels: tuple[str, ...], counts: Mapping[tuple[str, ...], int]
) -> list[str]:
    lines = [f"# TYPE {PREFIX}_{name}_total counter"]
    for values, count in sorted(counts.items()):
        pairs = zip(labels, values, strict=True)
        text = ",".join(f'{label}="{value}"' for label, value in pairs)
        lines.append(f"{PREFIX}_{name}_total{{{text}}} {count}")
    return lines
