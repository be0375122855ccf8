# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: merge what is applied into what is there, by the types of the fields.

Source: structured-merge-diff v6 and "Server-Side Apply" of the Kubernetes documentation (1.35).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from standins.kubernetes.fields import Element, Path, Paths, changed, item_key, leaves
from standins.kubernetes.ownership import (
    Owner,
    conflict_refusal,
    find_conflicts,
    owners_of,
    write_owners,
)
from standins.kubernetes.schema import ANY, Schema, child_schema
from standins.kubernetes.store import Object, copy_json


def apply(
    live: Object | None, applied: Object, schema: Schema, applier: Owner, *, force: bool
) -> Object:
    """Return the object after an apply; the live one stays as it is.

    Args:
        live: The object that is there, None when there is none.
        applied: What the manager wants to own, all of it.
        schema: What its fields are.
        applier: Who applies; its paths do not matter.
        force: Take fields from other managers.

    Raises:
        RefusalError: Another manager owns a field with another value.
    """
    wanted = leaves(applied, schema)
    now = frozenset(wanted)
    if live is None:
        created = copy_json(applied)
        write_owners(created, [replace(applier, paths=now)])
        return created
    owners = owners_of(live)
    merged = merge(live, applied, schema)
    changes = changed(leaves(live, schema), leaves(merged, schema)) & now
    conflicts = find_conflicts(owners, applier, changes)
    if conflicts and not force:
        raise conflict_refusal(conflicts)
    taken = frozenset(path for _, path in conflicts)
    mine = next((owner for owner in owners if owner.is_same(applier)), None)
    others = [
        replace(owner, paths=owner.paths - taken) for owner in owners if not owner.is_same(applier)
    ]
    if mine is not None:
        held = now.union(*(owner.paths for owner in others))
        merged = prune(merged, mine.paths - now, held, schema)
    time = mine.time if mine is not None and mine.paths == now else applier.time
    write_owners(merged, [*others, replace(applier, paths=now, time=time)])
    return merged


def merge(live: Any, applied: Any, schema: Schema) -> Any:
    """Return a value with another merged in by the types of its fields."""
    if isinstance(live, Mapping) and isinstance(applied, Mapping) and not schema.atomic:
        merged = {key: copy_json(value) for key, value in live.items()}
        for name, value in applied.items():
            inner = child_schema(schema, name)
            merged[name] = merge(live.get(name), value, inner)
        return merged
    if isinstance(live, list) and isinstance(applied, list) and schema.keys:
        return _merge_items(live, applied, schema)
    if isinstance(live, list) and isinstance(applied, list) and schema.unique:
        return [*live, *(item for item in applied if item not in live)]
    return copy_json(applied)


def _merge_items(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """Merge two associative lists: the applied order holds, others stay where they were."""
    items = schema.items or ANY
    before = {item_key(item, schema.keys): item for item in live}
    after = {item_key(item, schema.keys): item for item in applied}
    order: list[Element] = []
    rest = list(before)
    for key in after:
        while rest and rest[0] not in after:
            order.append(rest.pop(0))
        order.append(key)
        if key in rest:
            rest.remove(key)
    order += [key for key in rest if key not in after]
    return [
        merge(before.get(key), after[key], items) if key in after else copy_json(before[key])
        for key in order
    ]


def prune(obj: Object, given_up: Paths, held: Paths, schema: Schema) -> Object:
    """Remove what a manager no longer applies and nobody else owns.

    Args:
        obj: The merged object; edited.
        given_up: Paths that the manager owned and does not apply now.
        held: Paths that others own, and those that the manager applies now.
        schema: What the fields are.
    """
    kept_above = frozenset(path[:depth] for path in held for depth in range(1, len(path)))
    for path in sorted(given_up - held - kept_above, key=len):
        _remove(obj, schema, path)
    return obj


def _remove(value: Any, schema: Schema, path: Path) -> None:
    """Remove one path, and the containers above it that it leaves empty."""
    element, rest = path[0], path[1:]
    kind, name = element
    if kind == "f":
        _remove_field(value, schema, name, rest)
    elif kind == "v":
        if name in value:
            value.remove(name)
    else:
        _remove_item(value, schema, element, rest)


def _remove_field(value: Any, schema: Schema, name: str, rest: Path) -> None:
    if not isinstance(value, dict) or name not in value:
        return
    if rest:
        _remove(value[name], child_schema(schema, name), rest)
    if not rest or value[name] in ({}, []):
        del value[name]


def _remove_item(value: Any, schema: Schema, element: Element, rest: Path) -> None:
    found = [item for item in value if item_key(item, schema.keys) == element]
    for item in found:
        if rest:
            _remove(item, schema.items or ANY, rest)
        else:
            value.remove(item)
