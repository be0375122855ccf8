# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A full pool changes as its jobs end, whatever its queue asks for; how long that takes."""

import sys
from typing import Any

import pytest

from rehearsal.cli import looking
from rehearsal.site import Site

OLD, NEW = "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"
JOB_SECONDS = 600.0
CLOSED_SECONDS = 60.0
"""How long the node is closed for one re-cut, at most: look, hook, plugin away and back."""


def machine_of(site: Site) -> Any:
    return site.world.machine(site.juju.model.units["gpu-worker/0"].machine)


def pods(site: Site, prefix: str, phase: str = "Running") -> list[str]:
    return sorted(
        pod["metadata"]["name"]
        for pod in site.world.api.scan("pods")
        if pod["metadata"]["name"].startswith(prefix) and pod["status"].get("phase") == phase
    )


def node(site: Site) -> dict[str, Any]:
    found = site.world.api.find("nodes", machine_of(site).hostname)
    assert found is not None
    return found


def offered(site: Site) -> dict[str, int]:
    counts = node(site)["status"]["allocatable"]
    return {n: int(c) for n, c in counts.items() if n.startswith("nvidia.com/") and int(c)}


def cuts(site: Site) -> list[list[str]]:
    return [sorted(each.profile for each in gpu.instances) for gpu in machine_of(site).gpus.read()]


def fill(site: Site) -> list[str]:
    """Let eight jobs take the eight slices; return their names, those of GPU 0 first."""
    for number in range(8):
        site.world.run_pod(f"old-{number}", "team-a", {OLD: 1})
    site.juju.settle()
    users = looking.users_of(machine_of(site))
    devices = [uuid for gpu in machine_of(site).gpus.read() for uuid in gpu.devices]
    assert len(users) == 8
    return [users[uuid].partition("/")[2] for uuid in devices]


def end(site: Site, name: str) -> None:
    """Let a job run for its time, end it, and let what follows from it happen."""
    site.juju.advance(JOB_SECONDS)
    site.world.end_pod(name, "team-a")
    site.juju.settle()


def want(site: Site, **options: str) -> None:
    site.juju.set_config("gpu-worker", {"mig-profile": "all-2g.12gb", **options})
    site.juju.settle()


def test_a_gpu_is_recut_slice_by_slice_while_jobs_for_the_new_slices_keep_arriving(lab: Site):
    names = fill(lab)
    began = lab.world.now
    want(lab)
    assert offered(lab) == {OLD: 8}
    assert not node(lab)["spec"].get("unschedulable")
    halves = []
    for number, name in enumerate(names):
        lab.world.run_pod(f"new-{number}", "team-a", {NEW: 1})
        end(lab, name)
        halves.append(sum(profile == "2g.12gb" for gpu in cuts(lab) for profile in gpu))
        assert len(pods(lab, "old-")) == 7 - number
        assert len(pods(lab, "new-")) == min(number + 1, halves[-1])
    assert halves == [0, 1, 1, 2, 2, 3, 3, 4]
    assert offered(lab) == {NEW: 4}
    assert lab.world.now - began <= len(names) * (JOB_SECONDS + CLOSED_SECONDS)


def test_without_a_queue_for_the_old_slices_the_bound_is_the_longest_job_that_runs(lab: Site):
    names = fill(lab)
    want(lab)
    for name in names[:-1]:
        lab.world.end_pod(name, "team-a")
    lab.juju.settle()
    assert offered(lab) == {OLD: 1, NEW: 3}
    ended = lab.world.now
    lab.world.end_pod(names[-1], "team-a")
    lab.juju.settle()
    assert offered(lab) == {NEW: 4}
    assert lab.world.now - ended <= CLOSED_SECONDS


def test_slices_that_must_go_and_are_free_are_never_given_away_again(lab: Site):
    names = fill(lab)
    for name in names[:2]:
        lab.world.end_pod(name, "team-a")
    lab.juju.settle()
    want(lab)
    for number in range(4):
        lab.world.run_pod(f"late-{number}", "team-a", {OLD: 1})
    lab.juju.settle()
    assert pods(lab, "late-") == []
    assert offered(lab) == {OLD: 6, NEW: 1}


@pytest.fixture
def queued(lab: Site) -> Site:
    """A full pool, a queue of twelve jobs for its old slices, and another layout asked for."""
    fill(lab)
    for number in range(12):
        lab.world.run_pod(f"next-{number:02}", "team-a", {OLD: 1})
    want(lab)
    return lab


def print_times(what: str, times: list[float]) -> None:
    """Say how long after each end the node was open again with what it had by then."""
    seconds = ", ".join(f"{each:.0f}" for each in times)
    sys.stdout.write(f"{what}: {len(times)} ends, then open again after {seconds} s\n")


