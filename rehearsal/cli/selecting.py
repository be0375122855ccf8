# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What `status SELECTOR...` leaves: by application, unit or machine. Pure.

A subordinate brings the principals that it lives with, a unit its application and its machine.
Juju 4.0.15 knows no patterns: `d*` matches nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any

Data = dict[str, Any]


def select(status: Data, selectors: Sequence[str]) -> Data:
    """Return the status of what one of the selectors names."""
    applications: Data = {}
    for name, application in status["applications"].items():
        units = {
            unit: kept
            for unit, data in (application.get("units") or {}).items()
            if (kept := _unit(name, unit, data, selectors)) is not None
        }
        if name in selectors or units:
            applications[name] = {**application, **({"units": units} if units else {})}
    for name in _subordinates(applications):
        applications.setdefault(name, status["applications"][name])
    used = {
        unit["machine"].partition("/")[0]
        for application in applications.values()
        for unit in (application.get("units") or {}).values()
    }
    machines = {
        name: machine
        for name, machine in status["machines"].items()
        if name in used or name in selectors
    }
    ordered = {name: applications[name] for name in status["applications"] if name in applications}
    return {**status, "machines": machines, "applications": ordered}


def _unit(name: str, unit: str, data: Data, selectors: Sequence[str]) -> Data | None:
    """Return a unit with the subordinates that were asked for, None if nothing was."""
    below: Data = data.get("subordinates") or {}
    if name in selectors or unit in selectors or data.get("machine") in selectors:
        return data
    kept = {
        child: item
        for child, item in below.items()
        if child in selectors or child.partition("/")[0] in selectors
    }
    return {**data, "subordinates": kept} if kept else None


def _subordinates(applications: Data) -> Iterable[str]:
    """Return the applications of the subordinates that are shown."""
    return sorted(
        {
            child.partition("/")[0]
            for application in applications.values()
            for unit in (application.get("units") or {}).values()
            for child in unit.get("subordinates") or {}
        }
    )
