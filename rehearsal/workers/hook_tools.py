# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What `juju exec` may run on a unit: hook tools on the unit's view, and a few plain words.

There is no machine behind it: any other command is not found, as on a machine that lacks it, and
`sleep` takes no time but counts against `--wait`.
Source of the output: Juju's hook tools with and without `--format json`.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from rehearsal.workers.shell import Printed, run_script
from standins.units import RelationView, UnitView

Tool = Callable[[UnitView, list[str]], Any]


class ToolError(Exception):
    """A hook tool refuses; the message is what it writes to stderr."""


def execute(view: UnitView, words: Sequence[str]) -> Printed:
    """Run a command as Juju does: one word is a script, several are a command and its arguments.

    Source: juju cmd/juju/action/exec.go: a single argument is handed on as it is, several are
    quoted; `sh -c TEXT` and `bash -c TEXT` are scripts too.
    """
    if len(words) == 1:
        return run_script(words[0], lambda command: _tool(view, command))
    if list(words[:2]) in (["sh", "-c"], ["bash", "-c"]) and len(words) > 2:
        return run_script(words[2], lambda command: _tool(view, command))
    return _tool(view, words)


def _tool(view: UnitView, words: Sequence[str]) -> Printed:
    """Run one tool or plain command."""
    name, rest = words[0].rpartition("/")[2], list(words[1:])
    if name not in TOOLS:
        return Printed(127, "", f"{name}: command not found\n")
    if not view.application and name not in PLAIN:
        return Printed(127, "", f"{name}: command not found\n")
    as_json = _take(rest, "--format", "-o") == "json"
    try:
        found = TOOLS[name](view, rest)
    except ToolError as error:
        return Printed(1, "", f"ERROR {error}\n")
    except _ExitError as end:
        return Printed(end.code, ends=name == "exit")
    except (ValueError, IndexError):
        return Printed(2, "", f"{name}: {' '.join(rest) or 'an argument'}: not understood\n")
    if name == "sleep":
        return Printed(seconds=float(found))
    return Printed(0, "" if found is None else _text(found, as_json))


class _ExitError(Exception):
    """The command `exit`, or one that fails without a word."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _text(value: Any, as_json: bool) -> str:
    """Return what a tool prints."""
    if as_json:
        return json.dumps(value) + "\n"
    if isinstance(value, bool):
        return f"{value}\n"
    if isinstance(value, list):
        return "".join(f"{item}\n" for item in value)
    if isinstance(value, dict):
        return "".join(f"{key}: {item}\n" for key, item in sorted(value.items()))
    return f"{value}\n"


def _take(words: list[str], *names: str) -> str:
    """Take an option with its value out of the words; empty when it is not there."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names and equals:
            del words[index]
            return value
        if word in names and index + 1 < len(words):
            value = words[index + 1]
            del words[index : index + 2]
            return value
    return ""


def _flag(words: list[str], name: str) -> bool:
    """Take a flag out of the words."""
    if name in words:
        words.remove(name)
        return True
    return False


def _relation(view: UnitView, words: list[str]) -> RelationView:
    """Return the relation that `-r` names, such as `site:3` or `3`."""
    number = _take(words, "-r", "--relation").rpartition(":")[2]
    for relation in view.relations:
        if str(relation.id) == number:
            return relation
    raise ToolError("no relation id specified" if not number else "relation not found")


def _relation_set(view: UnitView, words: list[str]) -> None:
    application = _flag(words, "--app")
    relation = _relation(view, words)
    if application and not view.leader:
        raise ToolError("cannot write relation settings: only the leader may")
    bag = relation.local_app if application else relation.local_unit
    for word in words:
        key, _, value = word.partition("=")
        bag[key] = value


def _relation_get(view: UnitView, words: list[str]) -> Any:
    application = _flag(words, "--app")
    relation = _relation(view, words)
    key, owner = (*words, "-", "")[:2]
    bags = {**relation.remote_units, view.name: relation.local_unit}
    bag = relation.remote_app_data if application else bags.get(owner)
    if bag is None:
        raise ToolError(f"cannot read settings for unit {owner!r}")
    return dict(bag) if key == "-" else bag.get(key, "")


def _ids(view: UnitView, words: list[str]) -> list[str]:
    return [f"{relation.endpoint}:{relation.id}" for relation in view.related(words[0])]


def _list(view: UnitView, words: list[str]) -> Any:
    application = _flag(words, "--app")
    relation = _relation(view, words)
    return relation.remote_app if application else list(relation.remote_units)


def _config_get(view: UnitView, words: list[str]) -> Any:
    return view.config.get(words[0], "") if words else dict(view.config)


def _status_set(view: UnitView, words: list[str]) -> None:
    if words[0] not in ("maintenance", "blocked", "waiting", "active"):
        raise ToolError(f'invalid status "{words[0]}", expected one of [maintenance ...]')
    view.status = (words[0], " ".join(words[1:]))


def _port(text: str) -> tuple[str, int]:
    number, _, protocol = text.partition("/")
    return (protocol or "tcp", int(number or 0))


def _open(view: UnitView, words: list[str]) -> None:
    view.opened_ports.add(_port(words[0]))


def _close(view: UnitView, words: list[str]) -> None:
    view.opened_ports.discard(_port(words[0]))


def _reboot(view: UnitView, words: list[str]) -> None:
    del view, words
    raise ToolError("juju-reboot is not supported when running an action.")


def _exit(view: UnitView, words: list[str]) -> None:
    del view
    raise _ExitError(int(words[0]) if words else 0)


def _identity(view: UnitView, words: list[str]) -> str:
    """Return who runs it: root in a unit, the first user on a machine. Measured on 4.0.15."""
    name, number = ("root", 0) if view.application else ("ubuntu", 1000)
    if "-un" in words:
        return name
    return str(number) if "-u" in words else f"uid={number}({name}) gid={number}({name})"


TOOLS: dict[str, Tool] = {
    "close-port": _close,
    "config-get": _config_get,
    "echo": lambda view, words: " ".join(words),
    "exit": _exit,
    "false": lambda view, words: _exit(view, ["1"]),
    "hostname": lambda view, words: f"machine-{view.machine}",
    "id": _identity,
    "is-leader": lambda view, words: view.leader,
    "juju-reboot": _reboot,
    "network-get": lambda view, words: {"ingress-addresses": [view.address]},
    "open-port": _open,
    "opened-ports": lambda view, words: [f"{n}/{p}" for p, n in sorted(view.opened_ports)],
    "relation-get": _relation_get,
    "relation-ids": _ids,
    "relation-list": _list,
    "relation-set": _relation_set,
    "sleep": lambda view, words: float(words[0].removesuffix("s")),
    "status-set": _status_set,
    "true": lambda view, words: None,
    "uname": lambda view, words: "Linux",
    "unit-get": lambda view, words: view.address,
}
"""Every command that there is."""

PLAIN = frozenset(("echo", "exit", "false", "hostname", "id", "sleep", "true", "uname"))
"""Those that a machine has without a unit."""
