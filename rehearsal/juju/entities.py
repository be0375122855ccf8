# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The things that Juju knows: dataclasses of JSON values. Pure."""

from dataclasses import dataclass, field
from typing import Any

ALIVE, DYING, DEAD = "alive", "dying", "dead"

IMPLICIT_ENDPOINT = "juju-info"
"""Provided by every application; its provider side gets no hooks."""


@dataclass
class Status:
    """A status with the time (epoch seconds) since which it stands."""

    current: str
    message: str = ""
    since: float = 0.0


@dataclass
class Endpoint:
    """One endpoint of a charm: role is provider, requirer or peer; limit 0 means none."""

    name: str
    role: str
    interface: str
    scope: str = "global"
    limit: int = 0
    optional: bool = True


@dataclass
class Charm:
    """What an application runs.

    Attributes:
        kind: `charm` (code of a folder), `standin` (plain Python), `unmodelled` (no code).
        source: Folder or packed file of the code; module name of a stand-in.
        origin: `local` or `charmhub`, as status prints it.
        options: Option name to type, default and description, as in config.yaml.
        actions: Action name to its definition, as in actions.yaml.
        storage: Storage name to its definition, as in metadata.yaml.
        resources: Resource name to its definition, as in metadata.yaml.
        bases: Bases that the charm is built for; empty when it does not say.
    """

    name: str
    kind: str = "unmodelled"
    source: str = ""
    origin: str = "local"
    channel: str = ""
    revision: int = 0
    subordinate: bool = False
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    actions: dict[str, dict[str, Any]] = field(default_factory=dict)
    extra_bindings: list[str] = field(default_factory=list)
    storage: dict[str, dict[str, Any]] = field(default_factory=dict)
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return what status prints as the charm."""
        return f"local:{self.name}-{self.revision}" if self.origin == "local" else self.name


@dataclass
class Application:
    """One application.

    Attributes:
        config: Values that a user set; the charm's defaults are not in here.
        config_changes: Grows with every change of the options.
        charm_version: Grows with every refresh.
        leader: Unit that leads, empty while there is none.
        leaderless_until: Model time before which no unit may take over.
        previous: What units run that have not upgraded yet.
        resources: Resource name to the file that a user attached.
        storage: Storage name to the directive that units are made with.
        saas: URL of the offer that it stands for; empty for an application of this model.
    """

    name: str
    charm: Charm
    base: str = "ubuntu@24.04"
    constraints: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    config_changes: int = 1
    charm_version: int = 1
    trust: bool = False
    exposed: bool = False
    life: str = ALIVE
    next_unit: int = 0
    status: Status | None = None
    since: float = 0.0
    workload_version: str = ""
    leader: str = ""
    leaderless_until: float = 0.0
    previous: Charm | None = None
    resources: dict[str, str] = field(default_factory=dict)
    storage: dict[str, str] = field(default_factory=dict)
    saas: str = ""

    def options(self) -> dict[str, Any]:
        """Return the values that a hook sees: defaults with the user's values over them."""
        values = {
            name: option["default"]
            for name, option in self.charm.options.items()
            if option.get("default") is not None
        }
        values.update(self.config)
        return values


@dataclass
class Machine:
    """A machine of the model; what it is made of is the world's business.

    `watched` is a digest of what the services on it have seen: they look again when it differs.
    """

    id: str
    hostname: str = ""
    address: str = ""
    base: str = "ubuntu@24.04"
    constraints: str = ""
    hardware: str = ""
    instance: str = ""
    since: float = 0.0
    life: str = ALIVE
    watched: str = ""


@dataclass
class Failure:
    """A hook that failed and will be run again at `retry_at` (model time)."""

    event: dict[str, Any]
    attempts: int = 1
    retry_at: float = 0.0


