# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keystone auth: events and relations. What is done stands in `assembly`, `daemon`, `removal`."""

import logging

import ops

import actions
import daemon
import relations
import removal
from assembly import Parts
from charmkit import departure, status
from charmkit.errors import CharmkitError
from gateways import Gateways
from ports import Identity, Inputs

_logger = logging.getLogger(__name__)


class KeystoneAuthCharm(ops.CharmBase):
    """Let people of a campus in by Keystone, each project in its namespace."""

    gateways = Gateways()
    """Where the outside comes from; the rehearsal runs a subclass with simulated ones."""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._problems: list[CharmkitError] | None = None
        self._active = ""
        self._me = Identity(self.app.name, self.unit.name)
        for event in (
            self.on.install,
            self.on.start,
            self.on.config_changed,
            self.on.secret_changed,
        ):
            framework.observe(event, self._on_change)
        for event in (self.on.update_status, self.on.upgrade_charm, self.on.leader_elected):
            framework.observe(event, self._on_sweep)
        for endpoint in (relations.KUBE_CONTROL, relations.KEYSTONE):
            for name in ("created", "joined", "changed"):
                framework.observe(getattr(self.on[endpoint], f"relation_{name}"), self._on_change)
        for endpoint in relations.ENDPOINTS:
            framework.observe(self.on[endpoint].relation_departed, self._on_departed)
            framework.observe(self.on[endpoint].relation_broken, self._on_broken)
        framework.observe(self.on.stop, self._on_stop)
        framework.observe(self.on.sync_action, self._on_sync)
        framework.observe(self.on.whoami_action, self._on_whoami)
        for name in actions.PLAIN:
            framework.observe(self.on[name].action, self._on_action)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    def _on_change(self, event: ops.EventBase) -> None:
        if isinstance(event, ops.InstallEvent):
            departure.arrive(self.gateways.host(), self._me.application)
        self._reconcile(sweep=False)

    def _on_sweep(self, _: ops.EventBase) -> None:
        self._reconcile(sweep=True)

    def _on_departed(self, event: ops.RelationDepartedEvent) -> None:
        if event.departing_unit == self.unit:
            self._release()
        else:
            self._reconcile(sweep=False)

    def _on_broken(self, event: ops.RelationBrokenEvent) -> None:
        if event.relation.name == relations.HOST:
            self._release()  # A subordinate does not outlive its principal.
        else:
            self._reconcile(sweep=False)

    def _on_stop(self, _: ops.StopEvent) -> None:
        self._release()

    def _reconcile(self, *, sweep: bool) -> None:
        """Gate, read, plan, apply; what stands in the way becomes the status."""
        parts = self._parts()
        if departure.has_departed(parts.host, self._me.application, self._me.unit):
            self._release()
            return
        relations.request_user(self)
        outcome = parts.reconcile(sweep=sweep)
        for problem in outcome.problems:
            _logger.info("not done: %s", problem)
        self._problems, self._active = list(outcome.problems), outcome.active

    def _release(self) -> None:
        """Leave the machine; what cannot be done now is tried again in the next event."""
        removal.release(self._me, self.gateways, ends=self.app.planned_units() == 0)

    def _on_sync(self, event: ops.ActionEvent) -> None:
        if self._answer(event, actions.synchronize):
            self._reconcile(sweep=False)

    def _on_whoami(self, event: ops.ActionEvent) -> None:
        def ask(parts: Parts, _: object) -> actions.Results:
            return actions.who_am_i(parts, relations.read_token(self, event.params["token"]))

        self._answer(event, ask)

    def _on_action(self, event: ops.ActionEvent) -> None:
        name = event.handle.kind.removesuffix("_action").replace("_", "-")
        self._answer(event, actions.PLAIN[name])

    def _answer(self, event: ops.ActionEvent, action: actions.Action) -> bool:
        return status.answer(event, lambda: action(self._parts(), event.params))

    def _on_collect_status(self, event: ops.CollectStatusEvent) -> None:
        status.report(event, self._problems, self._active)

    def _parts(self) -> Parts:
        """Return what Juju tells, and the gateways."""
        host = self.gateways.host()
        options, refused = relations.load_options(self)
        trusts = host.files.exists(daemon.ca_path(self.app.name))
        access, no_access = relations.find_access(self, options, trusts=trusts)
        ways, no_way = relations.find_cluster_ways(self, options, host.files)
        inputs = Inputs(
            identity=self._me,
            options=options,
            refused=refused,
            access=access,
            no_access=no_access,
            leader=self.unit.is_leader(),
            ways=ways,
            no_way=no_way,
            charm_dir=self.charm_dir,
        )
        return Parts(inputs, self.gateways, host)


if __name__ == "__main__":
    ops.main(KeystoneAuthCharm)
