"""One deployment for the suite, on a rehearsal or on a real controller.

Without options the rehearsal in this repository is driven, in a folder of its own. With
`--controller NAME` or the variable JUJU_MODEL the same code drives a real controller: a model is
added and removed again, or the named one is used and left as it is.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jubilant
import pytest

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "bundles" / "lab.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--controller", default="", help="a real controller, by its name in juju")


@dataclass(frozen=True)
class Cluster:
    """A model with the lab's bundle, and the cluster that it made."""

    juju: jubilant.Juju
    rehearsed: bool

    def kubectl(self, *words: str) -> str:
        """Return what kubectl prints: the model's own, or the one that the user has set up."""
        if self.rehearsed:
            return self.juju.cli("kubectl", *words)
        return subprocess.run(
            ["kubectl", *words], check=True, capture_output=True, text=True
        ).stdout

    def allocatable(self) -> dict[str, dict[str, int]]:
        """Return GPU resources by node, those without any left out."""
        nodes: list[dict[str, Any]] = json.loads(self.kubectl("get", "nodes", "-o", "json"))[
            "items"
        ]
        return {
            node["metadata"]["name"]: {
                name: int(count)
                for name, count in node["status"]["allocatable"].items()
                if name.startswith("nvidia.com/") and count != "0"
            }
            for node in nodes
        }

    def gpus(self) -> dict[str, int]:
        """Return the GPU resources of the whole cluster."""
        total: dict[str, int] = {}
        for resources in self.allocatable().values():
            for name, count in resources.items():
                total[name] = total.get(name, 0) + count
        return total

    def wait(self, applications: list[str]) -> jubilant.Status:
        """Wait until applications are active and their agents idle."""
        return self.juju.wait(
            lambda status: (
                jubilant.all_active(status, *applications)
                and jubilant.all_agents_idle(status, *applications)
            ),
            error=jubilant.any_error,
            timeout=600 if self.rehearsed else 3600,
            delay=0.1 if self.rehearsed else 5.0,
            successes=2,
        )


POOL = ["kubernetes-control-plane", "gpu", "nvidia-driver", "gpu-worker"]


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    controller: str = request.config.getoption("--controller") or ""
    if controller or os.environ.get("JUJU_MODEL"):
        yield from _real(controller)
    else:
        yield from _rehearsed(tmp_path_factory.mktemp("rehearsal"))


def _rehearsed(folder: Path) -> Iterator[Cluster]:
    """Deploy the lab on a rehearsal; jubilant finds it behind a program of its own."""
    program = folder / "juju"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'lib')!r}]\n"
        "from rehearsal.cli import main\nsys.exit(main())\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.environ["REHEARSAL_HOME"] = str(folder / "home")
    inventory = folder / "inventory.yaml"
    inventory.write_text((Path(__file__).parent / "inventory.yaml").read_text())
    juju = jubilant.Juju(model="rehearsal", cli_binary=str(program))
    juju.cli("deploy", str(LAB), "--inventory", str(inventory))
    juju.cli("status", "--speed", "100")
    cluster = Cluster(juju, rehearsed=True)
    cluster.wait(POOL)
    yield cluster


def _real(controller: str) -> Iterator[Cluster]:
    """Deploy the lab on a controller, in a model of the suite or in the one that was named."""
    if not shutil.which("juju"):
        pytest.skip("there is no juju on PATH")
    named = os.environ.get("JUJU_MODEL", "")
    if named:
        cluster = Cluster(jubilant.Juju(model=named), rehearsed=False)
        if not cluster.juju.status().apps:
            cluster.juju.deploy(LAB)
        cluster.wait(POOL)
        yield cluster
        return
    with jubilant.temp_model(controller=controller) as juju:
        juju.deploy(LAB)
        cluster = Cluster(juju, rehearsed=False)
        cluster.wait(POOL)
        yield cluster