@dataclass
class Unit:
    """One unit and where its agent stands.

    Attributes:
        queue: Hooks that nothing may come before, such as start after the first config-changed.
        config_seen: Digest of the options that the last config-changed saw.
        config_pending: How many config-changed are still due (Juju 4.0 runs two a change).
        config_begun: Digest of the options that the running hook sees.
        stored: `StoredState` and deferred events of the charm, as Python literals.
        leader_seen: Empty, `follower` or `leader`: what the unit was told.
        restarts: How often the agent came up again.
        silent_end: The unit goes without a remove hook when its subordinates are gone (4.0).
    """

    name: str
    application: str
    machine: str
    principal: str = ""
    life: str = ALIVE
    installed: bool = False
    started: bool = False
    stopped: bool = False
    removed: bool = False
    leader_seen: str = ""
    workload: Status = field(default_factory=lambda: Status("waiting", "waiting for machine"))
    agent: Status = field(default_factory=lambda: Status("allocating", ""))
    queue: list[dict[str, Any]] = field(default_factory=list)
    failure: Failure | None = None
    config_seen: str = ""
    config_pending: int = 0
    config_begun: str = ""
    charm_seen: int = 0
    tasks: list[str] = field(default_factory=list)
    wakes: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)
    stored: str = ""
    next_update: float = 0.0
    updates: int = 0
    restarts: int = 0
    events: int = 0
    silent_end: bool = False

    @property
    def number(self) -> int:
        """Return the number after the slash."""
        return int(self.name.rpartition("/")[2])


@dataclass
class End:
    """One end of a relation; `implicit` ends get no hooks."""

    application: str
    endpoint: str
    role: str
    implicit: bool = False


@dataclass
class Relation:
    """A relation; a peer relation has one end. `revision` grows with every change of its data."""

    id: int
    interface: str
    ends: list[End]
    scope: str = "global"
    life: str = ALIVE
    revision: int = 0

    @property
    def peer(self) -> bool:
        """Return whether both sides are the same application's units."""
        return len(self.ends) == 1

    def end_of(self, application: str) -> End:
        """Return the end of an application."""
        return next(end for end in self.ends if end.application == application)

    def other_end(self, application: str) -> End:
        """Return the far end; a peer relation's is its only one."""
        return next((end for end in self.ends if end.application != application), self.ends[0])


@dataclass
class Bag:
    """Data of one unit or application in one relation; version 0 means never written."""

    data: dict[str, str] = field(default_factory=dict)
    version: int = 0


@dataclass
class Member:
    """What one unit knows of one relation.

    Attributes:
        in_scope: Others see the unit.
        created: relation-created was delivered.
        known: Remote unit to the version of its data that was delivered.
        joined: Remote unit that was joined and whose changed comes next.
        app_seen: Version of the remote application's data that was delivered.
        synced: Revision of the relation at which nothing more was due.
        broken: relation-broken was delivered.
        restarts: Restarts of the agent when the relation was first seen.
        late: Peer that went, to the model time at which its departed is delivered (4.0).
    """

    unit: str
    relation: int
    in_scope: bool = False
    created: bool = False
    known: dict[str, int] = field(default_factory=dict)
    joined: str = ""
    app_seen: int = 0
    synced: int = -1
    broken: bool = False
    restarts: int = 0
    late: dict[str, float] = field(default_factory=dict)


@dataclass
class Settings:
    """The model itself: its name, its Juju, its clock and its counters.

    `teardown` is the order in which a unit that goes runs its last hooks: `code` as Juju does,
    `docs` as its documentation says (stop before the relations break).
    """

    name: str = "rehearsal"
    uuid: str = "00000000-0000-4000-8000-000000000000"
    version: str = "3.6.14"
    cloud: str = "maas"
    region: str = "default"
    controller: str = "rehearsal"
    seed: int | None = None
    now: float = 0.0
    since: float = 0.0
    config: dict[str, Any] = field(default_factory=dict)
    constraints: str = ""
    next_relation: int = 0
    next_task: int = 0
    next_machine: int = 0
    next_secret: int = 0
    next_storage: int = 0
    teardown: str = "code"
    revisions: dict[str, int] = field(default_factory=dict)
    events: int = 0
