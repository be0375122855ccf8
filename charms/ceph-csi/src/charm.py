#!/usr/bin/env python3
# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""ceph-csi: events and relations. What is done to clusters stands in `cycle` and `removal`."""

import logging

import ops

import actions
import relations
import removal
import watch
from assembly import Parts
from charmkit import status
from charmkit.departure import arrive, has_departed
from charmkit.errors import CharmkitError
from charmkit.gateways import Gateways
from charmkit.services import ServiceSpec
from charmkit.watcher import arrange
from cycle import Cycle
from rollout import find_unready

_logger = logging.getLogger(__name__)


class CephCsiCharm(ops.CharmBase):
    """Keep storage from Ceph clusters in a Kubernetes cluster, and never lose a volume."""

    gateways = Gateways()
    """Where the outside comes from; the rehearsal runs a subclass with simulated ones."""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._problems: list[CharmkitError] | None = None
        self._active = ""
        on = self.on
        for event in (on.install, on.start, on.config_changed, on.secret_changed):
            framework.observe(event, self._on_change)
        for event in (on.update_status, on.upgrade_charm, on.leader_elected):
            framework.observe(event, self._on_sweep)
        for endpoint in relations.LEAVING:
            for name in ("created", "joined", "changed"):
                framework.observe(getattr(on[endpoint], f"relation_{name}"), self._on_change)
            framework.observe(on[endpoint].relation_departed, self._on_departed)
            framework.observe(on[endpoint].relation_broken, self._on_broken)
        framework.observe(on.stop, self._on_stop)
        for name in actions.QUESTIONS:
            framework.observe(on[name].action, self._on_question)
        framework.observe(on.sync_action, self._on_sync)
        framework.observe(on.adopt_action, self._on_adopt)
        framework.observe(on.collect_unit_status, self._on_collect_status)

    def _on_change(self, event: ops.EventBase) -> None:
        if isinstance(event, ops.InstallEvent):
            arrive(self.gateways.host(), self.app.name)
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
            self._reconcile(sweep=True)

    def _on_stop(self, _: ops.StopEvent) -> None:
        self._release()

    def _reconcile(self, *, sweep: bool) -> None:
        """Gate, read, plan, apply; what stands in the way becomes the status."""
        host = self.gateways.host()
        if has_departed(host, self.app.name, self.unit.name):
            self._release()
            return
        if relations.ends(self):
            return  # Another unit may have cleaned up already.
        parts = Parts(relations.read_inputs(self, host.files, sweep=sweep), self.gateways)
        try:
            self._problems = self._lead(parts) if parts.inputs.leader else self._follow(parts)
        except CharmkitError as error:
            _logger.info("not done: %s", error)
            parts.forget_refused(error)
            self._problems = [error, *parts.inputs.problems]
        spec = ServiceSpec(self.app.name, watch.MODULE, self.unit.name)
        self._problems += arrange(host, self.charm_dir, spec, self._problems)

    def _lead(self, parts: Parts) -> list[CharmkitError]:
        """Do everything; while an option is refused nothing is asked for or applied."""
        if parts.inputs.refused is not None:
            return [parts.inputs.refused]
        cycle = Cycle(parts)
        try:
            view = cycle.look()
        except CharmkitError:
            relations.publish(self)
            raise
        outcome = cycle.reconcile(view, relations.publish(self, view.requests))
        self._active = outcome.active
        return list(outcome.problems)

    def _follow(self, parts: Parts) -> list[CharmkitError]:
        """Report what the leader keeps; have an account, to clean up when the leader is gone."""
        relations.publish(self)
        self._active = "the leader keeps the drivers"
        if parts.inputs.refused is not None:
            return [parts.inputs.refused]
        return find_unready(parts.kube, self.app.name)

    def _release(self) -> None:
        """Leave; what cannot be done now is tried again in the next event."""
        ends = relations.ends(self)
        removal.release(self.app.name, self.unit.name, self.gateways, ends=ends)

    def _on_question(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.QUESTIONS[event.handle.kind.removesuffix("_action")])

    def _on_sync(self, event: ops.ActionEvent) -> None:
        self._reconcile(sweep=True)
        event.set_results(actions.describe_problems(self._problems or []))

    def _on_adopt(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.adopt)
        self._reconcile(sweep=True)  # Also after half of it: drivers that went must come back.

    def _answer(self, event: ops.ActionEvent, action: actions.Action) -> bool:
        return status.answer(event, lambda: action(self._parts(), event.params))

    def _parts(self) -> Parts:
        inputs = relations.read_inputs(self, self.gateways.host().files, sweep=True)
        return Parts(inputs, self.gateways)

    def _on_collect_status(self, event: ops.CollectStatusEvent) -> None:
        status.report(event, self._problems, self._active)


if __name__ == "__main__":
    ops.main(CephCsiCharm)
