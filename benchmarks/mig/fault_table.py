# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Let NVML refuse every call that changes something with every code, and print what came of it.

`python benchmarks/mig/fault_table.py` refuses once; with `--always` until the node was given back.
"""

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHARM = ROOT / "charms" / "gpu-worker"
sys.path[:0] = [str(ROOT), str(ROOT / "lib"), str(CHARM / "src"), str(CHARM / "tests" / "unit")]

from faults import CALLS, CODES, Ended, refuse  # noqa: E402

from rehearsal.cli import table  # noqa: E402

Task = tuple[str, int, bool]


def end(task: Task) -> Ended:
    """Run one refusal to its end."""
    call, code, always = task
    with tempfile.TemporaryDirectory() as folder:
        return refuse(Path(folder) / "world", call, code, always=always)


def main(words: Sequence[str]) -> int:
    """Print both tables; return 1 where something was half done or did not recover."""
    always = "--always" in words
    tasks = [(call, code, always) for code in CODES for call in CALLS]
    with ProcessPoolExecutor() as pool:
        ends = dict(zip(tasks, pool.map(end, tasks, chunksize=2), strict=True))
    rows = [_row(call, {task: e for task, e in ends.items() if task[0] == call}) for call in CALLS]
    heads = ("Call", "codes", "said in words", "partial GPU", "recovered", "node back meanwhile")
    print("Each NVML error code at each call that changes something, on a node in service.\n")
    print(table.render(heads, rows))
    texts = [(CODES[code], str(code), ends[CALLS[1], code, always].text) for code in CODES]
    print(f"\nWhat the status says, at {CALLS[1]}:\n")
    print(table.render(("Code", "", "Status"), texts))
    bad = [task for task, each in ends.items() if each.wrong or each.partial or not each.text]
    print("\n".join(f"{task}: {ends[task]}" for task in bad))
    return 1 if bad else 0


def _row(call: str, ends: dict[Task, Ended]) -> tuple[str, ...]:
    every = list(ends.values())
    counts = (
        len(every),
        sum(bool(each.text) for each in every),
        sum(bool(each.partial) for each in every),
        sum(not each.wrong for each in every),
    )
    back = str(sum(each.back for each in every)) if any(each.back for each in every) else "-"
    return (call, *map(str, counts), back)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
