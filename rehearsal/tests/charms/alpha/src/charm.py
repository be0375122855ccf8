# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A charm that does what its options say; every test charm of the engine shares this file.

`script` is YAML: hook name to a list of steps, each a mapping with one of: unit and app (endpoint
to data to write), status, fail, exit, reboot, store, defer, log, version, port, secret.
"""

import json
import os
from pathlib import Path

import ops
import yaml


class RecorderCharm(ops.CharmBase):
    """Records what each hook saw and runs the script of the hook."""

    stored = ops.StoredState()

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.stored.set_default(count=0)
        for name, event in self.on.events().items():
            if not name.startswith(("collect_", "pre_commit", "commit")):
                framework.observe(event, self._on_any)

    def _on_any(self, event: ops.EventBase) -> None:
        hook = Path(os.environ["JUJU_DISPATCH_PATH"]).name
        self._record(hook, event)
        script = yaml.safe_load(str(self.config.get("script") or "")) or {}
        for step in script.get(hook, []):
            for name, value in step.items():
                getattr(self, f"_do_{name}")(value, event)

    def _record(self, hook: str, event: ops.EventBase) -> None:
        folder = str(self.config.get("record") or "")
        if not folder:
            return
        seen = {
            "hook": hook,
            "leader": self.unit.is_leader(),
            "config": {k: v for k, v in self.config.items() if k not in ("record", "script")},
            "environment": {k: v for k, v in os.environ.items() if k.startswith("JUJU_")},
            "relations": [self._seen(r) for rs in self.model.relations.values() for r in rs],
            "stored": self.stored.count,
        }
        if isinstance(event, ops.RelationDepartedEvent) and event.unit:
            seen["departed-data"] = dict(event.relation.data[event.unit])
            seen["departing"] = event.departing_unit and event.departing_unit.name
        path = Path(folder) / f"{self.unit.name.replace('/', '-')}.jsonl"
        with path.open("a") as file:
            file.write(json.dumps(seen, default=str) + "\n")

    def _seen(self, relation: ops.Relation) -> dict[str, object]:
        return {
            "id": relation.id,
            "name": relation.name,
            "units": sorted(unit.name for unit in relation.units),
            "data": {unit.name: dict(relation.data[unit]) for unit in relation.units},
            "local": dict(relation.data[self.unit]),
            "app": dict(relation.data[relation.app]) if relation.app != self.app else {},
        }

    def _do_unit(self, value: dict[str, dict[str, str]], event: ops.EventBase) -> None:
        for endpoint, data in value.items():
            for relation in self.model.relations[endpoint]:
                relation.data[self.unit].update(data)

    def _do_app(self, value: dict[str, dict[str, str]], event: ops.EventBase) -> None:
        for endpoint, data in value.items():
            for relation in self.model.relations[endpoint]:
                if self.unit.is_leader():
                    relation.data[self.app].update(data)

    def _do_status(self, value: list[str], event: ops.EventBase) -> None:
        self.unit.status = ops.StatusBase.from_name(*value)

    def _do_fail(self, value: str, event: ops.EventBase) -> None:
        raise RuntimeError(value)

    def _do_reboot(self, value: str, event: ops.EventBase) -> None:
        marker = Path(str(self.config["record"]), "rebooted")
        if value == "after" and not marker.exists():
            self.unit.reboot()
        elif value == "now-once" and not marker.exists():
            marker.touch()
            self.unit.reboot(now=True)

    def _do_store(self, value: int, event: ops.EventBase) -> None:
        self.stored.count += value

    def _do_defer(self, value: bool, event: ops.EventBase) -> None:
        event.defer()

    def _do_log(self, value: str, event: ops.EventBase) -> None:
        if isinstance(event, ops.ActionEvent):
            event.log(value)

    def _do_version(self, value: str, event: ops.EventBase) -> None:
        self.unit.set_workload_version(value)

    def _do_port(self, value: int, event: ops.EventBase) -> None:
        self.unit.open_port("tcp", value)

    def _do_results(self, value: dict[str, object], event: ops.EventBase) -> None:
        if isinstance(event, ops.ActionEvent):
            event.set_results(value)

    def _do_giveup(self, value: str, event: ops.EventBase) -> None:
        if isinstance(event, ops.ActionEvent):
            event.fail(value)

    def _do_count(self, value: str, event: ops.EventBase) -> None:
        for relation in self.model.relations[value]:
            bag = relation.data[self.unit]
            bag["count"] = str(int(bag.get("count", "0")) + 1)


ops.main(RecorderCharm)
