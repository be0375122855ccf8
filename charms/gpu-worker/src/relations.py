# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The unit's relations as values: which driver is ours, which events are, what we write."""

import os
from collections.abc import Mapping

import ops

from charmkit import gpudriver, lease
from charmkit.config import load
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    RelationIncompleteError,
    RelationMissingError,
)
from config import DEFAULTS, WorkerOptions

HOST = "host"
GPU_DRIVER = "gpu-driver"
KUBE_CONTROL = "kube-control"
POOL = "pool"

ENDPOINTS = (HOST, GPU_DRIVER, KUBE_CONTROL, POOL)
"""Whichever is left first tells a unit that it goes."""

Problem = CharmkitError | None


def find_machine() -> str:
    """Return Juju's number of the machine that this hook runs on."""
    return os.environ.get("JUJU_MACHINE_ID", "")


def find_driver(charm: ops.CharmBase) -> tuple[gpudriver.DriverState, Problem]:
    """Return what the driver of this machine says, or one that is not ready and why.

    Why is one of: the endpoint is not integrated; no unit of the driver has said yet that it is on
    this machine; two units say so, as while one replaces the other.
    """
    machine = find_machine()
    try:
        return _read_driver(charm, machine), None
    except CharmkitError as error:
        return gpudriver.DriverState(machine), error


def _read_driver(charm: ops.CharmBase, machine: str) -> gpudriver.DriverState:
    relation = charm.model.get_relation(GPU_DRIVER)
    if relation is None:
        raise RelationMissingError(GPU_DRIVER)
    bags = {unit.name: dict(relation.data[unit]) for unit in relation.units}
    partner = gpudriver.find_partner(bags, machine)
    if partner is None:
        raise RelationIncompleteError(GPU_DRIVER, [f"the driver of machine {machine}"])
    return gpudriver.parse_driver(bags[partner])


def publish(charm: ops.CharmBase, granted: str, holds: tuple[str, ...] = ()) -> None:
    """Tell the driver of this machine who we are and what is granted; write only what changes.

    Args:
        charm: The charm.
        granted: Identifier of the driver's want that may be carried out; empty for none.
        holds: What still uses the GPUs.
    """
    relation = charm.model.get_relation(GPU_DRIVER)
    if relation is None:
        return
    state = gpudriver.WorkerState(find_machine(), granted, holds)
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


def is_pool_gossip(event: ops.EventBase, charm: ops.CharmBase, now: float) -> bool:
    """Say whether an event of the pool is nothing to this unit, after the leader has decided.

    Every write of a peer reaches every other; only a unit that waits for its leave looks further.
    """
    if not isinstance(event, ops.RelationEvent) or event.relation.name != POOL:
        return False
    options, _ = load_options(charm)
    leave = PoolLease(charm, options.max_unavailable, now)
    leave.grant(_gone(event))
    return not leave.is_asked


def _gone(event: ops.RelationEvent) -> tuple[str, ...]:
    leaving = event.departing_unit if isinstance(event, ops.RelationDepartedEvent) else None
    return (leaving.name,) if leaving else ()


def is_last(charm: ops.CharmBase) -> tuple[bool, bool]:
    """Say whether Juju plans no unit of the pool any more, and whether no other is left now.

    Nodes in the cluster do not tell: one of a machine that died stays there with its labels, and
    one of a unit that is still installing has none yet.
    """
    relation = charm.model.get_relation(POOL)
    return charm.app.planned_units() == 0, relation is None or not relation.units


def load_options(charm: ops.CharmBase) -> tuple[WorkerOptions, ConfigError | None]:
    """Return the options, or the defaults and what is wrong: a bad value stops no clean-up."""
    try:
        return load(charm, WorkerOptions), None
    except ConfigError as error:
        return DEFAULTS, error


class PoolLease:
    """The leave to be out of service: asked for in the unit's bag, given in the application's."""

    def __init__(self, charm: ops.CharmBase, limit: int, now: float) -> None:
        """Args: limit: Machines that may be out of service at once. now: Seconds since 1970."""
        self._charm = charm
        self._limit = limit
        self._now = now

    @property
    def is_held(self) -> bool:
        """The unit may close its node."""
        bags = self._bags()
        unit = self._charm.unit.name
        return bags is not None and lease.is_held(unit, bags[0], bags[1], self._now)

    @property
    def is_asked(self) -> bool:
        """The unit has asked and not given back; only then a decision of the leader matters."""
        bags = self._bags()
        return bags is not None and lease.parse_request("", bags[0]) is not None

    def request(self) -> None:
        """Ask for it, or for more time; the leader answers itself at once."""
        bags = self._bags()
        if bags is None:
            return
        unit = self._charm.unit.name
        lease.ask(unit, bags[0], bags[1], "GPUs change")
        lease.renew(unit, bags[0], bags[1], self._now)
        self.grant()

    def release(self) -> None:
        """Give it back."""
        bags = self._bags()
        if bags is not None:
            lease.release(bags[0])
            self.grant()

    def grant(self, gone: tuple[str, ...] = ()) -> None:
        """Decide for all units of the pool, as its leader; other units do nothing.

        Args:
            gone: Units that are known to be gone for good.
        """
        relation = self._charm.model.get_relation(POOL)
        if relation is None or not self._charm.unit.is_leader():
            return
        units = (*relation.units, self._charm.unit)
        bags = {unit.name: dict(relation.data[unit]) for unit in units}
        lease.grant(relation.data[self._charm.app], bags, self._limit, self._now, gone)

    def _bags(self) -> tuple[ops.RelationDataContent, Mapping[str, str]] | None:
        relation = self._charm.model.get_relation(POOL)
        if relation is None:
            return None
        return relation.data[self._charm.unit], relation.data[self._charm.app]
