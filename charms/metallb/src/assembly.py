# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Put the parts of a reconcile together: first contact, account, watcher, cycle. Knows no Juju."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

import watch
from charmkit.account import find_account, forget_account
from charmkit.addon import PART_OF, connect
from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ConfigError, ForbiddenError, NotReadyError
from charmkit.gateways import Gateways
from charmkit.host import Host
from charmkit.kinds import NAMESPACE
from charmkit.kube import Kube
from charmkit.refusals import UnauthorizedError
from charmkit.services import ServiceSpec, ensure_services
from charmkit.watcher import Waits
from config import EXCLUDED_INTERFACES, MetallbOptions, check_together
from cycle import Cycle, Outcome
from facts import labels_of
from machine import Machine, answers_for_all, find_taken
from objects import namespace_of
from observe import check_foreign
from removal import home_of
from rights import grant_of
from store import Store


@dataclass(frozen=True, slots=True)
class Inputs:
    """What Juju tells about one unit.

    Attributes:
        application: Name of the application.
        unit: Name of the unit.
        options: What the operator wants; the defaults where an option is refused.
        refused: What is wrong with an option; None when nothing is.
        leader: The unit writes.
        ways: Ways into the cluster, best first.
        no_way: Why there is none; None when there is one.
        charm_dir: Where the charm's code is.
    """

    application: str
    unit: str
    options: MetallbOptions
    refused: ConfigError | None
    leader: bool
    ways: tuple[Credentials, ...]
    no_way: CharmkitError | None
    charm_dir: Path


class Parts:
    """The gateways of one unit and what is built on them; nothing is called before it is used."""

    def __init__(self, inputs: Inputs, gateways: Gateways) -> None:
        self.inputs = inputs
        self.gateways = gateways
        self.host: Host = gateways.host()
        self.store = Store(self.host.files, inputs.application)

    def reconcile(self, *, sweep: bool) -> Outcome | None:
        """Do everything that can be done now.

        Args:
            sweep: Look at everything, though the record says that nothing changed.

        Returns:
            None when nothing changed since the last clean look: the status stands.

        Raises:
            CharmkitError: An option is refused or a gateway failed; the next reconcile goes on.
        """
        waits = Waits(self.host.files, self.inputs.application)
        try:
            outcome = self._reconcile(sweep=sweep)
        except CharmkitError as error:
            self._wait(waits, (error,))
            self.store.change(clean="")
            raise
        if outcome is not None:
            self._wait(waits, outcome.problems, renewed=outcome.renewed)
        return outcome

    def _reconcile(self, *, sweep: bool) -> Outcome | None:
        inputs = self.inputs
        self._ensure_watcher()
        if inputs.refused is not None:
            raise inputs.refused
        check_together(inputs.options)
        try:
            cycle = self.make_cycle()
            if not sweep and cycle.is_settled():
                return None
            files = self.host.files
            machine = Machine(
                answers_for_all(files), tuple(find_taken(files, EXCLUDED_INTERFACES))
            )
            return cycle.run(machine, leads=inputs.leader)
        except (ForbiddenError, UnauthorizedError):
            # The account may have lost its token or its role: it is made again next time.
            forget_account(self.host, inputs.application)
            raise

    def make_cycle(self) -> Cycle:
        """Return the cycle of this application, on its own account.

        Raises:
            CharmkitError: No way leads into the cluster, or another MetalLB is in it.
        """
        inputs, kube = self.inputs, self.connect()
        return Cycle(inputs.application, inputs.options, kube, self.store, self.host.now())

    def connect(self) -> Kube:
        """Return the cluster as the application's own account sees it.

        Raises:
            ConfigError: The option names another namespace than the one that is in use.
            CharmkitError: No way leads into the cluster, or another MetalLB is in it.
        """
        inputs = self.inputs
        cached = find_account(self.host, inputs.application)
        if cached is None:
            self._prepare()
        elif home_of(cached) != inputs.options.namespace:
            raise ConfigError("namespace", f"MetalLB is in {home_of(cached)}, set it back to that")
        return connect(
            self.host,
            inputs.application,
            grant_of(inputs.options.namespace),
            namespace=inputs.options.namespace,
            ways=(inputs.ways, inputs.no_way),
            make_kube=self.gateways.kube,
        )

    def _prepare(self) -> None:
        """Make the namespace as an administrator, in a cluster that has no other MetalLB.

        Nothing is written where there is one. The account is made in the namespace afterwards.
        """
        for way in self.inputs.ways:
            kube = self.gateways.kube(way, self.inputs.application)
            with contextlib.closing(kube), contextlib.suppress(UnauthorizedError):
                self._ensure_namespace(kube)
                return

    def _ensure_namespace(self, kube: Kube) -> None:
        application, name = self.inputs.application, self.inputs.options.namespace
        check_foreign(kube, application)
        homes = kube.list(NAMESPACE, labels=f"{PART_OF}={application}")
        others = [item["metadata"]["name"] for item in homes if item["metadata"]["name"] != name]
        if others:
            raise ConfigError("namespace", f"MetalLB is in {others[0]}, set it back to that")
        found = kube.find(NAMESPACE, name)
        if found is None:
            kube.apply(namespace_of(application, name))
        elif labels_of(found).get(PART_OF) != application:
            raise ConfigError("namespace", f"'{name}' is there and not ours, name another")

    def _ensure_watcher(self) -> None:
        """Make the watcher run."""
        spec = ServiceSpec(self.inputs.application, watch.MODULE, self.inputs.unit)
        ensure_services(self.host, self.inputs.charm_dir, spec)

    def _wait(
        self, waits: Waits, problems: tuple[CharmkitError, ...], *, renewed: bool = False
    ) -> None:
        """Say when to look again while something needs time; a person's turn needs no wake.

        After a change one more look finds the addresses that services have by it.
        """
        reason = next((str(p) for p in problems if isinstance(p, NotReadyError)), "")
        if renewed and not problems:
            reason = "services take their addresses"
        waits.again(self.inputs.unit, self.host.now(), reason)
