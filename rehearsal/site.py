# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A site: an embedded Juju, the world below it, and machines of an inventory, as from MAAS."""

import itertools
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rehearsal.bundle import Application, Bundle, Deployed, Existing, Plan, PlannedMachine
from rehearsal.bundle.charms import source_of
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.names import Base
from rehearsal.charm_views import charm_from, facts_of
from rehearsal.errors import FormatError, NotFoundError
from rehearsal.facts import find_facts
from rehearsal.juju.applications import Deployment
from rehearsal.juju.carrying import Carrying
from rehearsal.juju.engine import Rehearsal
from rehearsal.juju.entities import Charm, Machine
from rehearsal.juju.ledger import Ledger
from rehearsal.maas import constraints as constraint
from rehearsal.maas.inventory import default_inventory, read_inventory
from rehearsal.maas.machines import Inventory, SiteMachine, choose
from rehearsal.reviews import Reviews
from standins.world import World


class Site:
    """One model with its machines; a context manager that holds the model's lock."""

    def __init__(self, home: Path) -> None:
        """Open the model of a folder, an empty one if there is none.

        Raises:
            BusyError: Another command has the model.
            FormatError: The path can be no folder, or the folder holds something else.
        """
        try:
            self.home = home.resolve()
            self.juju = Rehearsal(self.home, world=World)
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FormatError(f"{home}: {reason}") from error
        self.world: World = self.juju.world
        self.world.api.use_reviewer(Reviews(self.juju, self.world).ask)
        self.ledger = Ledger(self.home)

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

    @property
    def is_juju_4(self) -> bool:
        """Whether the model follows the rules of Juju 4.0."""
        return self.juju.model.settings.version.startswith("4.")

    def existing(self, juju: JujuVersion | None = None) -> Existing:
        """Return what a deploy of a bundle sees of the model; `juju` instead of its version."""
        model = self.juju.model
        ids = tuple(model.machines)
        return Existing(
            juju=juju or ("4.0" if self.is_juju_4 else "3.6"),
            applications={
                name: self._deployed(name)
                for name, found in model.applications.items()
                if not found.saas
            },
            machines=tuple(number for number in ids if "/" not in number),
            containers=tuple(number for number in ids if "/" in number),
            next_machine=model.settings.next_machine,
            relations=frozenset(
                frozenset(f"{end.application}:{end.endpoint}" for end in relation.ends)
                for relation in model.relations.values()
                if not relation.peer
            ),
            offers=self.ledger.offers(),
            saas=self.ledger.saas(),
            arch=constraint.parse(model.settings.constraints).arch or "",
        )

    def _deployed(self, name: str) -> Deployed:
        application = self.juju.model.applications[name]
        is_principal = not application.charm.subordinate
        units = self.juju.model.units_of(name) if is_principal else []
        return Deployed(
            charm=application.charm.name,
            facts=facts_of(application.charm),
            is_local=application.charm.origin == "local",
            base=application.base.partition("/")[0],
            channel=application.charm.channel,
            constraints=self._shown_constraints(name, has_units=bool(units)),
            options=dict(application.config),
            annotations=self.ledger.annotations(name),
            exposed=self.ledger.exposed(name),
            units={unit.name: unit.machine for unit in units},
            next_unit=application.next_unit if is_principal else 0,
        )

    def _shown_constraints(self, name: str, *, has_units: bool) -> str:
        """Return what ``juju constraints`` shows.

        Source: measured on 4.0.15: a deploy drops arch, the first unit brings it back; what is set
        later stays as it is written.
        """
        noted = self.ledger.find_constraints(name)
        text = self.juju.model.applications[name].constraints
        if noted is not None or not self.is_juju_4:
            return text if noted is None else noted
        if self.juju.model.applications[name].charm.subordinate:
            return ""
        words = [word for word in text.split(" ") if word and not word.startswith("arch=")]
        return " ".join([*(["arch=amd64"] if has_units else []), *words])

    def set_model_constraints(self, text: str) -> None:
        """Set the constraints that machines get where nothing else is said.

        Raises:
            ConstraintError: The text is none.
        """
        constraint.parse(text)
        self.juju.model.settings.constraints = text
        self.juju.model.touch("settings")

    def deploy(
        self,
        bundle: Bundle,
        plan: Plan,
        say: Callable[[str], None],
        *,
        show: Callable[[str], None] = lambda line: None,
        trust: bool = True,
    ) -> None:
        """Do what a plan says; the hooks run when the model settles.

        Args:
            bundle: The merged bundle.
            plan: Its plan for what the model holds.
            say: Told one line for each machine chosen.
            show: Told one line for each change as it begins.
            trust: Whether applications that ask for trust get it.

        Raises:
            UsageError: Juju stops at a change; those before it are done.
            NoMachineError: No free machine fits; nothing was deployed.
        """
        chosen = dict(self._choose(plan.machines))
        Carrying(self, bundle, plan, chosen, say=say, show=show, trust=trust).run()

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
        return self.juju.add_unit(application, self.add_machine(planned, machine, say)).name

    def _choose(self, planned: Sequence[PlannedMachine]) -> Iterator[tuple[str, SiteMachine]]:
        """Yield a machine for each planned one that is no container.

        Raises:
            NoMachineError: With the reason for each candidate.
        """
        free = self.free_machines()
        for item in planned:
            if not item.container:
                machine = choose(self._wanted(item.constraints), free)
                free.remove(machine)
                yield item.id, machine

    def _wanted(self, text: str) -> constraint.Constraints:
        """Return constraints over those of the model."""
        model = self.juju.model.settings.constraints
        return constraint.merge(constraint.parse(model), constraint.parse(text))

    def add_machine(
        self, planned: PlannedMachine, machine: SiteMachine, say: Callable[[str], None]
    ) -> str:
        """Add a machine of the inventory to the model and the world; return its number."""
        added = self.juju.add_machine(
            hostname=machine.name,
            address=machine.address,
            base=planned.base.short if planned.base else "ubuntu@24.04",
            constraints=planned.constraints,
            hardware=f"arch={machine.arch} cores={machine.cores} mem={machine.mem}M "
            f"tags={','.join(machine.tags)} availability-zone={machine.zone}",
        )
        release = added.base.partition("@")[2].partition("/")[0]
        self.world.add_machine(added.id, machine.hardware, machine.name, added.address, release)
        say(f"machine {added.id}: {machine.name} for {planned.constraints or 'any machine'}")
        return added.id

    def add_container(self, item: PlannedMachine, parent: str) -> str:
        """Add a container; no number of an earlier one of its kind on the machine comes back."""
        model = self.juju.model
        numbers = (f"{parent}/{item.container}/{count}" for count in itertools.count())
        used = self.home / "machines"
        number = next(n for n in numbers if n not in model.machines and not (used / n).exists())
        name = f"juju-{number.replace('/', '-')}"
        made = Machine(
            number,
            hostname=name,
            address=_below(model.machines[parent].address, len(model.machines)),
            constraints=item.constraints,
            instance=name,
            since=model.settings.now,
        )
        model.put("machines", number, made)
        self.world.add_machine(number, "container", name, made.address)
        return number

    def deploy_application(
        self, application: Application, base: Base | None, *, trust: bool
    ) -> None:
        """Deploy one application without units."""
        charm = (
            application.charm_path
            or self.juju.find_standin(application.charm.removeprefix("ch:"))
            or charmhub(application.charm, application.channel, application.revision)
        )
        if isinstance(charm, Path):
            charm = current_code(charm)
        model = self.juju.model.settings.constraints
        own = constraint.parse(application.constraints)
        shared = constraint.merge(constraint.parse(model), own) if self.is_juju_4 else own
        deployment = Deployment(
            name=application.name,
            config=application.options,
            base=str(base) if base else "ubuntu@24.04",
            constraints=constraint.render(shared),
            trust=trust,
        )
        self.ledger.begin(application.name)
        self.juju.deploy(charm, deployment)


