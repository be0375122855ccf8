# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Carries a plan out on a site, change by change in Juju's order, and stops where Juju stops."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from charmkit.errors import CharmkitError
from rehearsal.bundle import Application, Bundle, Change, Exposed, Plan, PlannedMachine
from rehearsal.charm_views import charm_from, is_anywhere
from rehearsal.errors import RehearsalError, UsageError
from rehearsal.facts import find_facts
from rehearsal.maas.machines import SiteMachine

if TYPE_CHECKING:
    from rehearsal.site import Site

Say = Callable[[str], None]
_EVERYWHERE = {"": Exposed(cidrs=("0.0.0.0/0", "::/0"))}


class Carrying:
    """One deploy. What was done before a failure stays, as with a controller."""

    def __init__(
        self,
        site: "Site",
        bundle: Bundle,
        plan: Plan,
        chosen: Mapping[str, SiteMachine],
        *,
        say: Say,
        show: Say,
        trust: bool,
    ) -> None:
        self.site, self.bundle, self.chosen = site, bundle, chosen
        self.say, self.show, self.trust = say, show, trust
        self.changes = plan.changes
        self.relations = iter(plan.relations)
        self.units = {unit.name: unit for unit in plan.units}
        self.machines = {machine.id: machine for machine in plan.machines}
        self.bases = plan.bases
        self.numbers: dict[str, str] = {}

    def run(self) -> None:
        """Do every change.

        Raises:
            UsageError: With Juju's words; changes before the one that fails are done.
        """
        for change in self.changes:
            self.show(f"- {change.text}")
            if change.failure:
                raise UsageError(f"cannot deploy bundle: {change.failure}")
            try:
                getattr(self, f"_{change.kind}")(change)
            except (RehearsalError, CharmkitError) as error:
                raise UsageError(f"cannot deploy bundle: {error}") from error

    def _application_of(self, change: Change) -> Application:
        return self.bundle.applications[change.subject]

    def _upload(self, change: Change) -> None:
        """Nothing: the charm is read when it is deployed."""

    def _deploy(self, change: Change) -> None:
        application = self._application_of(change)
        self.site.deploy_application(
            application, self.bases[application.name], trust=application.trust and self.trust
        )

    def _upgrade(self, change: Change) -> None:
        model = self.site.juju.model
        model.applications[change.subject].charm.channel = self._application_of(change).channel
        model.touch("applications", change.subject)

    def _options(self, change: Change) -> None:
        options = self._application_of(change).options
        values = {name: value for name, value in options.items() if value is not None}
        self.site.juju.set_config(change.subject, values)

    def _constraints(self, change: Change) -> None:
        text = self._application_of(change).constraints
        model = self.site.juju.model
        model.applications[change.subject].constraints = text
        model.touch("applications", change.subject)
        self.site.ledger.constrain(change.subject, text)

    def _expose(self, change: Change) -> None:
        application = self._application_of(change)
        model = self.site.juju.model
        model.applications[application.name].exposed = True
        model.touch("applications", application.name)
        exposed = {"": _EVERYWHERE[""]} if application.expose else dict(application.exposed)
        self.site.ledger.expose(application.name, exposed)

    def _annotate(self, change: Change) -> None:
        if change.subject in self.bundle.machines:
            annotations = self.bundle.machines[change.subject].annotations
            self.site.ledger.annotate("machines", change.subject, annotations)
        else:
            annotations = self._application_of(change).annotations
            self.site.ledger.annotate("applications", change.subject, annotations)

    def _machine(self, change: Change) -> None:
        self._make(self.machines[change.subject])

    def _container(self, change: Change) -> None:
        self._make(self.machines[change.subject])

    def _make(self, machine: PlannedMachine) -> str:
        """Return the number of a machine in the model, made now if it is not there.

        Machines that the plan numbers before it are made first, so that the numbers are its.
        """
        if machine.container and machine.id not in self.numbers:
            self.numbers[machine.id] = self.site.add_container(
                machine, self._number(machine.parent)
            )
        elif machine.id not in self.numbers:
            for earlier in self.machines.values():
                if not earlier.container and earlier.id not in self.numbers:
                    chosen = self.chosen[earlier.id]
                    self.numbers[earlier.id] = self.site.add_machine(earlier, chosen, self.say)
                if earlier.id == machine.id:
                    break
        return self.numbers[machine.id]

    def _number(self, planned: str) -> str:
        machine = self.machines.get(planned)
        return self._make(machine) if machine else planned

    def _unit(self, change: Change) -> None:
        unit = self.units[change.subject]
        number = self._number(unit.machine)
        if self.site.juju.model.applications[unit.application].charm.subordinate:
            self.say(f"unit {unit.name}: the stray unit of a subordinate is not modelled")
            return
        self.site.juju.add_unit(unit.application, number)

    def _relation(self, change: Change) -> None:
        relation = next(self.relations)
        first, second = (f"{app}:{end}" if end else app for app, end in relation.ends)
        known = self.site.juju.model.applications
        if any(app in self.bundle.saas and app not in known for app, _ in relation.ends):
            self.say(f"relation {first} - {second}: other models are not modelled")
            return
        self.site.juju.integrate(first, second)

    def _consume(self, change: Change) -> None:
        """Note the offer; a stand-in of its name stands for it where one can."""
        url = self.bundle.saas[change.subject] or ""
        self.site.ledger.consume(change.subject, url)
        facts = find_facts(url.rpartition(".")[2])
        charm = charm_from(facts) if facts else None
        if charm is not None and is_anywhere(charm):
            self.site.juju.offers.consume(url, charm, change.subject)

    def _offer(self, change: Change) -> None:
        for application in self.bundle.applications.values():
            if change.subject in application.offers:
                offer = application.offers[change.subject]
                self.site.ledger.offer(change.subject, offer.endpoints, offer.acl)

    def _grant(self, change: Change) -> None:
        """Nothing: the access list was noted with the offer."""
