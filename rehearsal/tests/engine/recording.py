# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Records of a real controller, and how what ran here is compared with them.

A unit's hooks are compared relation by relation, and its other hooks by themselves: Juju serves
relations in random order, and the records show it. Where a record was cut in a second
config-changed, or between two tries of a hook, one counts as two.
"""

import re
from pathlib import Path
from typing import Any

from standins.units import Event, UnitView

RECORDED = Path(__file__).parent / "recorded"
Hooks = dict[str, dict[str, list[str]]]
REPEATED = ("config-changed", "stop", "upgrade-charm", "action")
"""Hooks of which one in a row counts as two: runs twice, and tries after a failure."""

CUT = {
    "60-c4-add-units": {"gamma/0", "gflat/0", "gat/0", "gch/0"},
    "80-one-sided-container-pair": {"gamma/0", "sub1/0", "sub1/1", "sub1/2", "sub2/0", "sub2/1"},
}
"""Units whose record ends while they still had hooks to run."""


def read_record(name: str) -> Hooks:
    """Return the hooks of a record: unit to relation (or empty) to hooks in order."""
    found: Hooks = {}
    for line in (RECORDED / f"{name}.txt").read_text().splitlines():
        match = re.match(r"\s*[+\d.]+\s+(\w+/\d+)\s+(\S+)\s*(.*)", line)
        if match and not _is_ignored(name, match[2]):
            remote = re.search(r"remote(?:_unit)?=(\S+)", match[3])
            application = re.search(r"remote[-_]app=(\S+)", match[3])
            _add(found, match[1], match[2], remote, application)
    return found


def _add(found: Hooks, unit: str, hook: str, remote: Any, application: Any) -> None:
    """Add one hook of a record."""
    of_relation = "-relation-" in hook
    named = remote or (application if hook.endswith("changed") and of_relation else None)
    text = f"{hook} {named[1]}" if named else hook
    _put(found, unit, hook.partition("-relation-")[0] if of_relation else "", text)


def _is_ignored(name: str, hook: str) -> bool:
    """Return whether a hook came with time alone."""
    return hook == "update-status" or (hook == "secret-expired" and not name.startswith("31f"))


def hooks_of(events: list[tuple[str, Event, UnitView]]) -> Hooks:
    """Return the hooks that ran here in the form of a record."""
    found: Hooks = {}
    for unit, event, _ in events:
        if event.hook != "update-status":
            changed = event.name == "relation-changed"
            remote = event.remote_unit or (event.remote_app if changed else "")
            hook = "action" if event.action else event.hook
            _put(found, unit, event.endpoint, f"{hook} {remote}".strip())
    return found


def _put(found: Hooks, unit: str, endpoint: str, text: str) -> None:
    """Append a hook unless it is one more config-changed in a row."""
    hooks = found.setdefault(unit, {}).setdefault(endpoint, [])
    text = re.sub("remote-[0-9a-f]{32}", "remote", text)
    if text not in REPEATED or hooks[-1:] != [text]:
        hooks.append(text)


def differences(name: str, ran: Hooks) -> list[str]:
    """Return where what ran here is not what was recorded."""
    return [
        f"{unit} {endpoint or 'itself'}: {ran.get(unit, {}).get(endpoint)} is not {hooks}"
        for unit, relations in read_record(name).items()
        for endpoint, hooks in relations.items()
        if not _is_same(ran.get(unit, {}).get(endpoint, []), hooks, unit in CUT.get(name, ()))
    ]


def _is_same(ran: list[str], recorded: list[str], cut: bool) -> bool:
    """Return whether hooks are those of a record, as far as it goes."""
    if not cut:
        return ran == recorded
    length = min(len(ran), len(recorded))
    return ran[:length] == recorded[:length]
