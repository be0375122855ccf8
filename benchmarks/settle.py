# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How long a model takes to settle: the reference bundle, then 10, 30 and 100 DGX machines.

`python benchmarks/settle.py [--pools] [SIZE...]`. Each size is deployed as pools of ten with a
driver application each, which is what is recommended, and as one pool (not with `--pools`), to
show the cost: events of peers and of global relations grow with the square of a pool, as on a
real controller. CPU seconds are those of the command and of the processes of charms: on a busy
machine they say more than seconds do. Memory is the largest that the command and, beside it, one
of the charms' processes had.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Container, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal import bundle
from rehearsal.cli import table
from rehearsal.site import Site

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "bundles/charmed-kubernetes.yaml"
POOLS = ("dgx", "gpu-worker", "nvidia-driver", "containerd", "calico", "kubernetes", "etcd")
"""Applications that must end active; others wait for what only a site can tell them."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one model took to settle.

    Attributes:
        hooks: Hooks that ran.
        seconds: Wall time.
        cpu: Seconds of CPU, of all processes from the deploy to the end of the last.
        engine: Peak memory of the command in MiB.
        charm: Peak memory of its largest charm process in MiB.
        late: Units of pools and cluster that are not active at the end.
    """

    hooks: int
    seconds: float
    cpu: float
    engine: int
    charm: int
    late: int


def sized(machines: int, pool: int) -> dict[str, Any]:
    """Return a bundle with so many DGX machines in pools of at most so many.

    The first pool keeps the reference's applications; each further one is a copy of its three.
    """
    data = yaml.safe_load(REFERENCE.read_text())
    applications, relations = data["applications"], data["relations"]
    for name in ("dgx-mig", "gpu-worker-mig"):
        del applications[name]
    relations = [pair for pair in relations if "-mig:" not in "".join(pair)]
    base = [
        pair for pair in relations if "dgx:" in "".join(pair) or "gpu-worker:" in "".join(pair)
    ]
    rest = [pair for pair in relations if pair not in base]
    templates = {name: applications.pop(name) for name in ("dgx", "gpu-worker", "nvidia-driver")}
    for number in range((machines + pool - 1) // pool):
        for name, body in templates.items():
            applications[f"{name}-p{number}"] = dict(body)
        size = min(pool, machines - number * pool)
        applications[f"dgx-p{number}"]["num_units"] = size
        rest += [[_renamed(end, templates, number) for end in pair] for pair in base]
    data["relations"] = rest
    return data


def _renamed(end: str, names: Container[str], number: int) -> str:
    application, _, endpoint = end.partition(":")
    return f"{application}-p{number}:{endpoint}" if application in names else end


def inventory(machines: int) -> dict[str, Any]:
    """Return machines for it: three of the control plane, two workers, and the DGX."""
    entries = [
        {"name": f"control-{n}", "cores": 32, "mem": "128G", "tags": ["k8s-control"]}
        for n in range(3)
    ]
    entries += [
        {"name": f"cpu-{n}", "cores": 64, "mem": "256G", "tags": ["k8s-cpu"]} for n in range(2)
    ]
    entries += [
        {
            "name": f"dgx-{n}",
            "hardware": "dgx-a100-40",
            "address": f"10.30.{n // 250}.{n % 250 + 1}",
            "cores": 256,
            "mem": "1024G",
            "tags": ["dgx"],
        }
        for n in range(machines)
    ]
    return {"machines": entries}


def settle(data: dict[str, Any], machines: list[Any] | None) -> tuple[int, float, int]:
    """Deploy and settle in this process; return hooks, seconds, and late units."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bundles").mkdir()
        (folder / "dist").mkdir()
        (folder / "charms").symlink_to(ROOT / "charms")
        file = folder / "bundles/bundle.yaml"
        file.write_text(yaml.safe_dump(data))
        with Site(folder / "home") as site:
            if machines is not None:
                (folder / "inventory.yaml").write_text(yaml.safe_dump({"machines": machines}))
                site.use_inventory(folder / "inventory.yaml")
            loaded = bundle.load(file)
            assert loaded.bundle is not None, loaded.findings
            site.deploy(loaded.bundle, bundle.plan(loaded.bundle), lambda line: None)
            began = time.monotonic()
            hooks = site.juju.settle()
            seconds = time.monotonic() - began
            units = site.juju.model.units.values()
            late = sum(
                unit.workload.current not in ("active", "unknown")
                for unit in units
                if unit.application.startswith(POOLS)
            )
    return hooks, seconds, late


def measure(data: dict[str, Any], machines: list[Any] | None) -> Figures:
    """Settle in this process, which must be a fresh one, and return what it took."""
    hooks, seconds, late = settle(data, machines)
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    engine, charm = (usage.ru_maxrss // 1024 for usage in usages)
    return Figures(hooks, seconds, cpu, engine, charm, late)


HEAD = ("Model", "Hooks", "Seconds", "CPU s", "Engine MiB", "Charm MiB", "Not active")


def main() -> int:
    """Print the table; return 1 when a model did not end with all units active."""
    rows: list[tuple[str, ...]] = []
    failed = 0
    words = [word for word in sys.argv[1:] if word != "--pools"]
    runs = _runs([int(word) for word in words] or [10, 30, 100], "--pools" in sys.argv)
    context = multiprocessing.get_context("spawn")
    for title, data, machines in runs:
        with context.Pool(1) as pool:
            figures = pool.apply(measure, (data, machines))
        failed += figures.late
        told = [
            f"{value:.1f}" if isinstance(value, float) else str(value)
            for value in astuple(figures)
        ]
        rows.append((title, *told))
        print(table.render(HEAD, rows), "\n", flush=True)
    return 1 if failed else 0


def _runs(
    sizes: list[int], only_pools: bool
) -> Iterator[tuple[str, dict[str, Any], list[Any] | None]]:
    yield "reference bundle", yaml.safe_load(REFERENCE.read_text()), None
    for size in sizes:
        machines = inventory(size)["machines"]
        yield f"{size} DGX, pools of 10", sized(size, 10), machines
        if size > 10 and not only_pools:
            yield f"{size} DGX, one pool", sized(size, size), machines


if __name__ == "__main__":
    sys.exit(main())
