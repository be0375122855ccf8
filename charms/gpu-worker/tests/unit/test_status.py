# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every status with its text, and the README's table of them."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, POOL, Site
from gpuunit import ROOT, Deployment

from charmkit import kinds
from charmkit.errors import MESSAGE_LIMIT
from charmkit.gpudriver import Want, WantKind
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, Traits

Arrange = Callable[[Deployment], Any]


def rows() -> list[tuple[str, str]]:
    """Return status and message of each row of the README's table."""
    text = (ROOT / "README.md").read_text()
    return re.findall(r"^\| (active|blocked|waiting) \| `([^`]+)` \|", text, re.MULTILINE)


def matches(row: tuple[str, str], status: tuple[str, str]) -> bool:
    pattern = ".+".join(map(re.escape, row[1].split("…")))
    return row[0] == status[0] and re.fullmatch(pattern, status[1], re.DOTALL) is not None


def configure(**options: Any) -> Arrange:
    return lambda unit: unit.configure(**options)


def job(unit: Deployment) -> None:
    unit.site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-1g.6gb": 1})
    unit.site.world.advance(10)


def busy(**options: Any) -> Arrange:
    def arrange(unit: Deployment) -> None:
        job(unit)
        unit.configure(**options)

    return arrange


def foreign_pod(unit: Deployment) -> None:
    unit.site.world.api.put(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "mig",
                "namespace": "kube-system",
                "labels": {"app": "nvidia-mig-manager"},
            },
            "spec": {"nodeName": NODE, "containers": [{"name": "c", "image": "x"}]},
            "status": {"phase": "Pending"},
        }
    )


def foreign_service(unit: Deployment) -> None:
    path = "/etc/systemd/system/nvidia-mig-manager.service"
    unit.site.files.ensure_text(path, "[Unit]\n")


def want(kind: WantKind, *, beside_job: bool = False) -> Arrange:
    def arrange(unit: Deployment) -> None:
        if beside_job:
            job(unit)
        unit.set_driver(replace(unit.site.driver, want=Want("w", kind, "driver 580")))

    return arrange


def without_leave(unit: Deployment) -> None:
    unit.state = replace(unit.state, leader=False)
    unit.configure(mig_profile="all-2g.12gb")


def stopping(unit: Deployment) -> None:
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())


def unready(unit: Deployment) -> None:
    unit.set_driver(Site.ready_driver(ready=False, reason="driver 580 is building"))


def gone_driver(unit: Deployment) -> None:
    unit.site.machine.gpus.set_driver(loaded="")


def no_credentials(unit: Deployment) -> None:
    unit.put(replace(unit.relation("kube-control"), remote_units_data={0: {}}))
    unit.site.files.ensure_absent(f"/var/lib/{POOL}/access.json")


def no_cluster(unit: Deployment) -> None:
    unit.drop("kube-control")
    unit.site.files.ensure_absent(f"/var/lib/{POOL}/access.json")


def no_node(unit: Deployment) -> None:
    unit.site.world.api.delete("nodes", NODE)


def no_partner(unit: Deployment) -> None:
    unit.put(replace(unit.relation("gpu-driver"), remote_units_data={0: {}}))


def lost_gpu(unit: Deployment) -> None:
    unit.site.machine.gpus.lose(1)


LAYOUT = "version: v1\nmig-configs:\n  x: [{devices: [7], mig-enabled: false}]\n"


def label(value: str) -> Arrange:
    def arrange(unit: Deployment) -> None:
        unit.site.world.api.edit(
            "nodes",
            NODE,
            "",
            lambda node: node["metadata"]["labels"].update({"nvidia.com/mig.config": value}),
        )

    return arrange


def action_that_nobody_knows(unit: Deployment) -> None:
    layouts = "version: v1\nmig-configs:\n  gone: [{devices: all, mig-enabled: true, "
    unit.configure(mig_layouts=layouts + "mig-devices: {1g.6gb: 4}}]\n")
    unit.act("set-mig-profile", profile="gone")
    unit.configure(mig_layouts="")


