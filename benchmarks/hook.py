# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a hook costs in which nothing changed: interpreter, import, the whole dispatch, reconcile.

`python benchmarks/hook.py [RUNS]`, as root, after `make pack`. The first three are of the packed
charm with its own libraries, with stub hook tools, on this machine (which has no GPU); the last is
update-status of a settled unit in the rehearsal, with the real reconcile on simulated hardware.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from rehearsal import bundle
from rehearsal.cli import table
from rehearsal.site import Site
from tests.packed.charmfile import PackedCharm, find_python

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"gpu-worker": "gpu-worker/0", "nvidia-driver": "nvidia-driver/0"}


def milliseconds(samples: list[float]) -> str:
    """Return median and range of samples in seconds."""
    low, middle, high = min(samples), statistics.median(samples), max(samples)
    return f"{middle * 1000:.0f} ({low * 1000:.0f}-{high * 1000:.0f})"


def timed(*command: str | Path, **options: object) -> float:
    """Return the seconds that a command takes.

    Raises:
        CalledProcessError: It failed.
    """
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, **options)  # type: ignore[call-overload]
    return time.perf_counter() - began


def packed(file: Path, runs: int) -> tuple[str, str, str] | None:
    """Return interpreter, import and dispatch of one packed charm; None without its Python."""
    python = find_python(file.stem.split("-")[-2])
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        charm = PackedCharm(file, Path(name))
        options = yaml.safe_load((charm.folder / "config.yaml").read_text())["options"]
        config = {key: option["default"] for key, option in options.items() if "default" in option}
        (packages,) = charm.folder.glob("venv/lib/python3*/site-packages")
        path = f"{charm.folder}/lib:{charm.folder}/src:{packages}"
        bare = [timed(python, "-c", "pass") for _ in range(runs)]
        imported = [
            timed(python, "-c", "import charm", env={"PYTHONPATH": path, "HOME": name})
            for _ in range(runs)
        ]
        whole = [
            charm.dispatch("update-status", config, after="install").seconds for _ in range(runs)
        ]
    base = statistics.median(bare)
    return milliseconds(bare), milliseconds([s - base for s in imported]), milliseconds(whole)


def reconciled(runs: int) -> dict[str, str]:
    """Return the time of update-status of settled units, by charm."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name, Site(Path(name)) as site:
        loaded = bundle.load(ROOT / "bundles/lab.yaml")
        assert loaded.bundle is not None
        site.deploy(loaded.bundle, bundle.plan(loaded.bundle), lambda line: None)
        site.juju.settle()
        for charm, unit in UNITS.items():
            samples: list[float] = []
            for _ in range(runs):
                site.juju.wake(unit)
                began = time.perf_counter()
                site.juju.settle()
                samples.append(time.perf_counter() - began)
            found[charm] = milliseconds(samples)
    return found


def main() -> int:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    reconcile = reconciled(runs)
    rows: list[tuple[str, ...]] = []
    for file in sorted((ROOT / "dist").glob("*.charm")):
        times = packed(file, runs) or ("no Python of this base", "", "")
        rows.append((file.stem, *times, reconcile.get(file.stem.partition("_")[0], "")))
    head = ("Charm", "Interpreter", "Import", "Whole dispatch", "Event in the rehearsal")
    print("milliseconds: median (lowest-highest)")
    print(table.render(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
