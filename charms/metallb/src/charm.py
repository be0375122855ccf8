# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MetalLB: events and relations. What is done to the cluster stands in `cycle`."""

import logging

import ops

import actions
import relations
import removal
from assembly import Parts
from charmkit import status
from charmkit.departure import arrive, has_departed
from charmkit.errors import CharmkitError
from charmkit.gateways import Gateways

_logger = logging.getLogger(__name__)


class MetallbCharm(ops.CharmBase):
    """Keep MetalLB in a cluster, with pools that were checked before they break a network."""

    gateways = Gateways()
    """Where the outside comes from; the rehearsal runs a subclass with simulated ones."""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._problems: list[CharmkitError] | None = None
        self._active = ""
        for event in (
            self.on.install,
            self.on.start,
            self.on.config_changed,
            self.on.secret_changed,
        ):
            framework.observe(event, self._on_change)
        for event in (self.on.update_status, self.on.upgrade_charm, self.on.leader_elected):
            framework.observe(event, self._on_sweep)
        for endpoint in relations.ENDPOINTS:
            for name in ("created", "joined", "changed"):
                framework.observe(getattr(self.on[endpoint], f"relation_{name}"), self._on_change)
            framework.observe(self.on[endpoint].relation_departed, self._on_departed)
            framework.observe(self.on[endpoint].relation_broken, self._on_broken)
        framework.observe(self.on.stop, self._on_stop)
        framework.observe(self.on.show_pools_action, self._on_show_pools)
        framework.observe(self.on.check_address_action, self._on_check_address)
        framework.observe(self.on.confirm_pool_change_action, self._on_confirm_pool_change)
        framework.observe(self.on.prepare_removal_action, self._on_prepare_removal)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    def _on_change(self, event: ops.EventBase) -> None:
        if isinstance(event, ops.InstallEvent):
            arrive(self.gateways.host(), self.app.name)
        self._reconcile(sweep=False)

    def _on_sweep(self, _: ops.EventBase) -> None:
        self._reconcile(sweep=True)

    def _on_departed(self, event: ops.RelationDepartedEvent) -> None:
        if event.departing_unit == self.unit:
            self._release(is_last_chance=False)
        else:
            self._reconcile(sweep=False)

    def _on_broken(self, event: ops.RelationBrokenEvent) -> None:
        if event.relation.name == relations.HOST:
            self._release(is_last_chance=False)  # A subordinate does not outlive its principal.
        else:
            self._reconcile(sweep=False)

    def _on_stop(self, _: ops.StopEvent) -> None:
        self._release(is_last_chance=True)

    def _reconcile(self, *, sweep: bool) -> None:
        """Gate, read, plan, apply; what stands in the way becomes the status."""
        if has_departed(self.gateways.host(), self.app.name, self.unit.name):
            self._release(is_last_chance=True)
            return
        if relations.ends(self):
            return  # Another unit takes MetalLB down: nothing is made anew.
        try:
            outcome = self._parts().reconcile(sweep=sweep)
        except CharmkitError as error:
            _logger.info("not done: %s", error)
            self._problems = [error]
            return
        if outcome is not None:
            self._problems, self._active = list(outcome.problems), outcome.active

    def _release(self, *, is_last_chance: bool) -> None:
        """Leave the machine; what cannot be done now is tried again in the next event."""
        options, _ = relations.load_options(self)
        leaving = removal.Leaving(
            self.app.name,
            self.unit.name,
            options.namespace,
            relations.ends(self),
            is_last_chance,
        )
        removal.release(leaving, self.gateways)

    def _on_show_pools(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.show_pools)

    def _on_check_address(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.check_address)

    def _on_confirm_pool_change(self, event: ops.ActionEvent) -> None:
        if self._answer(event, actions.confirm_pool_change):
            self._reconcile(sweep=True)

    def _on_prepare_removal(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.foretell_removal)

    def _answer(self, event: ops.ActionEvent, action: actions.Action) -> bool:
        return status.answer(event, lambda: action(self._parts(), event.params))

    def _on_collect_status(self, event: ops.CollectStatusEvent) -> None:
        status.report(event, self._problems, self._active)

    def _parts(self) -> Parts:
        """Return what Juju tells, and the gateways."""
        host = self.gateways.host()
        return Parts(relations.read_inputs(self, host.files), self.gateways)


if __name__ == "__main__":
    ops.main(MetallbCharm)