CASES: dict[str, tuple[Arrange, str, str]] = {
    "in service": (configure(), "active", "all-1g.6gb: 8 x mig-1g.6gb"),
    "bad layout name": (
        configure(mig_profile="a b"),
        "blocked",
        "mig-profile: 'a b' is no name of a layout, as in all-1g.5gb",
    ),
    "bad drain": (
        configure(drain="force"),
        "blocked",
        "drain: must be idle, affected, node or never, not 'force'",
    ),
    "no driver": (
        lambda unit: unit.drop("gpu-driver"),
        "blocked",
        "integrate gpu-driver to continue",
    ),
    "no cluster": (no_cluster, "blocked", "integrate kube-control to continue"),
    "unknown layout": (
        configure(mig_profile="all-enable"),
        "blocked",
        "mig-profile: unknown layout 'all-enable', known: all-enabled, …",
    ),
    "a label's layout": (
        label("all-9g.9gb"),
        "blocked",
        (
            "node label nvidia.com/mig.config: GPU 0 (A30) has no profile 9g.9gb; "
            "choose 1g.6gb, 2g.12gb, 4g.24gb"
        ),
    ),
    "an action's layout": (
        action_that_nobody_knows,
        "blocked",
        "action set-mig-profile: unknown layout 'gone', known: all-disabled, …",
    ),
    "another board's profile": (
        configure(mig_profile="all-1g.5gb"),
        "blocked",
        "mig-profile: GPU 0 (A30) has no profile 1g.5gb; choose 1g.6gb, 2g.12gb, 4g.24gb",
    ),
    "m11 another machine's layout": (
        configure(mig_layouts=LAYOUT, mig_profile="x"),
        "blocked",
        "mig-profile: layout x names GPU 7, node has 0-1",
    ),
    "foreign pod": (
        foreign_pod,
        "blocked",
        "kube-system/mig: NVIDIA's mig-manager runs on this node, keep one of the two",
    ),
    "foreign service": (
        foreign_service,
        "blocked",
        "nvidia-mig-manager.service re-cuts GPUs too, remove its package",
    ),
    "unknown step": (
        want(WantKind.UNKNOWN),
        "blocked",
        "gpu-driver asks for an unknown step, refresh this charm",
    ),
    "lost GPU": (
        lost_gpu,
        "blocked",
        "1 of 2 GPUs: GPU 1 (0000:ca:00.0) has fallen off the bus; power-cycle the machine",
    ),
    "no partner": (
        no_partner,
        "waiting",
        "gpu-driver: waiting for the driver of machine 1",
    ),
    "driver not ready": (unready, "waiting", "gpu-driver: driver 580 is building"),
    "driver gone": (gone_driver, "waiting", "GPU driver: kernel module nvidia is not loaded"),
    "no credentials": (
        no_credentials,
        "waiting",
        "kube-control: waiting for api-endpoints, creds",
    ),
    "no node": (no_node, "waiting", "node dgx-1: not registered with the cluster yet"),
    "no leave": (
        without_leave,
        "waiting",
        "waiting for leave to close the node (option max-unavailable)",
    ),
    "plugin stops": (stopping, "waiting", "waiting for the device plugin to stop on this node"),
    "busy": (
        busy(mig_profile="all-4g.24gb"),
        "waiting",
        "1 of 2 GPUs re-cut, waiting for team-a/train-7 on GPU …",
    ),
    "never": (
        busy(mig_profile="all-4g.24gb", drain="never"),
        "waiting",
        "drain is never: waiting for team-a/train-7",
    ),
    "strategy": (
        configure(mig_profile="all-balanced", mig_strategy="single"),
        "blocked",
        "mig-strategy: single needs one profile on all GPUs; layout has 2",
    ),
    "strategy, busy": (
        busy(mig_profile="all-4g.24gb", mig_strategy="single"),
        "waiting",
        "1 of 2 GPUs re-cut, waiting for team-a/train-7 on GPU …",
    ),
    "driver wants, busy": (
        want(WantKind.REBOOT, beside_job=True),
        "waiting",
        "driver wants reboot: waiting for team-a/train-7",
    ),
    "driver wants, idle": (
        want(WantKind.REBOOT),
        "waiting",
        "node closed for the driver: driver 580",
    ),
}


