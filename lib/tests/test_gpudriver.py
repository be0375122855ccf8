# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gpu-driver wire format: round trips, old and new bags, and whose bag is whose."""

import dataclasses
import json

import pytest

from charmkit import gpudriver
from charmkit.errors import NotReadyError
from charmkit.gpudriver import DriverState, Want, WantKind, WorkerState

FULL = DriverState(
    machine="7",
    boot_id="6f1c",
    ready=False,
    reason="driver 550.107.02 installed, 550.90.07 loaded",
    branch="550-server",
    driver_version="550.107.02",
    loaded_version="550.90.07",
    fabric_manager="550.107.02",
    runtime_handler="nvidia-container-runtime",
    want=Want("reboot-550.107.02", WantKind.REBOOT, "load driver 550.107.02"),
)

V1_DRIVER_BAG = {
    "schema": "1",
    "machine": "7",
    "boot-id": "6f1c",
    "ready": "false",
    "reason": "driver 550.107.02 installed, 550.90.07 loaded",
    "branch": "550-server",
    "driver-version": "550.107.02",
    "loaded-version": "550.90.07",
    "fabric-manager": "550.107.02",
    "runtime-handler": "nvidia-container-runtime",
    "want": '{"id":"reboot-550.107.02","kind":"reboot","reason":"load driver 550.107.02"}',
}
"""Vector of schema 1. Never edit it: it is what units of the first release write."""

V1_WORKER_BAG = {"schema": "1", "machine": "7", "granted": "w1", "holds": '["team-a/train-7"]'}


def test_the_driver_bag_is_the_vector_of_schema_1() -> None:
    assert gpudriver.dump_driver(FULL) == V1_DRIVER_BAG
    assert gpudriver.parse_driver(V1_DRIVER_BAG) == FULL


def test_the_worker_bag_is_the_vector_of_schema_1() -> None:
    state = WorkerState(machine="7", granted="w1", holds=("team-a/train-7",))
    assert gpudriver.dump_worker(state) == V1_WORKER_BAG
    assert gpudriver.parse_worker(V1_WORKER_BAG) == state


@pytest.mark.parametrize(
    "state",
    [
        DriverState(machine="0"),
        DriverState(machine="3/lxd/1", ready=True, branch="580-server-open"),
        FULL,
        dataclasses.replace(FULL, want=Want("u", WantKind.UNLOAD)),
    ],
    ids=["bare", "ready", "full", "unload"],
)
def test_a_driver_state_survives_the_wire(state: DriverState) -> None:
    assert gpudriver.parse_driver(gpudriver.dump_driver(state)) == state


@pytest.mark.parametrize(
    "state",
    [WorkerState(machine="0"), WorkerState("1", "x"), WorkerState("1", "", ("a/b", "c/d"))],
    ids=["bare", "granted", "holds"],
)
def test_a_worker_state_survives_the_wire(state: WorkerState) -> None:
    assert gpudriver.parse_worker(gpudriver.dump_worker(state)) == state


def test_an_empty_bag_is_nobodys_and_not_ready() -> None:
    assert gpudriver.parse_driver({}) == DriverState(machine="", schema=0)
    assert gpudriver.parse_worker({"private-address": "198.51.100.4"}) == WorkerState("", schema=0)


def test_a_newer_writer_is_read_for_the_keys_that_are_known() -> None:
    bag = {**V1_DRIVER_BAG, "schema": "4", "cuda": "13.2", "ready": "true"}
    state = gpudriver.parse_driver(bag)
    assert (state.schema, state.ready, state.branch) == (4, True, "550-server")


def test_a_want_of_an_unknown_kind_stays_visible_and_unknown() -> None:
    want = json.dumps({"id": "w9", "kind": "reflash", "reason": "new firmware", "urgency": 3})
    state = gpudriver.parse_driver({"machine": "1", "want": want})
    assert state.want == Want("w9", WantKind.UNKNOWN, "new firmware")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"w1"', "{}", '{"id":""}', '{"id":5,"kind":"reboot"}'],
)
def test_an_unreadable_want_is_no_want(text: str) -> None:
    assert gpudriver.parse_driver({"machine": "1", "want": text}).want is None


@pytest.mark.parametrize("text", ["{", "5", '{"a":1}', "null"])
def test_unreadable_holds_are_none(text: str) -> None:
    assert gpudriver.parse_worker({"machine": "1", "holds": text}).holds == ()


@pytest.mark.parametrize("text", ["", "one", "-1", "1.5", "²"])
def test_an_unreadable_schema_is_0(text: str) -> None:
    assert gpudriver.parse_driver({"schema": text}).schema == 0


BAGS = {
    "driver/0": {"machine": "4"},
    "driver/1": {"machine": "5"},
    "driver/2": {},
    "driver/3": {"private-address": "198.51.100.9"},
}


@pytest.mark.parametrize(
    ("machine", "unit"),
    [("4", "driver/0"), ("5", "driver/1"), ("6", None), ("", None)],
    ids=["first", "second", "no-match", "own-machine-unknown"],
)
def test_the_partner_is_the_unit_of_the_same_machine(machine: str, unit: str | None) -> None:
    assert gpudriver.find_partner(BAGS, machine) == unit


def test_two_units_of_one_machine_mean_waiting() -> None:
    bags = {**BAGS, "driver/9": {"machine": "5"}}
    with pytest.raises(NotReadyError, match=r"waiting for one of driver/1 and driver/9 to leave"):
        gpudriver.find_partner(bags, "5")


@pytest.mark.parametrize(
    ("bag", "answer"),
    [({"machine": "5"}, True), ({"machine": "50"}, False), ({}, None), ({"machine": ""}, None)],
    ids=["same", "other", "not-written", "empty"],
)
def test_a_bag_tells_its_machine_or_not_yet(bag: dict[str, str], answer: bool | None) -> None:
    assert gpudriver.is_of_machine(bag, "5") is answer


def test_nothing_is_written_when_the_bag_says_it_already() -> None:
    current = {**V1_DRIVER_BAG, "private-address": "198.51.100.4"}
    assert gpudriver.find_changes(current, V1_DRIVER_BAG) == {}


def test_only_what_changed_is_written_and_what_is_gone_is_removed() -> None:
    done = dataclasses.replace(FULL, ready=True, reason="", want=None)
    changes = gpudriver.find_changes(V1_DRIVER_BAG, gpudriver.dump_driver(done))
    assert changes == {"ready": "true", "reason": "", "want": ""}


def test_keys_of_other_formats_are_left_alone() -> None:
    current = {"private-address": "198.51.100.4", "cuda": "13.2"}
    changes = gpudriver.find_changes(current, gpudriver.dump_worker(WorkerState("7")))
    assert changes == {"schema": "1", "machine": "7"}
