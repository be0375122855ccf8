# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a change would take under assumed latencies: counted calls times assumed seconds."""

from collections.abc import Sequence

from benchmarks.mig.measure import Figures
from rehearsal.cli import table

SWEEP = (
    ("persistence on, mode by driver", 0.01, 4.2, 0.05),
    ("persistence on, slow mode", 0.01, 15.0, 0.05),
    ("no persistence", 2.0, 4.2, 0.05),
    ("no persistence, slow", 25.0, 4.2, 0.2),
)
"""Name; seconds for an NVML session, a mode change with reset, a call on an instance. Source: 4.0
to 4.5 s for each GPU in NVIDIA/gpu-operator#351; 2 s for each session in NVIDIA/mig-parted#357, 25
to 40 s in Azure/AgentBaker#2829; 14 calls within one second in NVIDIA's mig-manager log of 2021.
"""

Row = tuple[str, Figures, Figures | None]


def seconds(figures: Figures, session: float, mode: float, instance: float) -> float:
    """Return the sum; resets that nvidia-smi does are taken as long as those of the driver."""
    on_instances = figures.mutating - figures.modes
    return figures.inits * session + figures.resets * mode + on_instances * instance


def render(rows: Sequence[Row]) -> str:
    """Return the table of the sweep."""
    cells = [
        (title, *(_pair(mine, theirs, assumed[1:]) for assumed in SWEEP))
        for title, mine, theirs in rows
    ]
    heads = [
        f"{name} ({session:g}/{mode:g}/{instance:g})" for name, session, mode, instance in SWEEP
    ]
    return (
        "Seconds, modelled: counted calls times assumed seconds (session/mode/instance), ours and "
        "theirs.\nNothing here was timed on a GPU.\n\n" + table.render(("Change", *heads), cells)
    )


def _pair(mine: Figures, theirs: Figures | None, assumed: tuple[float, ...]) -> str:
    first = f"{seconds(mine, *assumed):.1f}"
    return first if theirs is None else f"{first} / {seconds(theirs, *assumed):.1f}"
