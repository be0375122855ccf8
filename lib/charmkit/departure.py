# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The mark of a unit that has left its machine: what comes after it must not begin again.

A unit cleans up at the first event that says that it goes, and Juju may still send others.
"""

from charmkit.host import Host
from charmkit.journal import StateFile


def depart(host: Host, application: str, unit: str) -> None:
    """Record that a unit leaves its machine."""
    _mark(host, application).write({"unit": unit})


def has_departed(host: Host, application: str, unit: str) -> bool:
    """Say whether a unit has left its machine already: then it changes nothing any more."""
    data = _mark(host, application).read()
    return data is not None and data["unit"] == unit


def arrive(host: Host, application: str) -> None:
    """Forget that a unit of this name left, at its install.

    Juju may give a name again, when an application is removed and deployed anew.
    """
    _mark(host, application).clear()


def _mark(host: Host, application: str) -> StateFile:
    return StateFile(host.files, f"/var/lib/{application}/released.json", schema=1)
