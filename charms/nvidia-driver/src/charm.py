#!/usr/bin/env python3
# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm nvidia-driver: events in, one run over the machine, statuses out."""

import dataclasses

import ops

import relations
from charmkit import status
from charmkit.config import load
from charmkit.errors import CharmkitError
from charmkit.gateways import Gateways
from config import DriverOptions, Reboot
from disruption import Leave
from keeper import Keeper, Outcome
from observed import read_holders, read_machine
from record import Memory, is_standby
from removal import describe_removal, forget_machine, leave_machine
from reports import describe_driver, describe_upgrade


class NvidiaDriverCharm(ops.CharmBase):
    """Keep the right driver of a GPU machine installed, loaded and matching, or say why not."""

    gateways = Gateways()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._problems: list[CharmkitError] | None = None
        self._active = ""
        self._host = self.gateways.host()
        self._memory = Memory(self._host.files, self.app.name)
        self._fleet = relations.Fleet(self, self._host.now())
        on = self.on
        host, worker, fleet = (on[name] for name in relations.ENDPOINTS)
        alive = (on.install, on.start, on.upgrade_charm, on.config_changed, on.update_status)
        handlers = {
            self._on_alive: (*alive, on.leader_elected),
            self._on_worker: (worker.relation_created, worker.relation_changed),
            self._on_fleet: (fleet.relation_changed,),
            self._on_departed: (worker.relation_departed, fleet.relation_departed),
            self._on_leaving: (host.relation_departed, host.relation_broken, on.stop, on.remove),
            self._on_show_driver: (on.show_driver_action,),
            self._on_upgrade_driver: (on.upgrade_driver_action,),
            self._on_prepare_removal: (on.prepare_removal_action,),
            self._on_collect_status: (on.collect_unit_status,),
        }
        for handler, events in handlers.items():
            for event in events:
                framework.observe(event, handler)

    def _on_alive(self, _: ops.EventBase) -> None:
        self._reconcile(stays=True)

    def _on_worker(self, event: ops.RelationEvent) -> None:
        if not relations.is_elsewhere(event):
            self._reconcile()

    def _on_fleet(self, _: ops.RelationEvent) -> None:
        """Hand out turns; look at the machine only when this one may have got its own."""
        self._fleet.serve()
        if self._fleet.is_asking():
            self._reconcile()

    def _on_departed(self, event: ops.RelationDepartedEvent) -> None:
        if event.departing_unit == self.unit:
            self._on_leaving(event)
        elif event.relation.name == relations.DRIVER:
            self._on_worker(event)
        elif event.departing_unit:
            self._fleet.serve(gone={event.departing_unit.name})

    def _on_leaving(self, event: ops.EventBase) -> None:
        """Clean up at the first of these events: Juju may leave out the others."""
        if isinstance(event, ops.RelationDepartedEvent) and event.departing_unit != self.unit:
            return
        leave_machine(self._host, self._memory, self.unit.name)
        if isinstance(event, ops.RemoveEvent):
            forget_machine(self._memory, self.unit.name)

    def _on_show_driver(self, event: ops.ActionEvent) -> None:
        event.set_results(describe_driver(read_machine(self._host), read_holders(self._host)))

    def _on_upgrade_driver(self, event: ops.ActionEvent) -> None:
        before = read_machine(self._host).driver
        self._memory.write(dataclasses.replace(self._memory.read(), upgrade=True))
        self._reconcile()
        event.set_results(describe_upgrade(before, read_machine(self._host).driver))
        if self._problems:
            event.fail(str(self._problems[0]))

    def _on_prepare_removal(self, event: ops.ActionEvent) -> None:
        machine, record = read_machine(self._host), self._memory.read()
        event.set_results(describe_removal(machine, record, read_holders(self._host)))

    def _on_collect_status(self, event: ops.CollectStatusEvent) -> None:
        status.report(event, self._problems, self._active)

    def _reconcile(self, *, stays: bool = False) -> None:
        """Gate, read, plan, apply; what stands in the way becomes the status."""
        try:
            record = self._memory.read()
            if record.leaving and record.unit == self.unit.name and not stays:
                return
            self._problems = []
            if is_standby(record, self.unit.name, self._fleet.list_peers(), self._host.files):
                self._active = f"{record.unit} looks after this machine, nothing to do here"
                relations.publish(self.model, None)
                return
            self._memory.write(dataclasses.replace(record, unit=self.unit.name, leaving=False))
            self._show(self._keep(load(self, DriverOptions)))
        except CharmkitError as problem:
            self._problems = [problem]

    def _keep(self, options: DriverOptions) -> Outcome:
        """Run over the machine, and once more when that brought its turn."""
        outcome = self._run(options)
        self._fleet.set_asking(outcome.turn_for)
        self._fleet.serve()
        if outcome.turn_for and self._fleet.has_turn():
            outcome = self._run(options)
            self._fleet.set_asking(outcome.turn_for)
        return outcome

    def _run(self, options: DriverOptions) -> Outcome:
        leave = Leave(
            worker=relations.find_worker(self.model),
            has_lease=self._fleet.has_turn(),
            may_reboot=options.reboot is Reboot.WHEN_NEEDED,
            is_worker_open=relations.is_worker_open(self.model),
        )
        return Keeper(self._host, self._memory, options, self._set_progress).run(leave)

    def _show(self, outcome: Outcome) -> None:
        state = dataclasses.replace(outcome.state, machine=relations.machine_id())
        relations.publish(self.model, state)
        self._problems, self._active = list(outcome.problems), outcome.active
        if state.driver_version:
            self.unit.set_workload_version(state.driver_version)
        if outcome.reboot:
            self.unit.reboot()

    def _set_progress(self, what: str) -> None:
        self.unit.status = ops.MaintenanceStatus(what)


if __name__ == "__main__":
    ops.main(NvidiaDriverCharm)
