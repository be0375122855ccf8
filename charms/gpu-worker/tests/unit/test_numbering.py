# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A GPU that is gone keeps its number until a person says that it was taken out."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gpusite import POOL, UNIT, KilledError, Site
from gpuunit import Deployment
from ops import testing

import boot
from gate import Store
from gpu import Fault
from numbering import Known, add_gone, forget, number, remember

GONE = "is gone from the bus; power-cycle the machine, or run forget-gpus"


@pytest.fixture
def eight(gpus_of) -> tuple[Any, ...]:
    return gpus_of("a100-80gb", 8)


def known_of(gpus) -> tuple[Known, ...]:
    return remember((), gpus, ())


def seen_without(gpus, *gone: int):
    """Return GPUs as a bus without some of them numbers them."""
    left = [gpu for gpu in gpus if gpu.index not in gone]
    return number(left, {}, [gpu.address for gpu in left])


@pytest.mark.parametrize("gone", [(0,), (3,), (7,), (2, 5)], ids=str)
def test_h06_a_gpu_that_a_boot_did_not_find_keeps_its_number(eight, gone: tuple[int, ...]):
    known = known_of(eight)
    gpus, faults = add_gone(*seen_without(eight, *gone), known)
    assert [gpu.index for gpu in gpus] == [n for n in range(8) if n not in gone]
    assert [gpu.address for gpu in gpus] == [g.address for g in eight if g.index not in gone]
    assert [str(each) for each in faults] == [f"GPU {n} ({eight[n].address}) {GONE}" for n in gone]
    assert remember(known, gpus, faults) == known


def test_h06_one_that_is_lost_and_one_that_is_gone_are_told_apart(eight):
    left = [gpu for gpu in eight if gpu.index not in (1, 4)]
    on_the_bus = [gpu.address for gpu in eight if gpu.index != 4]
    gpus, faults = add_gone(*number(left, {}, on_the_bus), known_of(eight))
    assert [(fault.index, fault.reason.split()[1]) for fault in faults] == [(1, "on"), (4, "gone")]
    assert [gpu.index for gpu in gpus] == [0, 2, 3, 5, 6, 7]
    assert remember(known_of(eight), gpus, faults) == known_of(eight)


def test_a_board_that_was_replaced_is_not_missed(eight):
    other = replace(eight[3], uuid="GPU-new")
    there = (*eight[:3], other, *eight[4:])
    gpus, faults = add_gone(*number(there, {}, ()), known_of(eight))
    assert (gpus, faults) == (there, ())
    assert Known(other.address, "GPU-new") in remember(known_of(eight), gpus, faults)
    assert len(remember(known_of(eight), gpus, faults)) == 8


def test_a_board_that_was_added_is_not_missed(eight):
    gpus, faults = add_gone(*number(eight, {}, ()), known_of(eight[:7]))
    assert (gpus, faults) == (eight, ())


def moved(gpu, by: str = "1"):
    return replace(gpu, address=f"000{by}{gpu.address[4:]}")


def test_a_bus_that_numbers_anew_misses_nobody(eight):
    there = tuple(moved(gpu) for gpu in eight)
    gpus, faults = add_gone(*number(there, {}, ()), known_of(eight))
    assert (gpus, faults) == (there, ())
    assert remember(known_of(eight), gpus, faults) == known_of(there)


def test_on_a_bus_that_numbers_anew_one_that_is_gone_is_told_and_no_number_moves(eight):
    there = tuple(moved(gpu) for gpu in eight[:7])
    gpus, faults = add_gone(*number(there, {}, ()), known_of(eight))
    assert [gpu.index for gpu in gpus] == list(range(7))
    assert [fault.index for fault in faults] == [7]


def shifted(eight, gone: int):
    """Return what a bus shows on which the others moved up into the place of one that is gone."""
    left = [gpu for gpu in eight if gpu.index != gone]
    places = [gpu.address for gpu in eight][: len(left)]
    there = [replace(gpu, address=place) for gpu, place in zip(left, places, strict=True)]
    return number(there, {}, places)


