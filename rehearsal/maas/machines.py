# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The machines of a site, and which of them MAAS gives for constraints. Pure."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rehearsal.errors import RehearsalError
from rehearsal.maas.constraints import Constraints
from rehearsal.maas.networks import Address, Interface


class InventoryError(RehearsalError):
    """The inventory cannot be read; the message says which entry is wrong."""


@dataclass(frozen=True, slots=True)
class SiteMachine:
    """A machine that MAAS knows. Memory and disk in MiB; `hardware` names a hardware type.

    `interfaces` and `addresses` are empty where only `address` is known.
    """

    name: str
    hardware: str = "cpu"
    address: str = ""
    arch: str = "amd64"
    cores: int = 0
    mem: int = 0
    disk: int = 0
    tags: tuple[str, ...] = ()
    zone: str = "default"
    spaces: tuple[str, ...] = ("alpha",)
    system_id: str = ""
    status: str = "Ready"
    interfaces: tuple[Interface, ...] = ()
    addresses: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """All machines of a site, the spaces, users and storage pools that it has."""

    machines: tuple[SiteMachine, ...]
    spaces: frozenset[str] = frozenset(("alpha",))
    users: frozenset[str] = frozenset(("admin",))
    pools: frozenset[str] = frozenset()


class NoMachineError(RehearsalError):
    """No machine fits; `reasons` says of each candidate, by name, why it was not taken."""

    def __init__(self, constraints: Constraints, reasons: Mapping[str, str]) -> None:
        self.reasons = dict(reasons)
        wanted = " ".join(f"{key}={value}" for key, value in constraints.values.items())
        super().__init__(f"no machine fits {wanted or 'without constraints'}: add one to MAAS")


def choose(constraints: Constraints, free: Iterable[SiteMachine]) -> SiteMachine:
    """Return the cheapest free machine that fits, always the same for the same machines.

    Cost is cores, then memory, disk, number of tags; the name breaks ties.

    Raises:
        NoMachineError: With the reason for each candidate.

    Source: MAAS allocates the machine of least cost among those that fit the constraints.
    """
    reasons: dict[str, str] = {}
    fitting: list[SiteMachine] = []
    for machine in free:
        reason = find_refusal(constraints, machine)
        if reason is None:
            fitting.append(machine)
        else:
            reasons[machine.name] = reason
    if not fitting:
        raise NoMachineError(constraints, reasons)
    return min(fitting, key=cost)


def cost(machine: SiteMachine) -> tuple[int, int, int, int, str]:
    """Return the sort key by which MAAS prefers machines: cheapest first."""
    return machine.cores, machine.mem, machine.disk, len(machine.tags), machine.name


def find_refusal(constraints: Constraints, machine: SiteMachine) -> str | None:
    """Return why a machine does not fit, all reasons in one line; None when it fits."""
    reasons = [
        *([f"is {machine.status}, not Ready"] if machine.status != "Ready" else []),
        *_less(constraints, machine),
        *(f"lacks tag {tag}" for tag in constraints.tags if tag not in machine.tags),
        *(f"has tag {tag}" for tag in constraints.not_tags if tag in machine.tags),
        *(
            f"is not in space {space}"
            for space in constraints.spaces
            if space not in machine.spaces
        ),
        *(f"is in space {space}" for space in constraints.not_spaces if space in machine.spaces),
    ]
    if constraints.arch and constraints.arch != machine.arch:
        reasons.append(f"is {machine.arch}")
    if constraints.zones and machine.zone not in constraints.zones:
        reasons.append(f"is in zone {machine.zone}")
    return ", ".join(reasons) or None


def _less(constraints: Constraints, machine: SiteMachine) -> Iterable[str]:
    for word, wanted, has, unit in (
        ("cores", constraints.cores, machine.cores, ""),
        ("memory", constraints.mem, machine.mem, " MiB"),
        ("disk", constraints.root_disk, machine.disk, " MiB"),
    ):
        if wanted is not None and has < wanted:
            yield f"has {word} {has}{unit} of {wanted}{unit}"


def assign(
    wanted: Sequence[tuple[str, Constraints]], free: Sequence[SiteMachine]
) -> dict[str, SiteMachine]:
    """Return a machine for as many wanted ones as can have one at the same time.

    Each takes its cheapest choice in turn; a later one may push an earlier one to another machine,
    so what is missing here is missing on any order of allocation.
    """
    by_cost = sorted(free, key=cost)
    fits: dict[str, list[str]] = {}
    for _, constraints in wanted:
        key = str(constraints.values)
        if key not in fits:
            fitting = [one for one in by_cost if find_refusal(constraints, one) is None]
            fits[key] = [one.name for one in fitting]
    candidates = {name: fits[str(constraints.values)] for name, constraints in wanted}
    holders: dict[str, str] = {}
    for name, _ in wanted:
        _augment(name, candidates, holders)
    machines = {machine.name: machine for machine in free}
    return {name: machines[machine] for machine, name in holders.items()}


def _augment(name: str, candidates: Mapping[str, list[str]], holders: dict[str, str]) -> None:
    """Give a machine to `name`, moving others to their further choices where that helps."""
    came_from: dict[str, str] = {}
    pending = deque([name])
    while pending:
        seeker = pending.popleft()
        for machine in candidates[seeker]:
            if machine in came_from:
                continue
            came_from[machine] = seeker
            if machine not in holders:
                _hand_over(machine, name, came_from, holders)
                return
            pending.append(holders[machine])


def _hand_over(
    machine: str, name: str, came_from: Mapping[str, str], holders: dict[str, str]
) -> None:
    held = {holder: own for own, holder in holders.items()}
    while True:
        seeker = came_from[machine]
        holders[machine] = seeker
        if seeker == name:
            return
        machine = held[seeker]