def _below(address: str, number: int) -> str:
    """Return an address of its own for a container, on the network of its host."""
    prefix = address.rsplit(".", 2)[0]
    return f"{prefix}.200.{number}"


def charmhub(name: str, channel: str = "", revision: int | None = None) -> Charm:
    """Return a charm of Charmhub.

    Raises:
        NotFoundError: Nothing is known about the charm.
    """
    facts = find_facts(name.removeprefix("ch:"))
    if facts is None:
        raise NotFoundError(f"nothing is known about the charm {name}")
    return charm_from(facts, channel=channel, revision=revision or 0)


def current_code(packed: Path) -> Path:
    """Return the packed file, or its source where the file is missing or not packed from it.

    A file in `dist` that is older than `charms/<name>` would hide what was changed since.
    """
    source = source_of(packed)
    if source is None or not packed.exists():
        return packed if packed.exists() else source or packed
    parts = {"src": source / "src", "lib/charmkit": source.parent.parent / "lib/charmkit"}
    with zipfile.ZipFile(packed) as archive:
        names = set(archive.namelist())
        for prefix, folder in parts.items():
            for file in folder.rglob("*.py"):
                name = f"{prefix}/{file.relative_to(folder)}"
                if name not in names or archive.read(name) != file.read_bytes():
                    return source
    return packed
