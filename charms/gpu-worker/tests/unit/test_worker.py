# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a worker does to a machine in a cluster, from first boot to changes beside jobs."""

import json
from pathlib import Path

import pytest
from gpusite import NODE, POOL, Site

from charmkit import kinds
from charmkit.errors import CharmkitError, ConfigError
from charmkit.gpudriver import WantKind
from cycle import Outcome

SMALL = {"mig_profile": "all-1g.6gb"}
LARGE = {"mig_profile": "all-2g.12gb"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def cut(site: Site) -> Site:
    """A machine in service, each of its two A30 cut into four."""
    site.options = dict(SMALL)
    site.settle()
    site.killer.log.clear()
    return site


def says(outcome: Outcome) -> list[str]:
    return [str(problem) for problem in outcome.problems]


def pod(site: Site, name: str, profile: str = "1g.6gb", **options: bool) -> str:
    full = site.world.run_pod(name, "team-a", {f"nvidia.com/mig-{profile}": 1}, **options)
    site.world.advance(10)
    return full


def holder_gpu(site: Site, name: str) -> int:
    """Return the GPU that a pod's device is on."""
    rows = json.loads((site.machine.folder / "pod-resources.json").read_text())
    (uuid,) = next(row["device_ids"] for row in rows if row["pod"] == name)
    return next(index for index, uuids in site.uuids.items() if uuid in uuids)


def test_a_first_boot_cuts_before_anything_is_offered(site: Site):
    site.options = dict(SMALL)
    outcome = site.settle()
    assert outcome.active == "all-1g.6gb: 8 x mig-1g.6gb"
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    assert site.labels["nvidia.com/mig.config.state"] == "success"
    assert site.labels["gpu-pool/name"] == POOL
    assert not any("cordon" in entry for entry in site.killer.log)
    site.assert_in_service()


def test_whole_gpus_are_offered_where_nothing_is_to_be_cut(site: Site):
    outcome = site.settle()
    assert outcome.active == "all-disabled: 2 x gpu"
    assert site.allocatable == {"nvidia.com/gpu": 2}
    site.assert_in_service()


def test_l01_after_a_change_the_node_offers_what_nvml_has_before_it_opens(cut: Site):
    cut.options = dict(LARGE)
    outcome = cut.settle()
    assert outcome.active == "all-2g.12gb: 4 x mig-2g.12gb"
    assert cut.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    assert cut.node["status"]["allocatable"]["nvidia.com/mig-1g.6gb"] == "0"
    cut.assert_in_service()


def test_a_second_reconcile_writes_nothing_and_reads_node_and_pods(cut: Site):
    cut.world.api.audit.clear()
    cut.hook()
    assert cut.killer.log == []
    assert [(a.verb, a.resource) for a in cut.world.api.audit] == [
        ("get", "nodes"),
        ("list", "pods"),
    ]


def test_m18_a_job_on_one_gpu_never_notices_a_change_of_the_other(cut: Site):
    pod(cut, "train-7")
    busy = holder_gpu(cut, "train-7")
    before = cut.uuids[busy]
    cut.options = {
        "mig_layouts": _only(1 - busy, "2g.12gb", 2, busy, "1g.6gb", 4),
        "mig_profile": "team",
    }
    outcome = cut.settle()
    assert outcome.problems == ()
    assert cut.uuids[busy] == before
    assert cut.instances[1 - busy] == ["2g.12gb@0", "2g.12gb@2"]
    cut.assert_in_service()


def test_a_busy_gpu_is_not_touched_and_the_status_says_who_is_waited_for(cut: Site):
    pod(cut, "train-7")
    busy = holder_gpu(cut, "train-7")
    held = list(cut.uuids[busy])
    cut.options = dict(LARGE)
    outcome = cut.settle()
    assert says(outcome) == [f"1 of 2 GPUs re-cut, waiting for team-a/train-7 on GPU {busy}"]
    assert cut.instances[1 - busy] == ["2g.12gb@0", "2g.12gb@2"]
    assert set(cut.uuids[busy]) & set(held)
    cut.assert_in_service()
    assert cut.labels["nvidia.com/mig.config.state"] == "pending"
    cut.world.end_pod("train-7", "team-a")
    cut.world.advance(10)
    assert cut.settle().problems == ()
    assert cut.instances[busy] == ["2g.12gb@0", "2g.12gb@2"]
    cut.assert_in_service()


def test_a_notebook_without_a_process_is_busy(cut: Site):
    pod(cut, "notebook", idle=True)
    cut.options = dict(LARGE)
    assert "waiting for team-a/notebook on GPU" in says(cut.settle())[0]


def test_a_process_outside_any_pod_is_busy(cut: Site):
    cut.machine.gpus.add_process(cut.uuids[0][1], 4711, "python3")
    cut.options = dict(LARGE)
    assert "waiting for pid 4711" in says(cut.settle())[0]
    assert "1g.6gb@1" in cut.instances[0]


def test_waiting_for_a_job_closes_no_node_and_holds_no_leave(cut: Site):
    pod(cut, "train-7")
    cut.options = dict(LARGE)
    cut.settle()
    assert cut.cordon == (False, "")
    assert not cut.leave.asked
    assert set(cut.waits.topics) == {"node", "pods", "gpus"}
    assert cut.waits.until is None


def test_drain_never_changes_nothing_while_anything_runs(cut: Site):
    pod(cut, "train-7")
    before = cut.uuids
    cut.options = {**LARGE, "drain": "never"}
    assert says(cut.settle()) == ["drain is never: waiting for team-a/train-7"]
    assert cut.uuids == before


def test_d01_an_admins_cordon_stays(cut: Site):
    cut.kube().patch(kinds.NODE, NODE, {"spec": {"unschedulable": True}})
    cut.options = dict(LARGE)
    outcome = cut.settle()
    assert outcome.problems == ()
    assert cut.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    assert cut.cordon == (True, "")


def test_without_leave_nothing_is_closed(cut: Site):
    cut.leave.given = False
    cut.options = dict(LARGE)
    assert says(cut.settle()) == ["waiting for leave to close the node (option max-unavailable)"]
    assert cut.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    assert cut.cordon == (False, "")


def test_m21_a_layout_that_changes_under_its_name_is_applied(site: Site):
    site.options = {"mig_profile": "team", "mig_layouts": _all("1g.6gb", 4)}
    site.settle()
    site.options = {"mig_profile": "team", "mig_layouts": _all("2g.12gb", 2)}
    assert site.settle().active == "team: 4 x mig-2g.12gb"


@pytest.mark.parametrize(
    ("hardware", "options", "message"),
    [
        ("a30-pair", {"mig_profile": "all-1g.5gb"}, "has no profile 1g.5gb"),
        ("a30-pair", {"mig_profile": "all-enable"}, "unknown layout 'all-enable'"),
    ],
    ids=["m04 profile of another board", "m12 unknown name"],
)
def test_a_layout_that_cannot_be_changes_nothing(
    tmp_path: Path, hardware: str, options: dict[str, str], message: str
):
    site = Site(tmp_path, hardware)
    site.options = dict(SMALL)
    site.settle()
    before = site.uuids
    site.options = options
    outcome = site.settle()
    assert message in says(outcome)[0]
    assert site.uuids == before
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    assert site.labels["nvidia.com/mig.config.state"] == "failed"


def test_a_refused_option_in_the_middle_of_a_change_puts_the_node_back(cut: Site):
    cut.options = dict(LARGE)
    cut.hook()
    assert cut.cordon == (True, f"{POOL}/0")
    cut.problem = ConfigError("drain", "must be idle or never, not 'x'")
    outcome = cut.settle()
    assert says(outcome) == ["drain: must be idle or never, not 'x'"]
    cut.assert_in_service()


@pytest.mark.parametrize(
    ("label", "override", "active"),
    [
        ("", "", "all-1g.6gb: 8 x mig-1g.6gb"),
        ("all-2g.12gb", "", "all-2g.12gb by node label (option: all-1g.6gb): 4 x mig-2g.12gb"),
        (
            "all-2g.12gb",
            "all-4g.24gb",
            "all-4g.24gb by action (option: all-1g.6gb): 2 x mig-4g.24gb",
        ),
    ],
    ids=["option", "node label before option", "action before both"],
)
def test_who_chooses_the_layout(site: Site, label: str, override: str, active: str):
    site.options = dict(SMALL)
    if label:
        site.kube().patch(
            kinds.NODE, NODE, {"metadata": {"labels": {"nvidia.com/mig.config": label}}}
        )
    site.cycle()._store.write_override(override)
    assert site.settle().active == active
    assert site.labels.get("nvidia.com/mig.config", "") == label


def test_l05_labels_that_somebody_wrote_are_put_right(cut: Site):
    wrong = {"nvidia.com/mig-1g.6gb.count": "1", "nvidia.com/mig-7g.40gb.count": "1"}
    cut.kube().patch(kinds.NODE, NODE, {"metadata": {"labels": wrong}})
    cut.settle()
    assert cut.labels["nvidia.com/mig-1g.6gb.count"] == "8"
    assert "nvidia.com/mig-7g.40gb.count" not in cut.labels


def test_l05_a_node_that_joins_again_gets_its_labels_back(cut: Site):
    cut.world.api.delete("nodes", NODE)
    cut.world.start_kubelet("1", cut.world.cluster.kubelets["1"].settings)
    cut.settle()
    assert cut.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    assert cut.labels["gpu-pool/name"] == POOL
    cut.assert_in_service()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"app": "nvidia-mig-manager"}, "NVIDIA's mig-manager runs on this node"),
        ({"name": "nvidia-device-plugin-ds"}, "another device plugin runs on this node"),
        (
            {"app.kubernetes.io/component": "hami-device-plugin"},
            "another device plugin runs on this node",
        ),
    ],
    ids=["mig-manager", "device plugin", "HAMi"],
)
def test_whoever_does_our_work_blocks(cut: Site, labels: dict[str, str], message: str):
    cut.world.api.put(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other", "namespace": "kube-system", "labels": labels},
            "spec": {"nodeName": NODE, "containers": [{"name": "c", "image": "x"}]},
            "status": {"phase": "Pending"},
        }
    )
    cut.options = dict(LARGE)
    assert message in says(cut.settle())[0]
    assert cut.allocatable == {"nvidia.com/mig-1g.6gb": 8}