@pytest.mark.parametrize("gone", [0, 4, 7])
def test_h06_where_the_others_move_into_its_place_no_number_moves(eight, gone: int):
    known = known_of(eight)
    for _ in range(2):  # What is remembered of it must not move a number in the next hook.
        gpus, faults = add_gone(*shifted(eight, gone), known)
        assert [gpu.index for gpu in gpus] == [n for n in range(8) if n != gone]
        assert [gpu.uuid for gpu in gpus] == [g.uuid for g in eight if g.index != gone]
        assert [str(each) for each in faults] == [f"GPU {gone} ({eight[gone].address}) {GONE}"]
        known = remember(known, gpus, faults)
    assert add_gone(eight, (), known) == (eight, ())
    assert remember(known, eight, ()) == known_of(eight)


def test_on_a_bus_in_another_order_one_that_is_gone_is_told_and_no_number_moves_later(eight):
    known = known_of(eight)
    there = tuple(replace(gpu, address=eight[6 - n].address) for n, gpu in enumerate(eight[:7]))
    seen = number(sorted(there, key=lambda gpu: gpu.address), {}, ())
    first = add_gone(*seen, known)
    assert [fault.index for fault in first[1]] == [7]
    assert add_gone(*seen, remember(known, *first)) == first


def test_one_of_which_nvml_hides_the_address_moves_no_number_beside_one_that_is_gone(eight):
    left = [gpu for gpu in eight if gpu.index not in (0, 5)]
    lost = Fault(4, "", "is lost")  # By NVML's own order, in which 0 is not any more.
    seen = [replace(gpu, index=n) for n, gpu in zip((0, 1, 2, 3, 5, 6), left, strict=True)]
    gpus, faults = add_gone(tuple(seen), (lost,), known_of(eight))
    assert [gpu.index for gpu in gpus] == [1, 2, 3, 4, 6, 7]
    assert sorted(fault.index for fault in faults) == [0, 5]


def test_what_is_forgotten_is_gone_and_not_what_is_lost(eight):
    left = [gpu for gpu in eight if gpu.index not in (1, 4)]
    on_the_bus = [gpu.address for gpu in eight if gpu.index != 4]
    seen = add_gone(*number(left, {}, on_the_bus), known_of(eight))
    known, gone = forget(known_of(eight), *seen)
    assert [fault.index for fault in gone] == [4]
    assert [each.uuid for each in known] == [gpu.uuid for gpu in eight if gpu.index != 4]


def test_on_a_bus_that_numbered_anew_what_is_there_is_all_when_one_is_forgotten(eight):
    seen = add_gone(*shifted(eight, 0), known_of(eight))
    known, gone = forget(known_of(eight), *seen)
    assert [fault.index for fault in gone] == [0]
    gpus, faults = add_gone(*shifted(eight, 0), known)
    assert ([gpu.index for gpu in gpus], faults) == (list(range(7)), ())


def test_where_nvml_hides_addresses_the_faults_come_last(eight):
    faults = (Fault(2, "", "is lost"),)
    gpus, found = add_gone(eight[:2], faults, known_of(eight[:4]))
    assert gpus == eight[:2]
    assert found[0] == faults[0]
    assert [fault.index for fault in found[1:]] == [3]


def test_where_no_gpu_is_seen_nothing_is_known(eight):
    assert add_gone((), (), known_of(eight)) == ((), ())


FIRST, SECOND = "0000:17:00.0", "0000:ca:00.0"
LAYOUTS = """
version: v1
mig-configs:
  team:
  - {devices: [0], mig-enabled: true, mig-devices: {1g.6gb: 4}}
  - {devices: [1], mig-enabled: true, mig-devices: {2g.12gb: 2}}
"""


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    made = Deployment(Site(tmp_path, plugin=False), mig_profile="team", mig_layouts=LAYOUTS)
    assert made.settle() == ("active", "team: 4 x mig-1g.6gb, 2 x mig-2g.12gb")
    return made


def take_out(unit: Deployment, index: int) -> None:
    """Let bus and driver know one GPU less."""
    machine = unit.site.machine
    address = machine.gpus.read()[index].pci
    unit.site.files.ensure_absent(f"/sys/bus/pci/devices/{address}")
    machine.gpus.edit(
        lambda found: replace(
            found,
            gpus=tuple(
                replace(gpu, index=number)
                for number, gpu in enumerate(g for g in found.gpus if g.pci != address)
            ),
        )
    )


def test_h06_no_other_gpu_is_cut_in_the_place_of_one_that_is_gone(unit: Deployment):
    take_out(unit, 0)
    assert unit.settle() == ("blocked", f"1 of 2 GPUs: GPU 0 ({FIRST}) {GONE}")
    assert unit.site.allocatable == {"nvidia.com/mig-2g.12gb": 2}
    assert unit.site.instances == {0: ["2g.12gb@0", "2g.12gb@2"]}


