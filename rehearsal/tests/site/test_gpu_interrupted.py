# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What comes in the middle of a change: pods, boots, other code, a GPU that is lost."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from rehearsal import tour
from rehearsal.site import Site

OLD, NEW = "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"
BUDGET: dict[str, Any] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "team-a"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "serve"}}},
}


def node(site: Site) -> dict[str, Any]:
    found = site.world.api.find("nodes", site.world.machine(machine(site)).hostname)
    assert found is not None
    return found


def machine(site: Site) -> str:
    return site.juju.model.units["gpu-worker/0"].machine


def is_closed(site: Site) -> bool:
    return bool(node(site)["spec"].get("unschedulable"))


def offered(site: Site) -> dict[str, int]:
    counts = node(site)["status"]["allocatable"]
    return {n: int(c) for n, c in counts.items() if n.startswith("nvidia.com/") and int(c)}


def phases(site: Site) -> dict[str, str]:
    return {
        pod["metadata"]["name"]: pod["status"].get("phase", "Pending")
        for pod in site.world.api.scan("pods")
        if pod["metadata"]["namespace"] == "team-a"
    }


def message(site: Site) -> str:
    return site.juju.model.units["gpu-worker/0"].workload.message


@pytest.fixture
def midway(lab: Site) -> Site:
    """A change that has closed the node and may not evict a pod that is in its way yet."""
    lab.world.run_pod("serve", "team-a", {OLD: 1}, controller=True)
    lab.juju.settle()
    for pod in lab.world.api.scan("pods"):
        if pod["metadata"]["namespace"] == "team-a":
            name = pod["metadata"]["name"]
            lab.world.api.edit(
                "pods", name, "team-a", lambda obj: obj["metadata"].update(labels={"app": "serve"})
            )
    lab.world.api.put(BUDGET)
    lab.juju.set_config("gpu-worker", {"mig-profile": "all-2g.12gb", "drain": "affected"})
    lab.juju.settle()
    assert is_closed(lab)
    assert message(lab).startswith("evicting team-a/serve")
    return lab


def allow(site: Site) -> None:
    """Take the budget away, and let the change end."""
    site.world.api.delete("poddisruptionbudgets.policy", "keep", "team-a")
    site.juju.advance(120)
    site.juju.settle()


def assert_changed(site: Site) -> None:
    assert message(site) == "all-2g.12gb: 4 x mig-2g.12gb"
    assert offered(site) == {NEW: 4}
    assert not is_closed(site)
    assert "gpu-pool/cordoned-by" not in (node(site)["metadata"].get("annotations") or {})


def test_a_change_that_waits_goes_on_when_it_may(midway: Site):
    allow(midway)
    assert_changed(midway)


def test_a_reboot_in_the_middle(midway: Site):
    midway.juju.reboot(machine(midway))
    midway.juju.advance(300)
    midway.juju.settle()
    allow(midway)
    assert_changed(midway)


def test_a_power_loss_in_the_middle_with_the_agent_ten_minutes_late(midway: Site):
    midway.world.power_loss(machine(midway), off=60, kubelet_after=30, agent_after=630)
    midway.juju.settle()
    midway.juju.advance(200)
    assert offered(midway) == {OLD: 8}, "the boot service has restored what was there"
    midway.juju.advance(700)
    allow(midway)
    assert_changed(midway)


def older(folder: Path) -> Path:
    """Return a copy of the charm as it was before it remembered refusals and reboots."""
    charm = folder / "gpu-worker"
    shutil.copytree(tour.ROOT / "charms" / "gpu-worker", charm)
    progress = charm / "src" / "progress.py"
    now = "_FIELDS = frozenset(field.name for field in fields(Progress))"
    text = progress.read_text()
    assert now in text
    progress.write_text(text.replace(now, f'{now} - {{"refusal", "stuck", "rebooted", "boot"}}'))
    return charm


def test_a_refresh_and_a_revert_in_the_middle(midway: Site, tmp_path: Path):
    midway.juju.refresh("gpu-worker", older(tmp_path))
    midway.juju.settle()
    assert is_closed(midway)
    midway.juju.refresh("gpu-worker", tour.ROOT / "charms" / "gpu-worker")
    midway.juju.settle()
    assert is_closed(midway)
    allow(midway)
    assert_changed(midway)


def test_an_older_charm_finishes_what_a_newer_one_began(midway: Site, tmp_path: Path):
    midway.juju.refresh("gpu-worker", older(tmp_path))
    midway.juju.settle()
    allow(midway)
    assert_changed(midway)


def test_a_layout_taken_back_in_the_middle_leaves_all_as_it_was(midway: Site):
    before = [gpu.devices for gpu in midway.world.machine(machine(midway)).gpus.read()]
    midway.juju.set_config("gpu-worker", {"mig-profile": "all-1g.6gb"})
    midway.juju.settle()
    assert message(midway) == "all-1g.6gb: 8 x mig-1g.6gb"
    assert not is_closed(midway)
    after = [gpu.devices for gpu in midway.world.machine(machine(midway)).gpus.read()]
    assert after == before
    assert phases(midway)["serve"] == "Running"


def test_h06_a_gpu_lost_in_the_middle_leaves_the_other_on_offer(midway: Site):
    midway.world.machine(machine(midway)).gpus.lose(1)
    midway.juju.settle()
    allow(midway)
    assert offered(midway) == {NEW: 2}
    assert message(midway).startswith("1 of 2 GPUs: GPU 1 (")
    assert not is_closed(midway)


def test_pods_that_come_at_every_moment_of_a_change_never_lose_their_devices(lab: Site):
    """One pod for each line of the log, whatever happens then, until the node has changed."""
    started: list[str] = []

    def start(_: str) -> None:
        if len(started) < 24:
            started.append(f"at-{len(started):02}")
            resource = (OLD, NEW)[len(started) % 2]
            lab.world.run_pod(started[-1], "team-a", {resource: 1})

    lab.juju.observe(start)
    for profile in ("all-2g.12gb", "all-1g.6gb", "all-2g.12gb"):
        lab.juju.set_config("gpu-worker", {"mig-profile": profile})
        lab.juju.settle()
        lab.juju.advance(60)
    assert len(started) > 8
    found = phases(lab)
    assert "Failed" not in found.values()
    assert sum(phase == "Running" for phase in found.values()) >= 4
    for name in started:
        lab.world.end_pod(name, "team-a")
    lab.juju.advance(120)
    lab.juju.settle()
    assert_changed(lab)
