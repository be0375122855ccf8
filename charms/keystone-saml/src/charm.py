#!/usr/bin/env python3
# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm keystone-saml: events in, one run over machine and Keystone, statuses out."""

from collections.abc import Callable
from contextlib import closing

import ops

import actions
from campus import Campus
from charmkit import status
from charmkit.config import load
from charmkit.departure import arrive, depart, has_departed
from charmkit.errors import CharmkitError
from config import SamlOptions
from gateways import Gateways
from keeper import Keeper
from record import Memory
from relations import ADMIN, CONTAINER, DASHBOARD, FRONT, PEERS, WEBSSO, Relations


class KeystoneSamlCharm(ops.CharmBase):
    """Let a campus log in at Keystone by SAML, and keep what that needs in Keystone true."""

    gateways = Gateways()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self._problems: list[CharmkitError] | None = None
        self._active = ""
        self._host = self.gateways.host()
        self._relations = Relations(self)
        on = self.on
        sides = [on[name] for name in (FRONT, WEBSSO, DASHBOARD, ADMIN, PEERS)]
        heard = [one for side in sides for one in (side.relation_created, side.relation_changed)]
        alive = [on.install, on.start, on.upgrade_charm, on.config_changed, on.update_status]
        handlers: dict[Callable[..., None], list[ops.BoundEvent]] = {
            self._on_alive: [*alive, on.leader_elected, on.secret_changed, *heard],
            self._on_departed: [on[name].relation_departed for name in (CONTAINER, FRONT)],
            self._on_broken: [on[FRONT].relation_broken],
            self._on_leaving: [on.stop, on.remove],
            self._on_check: [on.check_action],
            self._on_get_sp_metadata: [on.get_sp_metadata_action],
            self._on_apply_federation: [on.apply_federation_action],
            self._on_validate_mapping: [on.validate_mapping_action],
            self._on_rotate_sp_key: [on.rotate_sp_key_action],
            self._on_prepare_removal: [on.prepare_removal_action],
            self._on_collect_status: [on.collect_unit_status],
        }
        for handler, events in handlers.items():
            for event in events:
                framework.observe(event, handler)

    def _on_alive(self, event: ops.EventBase) -> None:
        if isinstance(event, ops.InstallEvent):
            arrive(self._host, self.app.name)
        self._reconcile()

    def _on_departed(self, event: ops.RelationDepartedEvent) -> None:
        if event.departing_unit == self.unit:
            self._leave()

    def _on_broken(self, _: ops.RelationBrokenEvent) -> None:
        """Take the login away, not the unit: keystone may be related again, or still is."""
        if self._relations.has_front():
            self._reconcile()
            return
        Keeper(self._host, self.app.name).remove()
        self._relations.withdraw()

    def _on_leaving(self, event: ops.EventBase) -> None:
        self._leave()
        if isinstance(event, ops.RemoveEvent):
            Memory(self._host.files, self.app.name).clear()

    def _on_check(self, event: ops.ActionEvent) -> None:
        here = (self._relations, self._host)
        self._answer(event, lambda campus, options: actions.run_checks(campus, options, *here))

    def _on_get_sp_metadata(self, event: ops.ActionEvent) -> None:
        self._answer(event, actions.describe_metadata)

    def _on_apply_federation(self, event: ops.ActionEvent) -> None:
        dry_run, adopt = bool(event.params["dry-run"]), bool(event.params["adopt"])

        if not dry_run and not self.unit.is_leader():
            event.fail("only the leader writes to Keystone, run it there")
            return
        self._answer(
            event,
            lambda campus, _: actions.apply_federation(campus, dry_run=dry_run, adopt=adopt),
        )

    def _on_validate_mapping(self, event: ops.ActionEvent) -> None:
        sample, rules = str(event.params["attributes"]), str(event.params["rules"])

        self._answer(event, lambda one, two: actions.validate_mapping(one, two, sample, rules))

    def _on_rotate_sp_key(self, event: ops.ActionEvent) -> None:
        step, now = str(event.params["step"]), self._host.now()

        here = (self._relations, step, now)
        if self._answer(event, lambda campus, options: actions.rotate_key(campus, options, *here)):
            self._reconcile()

    def _on_prepare_removal(self, event: ops.ActionEvent) -> None:
        self._answer(event, lambda _, options: actions.describe_removal(self.app.name, options))

    def _on_collect_status(self, event: ops.CollectStatusEvent) -> None:
        status.report(event, self._problems, self._active)

    def _answer(
        self, event: ops.ActionEvent, do: Callable[[Campus, SamlOptions], dict[str, str]]
    ) -> bool:
        """Answer an action; return whether it succeeded."""
        try:
            options = load(self, SamlOptions)
            with closing(self._campus(options)) as campus:
                event.set_results(actions.shorten(do(campus, options)))
        except (CharmkitError, ValueError) as error:
            event.fail(str(error))
            return False
        return True

    def _campus(self, options: SamlOptions) -> Campus:
        return Campus(self.gateways, self._host, self._relations, options)

    def _reconcile(self) -> None:
        """Gate, read, plan, apply; what stands in the way becomes the status."""
        try:
            if has_departed(self._host, self.app.name, self.unit.name):
                return
            self._problems = []
            with closing(self._campus(load(self, SamlOptions))) as campus:
                self._problems, self._active = campus.run()
        except CharmkitError as problem:
            self._problems = [problem]

    def _leave(self) -> None:
        """Take the service provider out of Apache at the first event that says so."""
        Keeper(self._host, self.app.name).remove()
        depart(self._host, self.app.name, self.unit.name)


if __name__ == "__main__":
    ops.main(KeystoneSamlCharm)
