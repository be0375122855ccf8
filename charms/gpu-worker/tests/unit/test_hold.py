# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Hold pods: they take what has to go before the queue, count as nobody, and never stay."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from gpusite import NODE, POOL, Site
from gpuunit import Deployment

from charmkit import kinds
from charmkit.errors import InterventionError
from hold import label_of, stem_of, tolerate
from holding import PRIORITY_CLASS, Holds, render_class
from node import Node, parse_node

OLD, NEW = "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"
IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.20.1"
EMPTY = Node(NODE, "1", False, "", {}, (), {})


def pods(site: Site, prefix: str, phase: str = "Running") -> list[str]:
    return sorted(
        pod["metadata"]["name"]
        for pod in site.world.api.scan("pods")
        if pod["metadata"]["name"].startswith(prefix) and pod["status"].get("phase") == phase
    )


def jobs_of(site: Site) -> dict[int, list[str]]:
    """Return the jobs that compute on each GPU."""
    held = site.worker().observe().allocations or ()
    by_device = {device: entry.pod for entry in held for device in entry.device_ids}
    return {n: [by_device[u] for u in uuids if u in by_device] for n, uuids in site.uuids.items()}


def fill(folder: Path, queue: int = 12) -> Site:
    """Return a machine with two A30 in eight slices, a job on each, and a queue for more."""
    site = Site(folder)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    for number in range(8):
        site.world.run_pod(f"old-{number}", "team-a", {OLD: 1})
    site.world.advance(10)
    for number in range(queue):
        site.world.run_pod(f"next-{number:02}", "team-a", {OLD: 1})
    return site


def want(site: Site, **options: Any) -> None:
    site.options = {"mig_profile": "all-2g.12gb", **options}
    site.settle()


def end(site: Site, name: str) -> None:
    site.world.end_pod(name, "team-a")
    site.world.advance(5)
    site.settle()
    site.world.advance(10)


@pytest.fixture
def full(tmp_path: Path) -> Site:
    return fill(tmp_path)


def test_one_hold_waits_for_each_device_that_has_to_go(full: Site):
    want(full)
    assert Counter(full.holds.values()) == {"Pending": 8}
    assert full.cordon == (False, "")


@pytest.mark.parametrize("drain", ["never", "affected", "node"])
def test_where_nobody_waits_for_idle_there_is_none(drain: str, full: Site):
    want(full, drain=drain)
    assert full.holds == {}


def test_a_second_reconcile_writes_nothing(full: Site):
    want(full)
    full.killer.log.clear()
    full.hook()
    assert [effect for effect in full.killer.log if "waits.json" not in effect] == []


def test_a_device_that_ends_goes_to_a_hold_and_is_cut(full: Site):
    want(full)
    left = 8
    for names in jobs_of(full).values():
        for name in names:
            end(full, name)
            left -= 1
            assert len(full.holds) == left
            assert pods(full, "next-") == []
    assert full.allocatable == {NEW: 4}
    full.assert_in_service()


def test_a_hold_is_nobody_in_statuses(full: Site):
    full.leave.given = False
    want(full)
    full.world.end_pod("old-0", "team-a")
    full.world.advance(5)
    outcome = full.settle()
    assert Counter(full.holds.values()) == {"Pending": 7, "Running": 1}
    texts = [str(problem) for problem in outcome.problems]
    assert texts[0] == "waiting for leave to close the node (option max-unavailable)"
    assert "team-a/old-1 on GPU" in texts[1]
    assert "hold" not in " ".join([*texts, *outcome.holds])
    full.leave.given = True
    full.settle()
    assert Counter(full.holds.values()) == {"Pending": 7}


@pytest.mark.parametrize(
    "options",
    [{"mig_profile": "all-1g.6gb"}, {"drain": "never"}, {"drain": "affected"}],
    ids=["taken back", "never", "affected"],
)
def test_holds_go_when_nothing_waits_any_more(options: dict[str, Any], full: Site):
    want(full)
    full.options = {**full.options, **options}
    full.settle()
    assert full.holds == {}
    assert len(pods(full, "old-")) == 8


def test_a_refused_option_takes_them_away(full: Site):
    want(full)
    full.problem = InterventionError("drain: must be one of four")
    full.settle()
    assert full.holds == {}


def test_an_admins_cordon_needs_none(full: Site):
    want(full)
    full.kube().patch(kinds.NODE, NODE, {"spec": {"unschedulable": True}})
    full.settle()
    assert full.holds == {}


def test_a_device_that_stays_is_given_back_and_the_queue_has_it(full: Site):
    """GPU 0 keeps its four slices, GPU 1 loses its own: both are of one resource."""
    layouts = {
        "version": "v1",
        "mig-configs": {
            "team": [
                {"devices": [0], "mig-enabled": True, "mig-devices": {"1g.6gb": 4}},
                {"devices": [1], "mig-enabled": True, "mig-devices": {"2g.12gb": 2}},
            ]
        },
    }
    jobs = jobs_of(full)
    full.options = {"mig_layouts": yaml.safe_dump(layouts), "mig_profile": "team"}
    full.settle()
    assert len(full.holds) == 4
    end(full, jobs[0][0])
    for _ in range(3):
        full.settle()
        full.world.advance(10)
    assert pods(full, "next-") == ["next-00"]
    assert Counter(full.holds.values()) == {"Pending": 4}
    for name in jobs[1]:
        end(full, name)
    assert full.allocatable == {OLD: 4, NEW: 2}
    assert full.holds == {}
    assert pods(full, "next-") == ["next-00"]
    full.assert_in_service()


