# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Kill representative changes of a node before every effect, and print what came of each.

`python benchmarks/mig/crash_table.py`: the process is killed, then the next hook goes on; with
`--power` the machine loses its power there. The changes are those of the charm's own tests.
"""

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHARM = ROOT / "charms" / "gpu-worker"
sys.path[:0] = [str(ROOT), str(ROOT / "lib"), str(CHARM / "src"), str(CHARM / "tests" / "unit")]

from crashes import KINDS, SCENARIOS, Ended, count_kinds, run  # noqa: E402

from rehearsal.cli import table  # noqa: E402

Task = tuple[str, int, bool]


def end(task: Task) -> Ended:
    """Run one change to its end, killed where the task says."""
    name, at, power = task
    with tempfile.TemporaryDirectory() as folder:
        return run(SCENARIOS[name], Path(folder) / "world", at, power=power)


def main(words: Sequence[str]) -> int:
    """Print the table; return 1 where a change did not converge."""
    power = "--power" in words
    rows: list[tuple[str, ...]] = []
    wrong: list[str] = []
    with ProcessPoolExecutor() as pool:
        for name in SCENARIOS:
            log = end((name, 0, False)).log
            tasks = [(name, at, power) for at in range(1, len(log) + 1)]
            ends = list(pool.map(end, tasks, chunksize=2))
            bad = [each for each in ends if each.wrong]
            wrong += [f"{name}, before {each.effect}: {'; '.join(each.wrong)}" for each in bad]
            counts = (*map(str, count_kinds(log)), str(len(log)))
            rows.append((name, *counts, f"{len(ends) - len(bad)}/{len(ends)}", str(len(bad))))
    total = sum(int(row[5]) for row in rows)
    how = "the machine loses power" if power else "the process is killed"
    print(f"Before each of {total} effects {how}; then hooks run until nothing moves.\n")
    print(table.render(("Change", *KINDS, "effects", "converged", "left over"), rows))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
