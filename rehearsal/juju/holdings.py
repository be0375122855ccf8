# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a model holds besides units and relations: tasks, secrets, storage, offers. Pure."""

from dataclasses import dataclass, field
from typing import Any

MODEL_OWNER = "<model>"
"""Owner of a user secret, as `juju secrets` prints it."""


@dataclass
class Task:
    """One action of one unit; operations and tasks count from one counter, as in Juju.

    Attributes:
        unit: Its unit; the machine's id where a command runs on a machine.
        seconds: How long it took or would have taken; no time of the model passes with it.
    """

    id: str
    operation: str
    unit: str
    action: str
    params: dict[str, Any] = field(default_factory=dict)
    status: str = "pending"
    message: str | None = None
    results: dict[str, Any] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    return_code: int | None = None
    enqueued: float = 0.0
    started: float = 0.0
    completed: float = 0.0
    seconds: float = 0.0


@dataclass
class Secret:
    """A Juju secret.

    Attributes:
        owner: Unit or application; `<model>` for a user secret.
        name: Name that a user gave; only a user secret has one.
        label: The owner's label; each observer has its own in `labels`.
        contents: Revision to content; a removed revision is not in here.
        grants: Relation id (empty: by a user) to the applications and units that may read.
        tracked: Observer to the revision that it holds.
        announced: Observer to the newest revision that it was told of.
        obsolete: Revisions without trackers, to how often the owner was told.
        rotate: Policy, such as `daily`; empty is never.
        rotate_at: Model time at which the owner is asked to rotate; 0 is never.
        expire_at: Model time at which the newest revision expires; 0 is never.
        expired_at: Model time of the last secret-expired.
        auto_prune: Revisions of a user secret go with their last tracker.
    """

    id: str
    owner: str
    label: str = ""
    revision: int = 1
    contents: dict[str, dict[str, str]] = field(default_factory=dict)
    grants: dict[str, list[str]] = field(default_factory=dict)
    tracked: dict[str, int] = field(default_factory=dict)
    announced: dict[str, int] = field(default_factory=dict)
    description: str = ""
    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    obsolete: dict[str, int] = field(default_factory=dict)
    rotate: str = ""
    rotate_at: float = 0.0
    expire_at: float = 0.0
    expired_at: float = 0.0
    auto_prune: bool = False
    created: float = 0.0
    updated: float = 0.0


@dataclass
class Storage:
    """One storage of a unit.

    Attributes:
        id: Name of the charm's storage and a number, such as `data/0`.
        unit: Unit that it is attached to; empty when it is detached.
        life: `dying` while it is on its way off its unit.
        attached: storage-attached was delivered.
        detached: storage-detaching was delivered.
        size: MiB.
    """

    id: str
    unit: str
    kind: str = "filesystem"
    pool: str = "rootfs"
    size: int = 1024
    life: str = "alive"
    attached: bool = False
    detached: bool = False
    since: float = 0.0

    @property
    def name(self) -> str:
        """Return the name of the charm's storage."""
        return self.id.partition("/")[0]

    @property
    def index(self) -> int:
        """Return the number after the slash."""
        return int(self.id.partition("/")[2])


@dataclass
class Offer:
    """Endpoints of an application that other models may relate to."""

    name: str
    application: str
    endpoints: list[str] = field(default_factory=list)