def test_while_a_device_that_stays_is_free_none_waits(tmp_path: Path):
    site = fill(tmp_path, queue=0)
    for name in jobs_of(site)[0][:2]:
        site.world.end_pod(name, "team-a")
    site.world.advance(5)
    gpus = [
        {"devices": [0], "mig-enabled": True, "mig-devices": {"1g.6gb": 4}},
        {"devices": [1], "mig-enabled": True, "mig-devices": {"2g.12gb": 2}},
    ]
    layouts = yaml.safe_dump({"version": "v1", "mig-configs": {"team": gpus}})
    site.options = {"mig_layouts": layouts, "mig_profile": "team"}
    site.settle()
    assert site.holds == {}


def test_a_hold_that_is_over_is_made_anew(full: Site):
    full.leave.given = False
    want(full)
    full.world.end_pod("old-0", "team-a")
    full.world.advance(5)
    (bound,) = [name for name, phase in full.holds.items() if phase == "Running"]
    full.world.end_pod(bound, "gpu-pool", failed=True)
    full.settle()
    assert Counter(full.holds.values()) == {"Pending": 7, "Running": 1}


def test_a_hold_is_bound_to_one_node_and_goes_with_it(full: Site):
    node = parse_node(full.node)
    pod = Holds(full.kube(), POOL).render(node, "hold-1", OLD, IMAGE)
    spec = pod["spec"]
    assert "nodeName" not in spec
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Node", NODE, node.uid)
    assert not spec["automountServiceAccountToken"]
    assert spec["terminationGracePeriodSeconds"] == 0
    assert spec["containers"][0]["resources"]["limits"][OLD] == 1


def test_a_node_and_a_pool_whose_names_yaml_reads_as_numbers_are_names(full: Site):
    node = replace(parse_node(full.node), name="10")
    pod = Holds(full.kube(), "on").render(node, "hold-1", OLD, IMAGE)
    assert pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "on"
    assert pod["metadata"]["ownerReferences"][0]["name"] == "10"
    assert '["10"]' in json.dumps(pod["spec"]["affinity"])


@pytest.mark.parametrize(
    ("key", "tolerated"),
    [
        ("nvidia.com/gpu", True),
        ("team-a", True),
        ("gpu-pool/starting", False),
        ("node.kubernetes.io/unschedulable", False),
        ("node.kubernetes.io/not-ready", False),
    ],
)
def test_what_a_site_taints_its_gpu_nodes_with_is_tolerated(key: str, tolerated: bool):
    node = replace(EMPTY, taints=({"key": key, "value": "x", "effect": "NoSchedule"},))
    assert [each["key"] for each in tolerate(node)] == ([key] if tolerated else [])


def test_another_image_or_taint_makes_a_hold_outdated():
    tainted = replace(EMPTY, taints=({"key": "a", "effect": "NoSchedule"},))
    stems = {stem_of(EMPTY, OLD, IMAGE), stem_of(EMPTY, OLD, "b"), stem_of(tainted, OLD, IMAGE)}
    assert len(stems) == 3


def test_another_registry_makes_them_anew(full: Site):
    want(full)
    before = set(full.holds)
    want(full, image_registry="mirror.example.org")
    assert len(full.holds) == 8
    assert not before & set(full.holds)


def test_a_long_name_of_a_node_fits_a_label():
    assert label_of("a" * 63) == "a" * 63
    assert len(label_of("a" * 64)) <= 63


def test_the_class_ends_nobodys_work():
    made = render_class()
    assert (made["value"], made["preemptionPolicy"], made["globalDefault"]) == (1, "Never", False)


def test_a_class_that_a_site_has_made_serves_and_stays(full: Site):
    theirs = {**render_class(), "value": 5000}
    theirs["metadata"] = {"name": "gpu-pool-hold"}
    full.world.api.put(theirs)
    want(full)
    assert len(full.holds) == 8
    found = full.kube().find(PRIORITY_CLASS, "gpu-pool-hold")
    assert found is not None
    assert found["value"] == 5000


def test_a_class_that_preempts_is_named_and_nothing_is_held(full: Site):
    full.world.api.put({**render_class(), "preemptionPolicy": "PreemptLowerPriority"})
    want(full)
    outcome = full.hook()
    assert full.holds == {}
    texts = [str(problem) for problem in outcome.problems]
    assert any(text.startswith("PriorityClass gpu-pool-hold: it preempts") for text in texts)


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    """A unit whose change waits for a job, with holds."""
    made = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    made.settle()
    made.site.world.run_pod("train-7", "team-a", {OLD: 1})
    made.site.world.advance(10)
    made.configure(mig_profile="all-2g.12gb")
    made.settle()
    assert list(made.site.holds.values()) == ["Pending"]
    return made


def test_the_status_names_the_job_alone(unit: Deployment):
    _, message = unit.run(unit.on.update_status())
    assert message.startswith("1 of 2 GPUs re-cut, waiting for team-a/train-7 on GPU")
    assert "hold" not in message


@pytest.mark.parametrize(("planned", "stays"), [(1, True), (0, False)], ids=["unit", "pool"])
def test_a_unit_that_goes_takes_its_holds_and_the_last_pool_the_class(
    planned: int, stays: bool, unit: Deployment
):
    unit.state = replace(unit.state, planned_units=planned)
    unit.run(unit.on.stop())
    assert unit.site.holds == {}
    assert (unit.site.kube().find(PRIORITY_CLASS, "gpu-pool-hold") is not None) == stays


def test_drain_node_passes_holds_by(unit: Deployment):
    unit.site.world.end_pod("train-7", "team-a")
    unit.site.world.advance(5)
    assert list(unit.site.holds.values()) == ["Running"]
    assert "hold" not in str(unit.act("drain-node", **{"dry-run": True}))
