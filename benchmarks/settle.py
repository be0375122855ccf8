# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How long a model takes to settle: the reference bundle, then 10, 30 and 100 DGX machines.

`python benchmarks/settle.py [SIZE...]`. Each size is deployed as pools of ten with a driver
application each, which is what is recommended, and as one pool, to show the cost: events of peers
and of global relations grow with the square of a pool, as on a real controller.
"""

import sys
import tempfile
import time
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import yaml

from rehearsal import bundle
from rehearsal.cli import table
from rehearsal.site import Site

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "bundles/charmed-kubernetes.yaml"


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
    """Deploy and settle; return hooks, seconds, and units that are not active at the end."""
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
            late = sum(unit.workload.current not in ("active", "unknown") for unit in units)
    return hooks, seconds, late


def main() -> int:
    """Print the table; return 1 when a model did not end with all units active."""
    rows: list[tuple[str, ...]] = []
    failed = 0
    for title, data, machines in _runs([int(word) for word in sys.argv[1:]] or [10, 30, 100]):
        hooks, seconds, late = settle(data, machines)
        failed += late
        rate = f"{hooks / seconds:.0f}"
        rows.append((title, str(hooks), f"{seconds:.1f}", rate, str(late)))
        print(table.render(("Model", "Hooks", "Seconds", "Hooks/s", "Not active"), rows), "\n")
    return 1 if failed else 0


def _runs(sizes: list[int]) -> Iterator[tuple[str, dict[str, Any], list[Any] | None]]:
    yield "reference bundle", yaml.safe_load(REFERENCE.read_text()), None
    for size in sizes:
        machines = inventory(size)["machines"]
        yield f"{size} DGX, pools of 10", sized(size, 10), machines
        if size > 10:
            yield f"{size} DGX, one pool", sized(size, size), machines


if __name__ == "__main__":
    sys.exit(main())
