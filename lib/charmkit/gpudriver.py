# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Wire format of the `gpu-driver` relation, and which remote unit stands on this machine. Pure.

The relation is global, so every unit of one side sees every unit of the other. Each writes the
number of its machine; a bag without it belongs to nobody yet. The driver says what the machine has
and what it wants to do to it (`Want`); the worker drains by its own policy and answers with the
identifier of the want that it grants. Nothing disruptive happens without that answer.

Rules of the format, which make separate refreshes of both charms safe:

* a key never changes its meaning or its type, and is never used again for something else;
* no key is mandatory: what is absent has the default of the value's class;
* a word that this version does not know becomes `UNKNOWN`, which nobody grants;
* `schema` is the version that the writer speaks; a reader takes the keys that it knows.

The relation is global because Juju 4.0 makes units without end when two subordinates meet in
container scope (seen on 4.0.15).
"""

import enum
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

from charmkit.errors import NotReadyError

SCHEMA = 1
"""Version that this code writes."""


class WantKind(str, enum.Enum):
    """What a driver wants to do to its machine."""

    REBOOT = "reboot"
    UNLOAD = "unload"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Want:
    """One disruptive step that a driver asks leave for.

    Attributes:
        id: Names the step; a grant for another id is no grant.
        kind: What will happen to the machine.
        reason: Why, for the worker's status: one line without a full stop.
    """

    id: str
    kind: WantKind
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DriverState:
    """What a driver unit says about its machine.

    Attributes:
        machine: Juju's number of the machine; empty in a bag that is nobody's yet.
        boot_id: Boot of the machine that this was read in.
        ready: GPUs can be used: module loaded, same version as the libraries, fabric manager
            running where there are NVSwitches.
        reason: Why it is not ready; empty when it is.
        branch: Driver branch and flavour, such as `580-server-open`.
        driver_version: Version of the installed libraries, such as `580.173.02`.
        loaded_version: Version of the loaded kernel module; empty when none is loaded.
        fabric_manager: Version of the fabric manager; empty without NVSwitches.
        runtime_handler: Name of the container runtime that gives a container its GPUs.
        want: The step that the driver asks leave for.
        schema: Version that the writer speaks; 0 when the bag does not say.
    """

    machine: str
    boot_id: str = ""
    ready: bool = False
    reason: str = ""
    branch: str = ""
    driver_version: str = ""
    loaded_version: str = ""
    fabric_manager: str = ""
    runtime_handler: str = ""
    want: Want | None = None
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a GPU worker unit says to the driver of its machine.

    Attributes:
        machine: Juju's number of the machine; empty in a bag that is nobody's yet.
        granted: Identifier of the want that the driver may carry out now; empty for none.
        holds: What still uses the GPUs, for the driver's status, in stable order.
        schema: Version that the writer speaks; 0 when the bag does not say.
    """

    machine: str
    granted: str = ""
    holds: tuple[str, ...] = ()
    schema: int = SCHEMA


_DRIVER_KEYS = {field.name: field.name.replace("_", "-") for field in fields(DriverState)}
_WORKER_KEYS = {field.name: field.name.replace("_", "-") for field in fields(WorkerState)}


def dump_driver(state: DriverState) -> dict[str, str]:
    """Return the bag of a driver unit: a value for each key, without the keys that are empty."""
    return _dump(
        {
            **asdict(state),
            "ready": "true" if state.ready else "false",
            "want": _to_json(asdict(state.want)) if state.want else "",
        }
    )


def parse_driver(bag: Mapping[str, str]) -> DriverState:
    """Return what a driver unit wrote; what is absent or unreadable has its default."""
    values: dict[str, Any] = {name: bag.get(key, "") for name, key in _DRIVER_KEYS.items()}
    values["ready"] = values["ready"] == "true"
    values["want"] = _parse_want(values["want"])
    values["schema"] = _parse_schema(values["schema"])
    return DriverState(**values)


def dump_worker(state: WorkerState) -> dict[str, str]:
    """Return the bag of a worker unit: a value for each key, without the keys that are empty."""
    return _dump({**asdict(state), "holds": _to_json(state.holds) if state.holds else ""})


def parse_worker(bag: Mapping[str, str]) -> WorkerState:
    """Return what a worker unit wrote; what is absent or unreadable has its default."""
    holds = _from_json(bag.get("holds", ""))
    lines = cast("list[object]", holds) if isinstance(holds, list) else []
    return WorkerState(
        machine=bag.get("machine", ""),
        granted=bag.get("granted", ""),
        holds=tuple(str(line) for line in lines),
        schema=_parse_schema(bag.get("schema", "")),
    )


def find_partner(bags: Mapping[str, Mapping[str, str]], machine: str) -> str | None:
    """Return the unit whose bag carries a machine's number, None when there is none yet.

    Args:
        bags: Unit bags by unit name, of the units that are in the relation now.
        machine: Juju's number of the machine; an empty one matches nothing.

    Raises:
        NotReadyError: Two units claim the machine, as while one is replaced by the other.
    """
    matches = sorted(name for name, bag in bags.items() if is_of_machine(bag, machine))
    if len(matches) > 1:
        raise NotReadyError(f"gpu-driver: waiting for one of {' and '.join(matches)} to leave")
    return matches[0] if matches else None


def is_of_machine(bag: Mapping[str, str], machine: str) -> bool | None:
    """Say whether a remote unit stands on a machine; None when its bag does not tell yet."""
    return bag["machine"] == machine if bag.get("machine") else None


def find_changes(current: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return what to write into a bag so that it says what is wanted: empty when it does.

    Args:
        current: The bag as it is; keys of other formats in it are left alone.
        wanted: What `dump_driver` or `dump_worker` returned.

    Returns:
        New values by key; an empty value removes the key, as Juju defines it.
    """
    keys = dict.fromkeys([*_DRIVER_KEYS.values(), *_WORKER_KEYS.values()])
    values = {key: wanted.get(key, "") for key in keys}
    return {key: value for key, value in values.items() if value != current.get(key, "")}


def _dump(values: Mapping[str, Any]) -> dict[str, str]:
    bag = {name.replace("_", "-"): str(value) for name, value in values.items()}
    return {key: value for key, value in bag.items() if value}


def _parse_schema(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _parse_want(text: str) -> Want | None:
    value = _from_json(text)
    given = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    identifier = given.get("id")
    if not isinstance(identifier, str) or not identifier:
        return None
    known = {kind.value: kind for kind in WantKind}
    kind = known.get(str(given.get("kind")), WantKind.UNKNOWN)
    return Want(identifier, kind, str(given.get("reason", "")))


def _to_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _from_json(text: str) -> Any:
    """Return the JSON value of a text, None when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None
