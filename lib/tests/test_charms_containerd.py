# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import pytest

from standins.charms.containerd import SOURCES, Charm
from standins.cluster.sandboxes import CONTAINERD, Runtimes
from standins.units import Event, RelationView, UnitView
from standins.world import World

CHANGED = Event("config-changed")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.add_machine("0", "cpu", "cpu-0", "10.0.0.2")
    made.add_machine("4", "dgx-a100-40", "dgx-4", "10.0.0.14")
    return made


def unit(machine: str = "4", **config: Any) -> UnitView:
    return UnitView(
        name="containerd-gpu/0",
        application="containerd-gpu",
        machine=machine,
        principal="dgx/0",
        config=config,
        relations=[RelationView(1, "containerd", "container-runtime", "dgx", scope="container")],
    )


def handle(world: World, view: UnitView) -> UnitView:
    Charm().handle(CHANGED, view, world)
    return view


def test_the_runtime_option_names_the_default_and_installs_nothing(world: World) -> None:
    view = handle(world, unit(gpu_driver="none", runtime="nvidia-container-runtime"))
    host = world.machine("4").host
    runtimes = Runtimes.read(host.files)
    assert runtimes.default == "nvidia-container-runtime"
    assert runtimes.binaries["nvidia-container-runtime"] == "/usr/bin/nvidia-container-runtime"
    assert runtimes.is_nvidia("")
    assert not runtimes.is_nvidia("runc")
    assert view.status == ("active", "Container runtime available")
    assert not [name for name in host.packages.installed() if "nvidia" in name]


def test_without_a_driver_the_default_is_plain_runc(world: World) -> None:
    handle(world, unit(gpu_driver="none"))
    text = world.machine("4").host.files.read_text(CONTAINERD)
    assert 'default_runtime_name = "runc"' in text
    assert "imports" not in text


def test_the_bag_holds_json_values(world: World) -> None:
    view = handle(world, unit(gpu_driver="none", runtime="nvidia-container-runtime"))
    assert view.relations[0].local_unit == {
        "socket": '"unix:///var/run/containerd/containerd.sock"',
        "runtime": '"nvidia-container-runtime"',
        "nvidia_enabled": "false",
    }


def test_auto_does_nothing_on_a_machine_without_gpus(world: World) -> None:
    view = handle(world, unit(machine="0"))
    assert view.relations[0].local_unit["nvidia_enabled"] == "false"
    assert not world.machine("0").host.files.exists(SOURCES)


def test_auto_on_a_gpu_machine_leaves_what_a_driver_charm_must_detect(world: World) -> None:
    view = handle(world, unit())
    host = world.machine("4").host
    assert host.files.exists(SOURCES)
    assert {"cuda-drivers", "nvidia-container-runtime"} <= host.packages.held()
    assert Runtimes.read(host.files).default == "nvidia-container-runtime"
    assert view.relations[0].local_unit["nvidia_enabled"] == "true"
    assert view.status == ("active", "Container runtime available")


@pytest.mark.parametrize(
    ("config", "status"),
    [
        pytest.param(
            {"gpu_driver": "yes"}, "yes is an invalid option for gpu_driver", id="driver"
        ),
        pytest.param(
            {"nvidia_apt_packages": ""}, "No NVIDIA packages selected to install.", id="packages"
        ),
    ],
)
def test_bad_options_block_in_its_own_words(
    world: World, config: dict[str, str], status: str
) -> None:
    assert handle(world, unit(**config)).status == ("blocked", status)


def test_going_from_auto_to_none_purges_every_nvidia_package(world: World) -> None:
    handle(world, unit())
    host = world.machine("4").host
    names = ["nvidia-utils-580-server"]
    host.packages.install(host.packages.candidates(names))
    handle(world, unit(gpu_driver="none"))
    assert not [name for name in host.packages.installed() if name.startswith("nvidia-")]
    assert not host.files.exists(SOURCES)


def test_a_driver_of_another_charm_survives_none_from_the_first_day(world: World) -> None:
    host = world.machine("4").host
    host.packages.install(host.packages.candidates(["nvidia-utils-580-server"]))
    handle(world, unit(gpu_driver="none", runtime="nvidia-container-runtime"))
    assert "nvidia-utils-580-server" in host.packages.installed()
