# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The layout changes that both programs are put to: what is, what is asked, who computes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

Places = tuple[tuple[str, int], ...]
Counts = Mapping[str, int]

SEVEN: Counts = {"1g.5gb": 7}
THIRD: Places = (("3g.20gb", 4), ("2g.10gb", 0), ("2g.10gb", 2))
"""Where the driver itself puts 3g+2g+2g, made largest first."""
MIXED: Places = (("3g.20gb", 4), *(("1g.5gb", start) for start in range(4)))
SMALL: Places = tuple(("1g.5gb", start) for start in range(7))
WHOLE: Places = (("7g.40gb", 0),)
NAME = "wanted"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a machine with eight A100 40GB.

    Attributes:
        title: What a table calls it.
        before: Instances by GPU where MIG is on; the others are whole.
        after: Instances asked for by GPU, or None for MIG off.
        jobs: What computes: a GPU, and one of its instances or None for the whole GPU.
        least: Least possible number of calls that change something.
        is_possible: A GPU can be cut so at all.
        others: What the file says besides: mig-parted never ends well where it leaves a GPU out.
    """

    title: str
    before: Mapping[int, Places]
    after: Mapping[int, Counts | None]
    jobs: tuple[tuple[int, str | None], ...] = ()
    least: int = 0
    is_possible: bool = True
    others: Mapping[int, Counts | None] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The layouts as a mig-parted v1 file, which both programs read."""
        wanted = {**self.others, **self.after}
        entries = [_entry(index, counts) for index, counts in sorted(wanted.items())]
        return yaml.safe_dump({"version": "v1", "mig-configs": {NAME: entries}}, sort_keys=False)


def _entry(index: int, counts: Counts | None) -> dict[str, Any]:
    if counts is None:
        return {"devices": [index], "mig-enabled": False}
    return {"devices": [index], "mig-enabled": True, "mig-devices": dict(counts)}


def _rest(counts: Counts | None, *without: int) -> dict[int, Counts | None]:
    return {index: counts for index in range(8) if index not in without}


def _all(value: Any) -> dict[int, Any]:
    return dict.fromkeys(range(8), value)


_MIXED_COUNTS: Counts = {"3g.20gb": 1, "1g.5gb": 4}
_OFF = _rest(None, 0)

CHANGES = (
    Change("one of eight on, 7x1g", {}, {0: SEVEN}, least=15, others=_OFF),
    Change("3g+2g+2g to 3g+4x1g", {0: THIRD}, {0: _MIXED_COUNTS}, least=12, others=_OFF),
    Change("the same layout again", {0: MIXED}, {0: _MIXED_COUNTS}, others=_OFF),
    Change("one mixed, seven off, to all 7x1g", {0: MIXED}, _all(SEVEN), least=113),
    Change(
        "impossible: 2x3g+3x1g",
        {0: MIXED},
        {0: {"3g.20gb": 2, "1g.5gb": 3}},
        is_possible=False,
        others=_OFF,
    ),
    Change(
        "impossible: 3g+2g+4x1g",
        {0: MIXED},
        {0: {"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 4}},
        is_possible=False,
        others=_OFF,
    ),
    Change(
        "unknown profile 1g.6gb",
        {0: THIRD},
        {0: {"1g.6gb": 7}},
        is_possible=False,
        others=_OFF,
    ),
    Change("all eight on, no instance", {}, _all({}), least=8),
    Change("all eight off, from 7x1g", _all(SMALL), _all(None), least=8 * 15),
    Change("all eight 3g+2g+2g to 3g+4x1g", _all(THIRD), _all(_MIXED_COUNTS), least=8 * 12),
    Change(
        "one of eight to 2x3g, jobs on the others",
        _all(WHOLE),
        {0: {"3g.20gb": 2}},
        jobs=tuple((index, "7g.40gb@0") for index in range(1, 8)),
        least=6,
        others=_rest({"7g.40gb": 1}, 0),
    ),
    Change(
        "all on, 7x1g, a job on one whole GPU",
        {},
        _all(SEVEN),
        jobs=((3, None),),
        least=7 * 15,
    ),
    Change(
        "3g added beside two busy 1g and 2g",
        {0: (("1g.5gb", 0), ("1g.5gb", 1), ("2g.10gb", 2))},
        {0: {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}},
        jobs=((0, "1g.5gb@0"), (0, "1g.5gb@1"), (0, "2g.10gb@2")),
        least=2,
        others=_OFF,
    ),
)
"""The first six are those of which mig-parted's calls were recorded first."""
