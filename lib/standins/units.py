# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one hook sees and what it leaves: the values between the event engine and charm code.

The engine builds a `UnitView` for each event. A real charm's worker turns it into a Scenario
state; a stand-in charm reads and edits it directly. Either way the engine compares it with what it
was and commits the difference when the hook succeeded (Juju's Flush: nothing at all otherwise).
"""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Event:
    """One hook or action of one unit, in Juju's words.

    Attributes:
        name: Kind of the event: install, start, stop, remove, config-changed, update-status,
            upgrade-charm, leader-elected, storage-attached, storage-detaching, relation-created,
            relation-joined, relation-changed, relation-departed, relation-broken, secret-changed,
            secret-remove, secret-expired, secret-rotate, action, and what `juju-exec` dispatched.
        endpoint: Local endpoint of a relation event.
        relation_id: Number of the relation, shared by both ends.
        remote_app: JUJU_REMOTE_APP; empty in a broken that follows an agent restart on Juju 4.0.
        remote_unit: JUJU_REMOTE_UNIT; empty in created, broken and application-level changed.
        departing_unit: JUJU_DEPARTING_UNIT of a departed; the local unit when that one is dying.
        action: Name of the action.
        params: Parameters of the action, defaults filled in.
        task: Number of the task that runs the action.
        secret: Identifier of the secret of a secret event.
        revision: Revision of a secret-remove or secret-expired.
        woken: Whether something on the machine dispatched the hook through juju-exec.
        storage: Storage of a storage event, such as `data/0`.
    """

    name: str
    endpoint: str = ""
    relation_id: int | None = None
    remote_app: str = ""
    remote_unit: str = ""
    departing_unit: str = ""
    action: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    task: str = ""
    secret: str = ""
    revision: int | None = None
    woken: bool = False
    storage: str = ""

    @property
    def hook(self) -> str:
        """Name as `juju debug-log` prints it, such as `host-relation-joined`."""
        if self.action:
            return self.action
        if self.storage:
            return f"{self.storage.partition('/')[0]}-{self.name}"
        return f"{self.endpoint}-{self.name}" if self.endpoint else self.name


@dataclass(slots=True)
class RelationView:
    """One relation as one unit sees it; the local bags may be edited, the others not."""

    id: int
    endpoint: str
    interface: str
    remote_app: str
    scope: str = "global"
    peer: bool = False
    local_unit: dict[str, str] = field(default_factory=dict)
    local_app: dict[str, str] = field(default_factory=dict)
    remote_units: dict[str, dict[str, str]] = field(default_factory=dict)
    remote_app_data: dict[str, str] = field(default_factory=dict)
    departed: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(slots=True)
class SecretView:
    """A Juju secret as one unit sees it.

    Attributes:
        owner: Unit or application; `<model>` for a user secret.
        label: What this unit calls it.
        tracked: Revision that `get` returns.
        held: Whether the unit has read it; only then it hears of new revisions.
        removed: Revisions that the owner removed in this hook.
        rotate: Policy, such as `daily`; empty is never.
        expire: Time (epoch seconds) at which the newest revision expires; 0 is never.
    """

    id: str
    owner: str
    label: str = ""
    revision: int = 1
    tracked: int = 1
    contents: dict[int, dict[str, str]] = field(default_factory=dict)
    grants: dict[int, set[str]] = field(default_factory=dict)
    held: bool = False
    removed: set[int] = field(default_factory=set)
    rotate: str = ""
    expire: float = 0.0
    description: str = ""

    def get(self, *, refresh: bool = False) -> dict[str, str]:
        """Return the content that the unit tracks, the newest one from now on if refreshed."""
        self.held = True
        if refresh:
            self.tracked = self.revision
        return dict(self.contents[self.tracked])

    def set(self, content: dict[str, str]) -> None:
        """Make a new revision, as its owner; the same content makes none."""
        if content != self.contents[self.revision]:
            self.revision += 1
            self.contents[self.revision] = dict(content)


@dataclass(frozen=True, slots=True)
class StorageView:
    """Storage that is attached to a unit, such as `data/0`, and the folder that it is."""

    id: str
    location: str
    kind: str = "filesystem"


@dataclass(slots=True)
class UnitView:
    """Everything that Juju tells one unit during one hook.

    Attributes:
        stored: Deferred events and `StoredState` of a real charm; a stand-in leaves it alone.
        app_status: Status of the application that the leader set in this hook, None otherwise.
        results: Results of an action that a stand-in ran.
        storages: What is attached, or about to be in a storage-attached.
        added_storage: Storage name to how many more the hook asked for.
        resources: Resource name to the file that a user attached.
        reboot: What a stand-in asks for: `after` the hook, or `now`, so that nothing of the hook
            is committed and it runs again.
    """

    name: str
    application: str
    machine: str
    principal: str = ""
    leader: bool = False
    config: dict[str, Any] = field(default_factory=dict)
    relations: list[RelationView] = field(default_factory=list)
    secrets: list[SecretView] = field(default_factory=list)
    planned_units: int = 1
    juju_version: str = "3.6.14"
    model: str = "rehearsal"
    model_uuid: str = ""
    address: str = ""
    status: tuple[str, str] = ("unknown", "")
    workload_version: str = ""
    opened_ports: set[tuple[str, int]] = field(default_factory=set)
    now: float = 0.0
    stored: str = ""
    trust: bool = False
    app_status: tuple[str, str] | None = None
    results: dict[str, Any] = field(default_factory=dict)
    storages: list[StorageView] = field(default_factory=list)
    added_storage: dict[str, int] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)
    reboot: str = ""

    def related(self, endpoint: str) -> list[RelationView]:
        """Return the relations of an endpoint, by id."""
        return [relation for relation in self.relations if relation.endpoint == endpoint]


@dataclass(slots=True)
class Outcome:
    """What a hook left behind besides the edits of its view.

    Attributes:
        failure: Traceback or reason; empty when the hook exited with 0.
        reboot: Empty, `after` (juju-reboot) or `now` (juju-reboot --now).
        results: Results of an action.
        action_failure: Message of `event.fail()`; empty when the action did not fail.
        log: Lines written to the Juju log, level first.
        action_log: Lines that an action logged.
        seconds: Wall time that the hook took.
    """

    failure: str = ""
    reboot: str = ""
    results: dict[str, Any] = field(default_factory=dict)
    action_failure: str | None = None
    log: list[tuple[str, str]] = field(default_factory=list)
    action_log: list[str] = field(default_factory=list)
    seconds: float = 0.0


class HookError(Exception):
    """A stand-in's hook failed: nothing of it is committed and Juju runs it again."""


class StandinCharm(Protocol):
    """An external charm as plain Python: it edits the view that it is given."""

    def handle(self, event: Event, unit: UnitView, world: Any) -> None:
        """React to one event.

        Args:
            event: What happened.
            unit: The unit's view; edits of local bags, status and ports are committed.
            world: The `standins.world.World` that the unit lives in.

        Raises:
            HookError: The hook failed.
        """
        ...
