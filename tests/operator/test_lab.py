"""The lab through pytest-operator, for sites that have not moved to jubilant.

tests/integration holds the whole suite; here is what shows that the charms work with libjuju.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
POOL = ["kubernetes-control-plane", "gpu", "nvidia-driver", "gpu-worker"]


@pytest.mark.abort_on_fail
async def test_the_lab_gets_ready(ops_test) -> None:
    if "gpu-worker" not in ops_test.model.applications:
        await ops_test.run("juju", "deploy", str(ROOT / "bundles" / "lab.yaml"), check=True)
    await ops_test.model.wait_for_idle(apps=POOL, status="active", timeout=3600)


async def test_a_profile_cuts_every_gpu(ops_test) -> None:
    worker = ops_test.model.applications["gpu-worker"]
    await worker.set_config({"mig-profile": "all-1g.6gb"})
    await ops_test.model.wait_for_idle(apps=POOL, status="active", timeout=1800)
    _, nodes, _ = await ops_test.run("kubectl", "get", "nodes", "-o", "json", check=True)
    assert "nvidia.com/mig-1g.6gb" in nodes
    await worker.set_config({"mig-profile": "all-disabled"})
    await ops_test.model.wait_for_idle(apps=POOL, status="active", timeout=1800)
