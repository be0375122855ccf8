# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""managedFields: who set which field of an object, and how writes move that.

Source: Kubernetes documentation, "Server-Side Apply" (1.35); texts as a real server gave them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from standins.kubernetes.answers import RefusalError
from standins.kubernetes.fields import Path, Paths, changed, decode, encode, leaves, removed, spell
from standins.kubernetes.schema import Schema

Conflict = tuple["Owner", Path]


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of managedFields.

    Attributes:
        operation: `Apply` or `Update`.
        subresource: `status` for what came through the status subresource.
        time: When the entry last changed.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    paths: Paths

    def is_same(self, other: "Owner") -> bool:
        """Return whether two entries are of the same manager, doing the same thing."""
        mine = (self.manager, self.operation, self.api_version, self.subresource)
        return mine == (other.manager, other.operation, other.api_version, other.subresource)

    @property
    def printed(self) -> str:
        """The manager as a conflict names it."""
        text = f'"{self.manager}"'
        if self.subresource:
            text = f'{text} with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


def owners_of(obj: Mapping[str, Any]) -> tuple[Owner, ...]:
    """Return the owners of an object's fields."""
    entries = obj["metadata"].get("managedFields", ())
    return tuple(
        Owner(
            entry["manager"],
            entry["operation"],
            entry["apiVersion"],
            entry.get("subresource", ""),
            entry.get("time", ""),
            decode(entry.get("fieldsV1", {})),
        )
        for entry in entries
    )


def write_owners(obj: dict[str, Any], owners: Sequence[Owner]) -> None:
    """Put the owners into an object; those that own nothing are left out."""
    kept = sorted((owner for owner in owners if owner.paths), key=_rank)
    entries = [_entry(owner) for owner in kept]
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _rank(owner: Owner) -> tuple[str, ...]:
    """Return what managedFields is sorted by on a real server."""
    return (
        owner.operation,
        owner.time,
        owner.manager,
        owner.api_version,
        owner.subresource,
    )


def _entry(owner: Owner) -> dict[str, Any]:
    entry = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.api_version,
        "time": owner.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": encode(owner.paths),
    }
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def record_update(
    old: Mapping[str, Any] | None, new: dict[str, Any], schema: Schema, writer: Owner
) -> None:
    """Note who owns what after a write that is not an apply: what changed is the writer's.

    Args:
        old: The object before, None when it is new.
        new: The object after; its managedFields are written.
        schema: What its fields are.
        writer: Who wrote; its paths do not matter.
    """
    before = leaves(old, schema) if old is not None else {}
    after = leaves(new, schema)
    taken, gone = changed(before, after), removed(before, after)
    owners: list[Owner] = []
    found = writer
    for owner in owners_of(old) if old is not None else ():
        if owner.is_same(writer):
            found = owner
        else:
            owners.append(replace(owner, paths=owner.paths - taken - gone))
    paths = (found.paths - gone) | taken
    time = found.time if paths == found.paths else writer.time
    write_owners(new, [*owners, replace(found, paths=paths, time=time)])


def find_conflicts(owners: Sequence[Owner], applier: Owner, changes: Paths) -> list[Conflict]:
    """Return which fields an apply would take from whom.

    Args:
        owners: All owners of the live object.
        applier: Who applies.
        changes: Fields of the applied object that get another value by it.
    """
    others = [owner for owner in owners if not owner.is_same(applier)]
    return [
        (owner, path)
        for owner in others
        for path in sorted(changes & owner.paths, key=spell)
        if path[-1][0] != "k"
    ]


def conflict_refusal(conflicts: Sequence[Conflict]) -> RefusalError:
    """Return the refusal of an apply that would take fields from others."""
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {owner.printed}",
            "field": spell(path),
        }
        for owner, path in conflicts
    ]
    if len(conflicts) == 1:
        owner, path = conflicts[0]
        text = f"1 conflict: conflict with {owner.printed}: {spell(path)}"
    else:
        text = f"{len(conflicts)} conflicts: {_by_manager(conflicts)}"
    return RefusalError(409, "Conflict", f"Apply failed with {text}", causes=causes)


def _by_manager(conflicts: Sequence[Conflict]) -> str:
    lines: list[str] = []
    for name in sorted({owner.printed for owner, _ in conflicts}):
        lines.append(f"conflicts with {name}:")
        lines += [f"- {spell(path)}" for owner, path in conflicts if owner.printed == name]
    return "\n".join(lines)
