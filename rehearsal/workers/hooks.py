# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A unit's view as a Scenario state, and what came of it as edits. Runs in the worker."""

import ast
from datetime import datetime, timezone
from typing import Any

from ops import SecretRotate
from ops.testing import (
    Context,
    DeferredEvent,
    ICMPPort,
    Model,
    PeerRelation,
    Relation,
    Resource,
    Secret,
    State,
    Storage,
    StoredState,
    TCPPort,
    UDPPort,
)
from scenario.state import _EntityStatus, _Event

from rehearsal.workers.edits import Edits
from standins.units import Event, RelationView, SecretView, UnitView

_PORTS = {"tcp": TCPPort, "udp": UDPPort}


class RemoteBags(dict[int, dict[str, str]]):
    """Data of remote units; who departed is in no list, but can still be read."""

    departed: dict[int, dict[str, str]]

    def __missing__(self, unit: int) -> dict[str, str]:
        """Return the data of a departed unit.

        Raises:
            KeyError: The unit was never there.
        """
        return self.departed[unit]


def state_of(view: UnitView) -> State:
    """Return the Scenario state that a view stands for."""
    deferred, stored = _stored(view.stored)
    return State(
        config=dict(view.config),
        relations=[_relation(relation) for relation in view.relations],
        leader=view.leader,
        model=Model(name=view.model, uuid=view.model_uuid, type="lxd"),
        secrets=[_secret(secret, view) for secret in view.secrets],
        planned_units=view.planned_units,
        opened_ports=[_port(*port) for port in view.opened_ports],
        deferred=deferred,
        stored_states=stored,
        unit_status=_status(view.status),
        workload_version=view.workload_version,
        storages=[_storage(item.id) for item in view.storages],
        resources=[Resource(name=name, path=path) for name, path in view.resources.items()],
    )


def event_of(context: Context[Any], event: Event, state: State) -> _Event:
    """Return the Scenario event of a hook."""
    if event.action:
        return context.on.action(event.action, params=event.params, id=event.task)
    if event.relation_id is not None:
        name = f"{event.endpoint}_{event.name}".replace("-", "_")
        return _Event(name, relation=state.get_relation(event.relation_id))
    name = event.name.replace("-", "_")
    if event.storage:
        storage = _storage(event.storage)
        return _Event(f"{storage.name}_{name}".replace("-", "_"), storage=storage)
    if event.secret:
        secret = state.get_secret(id=event.secret)
        return _Event(name, secret=secret, secret_revision=event.revision)
    return _Event(name)


def read_back(state: State, view: UnitView, edits: Edits) -> None:
    """Write into the edits what a hook that succeeded left in its state."""
    for relation in state.relations:
        edits.bags[relation.id] = (dict(relation.local_unit_data), dict(relation.local_app_data))
    edits.ports = {(port.protocol, port.port or 0) for port in state.opened_ports}
    edits.secrets = [_secret_view(secret, view, edits) for secret in state.secrets]
    edits.stored = _stored_text(state)


def _relation(view: RelationView) -> Relation | PeerRelation:
    """Return one relation; container scope makes no difference to what a hook can do."""
    bags = RemoteBags({_number(unit): data for unit, data in view.remote_units.items()})
    bags.departed = {_number(unit): data for unit, data in view.departed.items()}
    local: dict[str, Any] = {
        "interface": view.interface,
        "id": view.id,
        "local_app_data": view.local_app,
        "local_unit_data": view.local_unit,
    }
    if view.peer:
        return PeerRelation(view.endpoint, peers_data=bags, **local)
    return Relation(
        view.endpoint,
        remote_app_name=view.remote_app,
        remote_app_data=view.remote_app_data,
        remote_units_data=bags,
        **local,
    )


def _number(unit: str) -> int:
    return int(unit.rpartition("/")[2])


def _port(protocol: str, number: int) -> Any:
    return ICMPPort() if protocol == "icmp" else _PORTS[protocol](number)


def _storage(identifier: str) -> Storage:
    name, _, index = identifier.partition("/")
    return Storage(name, index=int(index))


def _status(status: tuple[str, str]) -> _EntityStatus:
    """Return a status for Scenario, whose unknown has no message."""
    name: Any = status[0]
    return _EntityStatus.from_status_name(name, "" if name == "unknown" else status[1])


def _secret(view: SecretView, unit: UnitView) -> Secret:
    """Return one secret with the revisions that Juju has, which Scenario would start at 1."""
    owner: Any = {unit.name: "unit", unit.application: "app"}.get(view.owner)
    secret = Secret(
        view.contents.get(view.tracked) or view.contents[view.revision],
        latest_content=view.contents[view.revision],
        id=view.id,
        owner=owner,
        remote_grants=view.grants,
        label=view.label or None,
        description=view.description or None,
        rotate=SecretRotate(view.rotate) if view.rotate else None,
        expire=datetime.fromtimestamp(view.expire, tz=timezone.utc) if view.expire else None,
    )
    object.__setattr__(secret, "_tracked_revision", view.tracked)
    object.__setattr__(secret, "_latest_revision", view.revision)
    return secret


def _secret_view(secret: Secret, unit: UnitView, edits: Edits) -> SecretView:
    """Return a secret as a hook left it, with the older revisions that it had."""
    before = next((item for item in unit.secrets if item.id == secret.id), None)
    owners = {"unit": unit.name, "app": unit.application, None: ""}
    contents = dict(before.contents) if before else {}
    contents[secret._latest_revision] = dict(secret.latest_content or {})
    return SecretView(
        id=secret.id,
        owner=before.owner if before else owners[secret.owner],
        label=secret.label or "",
        revision=secret._latest_revision,
        tracked=secret._tracked_revision,
        contents=contents,
        grants={number: set(names) for number, names in secret.remote_grants.items()},
        held=secret.id in edits.read or bool(before and before.held),
        removed={number for name, number in edits.removed if name == secret.id},
        rotate=secret.rotate.value if secret.rotate else "",
        expire=secret.expire.timestamp() if secret.expire else 0.0,
        description=secret.description or "",
    )


def _stored(text: str) -> tuple[list[DeferredEvent], list[StoredState]]:
    """Return deferred events and stored states from the text that the model keeps."""
    if not text:
        return [], []
    deferred, stored = ast.literal_eval(text)
    return (
        [DeferredEvent(*item) for item in deferred],
        [
            StoredState(name=name, owner_path=owner, content=content, _data_type_name=kind)
            for name, owner, content, kind in stored
        ],
    )


def _stored_text(state: State) -> str:
    """Return deferred events and stored states as a Python literal; empty when there is none."""
    deferred = [
        (item.handle_path, item.owner, item.observer, dict(item.snapshot_data))
        for item in state.deferred
    ]
    stored = [
        (item.name, item.owner_path, dict(item.content), item._data_type_name)
        for item in state.stored_states
    ]
    return repr((deferred, sorted(stored, key=repr))) if deferred or stored else ""
