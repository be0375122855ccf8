# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Changes that may end pods: on a cluster, with budgets, time and people in the way."""

import json
from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, POOL, Site

from charmkit.gpudriver import WantKind
from cycle import Outcome

SLICE = "nvidia.com/mig-1g.6gb"
LARGE = {"mig_profile": "all-2g.12gb"}


@pytest.fixture
def cut(tmp_path: Path) -> Site:
    """A machine in service, each of its two A30 cut into four."""
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    return site


def says(outcome: Outcome) -> str:
    return "; ".join(str(problem) for problem in outcome.problems)


def run(site: Site, name: str, *, job: bool = True, gpu: bool = True, **spec: Any) -> str:
    """Start a job or a bare pod; return the name of its pod."""
    site.world.run_pod(name, "team-a", {SLICE: 1} if gpu else {}, controller=job, **spec)
    site.world.advance(10)
    return next(p for p in running(site) if p == name or p.startswith(f"{name}-"))


def running(site: Site) -> list[str]:
    pods = [p for p in site.world.api.scan("pods") if p["metadata"]["namespace"] == "team-a"]
    return [
        pod["metadata"]["name"]
        for pod in pods
        if pod["spec"].get("nodeName") == NODE and pod["status"]["phase"] == "Running"
    ]


def holder_gpu(site: Site, name: str) -> int:
    rows = json.loads((site.machine.folder / "pod-resources.json").read_text())
    (uuid,) = next(row["device_ids"] for row in rows if row["pod"] == name)
    return next(index for index, uuids in site.uuids.items() if uuid in uuids)


def only(index: int) -> dict[str, str]:
    """Return options that cut one GPU larger and leave the other as it is."""
    entries = [
        f"{{devices: [{index}], mig-enabled: true, mig-devices: {{2g.12gb: 2}}}}",
        f"{{devices: [{1 - index}], mig-enabled: true, mig-devices: {{1g.6gb: 4}}}}",
    ]
    layouts = f"version: v1\nmig-configs:\n  team: [{', '.join(entries)}]\n"
    return {"mig_layouts": layouts, "mig_profile": "team"}


def budget(site: Site, name: str, labels: dict[str, str], available: int) -> None:
    site.world.api.put(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "team-a"},
            "spec": {"minAvailable": available, "selector": {"matchLabels": labels}},
        }
    )
    site.world.settle()


def test_affected_evicts_the_job_of_the_gpu_that_changes_and_no_other(cut: Site):
    pods = [run(cut, f"train-{number}") for number in range(5)]
    index = holder_gpu(cut, pods[0])
    stays = [pod for pod in pods if holder_gpu(cut, pod) != index]
    assert stays
    cut.options = {**only(index), "drain": "affected"}
    assert says(cut.settle()) == ""
    assert set(stays) <= set(running(cut))
    assert not set(pods) - set(stays) & set(running(cut))
    assert cut.instances[index] == ["2g.12gb@0", "2g.12gb@2"]
    cut.assert_in_service()


def test_idle_evicts_nobody(cut: Site):
    name = run(cut, "train-7")
    cut.options = dict(LARGE)
    assert f"waiting for team-a/{name}" in says(cut.settle())
    assert running(cut) == [name]


def test_a_pod_without_a_controller_is_waited_for_unless_it_may_go(cut: Site):
    run(cut, "notebook", job=False)
    cut.options = {**LARGE, "drain": "affected"}
    assert "waiting for team-a/notebook" in says(cut.settle())
    assert running(cut) == ["notebook"]
    assert not cut.leave.asked
    cut.options["evict_bare_pods"] = True
    assert says(cut.settle()) == ""
    assert running(cut) == []
    cut.assert_in_service()


