# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who we are and what Juju tells, as values."""

from dataclasses import dataclass
from pathlib import Path

from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError
from config import AuthOptions
from keystone import Access

NAMESPACE = "keystone-auth"
"""Where the account and the record of what was applied live."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the unit is."""

    application: str
    unit: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What Juju tells about one unit.

    Attributes:
        identity: Who we are.
        options: What the operator wants; the defaults where an option is refused.
        refused: Which option is; then nothing changes, and what runs goes on.
        access: Where Keystone is and who we are to it; None where that is not known.
        no_access: Why.
        leader: The unit keeps the objects in the cluster.
        ways: Ways into the cluster, best first.
        no_way: Why there is none; None when there is one.
        charm_dir: Where the charm's code is.
    """

    identity: Identity
    options: AuthOptions
    refused: CharmkitError | None
    access: Access | None
    no_access: CharmkitError | None
    leader: bool
    ways: tuple[Credentials, ...]
    no_way: CharmkitError | None
    charm_dir: Path
