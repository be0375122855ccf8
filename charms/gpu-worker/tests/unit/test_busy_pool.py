# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A machine that is full while it is re-cut: GPU by GPU as jobs end, and new jobs arrive."""

from pathlib import Path

from gpusite import Site

from charmkit.kinds import NODE

WHOLE, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"


def full(folder: Path) -> Site:
    """Return a DGX on which a job holds each of eight whole GPUs."""
    site = Site(folder, "dgx-a100-40")
    site.options = {"mig_profile": "all-disabled"}
    site.settle()
    for number in range(8):
        site.world.run_pod(f"train-{number}", "team-a", {WHOLE: 1})
    site.world.advance(10)
    return site


def cut(site: Site) -> int:
    return sum(gpu.mig_current for gpu in site.machine.gpus.read())


def running(site: Site) -> int:
    pods = [pod for pod in site.world.api.scan("pods") if pod["metadata"]["namespace"] == "team-b"]
    return sum(pod["status"]["phase"] == "Running" for pod in pods)


def test_gpus_follow_one_by_one_as_jobs_end_and_new_jobs_use_them_at_once(tmp_path: Path):
    site = full(tmp_path)
    for number in range(20):
        site.world.run_pod(f"small-{number}", "team-b", {SLICE: 1})
    site.options = {"mig_profile": "all-1g.5gb"}
    site.settle()
    assert cut(site) == 0
    for number in range(8):
        site.world.end_pod(f"train-{number}", "team-a")
        site.world.advance(5)
        began = site.world.now
        site.settle()
        assert site.world.now - began <= 60
        assert cut(site) == number + 1
        site.assert_in_service() if number == 7 else site.assert_never_wrong()
        site.world.advance(10)
        assert running(site) == min(20, 7 * (number + 1))
    assert site.allocatable == {SLICE: 56}


def test_under_an_admins_cordon_a_full_queue_for_the_old_resource_takes_nothing(tmp_path: Path):
    site = full(tmp_path)
    for number in range(8):
        site.world.run_pod(f"next-{number}", "team-b", {WHOLE: 1})
    site.kube().patch(NODE, "dgx-1", {"spec": {"unschedulable": True}})
    site.options = {"mig_profile": "all-1g.5gb"}
    site.settle()
    for number in range(8):
        site.world.end_pod(f"train-{number}", "team-a")
        site.world.advance(5)
        site.settle()
        assert cut(site) == number + 1
    assert running(site) == 0
    assert site.cordon == (True, "")
    site.assert_never_wrong()


def test_without_it_each_gpu_is_cut_when_its_job_ends_all_the_same(tmp_path: Path):
    site = full(tmp_path)
    for number in range(8):
        site.world.run_pod(f"next-{number}", "team-b", {WHOLE: 1})
    site.options = {"mig_profile": "all-1g.5gb"}
    site.settle()
    for number in range(8):
        site.world.end_pod(f"train-{number}", "team-a")
        site.world.advance(5)
        began = site.world.now
        site.settle()
        assert site.world.now - began <= 60
        assert cut(site) == number + 1
    assert running(site) == 0
    assert site.allocatable == {SLICE: 56}
    site.assert_in_service()
