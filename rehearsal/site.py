# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A site: an embedded Juju, the world below it, and the machines that MAAS would give.

What a plan of a bundle asks for is done here in Juju's order: applications, machines, relations,
units. A machine is chosen among the free ones of the inventory, which is kept with the model.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from rehearsal import constraints as constraint
from rehearsal.applications import Deployment
from rehearsal.bundle import Application, Bundle, Plan, PlannedMachine
from rehearsal.bundle.charms import source_of
from rehearsal.engine import Rehearsal
from rehearsal.entities import Charm, Endpoint, Machine
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.facts import find_facts
from rehearsal.inventory import default_inventory, read_inventory
from rehearsal.machines import Inventory, SiteMachine, choose
from standins.world import World

ROLES = {"provides": "provider", "requires": "requirer", "peers": "peer"}


class Site:
    """One model with its machines; a context manager that holds the model's lock."""

    def __init__(self, home: Path) -> None:
        self.home = home.resolve()
        self.juju = Rehearsal(self.home, world=World)
        self.world: World = self.juju.world

    def __enter__(self) -> "Site":
        return self

    def __exit__(self, *_: object) -> None:
        self.juju.close()

    @property
    def inventory(self) -> Inventory:
        """The machines that MAAS knows, taken or free."""
        path = self.home / "inventory.yaml"
        return read_inventory(path) if path.exists() else default_inventory()

    def use_inventory(self, path: Path) -> None:
        """Keep another inventory with the model.

        Raises:
            InventoryError: The file is none.
        """
        read_inventory(path)
        shutil.copyfile(path, self.home / "inventory.yaml")

    def free_machines(self) -> list[SiteMachine]:
        """Return the machines of the inventory that the model has not taken."""
        taken = {machine.hostname for machine in self.juju.model.machines.values()}
        return [machine for machine in self.inventory.machines if machine.name not in taken]

    def deploy(self, bundle: Bundle, plan: Plan, say: Callable[[str], None]) -> None:
        """Do what a plan says; the hooks run when the model settles.

        Args:
            bundle: The merged bundle.
            plan: Its plan for an empty model.
            say: Told one line for each machine chosen.

        Raises:
            UsageError: The model holds an application of the bundle already.
            NoMachineError: No free machine fits; nothing was deployed.
        """
        known = [name for name in bundle.applications if name in self.juju.model.applications]
        if known:
            raise UsageError(f"{known[0]} is deployed already: use config, refresh and add-unit")
        chosen = list(self._choose(plan.machines))
        for application in plan.applications:
            self._application(application, bundle)
        numbers = self._machines(plan.machines, dict(chosen), say)
        for relation in plan.relations:
            first, second = (f"{app}:{end}" if end else app for app, end in relation.ends)
            self.juju.integrate(first, second)
        for unit in plan.units:
            self.juju.add_unit(unit.application, numbers[unit.machine])

    def add_unit(self, application: str, say: Callable[[str], None]) -> str:
        """Add a unit on a new machine by the application's own constraints, as Juju does.

        Raises:
            NotFoundError: There is no such application.
            NoMachineError: No free machine fits.
        """
        found = self.juju.model.applications.get(application)
        if found is None:
            raise NotFoundError(f'application "{application}" not found')
        planned = PlannedMachine("new", found.constraints, None)
        ((_, machine),) = self._choose([planned])
        number = self._machines([planned], {"new": machine}, say)["new"]
        return self.juju.add_unit(application, number).name

    def _choose(self, planned: Sequence[PlannedMachine]) -> Iterator[tuple[str, SiteMachine]]:
        """Yield a machine for each planned one that is no container.

        Raises:
            NoMachineError: With the reason for each candidate.
        """
        free = self.free_machines()
        for item in planned:
            if not item.container:
                machine = choose(constraint.parse(item.constraints), free)
                free.remove(machine)
                yield item.id, machine

    def _machines(
        self,
        planned: Sequence[PlannedMachine],
        chosen: dict[str, SiteMachine],
        say: Callable[[str], None],
    ) -> dict[str, str]:
        """Add machines and containers; return the number of each planned id."""
        numbers: dict[str, str] = {}
        for item in planned:
            if item.container:
                numbers[item.id] = self._container(item, numbers[item.parent])
                continue
            machine = chosen[item.id]
            added = self.juju.add_machine(
                hostname=machine.name,
                address=machine.address,
                constraints=item.constraints,
                hardware=f"arch={machine.arch} cores={machine.cores} mem={machine.mem}M "
                f"tags={','.join(machine.tags)} availability-zone={machine.zone}",
            )
            release = added.base.partition("@")[2].partition("/")[0]
            address = added.address
            self.world.add_machine(added.id, machine.hardware, machine.name, address, release)
            numbers[item.id] = added.id
            say(f"machine {added.id}: {machine.name} for {item.constraints or 'any machine'}")
        return numbers

    def _container(self, item: PlannedMachine, parent: str) -> str:
        """Add a container; its number counts the containers of its kind on the machine."""
        prefix = f"{parent}/{item.container}/"
        model = self.juju.model
        number = f"{prefix}{sum(name.startswith(prefix) for name in model.machines)}"
        host = model.machines[parent]
        model.put(
            "machines",
            number,
            Machine(
                number,
                hostname=f"juju-{number.replace('/', '-')}",
                address=_below(host.address, len(model.machines)),
                constraints=item.constraints,
                instance=f"juju-{number.replace('/', '-')}",
                since=model.settings.now,
            ),
        )
        return number

    def _application(self, application: Application, bundle: Bundle) -> None:
        """Deploy one application without units."""
        base = bundle.base_of(application)
        charm = application.charm_path or _charmhub(application)
        if isinstance(charm, Path):
            charm = charm if charm.exists() else source_of(charm) or charm
        deployment = Deployment(
            name=application.name,
            config=application.options,
            base=str(base) if base else "ubuntu@24.04",
            constraints=application.constraints,
            trust=application.trust,
        )
        name = self.juju.deploy(charm, deployment)
        self.juju.model.applications[name].exposed = application.expose


def _below(address: str, number: int) -> str:
    """Return an address of its own for a container, on the network of its host."""
    prefix = address.rsplit(".", 2)[0]
    return f"{prefix}.200.{number}"


def _charmhub(application: Application) -> Charm:
    """Return a charm of Charmhub: a stand-in where there is one, else not modelled.

    Raises:
        NotFoundError: Nothing is known about the charm.
    """
    facts = find_facts(application.charm.removeprefix("ch:"))
    if facts is None:
        raise NotFoundError(f"nothing is known about the charm {application.charm}")
    module = facts.name.replace("-", "_")
    modelled = find_spec(f"standins.charms.{module}") is not None
    endpoints = {
        name: Endpoint(name, ROLES[end.role], end.interface, end.scope, end.limit, end.optional)
        for name, end in facts.endpoints.items()
    }
    options = {
        name: {"type": option.type, "default": option.default}
        for name, option in facts.options.items()
    }
    return Charm(
        name=facts.name,
        kind="standin" if modelled else "unmodelled",
        source=module,
        origin="charmhub",
        channel=application.channel,
        revision=application.revision or 0,
        subordinate=facts.subordinate,
        endpoints=endpoints,
        options=options,
        actions={name: {} for name in facts.actions},
    )