def test_a_standing_queue_for_the_old_slices_gets_none_of_those_that_go(queued: Site):
    """The bound is the longest job that runs at the request, and a minute."""
    began, times = queued.world.now, []
    assert len(pods(queued, "hold-", "Pending")) == 8
    assert not node(queued)["spec"].get("unschedulable")
    for number in range(8):
        queued.world.run_pod(f"more-{number}", "team-a", {OLD: 1})
        queued.juju.advance(JOB_SECONDS)
        ended = queued.world.now
        queued.world.end_pod(f"old-{number}", "team-a")
        queued.juju.settle()
        times.append(queued.world.now - ended)
        assert len(pods(queued, "old-")) == 7 - number
        assert len(pods(queued, "hold-", "Pending")) == 7 - number
        assert pods(queued, "next-") + pods(queued, "more-") + pods(queued, "hold-") == []
    assert offered(queued) == {NEW: 4}
    print_times("eight slices one by one", times)
    assert max(times) <= CLOSED_SECONDS
    assert queued.world.now - began <= 8 * JOB_SECONDS + sum(times)
    assert not node(queued)["spec"].get("unschedulable")


def test_jobs_of_one_length_that_all_end_are_all_followed_at_once(queued: Site):
    queued.juju.advance(JOB_SECONDS)
    for number in range(8):
        queued.world.end_pod(f"old-{number}", "team-a")
    ended = queued.world.now
    queued.juju.settle()
    print_times("eight slices at once", [queued.world.now - ended])
    assert offered(queued) == {NEW: 4}
    assert pods(queued, "next-") == []
    assert queued.world.now - ended <= CLOSED_SECONDS


def test_the_queue_goes_on_when_the_change_is_taken_back(queued: Site):
    queued.juju.set_config("gpu-worker", {"mig-profile": "all-1g.6gb"})
    queued.juju.settle()
    assert pods(queued, "hold-", "Pending") == []
    queued.world.end_pod("old-0", "team-a")
    queued.juju.settle()
    queued.juju.advance(10)
    assert pods(queued, "next-") == ["next-00"]


def test_whole_gpus_go_too_while_a_queue_for_whole_gpus_stands(lab: Site):
    whole = "nvidia.com/gpu"
    lab.juju.set_config("gpu-worker", {"mig-profile": "all-disabled"})
    lab.juju.settle()
    for number in range(2):
        lab.world.run_pod(f"old-{number}", "team-a", {whole: 1})
    lab.juju.settle()
    for number in range(6):
        lab.world.run_pod(f"next-{number}", "team-a", {whole: 1})
    want(lab)
    times = []
    for number in range(2):
        lab.juju.advance(JOB_SECONDS)
        ended = lab.world.now
        lab.world.end_pod(f"old-{number}", "team-a")
        lab.juju.settle()
        times.append(lab.world.now - ended)
        assert offered(lab).get(NEW) == 2 * (number + 1)
    print_times("two whole GPUs", times)
    assert pods(lab, "next-") + pods(lab, "hold-") + pods(lab, "hold-", "Pending") == []
    assert max(times) <= CLOSED_SECONDS


def test_a_unit_that_goes_takes_its_holds_with_it(queued: Site):
    queued.juju.remove_application("gpu-worker")
    queued.juju.settle()
    assert pods(queued, "hold-") + pods(queued, "hold-", "Pending") == []
    classes = queued.world.api.scan("priorityclasses.scheduling.k8s.io")
    assert [each["metadata"]["name"] for each in classes] == []


def test_with_an_admins_cordon_the_bound_is_the_longest_job_that_runs(queued: Site):
    name = machine_of(queued).hostname
    queued.world.api.edit("nodes", name, "", lambda obj: obj["spec"].update(unschedulable=True))
    queued.juju.settle()
    began = queued.world.now
    for number in range(8):
        end(queued, f"old-{number}")
    assert pods(queued, "next-") == []
    assert offered(queued) == {NEW: 4}
    assert queued.world.now - began <= 8 * (JOB_SECONDS + CLOSED_SECONDS)
    assert node(queued)["spec"]["unschedulable"]
    assert "gpu-pool/cordoned-by" not in (node(queued)["metadata"].get("annotations") or {})


def test_with_drain_affected_the_bound_is_the_grace_period(queued: Site):
    began = queued.world.now
    want(queued, **{"drain": "affected", "evict-bare-pods": "true"})
    queued.juju.advance(120)
    queued.juju.settle()
    assert offered(queued) == {NEW: 4}
    assert queued.world.now - began <= 180
    assert not node(queued)["spec"].get("unschedulable")
