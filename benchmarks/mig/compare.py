# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Our engine and NVIDIA's mig-parted on the same layout changes, call by call.

`python benchmarks/mig/compare.py`; with `MIG_PARTED=/path/to/nvidia-mig-parted` and root the other
program runs beside ours, otherwise its recorded calls are printed and said to be recorded.
`--record` writes them to recorded.json. Both run on the library of `fakelib`: a model of the
driver, never hardware.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "lib")]

from benchmarks.mig import additions, modelled, ours, parted  # noqa: E402
from benchmarks.mig.changes import CHANGES, NAME, Change  # noqa: E402
from benchmarks.mig.fakelib import Machine, can_build  # noqa: E402
from benchmarks.mig.measure import Figures, measure  # noqa: E402
from rehearsal.cli import table  # noqa: E402

RECORDED = Path(__file__).with_name("recorded.json")


@dataclass(frozen=True, slots=True)
class Row:
    """One change, by both programs."""

    change: Change
    ours: Figures
    theirs: Figures | None


def run_ours(change: Change, folder: Path) -> Figures:
    """Return what our engine does."""
    machine = Machine(folder)
    ours.prepare(machine, change)
    file = _write(change, folder)
    return measure(machine, change, lambda: ours.apply(machine, file))


def run_theirs(binary: str, change: Change, folder: Path) -> Figures:
    """Return what mig-parted does."""
    machine = Machine(folder)
    ours.prepare(machine, change)
    file = _write(change, folder)
    return measure(machine, change, lambda: parted.apply(binary, machine, file, NAME))


def _write(change: Change, folder: Path) -> Path:
    file = folder / "layouts.yaml"
    file.write_text(change.file)
    return file


def collect(binary: str) -> list[Row]:
    """Return a row for each change; theirs measured where a binary is named, else recorded."""
    recorded = json.loads(RECORDED.read_text())["changes"] if RECORDED.exists() else {}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        for number, change in enumerate(CHANGES):
            here = Path(name) / str(number)
            mine = run_ours(change, here / "ours")
            if binary:
                theirs: Figures | None = run_theirs(binary, change, here / "theirs")
            else:
                known = recorded.get(change.title)
                theirs = Figures(**known) if known else None
            rows.append(Row(change, mine, theirs))
    return rows


def render(rows: Iterable[Row]) -> str:
    """Return the table of calls, GPUs, resets and instances."""
    cells = [
        (
            row.change.title,
            str(row.change.least),
            *_cells(row.ours, row.theirs, "mutating"),
            *_cells(row.ours, row.theirs, "gpus"),
            *_cells(row.ours, row.theirs, "resets"),
            *_cells(row.ours, row.theirs, "survived"),
            *_cells(row.ours, row.theirs, "result"),
        )
        for row in rows
    ]
    heads = ("calls", "GPUs", "resets", "kept", "says")
    columns = [f"{who} {head}" for head in heads for who in ("our", "their")]
    return table.render(("Change", "least", *columns), cells)


def _cells(mine: Figures, theirs: Figures | None, name: str) -> tuple[str, str]:
    return str(getattr(mine, name)), "-" if theirs is None else str(getattr(theirs, name))


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Say where mig-parted is equal or better, of the changes that it ends well."""
    ended = [(r.change.title, r.ours, r.theirs) for r in rows if r.theirs and r.theirs.is_good]
    facts = {
        "fewer changing calls": [t for t, mine, it in ended if it.mutating < mine.mutating],
        "as few changing calls": [t for t, mine, it in ended if it.mutating == mine.mutating],
        "as few GPUs touched": [t for t, mine, it in ended if it.gpus <= mine.gpus],
        "as few resets": [t for t, mine, it in ended if it.resets <= mine.resets],
        "as many instances survive": [t for t, mine, it in ended if it.kept >= mine.kept],
        "fewer calls, reads included": [
            t for t, mine, it in ended if it.all_calls < mine.all_calls
        ],
    }
    return [f"{fact}: {'; '.join(titles) or 'nowhere'}" for fact, titles in facts.items()]


def misses(rows: Iterable[Row]) -> list[str]:
    """Return where our engine took more than the least possible, or told something wrong."""
    found: list[str] = []
    for row in rows:
        if row.ours.mutating > row.change.least:
            found.append(f"{row.change.title}: {row.ours.mutating} calls, {row.change.least} do")
        if (row.ours.code == 0) != row.change.is_possible:
            found.append(f"{row.change.title}: ended with {row.ours.result}")
        if row.ours.jobs_lost:
            found.append(f"{row.change.title}: {row.ours.jobs_lost} jobs lost")
    return found


def main() -> int:
    """Print the tables; return 1 where our engine misses a goal."""
    if not can_build():
        print("gcc is missing: the library of the benchmark cannot be built")
        return 0
    binary = os.environ.get("MIG_PARTED", "")
    refusal = parted.find_refusal(binary)
    rows = collect("" if refusal else binary)
    source = "measured now" if not refusal else f"recorded, not measured here ({refusal})"
    print(f"NVML calls on a model of eight A100 40GB. mig-parted's columns: {source}.\n")
    print(render(rows))
    print("\nWhere mig-parted is equal or better, of the changes that it ends well:")
    print("\n".join(f"  {line}" for line in verdicts(rows)))
    times = modelled.render([(row.change.title, row.ours, row.theirs) for row in rows])
    print(f"\n{additions.render()}\n\n{times}")
    if "--record" in sys.argv and not refusal:
        record(binary, rows)
    problems = [*misses(rows), *additions.misses()]
    print("\n".join(problems))
    return 1 if problems else 0


def record(binary: str, rows: Iterable[Row]) -> None:
    """Keep what mig-parted did, for those who have no binary of it."""
    figures = {row.change.title: asdict(row.theirs) for row in rows if row.theirs}
    kept = {"program": parted.version(binary), "changes": figures}
    RECORDED.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
