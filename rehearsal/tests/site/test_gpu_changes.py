# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPUs of a whole site change while people use them: charms, leases and cluster together."""

from rehearsal import tour
from rehearsal.cli import looking
from rehearsal.site import Site

SLICE = "nvidia.com/mig-1g.5gb"


def nodes_closed(site: Site) -> int:
    return sum(bool(node["spec"].get("unschedulable")) for node in site.world.api.scan("nodes"))


def allocatable(site: Site, unit: str, resource: str) -> int:
    return tour.Tour(site).allocatable(unit, resource)


def statuses(site: Site, application: str) -> set[str]:
    return {unit.workload.current for unit in site.juju.model.units_of(application)}


def test_three_machines_change_one_after_the_other(site: Site):
    most = [0]
    site.juju.observe(lambda _: most.append(nodes_closed(site)))
    site.juju.set_config("gpu-worker", {"mig-profile": "all-1g.5gb"})
    site.juju.settle()
    counts = [allocatable(site, f"dgx/{number}", SLICE) for number in range(3)]
    assert counts == [56, 56, 56]
    assert max(most) == 1
    assert nodes_closed(site) == 0
    assert statuses(site, "gpu-worker") == {"active"}


def test_a_three_week_job_on_gpu_0_sees_four_layouts_of_the_other_seven(site: Site):
    machine = site.juju.model.units["dgx-mig/0"].machine
    site.world.run_pod("train-7", "team-a", {SLICE: 1})
    site.juju.settle()
    began = site.world.now
    (held,) = looking.users_of(site.world.machine(machine))
    for profile in ("2g.10gb", "3g.20gb", "7g.40gb", "1g.5gb"):
        site.juju.set_config("gpu-worker-mig", {"mig-profile": f"all-{profile}"})
        site.juju.settle()
        site.juju.advance(5.25 * 86400)
        gpus = site.world.machine(machine).gpus.read()
        assert held in gpus[0].devices
        assert {each.profile for gpu in gpus[1:] for each in gpu.instances} == {profile}
        assert nodes_closed(site) == 0
    (pod,) = [p for p in site.world.api.scan("pods") if p["metadata"]["name"] == "train-7"]
    assert pod["status"]["phase"] == "Running"
    assert site.world.now - began >= 21 * 86400


def test_power_that_fails_in_the_middle_of_a_change(site: Site):
    machine = site.juju.model.units["dgx-mig/0"].machine
    lost: list[float] = []

    def cut_power(_: str) -> None:
        if nodes_closed(site) and not lost:
            lost.append(site.world.now)
            site.world.power_loss(machine, off=120, kubelet_after=30, agent_after=630)

    site.juju.observe(cut_power)
    site.juju.set_config("gpu-worker-mig", {"mig-profile": "all-2g.10gb"})
    site.juju.settle()
    assert lost
    site.juju.advance(900)
    site.juju.settle()
    assert allocatable(site, "dgx-mig/0", "nvidia.com/mig-2g.10gb") == 24
    assert nodes_closed(site) == 0


def test_a_label_chooses_the_layout_of_one_machine_within_seconds(site: Site):
    node = tour.Tour(site).node_of("dgx-mig/0")
    began = site.world.now
    site.world.api.edit(
        "nodes",
        node,
        "",
        lambda obj: obj["metadata"]["labels"].update({"nvidia.com/mig.config": "all-2g.10gb"}),
    )
    while allocatable(site, "dgx-mig/0", "nvidia.com/mig-2g.10gb") != 24:
        assert site.world.now - began < 60
        site.juju.advance(5)
    (unit,) = site.juju.model.units_of("gpu-worker-mig")
    assert unit.workload.message.startswith("all-2g.10gb by node label (option: all-1g.5gb)")
