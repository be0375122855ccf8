# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is left when a unit goes, whichever event tells it and whatever else is gone already."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, POOL, TAINT, UNIT, Site
from gpuunit import Deployment

from advertiser import DevicePlugin
from charmkit import kinds
from clients import paused_clients
from node import parse_node
from ports import Identity
from removal import plan_release

ME = Identity(POOL, UNIT)


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    made = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    assert made.settle()[0] == "active"
    return made


def leave(unit: Deployment, *, planned: int = 0) -> tuple[str, str]:
    """Let the unit hear that its principal goes; so many units of the pool stay."""
    unit.state = replace(unit.state, planned_units=planned)
    return unit.run(unit.on.relation_broken(unit.relation("host")))


def assert_left(unit: Deployment) -> None:
    site = unit.site
    ours = [n for n in site.labels if n.startswith(("gpu-pool/", "nvidia.com/"))]
    assert ours == []
    assert site.cordon == (False, "")
    assert site.taints == []
    assert site.files.glob(f"/run/{POOL}/*") == []
    assert site.files.glob(f"/etc/systemd/system/{POOL}-*") == []
    assert not site.files.exists(f"/opt/{POOL}")
    site.world.advance(30)
    assert site.allocatable == {}
    assert site.instances[0] != []


@pytest.mark.parametrize("event", ["host-relation-broken", "stop"])
def test_whichever_event_tells_it_nothing_of_ours_is_left(event: str, unit: Deployment):
    if event == "stop":
        unit.run(unit.on.stop())
    else:
        leave(unit)
    assert_left(unit)


def test_removal_may_be_told_again_and_again(unit: Deployment):
    leave(unit)
    unit.site.world.api.audit.clear()
    leave(unit)
    unit.run(unit.on.stop())
    assert unit.writes() == []
    assert_left(unit)


def test_after_leaving_no_event_begins_anew(unit: Deployment):
    leave(unit)
    unit.run(unit.on.config_changed())
    unit.run(unit.on.update_status())
    assert_left(unit)


def test_the_cached_account_serves_when_the_relation_is_gone(unit: Deployment):
    unit.drop("kube-control")
    unit.drop("gpu-driver")
    unit.site.files.ensure_absent("/root/cdk/ca.crt")
    leave(unit)
    assert_left(unit)


def test_a_bad_option_does_not_stop_removal(unit: Deployment):
    unit.configure(drain="force")
    unit.run(unit.on.config_changed())
    leave(unit)
    assert_left(unit)


def test_a_cluster_that_refuses_leaves_the_machine_clean(unit: Deployment):
    unit.site.world.api.delete("clusterroles.rbac.authorization.k8s.io", POOL)
    leave(unit)
    assert not unit.site.files.exists(f"/run/{POOL}/ready")
    assert any("left in the cluster" in entry.message for entry in unit.context.juju_log)


def test_a_change_under_way_is_undone(unit: Deployment):
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())
    assert unit.site.cordon == (True, UNIT)
    leave(unit)
    assert_left(unit)


def test_m16_a_service_that_a_killed_change_had_stopped_runs_again(unit: Deployment):
    host, name = unit.site.machine.host, "nvidia-dcgm.service"
    host.files.ensure_text(f"/etc/systemd/system/{name}", "[Service]\nExecStart=/bin/true\n")
    host.systemd.ensure_started(name)
    killed = paused_clients(host)
    killed.__enter__()
    assert not host.systemd.is_active(name)
    leave(unit)
    assert host.systemd.is_active(name)
    assert_left(unit)


def test_the_taint_of_a_faulty_gpu_goes_with_the_unit(unit: Deployment):
    unit.configure(taint_faulty=True)
    unit.site.machine.gpus.lose(1)
    unit.settle()
    assert unit.site.taints == ["gpu-pool/faulty-gpu"]
    leave(unit)
    assert_left(unit)
    assert not unit.site.files.exists(f"/var/lib/{POOL}/gpus.json")


def test_the_start_up_taint_goes_with_a_unit_that_never_came_to_service(tmp_path: Path):
    site = Site(tmp_path, plugin=False)
    site.machine.gpus.set_driver(loaded="")
    unit = Deployment(site, mig_profile="all-1g.6gb")
    unit.settle()
    assert site.taints == ["gpu-pool/starting"]
    leave(unit)
    assert site.taints == []


def test_d01_an_admins_cordon_survives_removal(unit: Deployment):
    unit.site.kube().patch(kinds.NODE, NODE, {"spec": {"unschedulable": True}})
    leave(unit)
    assert unit.site.cordon == (True, "")