def test_while_pods_go_the_node_is_closed_with_leave_and_its_plugin_runs(cut: Site):
    run(cut, "train-7", terminationGracePeriodSeconds=120)
    cut.options = {**LARGE, "drain": "affected"}
    outcome = cut.hook()
    assert says(outcome).startswith("evicting team-a/train-7")
    assert cut.cordon == (True, f"{POOL}/0")
    assert cut.leave.is_held
    assert cut.labels["gpu-pool/plugin"] == "run"
    assert cut.waits.until == cut.world.now + 30


def test_a_budget_that_forbids_it_is_named_and_the_node_put_back_in_time(cut: Site):
    name = run(cut, "train-7")
    cut.world.api.edit("pods", name, "team-a", lambda p: p["metadata"].update(labels={"a": "b"}))
    budget(cut, "keep", {"a": "b"}, 1)
    cut.options = {**LARGE, "drain": "affected"}
    outcome = cut.hook()
    assert "keep" in says(outcome)
    assert running(cut) == [name]
    cut.world.advance(601)
    outcome = cut.settle()
    assert "put back after 600 s: team-a/train-7" in says(outcome)
    assert "keep" in says(outcome)
    assert cut.cordon == (False, "")
    assert not cut.leave.is_held
    assert running(cut) == [name]
    cut.assert_never_wrong()


def test_what_is_idle_changes_although_a_budget_keeps_the_rest(cut: Site):
    name = run(cut, "train-7")
    index = holder_gpu(cut, name)
    cut.world.api.edit("pods", name, "team-a", lambda p: p["metadata"].update(labels={"a": "b"}))
    budget(cut, "keep", {"a": "b"}, 1)
    cut.options = {**LARGE, "drain": "affected"}
    cut.hook()
    cut.world.advance(601)
    cut.settle()
    assert cut.instances[1 - index] == ["2g.12gb@0", "2g.12gb@2"]
    assert running(cut) == [name]
    cut.world.api.delete("poddisruptionbudgets.policy", "keep", "team-a")
    cut.world.advance(601)
    assert says(cut.settle()) == ""
    assert cut.instances[index] == ["2g.12gb@0", "2g.12gb@2"]
    cut.assert_in_service()


def test_node_evicts_pods_without_a_gpu_too(cut: Site):
    run(cut, "web", gpu=False)
    cut.options = {**LARGE, "drain": "node"}
    assert says(cut.settle()) == ""
    evicted = [a.name for a in cut.world.api.audit if a.resource == "pods/eviction"]
    assert [name.startswith("web") for name in evicted] == [True]
    cut.assert_in_service()


def test_node_drains_nothing_where_a_bare_pod_must_stay(cut: Site):
    name, shell = run(cut, "train-7"), run(cut, "shell", job=False, gpu=False)
    cut.options = {**LARGE, "drain": "node"}
    assert f"waiting for team-a/{name}" in says(cut.settle())
    assert sorted(running(cut)) == sorted([name, shell])
    cut.assert_never_wrong()


def test_a_reboot_of_the_driver_waits_for_a_job_that_uses_no_gpu(cut: Site):
    name = run(cut, "sum", gpu=False)
    cut.want()
    outcome = cut.settle()
    assert outcome.granted == ""
    assert says(outcome) == f"driver wants reboot: waiting for team-a/{name}"
    assert cut.cordon == (False, "")
    assert "every-pod" in cut.waits.topics
    cut.options = {**cut.options, "drain": "affected"}
    assert cut.settle().granted == "w-1"
    assert running(cut) == []


def test_another_driver_without_a_reboot_ends_no_pod_that_uses_no_gpu(cut: Site):
    name = run(cut, "sum", gpu=False)
    cut.want(WantKind.UNLOAD)
    assert cut.settle().granted == "w-1"
    assert running(cut) == [name]


def test_a_change_that_is_given_up_by_the_operator_opens_the_node_again(cut: Site):
    run(cut, "train-7", terminationGracePeriodSeconds=500)
    cut.options = {**LARGE, "drain": "affected"}
    cut.hook()
    cut.options = {"mig_profile": "all-1g.6gb"}
    assert says(cut.settle()) == ""
    cut.assert_in_service()
