# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where a unit goes: a free machine that fits, or what `--to` says."""

import re
from collections.abc import Callable

from rehearsal.bundle import PlannedMachine
from rehearsal.bundle.names import find_base
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.maas import constraints as constraint
from rehearsal.maas.machines import SiteMachine, choose
from rehearsal.site import Site

Say = Callable[[str], None]
MACHINE = re.compile(r"\d+(?:/(?:lxd|kvm)/\d+)*")
CONTAINERS = ("lxd", "kvm")


class Placer:
    """Chooses machines for the units of one command, before any of them is made."""

    def __init__(self, site: Site, constraints: str, base: str, say: Say) -> None:
        """Args: constraints: Those of the application; the model's are below them."""
        self._site = site
        self._constraints = constraints
        self._base = base
        self._say = say
        self._free = site.free_machines()

    def plan(self, directive: str) -> Callable[[], str]:
        """Return what makes the machine of a unit and returns its number.

        Args:
            directive: A machine, `lxd`, `lxd:MACHINE`, `zone=ZONE`, a machine's name in the
                inventory, or nothing.

        Raises:
            NotFoundError: There is no such machine.
            UsageError: It is no placement.
            NoMachineError: No free machine fits.
        """
        kind, colon, parent = directive.partition(":")
        if MACHINE.fullmatch(directive):
            self._check(directive)
            return lambda: directive
        if kind in CONTAINERS and (MACHINE.fullmatch(parent) or not colon):
            return self._container(kind, parent)
        if directive and not directive.startswith("zone=") and not self._named(directive):
            raise UsageError(
                "prechecking instances: pre-checking instances: "
                f'availability zone "{directive}" not valid'
            )
        return self._machine(directive)

    def _check(self, number: str) -> None:
        if number not in self._site.juju.model.machines:
            raise NotFoundError(
                "preparing application args: making unit args: getting machine "
                f'"{number}" for unit placement directive: machine with name "{number}" '
                "does not exist"
            )

    def _container(self, kind: str, parent: str) -> Callable[[], str]:
        """Return what makes a container on a machine, or on a new one."""
        if parent:
            self._check(parent)
        host = (lambda: parent) if parent else self._machine("")
        base = find_base(self._base)

        def make() -> str:
            on = host()
            planned = PlannedMachine("new", "", base, container=kind, parent=on)
            return self._site.add_container(planned, on)

        return make

    def _named(self, name: str) -> list[SiteMachine]:
        return [machine for machine in self._free if machine.name == name]

    def _machine(self, directive: str) -> Callable[[], str]:
        """Return what adds a free machine of the inventory."""
        model = constraint.parse(self._site.juju.model.settings.constraints)
        wanted = constraint.merge(model, constraint.parse(self._constraints))
        zone = directive.removeprefix("zone=") if directive.startswith("zone=") else ""
        free = [item for item in self._free if not zone or item.zone == zone]
        machine = choose(wanted, self._named(directive) or free)
        self._free.remove(machine)
        planned = PlannedMachine("new", constraint.render(wanted), find_base(self._base))
        return lambda: self._site.add_machine(planned, machine, self._say)