# The driver.


def test_the_driver_gets_its_grant_when_the_node_is_closed_and_idle(cut: Site):
    cut.want()
    outcome = cut.settle()
    assert outcome.granted == "w-1"
    assert says(outcome) == ["node closed for the driver: driver 580 needs it"]
    assert cut.cordon == (True, f"{POOL}/0")
    assert cut.allocatable == {}
    assert cut.leave.is_held
    assert cut.hook().granted == "w-1"


def test_d03_a_driver_waits_for_processes_that_no_pod_accounts_for(cut: Site):
    cut.machine.gpus.add_process(cut.uuids[0][0], 4711, "python3")
    cut.want(WantKind.UNLOAD)
    outcome = cut.settle()
    assert outcome.granted == ""
    assert "driver wants unload: waiting for pid 4711" in says(outcome)[0]
    assert outcome.holds[0].startswith("pid 4711")
    cut.assert_in_service()


def test_after_the_driver_is_done_the_node_comes_back(cut: Site):
    cut.want(WantKind.UNLOAD)
    cut.settle()
    cut.machine.gpus.set_driver(loaded="580.173.02", library="580.173.02")
    cut.driver = Site.ready_driver()
    outcome = cut.settle()
    assert outcome.granted == ""
    assert cut.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    assert cut.labels["nvidia.com/cuda.driver-version.full"] == "580.173.02"
    cut.assert_in_service()


