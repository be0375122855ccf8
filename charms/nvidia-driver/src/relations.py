# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Endpoints: what units of other applications and of our own say about this machine."""

import os
from collections.abc import Collection, Iterator, Mapping

import ops

from charmkit import gpudriver, lease
from charmkit.gpudriver import DriverState, WorkerState

HOST = "host"
DRIVER = "gpu-driver"
FLEET = "fleet"
ENDPOINTS = (HOST, DRIVER, FLEET)

_LIMIT = "max-unavailable"


def machine_id() -> str:
    """Return Juju's number of the machine that the unit runs on; empty where Juju does not say."""
    return os.environ.get("JUJU_MACHINE_ID", "")


def is_elsewhere(event: ops.RelationEvent) -> bool:
    """Say whether an event of gpu-driver is about another machine, or about none that is known.

    The relation is global: each unit hears of every worker, and has business with one of them.
    """
    if event.unit is None:
        return False
    return not gpudriver.is_of_machine(event.relation.data[event.unit], machine_id())


def find_worker(model: ops.Model) -> WorkerState | None:
    """Return what the gpu-worker of this machine says, in whichever relation it is.

    Raises:
        NotReadyError: Two workers claim the machine.
    """
    bags = _read_bags(model)
    name = gpudriver.find_partner(bags, machine_id())
    return None if name is None else gpudriver.parse_worker(bags[name])


def is_worker_open(model: ops.Model) -> bool:
    """Say whether a worker unit has not said yet on which machine it is."""
    bags = _read_bags(model).values()
    return any(gpudriver.is_of_machine(bag, machine_id()) is None for bag in bags)


def publish(model: ops.Model, state: DriverState | None) -> bool:
    """Write what a driver is like into every relation with workers, where it says otherwise.

    Args:
        model: The unit's model.
        state: What the driver is like; None takes back what was written.

    Returns:
        Whether anything was written.
    """
    wanted = {} if state is None else gpudriver.dump_driver(state)
    written = False
    for relation in _active(model):
        bag = relation.data[model.unit]
        changes = gpudriver.find_changes(bag, wanted)
        bag.update(changes)
        written = written or bool(changes)
    return written


class Fleet:
    """One unit's place among the units of its application."""

    def __init__(self, charm: ops.CharmBase, now: float) -> None:
        """Args: now: Time in seconds since 1970."""
        self._charm = charm
        self._unit = charm.unit.name
        self._now = now

    def serve(self, gone: Collection[str] = ()) -> None:
        """Hand out turns where this unit leads; do nothing elsewhere.

        Args:
            gone: Units that leave the application for good.
        """
        relation = self._relation
        if relation is None or not self._charm.unit.is_leader():
            return
        limit = max(0, int(self._charm.config[_LIMIT]))
        units = (*relation.units, self._charm.unit)
        bags = {unit.name: relation.data[unit] for unit in units}
        lease.grant(relation.data[self._charm.app], bags, limit, self._now, gone)

    def set_asking(self, reason: str | None) -> None:
        """Ask for a turn, go on asking, or give it back.

        Args:
            reason: What the turn is for; None gives it back.
        """
        relation = self._relation
        if relation is None:
            return
        own, shared = relation.data[self._charm.unit], relation.data[self._charm.app]
        if reason is None:
            lease.release(own)
        else:
            lease.ask(self._unit, own, shared, reason)
            lease.renew(self._unit, own, shared, self._now)

    def is_asking(self) -> bool:
        """Say whether this unit waits for its turn or has it."""
        relation = self._relation
        if relation is None:
            return False
        return lease.parse_request(self._unit, relation.data[self._charm.unit]) is not None

    def has_turn(self) -> bool:
        """Say whether this unit may disturb its machine now."""
        relation = self._relation
        if relation is None:
            return False
        own, shared = relation.data[self._charm.unit], relation.data[self._charm.app]
        return lease.is_held(self._unit, own, shared, self._now)

    def list_peers(self) -> frozenset[str]:
        """Return the other units of the application that this one knows of."""
        relation = self._relation
        return frozenset(unit.name for unit in relation.units) if relation else frozenset()

    @property
    def _relation(self) -> ops.Relation | None:
        return self._charm.model.get_relation(FLEET)


def _read_bags(model: ops.Model) -> dict[str, Mapping[str, str]]:
    """Return the bags of all worker units, by name."""
    return {
        unit.name: relation.data[unit] for relation in _active(model) for unit in relation.units
    }


def _active(model: ops.Model) -> Iterator[ops.Relation]:
    return (relation for relation in model.relations[DRIVER] if relation.active)
