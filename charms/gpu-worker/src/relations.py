# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The unit's relations as values: which driver is ours, which events are, what we write."""

import logging

import ops

from charmkit import gpudriver
from charmkit.errors import RelationIncompleteError, RelationMissingError

HOST = "host"
GPU_DRIVER = "gpu-driver"
KUBE_CONTROL = "kube-control"
POOL = "pool"

_logger = logging.getLogger(__name__)


def find_driver(charm: ops.CharmBase, machine: str) -> gpudriver.DriverState:
    """Return what the driver of this machine says.

    Args:
        charm: The charm.
        machine: Juju's number of the machine.

    Raises:
        RelationMissingError: The endpoint is not integrated.
        RelationIncompleteError: No unit of the driver has said yet that it is on this machine.
        NotReadyError: Two units say so, as while one replaces the other.
    """
    relation = charm.model.get_relation(GPU_DRIVER)
    if relation is None:
        raise RelationMissingError(GPU_DRIVER)
    bags = {unit.name: dict(relation.data[unit]) for unit in relation.units}
    partner = gpudriver.find_partner(bags, machine)
    if partner is None:
        raise RelationIncompleteError(GPU_DRIVER, [f"the driver of machine {machine}"])
    return gpudriver.parse_driver(bags[partner])


def publish(charm: ops.CharmBase, state: gpudriver.WorkerState) -> None:
    """Tell the driver of this machine who we are and what is granted; write only what changes."""
    relation = charm.model.get_relation(GPU_DRIVER)
    if relation is None:
        return
    bag = relation.data[charm.unit]
    bag.update(gpudriver.find_changes(dict(bag), gpudriver.dump_worker(state)))


def is_of_another_machine(event: ops.EventBase, machine: str) -> bool:
    """Say whether an event comes from a driver that is none of ours, or not known to be yet.

    The relation is global, so each unit hears every driver of the model; such an event is left
    before anything is read.
    """
    if not isinstance(event, ops.RelationEvent) or event.relation.name != GPU_DRIVER:
        return False
    if event.unit is None:
        return False
    bag = event.relation.data[event.unit]
    return gpudriver.is_of_machine(bag, machine) is not True


def is_leaving(event: ops.EventBase, unit: ops.Unit) -> bool:
    """Say whether an event tells that this unit goes: the first moment at which it may clean up.

    Juju 4.0 sends a subordinate no remove and perhaps no stop (facts of 4.0.15).
    """
    return isinstance(event, ops.RelationDepartedEvent) and event.departing_unit == unit