def test_a_gpu_that_was_taken_out_is_forgotten_when_a_person_says_so(unit: Deployment):
    take_out(unit, 1)
    assert unit.settle() == ("blocked", f"1 of 2 GPUs: GPU 1 ({SECOND}) {GONE}")
    unit.act("show-gpus")
    assert unit.act("forget-gpus") == {"forgotten": f"GPU 1 ({SECOND})"}
    unit.configure(mig_profile="all-2g.12gb")
    assert unit.settle() == ("active", "all-2g.12gb: 2 x mig-2g.12gb")
    assert unit.act("forget-gpus") == {"forgotten": "none"}


def test_h06_every_action_speaks_of_the_same_numbers(unit: Deployment):
    take_out(unit, 0)
    unit.settle()
    shown = unit.act("show-gpus")
    assert shown["gpu-0"] == GONE
    assert "2g.12gb@0" in shown["gpu-1"]
    planned = unit.act("plan-mig")
    assert (planned["unchanged"], planned["offers"]) == ("1 of 1 GPUs", "2 x mig-2g.12gb")
    assert "create" in unit.act("plan-mig", profile="all-1g.6gb")["gpu-1"]
    assert unit.act("prepare-removal")["gpus"].startswith("stay cut: GPU 1 2g.12gb@0")


def test_nothing_is_forgotten_while_no_gpu_is_seen(unit: Deployment):
    known = Store(unit.site.files, POOL).read_known()
    unit.set_driver(unit.site.ready_driver(ready=False, reason="driver 580 is being installed"))
    with pytest.raises(testing.ActionFailed, match="shows no GPU now"):
        unit.act("forget-gpus")
    assert Store(unit.site.files, POOL).read_known() == known


def test_h06_a_lost_gpu_that_the_next_boot_does_not_find_keeps_its_number(unit: Deployment):
    unit.site.machine.gpus.lose(0)
    unit.settle()
    assert unit.act("forget-gpus") == {"forgotten": "none"}
    take_out(unit, 0)
    assert unit.settle() == ("blocked", f"1 of 2 GPUs: GPU 0 ({FIRST}) {GONE}")
    assert unit.site.instances == {0: ["2g.12gb@0", "2g.12gb@2"]}


def test_which_number_a_gpu_has_is_on_the_disk_before_it_is_cut(tmp_path: Path):
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    while not any(effect.startswith("nvml") for effect in site.killer.log):
        site.killer.seen, site.killer.at = 0, len(site.killer.log) + 1
        site.killer.log.clear()
        with suppress(KilledError):
            site.hook()
    assert [each.address for each in Store(site.files, POOL).read_known()] == [FIRST, SECOND]


DAMAGED = '{"schema": 1, "data": {"gpus": ['


def test_a_damaged_file_of_numbers_is_named_and_nothing_is_cut(unit: Deployment):
    path, placed = f"/var/lib/{POOL}/gpus.json", unit.site.instances
    unit.site.files.ensure_text(path, DAMAGED)
    unit.configure(mig_profile="all-1g.6gb")
    remedy = "not readable as state, move it away to start over"
    assert unit.settle() == ("blocked", f"{path}: {remedy}")
    assert unit.site.instances == placed
    unit.site.files.ensure_absent(path)
    assert unit.settle()[0] == "active"


def test_a_damaged_file_of_numbers_keeps_no_node_closed(unit: Deployment):
    unit.configure(mig_profile="all-1g.6gb")
    unit.run(unit.on.config_changed())
    assert unit.site.cordon == (True, UNIT)
    unit.site.files.ensure_text(f"/var/lib/{POOL}/gpus.json", DAMAGED)
    assert "not readable as state" in unit.settle()[1]
    unit.site.assert_opened()
    assert "1g.6gb" in unit.act("show-gpus")["gpu-0"]


def test_a_damaged_file_of_numbers_keeps_no_boot_from_its_layout(tmp_path: Path):
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    placed = site.instances
    site.files.ensure_text(f"/var/lib/{POOL}/gpus.json", DAMAGED)
    site.lose_power(kubelet_after=20)
    gateways: Any = SimpleNamespace(host=site.host)
    boot.main(gateways, POOL, UNIT)
    assert site.instances == placed
