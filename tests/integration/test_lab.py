"""A day of the lab, by the same client on a rehearsal and on a controller.

Tests share one deployment; each but the last leaves it as it found it, so that any of them can be
run alone. GPUs are those of the nodes, as the cluster's API says.
"""

from pathlib import Path

import jubilant
import pytest

from tests.integration.conftest import POOL, ROOT, Cluster

WHOLE, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.6gb"


def test_every_gpu_of_the_site_can_be_asked_for(cluster: Cluster) -> None:
    assert cluster.gpus()[WHOLE] >= 1
    status = cluster.juju.status()
    assert status.apps["gpu-worker"].app_status.current == "active"
    assert status.apps["gpu-worker"].subordinate_to == ["gpu"]


def test_a_profile_cuts_every_gpu_and_its_reset_makes_them_whole(cluster: Cluster) -> None:
    before = cluster.gpus()
    cluster.juju.config("gpu-worker", {"mig-profile": "all-1g.6gb"})
    cluster.wait(POOL)
    assert cluster.gpus() == {SLICE: 4 * before[WHOLE]}
    assert cluster.juju.config("gpu-worker")["mig-profile"] == "all-1g.6gb"
    cluster.juju.config("gpu-worker", reset="mig-profile")
    cluster.juju.config("gpu-worker", {"mig-profile": "all-disabled"})
    cluster.wait(POOL)
    assert cluster.gpus() == before


def test_a_wrong_profile_is_said_in_the_status_and_changes_nothing(cluster: Cluster) -> None:
    before = cluster.gpus()
    cluster.juju.config("gpu-worker", {"mig-profile": "all-9g.99gb"})
    status = cluster.juju.wait(lambda found: jubilant.any_blocked(found, "gpu-worker"), delay=0.1)
    assert "9g.99gb" in status.apps["gpu-worker"].app_status.message
    assert cluster.gpus() == before
    cluster.juju.config("gpu-worker", {"mig-profile": "all-disabled"})
    cluster.wait(POOL)


def test_an_action_shows_the_gpus_of_a_unit(cluster: Cluster) -> None:
    task = cluster.juju.run("gpu-worker/leader", "show-gpus")
    assert task.success
    assert "A30" in str(task.results) or not cluster.rehearsed


def test_an_action_that_is_not_there_raises(cluster: Cluster) -> None:
    with pytest.raises((ValueError, jubilant.CLIError), match="not defined"):
        cluster.juju.run("gpu-worker/leader", "dance")


def test_another_machine_brings_its_gpus_and_takes_them_along(cluster: Cluster) -> None:
    before = cluster.gpus()
    cluster.juju.add_unit("gpu")
    status = cluster.wait(POOL)
    added = max(status.apps["gpu"].units, key=lambda name: int(name.partition("/")[2]))
    assert len(status.apps["gpu"].units) == 2
    assert sum(cluster.gpus().values()) > sum(before.values())
    cluster.juju.remove_unit(added)
    cluster.juju.wait(lambda found: added not in found.apps["gpu"].units, delay=0.1)
    cluster.wait(POOL)
    assert cluster.gpus() == before


def test_new_code_leaves_the_gpus_as_they_are(cluster: Cluster) -> None:
    before, revision = cluster.gpus(), cluster.juju.status().apps["gpu-worker"].charm_rev
    cluster.juju.refresh("gpu-worker", path=_charm("gpu-worker"))
    status = cluster.wait(POOL)
    assert status.apps["gpu-worker"].charm_rev == revision + 1
    assert cluster.gpus() == before


def test_a_unit_tells_its_relation_data(cluster: Cluster) -> None:
    unit = next(iter(cluster.juju.status().get_units("gpu-worker")), "gpu-worker/0")
    shown = cluster.juju.cli("show-unit", unit, "--format", "json")
    assert "gpu-driver" in shown


def test_without_a_worker_no_gpu_can_be_asked_for(cluster: Cluster) -> None:
    """Comes last: a worker of another name stands in its place afterwards."""
    before = cluster.gpus()
    cluster.juju.remove_application("gpu-worker")
    cluster.juju.wait(lambda found: "gpu-worker" not in found.apps, delay=0.1)
    assert cluster.gpus() == {}
    cluster.juju.deploy(_charm("gpu-worker"), "gpu-pool", base="ubuntu@24.04")
    cluster.juju.integrate("gpu-pool:host", "gpu:juju-info")
    cluster.juju.integrate("gpu-pool:gpu-driver", "nvidia-driver:gpu-driver")
    cluster.juju.integrate("gpu-pool:kube-control", "kubernetes-control-plane:kube-control")
    cluster.wait(["gpu-pool"])
    assert cluster.gpus() == before


def _charm(name: str) -> Path:
    """Return the packed charm, or its folder where it has not been packed (rehearsal only)."""
    packed = ROOT / "dist" / f"{name}_ubuntu-24.04-amd64.charm"
    return packed if packed.exists() else ROOT / "charms" / name
