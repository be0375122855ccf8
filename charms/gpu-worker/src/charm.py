# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPU worker: events and relations. What is done to the machine stands in `cycle` and `worker`."""

import logging

import ops

import actions
import relations
import removal
from assembly import Inputs, Parts
from charmkit import status
from charmkit.access import find_ways
from charmkit.departure import arrive, has_departed
from charmkit.errors import CharmkitError
from gateways import Gateways
from ports import Identity

_logger = logging.getLogger(__name__)


class GpuWorkerCharm(ops.CharmBase):
    """Keep the GPUs of a machine cut as asked, and its node advertising exactly that."""

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
            self.on.upgrade_charm,
            self.on.config_changed,
            self.on.update_status,
            self.on.leader_elected,
            self.on.secret_changed,
        ):
            framework.observe(event, self._on_change)
        for endpoint in (relations.GPU_DRIVER, relations.KUBE_CONTROL, relations.POOL):
            for name in ("created", "joined", "changed"):
                framework.observe(getattr(self.on[endpoint], f"relation_{name}"), self._on_change)
        for endpoint in relations.ENDPOINTS:
            framework.observe(self.on[endpoint].relation_departed, self._on_departed)
            framework.observe(self.on[endpoint].relation_broken, self._on_broken)
        framework.observe(self.on.stop, self._on_stop)
        framework.observe(self.on.set_mig_profile_action, self._on_set_mig_profile)
        framework.observe(self.on.plan_mig_action, self._on_plan_mig)
        framework.observe(self.on.show_gpus_action, self._on_show_gpus)
        framework.observe(self.on.forget_gpus_action, self._on_forget_gpus)
        framework.observe(self.on.drain_node_action, self._on_drain_node)
        framework.observe(self.on.prepare_removal_action, self._on_prepare_removal)
        framework.observe(self.on.collect_unit_status, self._on_collect_status)

    def _on_change(self, event: ops.EventBase) -> None:
        if relations.is_of_another_machine(event, relations.find_machine()):
            return
        if isinstance(event, ops.InstallEvent):
            arrive(self.gateways.host(), self._me.application)
        if not relations.is_pool_gossip(event, self, self.gateways.host().now()):
            self._reconcile()

    def _on_departed(self, event: ops.RelationDepartedEvent) -> None:
        if event.departing_unit == self.unit:
            self._release()
        else:
            self._on_change(event)

    def _on_broken(self, event: ops.RelationBrokenEvent) -> None:
        if event.relation.name == relations.HOST:
            self._release()  # A subordinate does not outlive its principal.
        elif event.relation.name != relations.POOL:
            self._reconcile()

    def _on_stop(self, _: ops.StopEvent) -> None:
        self._release()

    def _reconcile(self) -> None:
        """Gate, read, plan, apply; what stands in the way becomes the status."""
        parts = self._parts()
        if has_departed(parts.host, self._me.application, self._me.unit):
            self._release()
            return
        relations.publish(self, parts.store.read_progress().granted)
        others = parts.inputs.problems
        try:
            outcome = parts.reconcile()
        except CharmkitError as error:
            _logger.info("not done: %s", error)
            self._problems = [*others, error]
            return
        relations.publish(self, outcome.granted, outcome.holds)
        self._problems = [*outcome.problems, *others[1:]]
        self._active = outcome.active
        if outcome.reboots:
            self.unit.reboot()

    def _release(self) -> None:
        """Leave the machine; what cannot be done now is tried again in the next event."""
        removal.release(self._me, self.gateways, *relations.is_last(self))

    def _on_set_mig_profile(self, event: ops.ActionEvent) -> None:
        if self._answer(event, actions.set_profile):
            self._reconcile()

    def _on_plan_mig(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.plan_profile)

    def _on_show_gpus(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.show_gpus)

    def _on_forget_gpus(self, event: ops.ActionEvent) -> None:
        if self._answer(event, actions.forget_gpus):
            self._reconcile()

    def _on_drain_node(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.drain_node)

    def _on_prepare_removal(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.foretell_removal)

    def _answer(self, event: ops.ActionEvent, action: actions.Action) -> bool:
        return status.answer(event, lambda: action(self._parts(), event.params))

    def _on_collect_status(self, event: ops.CollectStatusEvent) -> None:
        status.report(event, self._problems, self._active)

    def _parts(self) -> Parts:
        """Return what Juju tells, and the gateways."""
        host = self.gateways.host()
        options, refused = relations.load_options(self)
        driver, missing = relations.find_driver(self)
        ways, no_way = find_ways(self, host.files, endpoint=relations.KUBE_CONTROL)
        lease = relations.PoolLease(self, options.max_unavailable, host.now())
        problems = tuple(problem for problem in (refused, missing) if problem)
        leader = self.unit.is_leader()
        inputs = Inputs(
            self._me, options, driver, problems, leader, lease, ways, no_way, self.charm_dir
        )
        return Parts(inputs, self.gateways, host)


if __name__ == "__main__":
    ops.main(GpuWorkerCharm)