def test_a_driver_that_never_worked_gets_its_reboot_without_nvml(site: Site):
    site.machine.gpus.set_driver(loaded="", library="")
    site.want(ready=False)
    assert site.settle().granted == "w-1"


def test_a_driver_that_is_not_ready_is_waited_for(cut: Site):
    cut.driver = Site.ready_driver(ready=False, reason="driver 580 is building")
    assert says(cut.settle()) == ["gpu-driver: driver 580 is building"]
    assert cut.allocatable == {"nvidia.com/mig-1g.6gb": 8}


def test_a_step_that_this_charm_does_not_know_is_granted_to_nobody(cut: Site):
    cut.want(WantKind.UNKNOWN)
    outcome = cut.settle()
    assert outcome.granted == ""
    assert says(outcome) == ["gpu-driver asks for an unknown step, refresh this charm"]


# What NVML refuses.


def test_a_mode_that_somebody_holds_is_named_and_comes_later(site: Site):
    site.machine.gpus.add_holder("nvidia-dcgm")
    site.options = dict(SMALL)
    with pytest.raises(CharmkitError, match="MIG mode change pending"):
        site.hook()
    assert site.allocatable == {}
    site.machine.gpus.remove_holder("nvidia-dcgm")
    assert site.settle().active == "all-1g.6gb: 8 x mig-1g.6gb"
    site.assert_in_service()


def test_an_instance_that_nvml_refuses_is_said_and_made_when_its_time_has_come(cut: Site):
    cut.machine.gpus.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 999)
    cut.options = dict(LARGE)
    (text,) = says(cut.settle())
    assert text.startswith("GPU 0: 2g.12gb@0: NVML answers Unknown (999)")
    assert cut.allocatable == {}
    cut.assert_opened()
    cut.machine.gpus.clear_faults()
    cut.world.advance(601)
    assert cut.settle().active == "all-2g.12gb: 4 x mig-2g.12gb"
    cut.assert_in_service()


def test_what_nvml_goes_on_putting_off_is_given_up_and_the_node_put_back(cut: Site):
    cut.machine.gpus.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 19)
    cut.options = dict(LARGE)
    cut.hook()
    cut.world.advance(30)
    with pytest.raises(CharmkitError):
        cut.settle()
    cut.world.advance(700)
    outcome = cut.settle()
    assert says(outcome) == ["put back after 600 s: NVML refused the change; tried again later"]
    assert cut.labels["nvidia.com/mig.config.state"] == "failed"
    cut.assert_never_wrong()
    assert cut.cordon == (False, "")


def _all(profile: str, count: int) -> str:
    entry = f"{{devices: all, mig-enabled: true, mig-devices: {{{profile}: {count}}}}}"
    return f"version: v1\nmig-configs:\n  team: [{entry}]\n"


def _only(index: int, profile: str, count: int, other: int, kept: str, many: int) -> str:
    entries = [
        f"{{devices: [{index}], mig-enabled: true, mig-devices: {{{profile}: {count}}}}}",
        f"{{devices: [{other}], mig-enabled: true, mig-devices: {{{kept}: {many}}}}}",
    ]
    return f"version: v1\nmig-configs:\n  team: [{', '.join(entries)}]\n"