PENDING = "GPU 0: MIG mode change pending"


def arranged(folder: Path, name: str) -> Deployment:
    unit = Deployment(Site(folder, plugin=False), mig_profile="all-1g.6gb")
    unit.settle()
    CASES[name][0](unit)
    if name == "plugin stops":
        unit.run(unit.on.update_status())
    else:
        unit.settle()
    return unit


@pytest.mark.parametrize("name", CASES)
def test_the_status_says_what_is_wrong_and_stands_in_the_readme(name: str, tmp_path: Path):
    status = arranged(tmp_path, name).status
    _, kind, message = CASES[name]
    assert matches((kind, message), status), status
    assert any(matches(row, status) for row in rows()), status
    assert len(status[1]) <= MESSAGE_LIMIT


def test_a_first_boot_waits_for_whoever_holds_a_gpu(tmp_path: Path):
    site = Site(tmp_path, plugin=False)
    site.machine.gpus.add_holder("nvidia-dcgm")
    unit = Deployment(site, mig_profile="all-1g.6gb")
    status = unit.run(unit.on.config_changed())
    assert status[1].startswith(f"{PENDING}, ")
    assert any(matches(row, status) for row in rows())


def test_m17_a_guest_that_cannot_reset_says_so(tmp_path: Path):
    site = Site(tmp_path, plugin=False)
    site.machine.gpus.set_traits(Traits(virtual=True, reset="unsupported"))
    unit = Deployment(site, mig_profile="all-1g.6gb")
    status = unit.run(unit.on.config_changed())
    assert status == ("blocked", f"{PENDING}, reboot needed; reboot=when-needed allows it")
    unit.settle()
    assert site.allocatable == {"nvidia.com/gpu": 2}


def test_m23_a_card_that_refuses_mig_while_it_drives_displays_is_told_what_it_lacks(
    tmp_path: Path,
):
    site = Site(tmp_path, plugin=False)
    gpus = site.machine.gpus
    addresses = [gpu.pci for gpu in gpus.read()]
    GpuModel.create(gpus.path, "rtxpro6000-96gb", 2, addresses=addresses)
    gpus.fault("nvmlDeviceSetMigMode", Code.NOT_SUPPORTED)
    unit = Deployment(site, mig_profile="all-1g.24gb.gfx")
    status = unit.settle()
    product = "RTX PRO 6000 Blackwell Server Edition"
    text = f"GPU 0 ({product}) must be switched to compute mode before MIG"
    assert status == ("blocked", text)
    assert any(matches(row, status) for row in rows() if row[1] != "…: …")
    assert site.allocatable == {"nvidia.com/gpu": 2}
    gpus.clear_faults()
    unit.act("set-mig-profile", profile="")
    assert unit.settle() == ("active", "all-1g.24gb.gfx: 8 x mig-1g.24gb.gfx")


def test_first_the_node_then_the_plugin_is_waited_for(tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    status = unit.run(unit.on.config_changed())
    assert status == ("waiting", "waiting for the node to advertise 8 x mig-1g.6gb, it has 0")
    assert any(matches(row, status) for row in rows())


@pytest.mark.parametrize("name", ["bad drain", "foreign pod", "busy"])
def test_an_action_leaves_the_status_as_it_is(name: str, tmp_path: Path):
    unit = arranged(tmp_path, name)
    before = unit.status
    unit.act("show-gpus")
    assert unit.status == before


def test_after_a_bad_value_the_old_layout_is_still_there(tmp_path: Path):
    unit = arranged(tmp_path, "bad layout name")
    assert unit.site.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    unit.configure(mig_profile="all-1g.6gb")
    assert unit.settle()[0] == "active"
    unit.site.assert_in_service()


def test_d01_labels_show_that_a_change_failed(tmp_path: Path):
    unit = arranged(tmp_path, "unknown layout")
    found = unit.site.kube().find(kinds.NODE, NODE)
    assert found is not None
    assert found["metadata"]["labels"]["nvidia.com/mig.config.state"] == "failed"