def test_the_last_unit_takes_the_pools_objects_and_the_account(unit: Deployment):
    leave(unit)
    api = unit.site.world.api
    assert api.find("daemonsets.apps", f"{POOL}-device-plugin", "gpu-pool") is None
    assert api.find("runtimeclasses.node.k8s.io", "nvidia") is None
    assert api.find("clusterroles.rbac.authorization.k8s.io", POOL) is None


def other_node(unit: Deployment, pool: str) -> None:
    labels = {"gpu-pool/name": pool}
    metadata = {"name": "dgx-2", "labels": labels}
    unit.site.world.api.put({"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def peers(unit: Deployment) -> None:
    unit.put(replace(unit.relation("pool"), peers_data={1: {}}))


def has_pool(unit: Deployment) -> tuple[bool, bool, bool]:
    """Return whether there are a plugin, what all pools share, and the account."""
    api = unit.site.world.api
    return (
        api.find("daemonsets.apps", f"{POOL}-device-plugin", "gpu-pool") is not None,
        api.find("runtimeclasses.node.k8s.io", "nvidia") is not None,
        api.find("clusterroles.rbac.authorization.k8s.io", POOL) is not None,
    )


def test_another_unit_of_the_pool_keeps_them(unit: Deployment):
    other_node(unit, POOL)
    peers(unit)
    leave(unit, planned=1)
    assert has_pool(unit) == (True, True, True)


def test_a_unit_that_is_still_installing_keeps_them_although_its_node_has_no_label(
    unit: Deployment,
):
    peers(unit)
    leave(unit, planned=1)
    assert has_pool(unit) == (True, True, True)


def test_the_node_of_a_machine_that_died_keeps_nothing(unit: Deployment):
    other_node(unit, POOL)
    leave(unit)
    assert has_pool(unit) == (False, False, False)


@pytest.mark.parametrize("labelled", [True, False], ids=["first to leave", "last to leave"])
def test_of_units_that_leave_together_the_last_takes_them(unit: Deployment, labelled: bool):
    if labelled:
        other_node(unit, POOL)
    peers(unit)
    leave(unit)
    assert has_pool(unit) == (labelled, labelled, labelled)


def test_another_pool_keeps_what_is_shared(unit: Deployment):
    other_node(unit, "gpu-worker-mig")
    DevicePlugin("gpu-worker-mig", "nvidia-container-runtime").ensure(unit.site.kube())
    leave(unit)
    api = unit.site.world.api
    assert api.find("daemonsets.apps", f"{POOL}-device-plugin", "gpu-pool") is None
    assert api.find("daemonsets.apps", "gpu-worker-mig-device-plugin", "gpu-pool") is not None
    assert api.find("runtimeclasses.node.k8s.io", "nvidia") is not None


def test_a_departed_of_somebody_else_removes_nothing(unit: Deployment):
    pool = replace(unit.relation("pool"), peers_data={1: {}})
    unit.put(pool)
    unit.run(unit.on.relation_departed(pool, remote_unit=1, departing_unit=1))
    assert unit.site.allocatable == {"nvidia.com/mig-1g.6gb": 8}


def node(**changes: Any) -> Any:
    base: dict[str, Any] = {"metadata": {"name": NODE, "resourceVersion": "7"}, "spec": {}}
    return parse_node({**base, **changes})


def test_a_node_with_nothing_of_ours_is_not_written():
    assert plan_release(node(), ME) == {}


def test_one_write_takes_everything():
    patch = plan_release(
        node(
            metadata={
                "name": NODE,
                "resourceVersion": "7",
                "labels": {"gpu-pool/name": POOL, "nvidia.com/gpu.count": "8", "zone": "a"},
                "annotations": {"gpu-pool/cordoned-by": UNIT},
            },
            spec={"unschedulable": True, "taints": [TAINT]},
        ),
        ME,
    )
    assert patch == {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {"gpu-pool/cordoned-by": None},
            "labels": {"gpu-pool/name": None, "nvidia.com/gpu.count": None},
        },
        "spec": {"taints": None, "unschedulable": None},
    }


def test_a_node_of_another_pool_is_not_ours():
    labels = {"gpu-pool/name": "other", "nvidia.com/gpu.count": "8"}
    assert plan_release(node(metadata={"name": NODE, "labels": labels}), ME) == {}


def test_a_unit_of_the_same_name_that_is_installed_later_begins_anew(unit: Deployment):
    leave(unit)
    unit.run(unit.on.install())
    assert unit.settle()[0] == "active"
