# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Merge patches: RFC 7386, and the strategic form that kubectl sends for built-in kinds.

Source: RFC 7386; Kubernetes documentation, "Update API Objects in Place Using kubectl patch". The
merge key of a list is the first of its keys; $setElementOrder and $retainKeys only order what is
right without them and are passed over.
"""

from collections.abc import Mapping
from typing import Any

from standins.kubernetes.schema import ANY, Schema, child_schema
from standins.kubernetes.store import copy_json

DIRECTIVE = "$patch"


def merge_patch(value: Any, patch: Any) -> Any:
    """Return a value with a JSON merge patch applied."""
    if not isinstance(patch, Mapping):
        return copy_json(patch)
    merged = copy_json(value) if isinstance(value, Mapping) else {}
    for name, inner in patch.items():
        if inner is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), inner)
    return merged


def strategic_patch(value: Any, patch: Any, schema: Schema) -> Any:
    """Return a value with a strategic merge patch applied.

    Args:
        value: What is there.
        patch: Lists of objects are merged by key, everything else as in a merge patch.
        schema: What the fields are.
    """
    if isinstance(patch, Mapping):
        return _strategic_map(value, patch, schema)
    if isinstance(patch, list) and schema.keys:
        return _strategic_list(value if isinstance(value, list) else [], patch, schema)
    if isinstance(patch, list) and schema.unique and isinstance(value, list):
        return [*value, *(item for item in patch if item not in value)]
    return copy_json(patch)


def _strategic_map(value: Any, patch: Mapping[str, Any], schema: Schema) -> Any:
    replaced = patch.get(DIRECTIVE) == "replace"
    merged = copy_json(value) if isinstance(value, Mapping) and not replaced else {}
    for name, inner in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            field = name.partition("/")[2]
            merged[field] = [item for item in merged.get(field, []) if item not in inner]
        elif name.startswith("$"):
            continue
        elif inner is None:
            merged.pop(name, None)
        else:
            merged[name] = strategic_patch(merged.get(name), inner, child_schema(schema, name))
    return merged


def _strategic_list(value: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key, items = schema.keys[0], schema.items or ANY
    if any(item == {DIRECTIVE: "replace"} for item in patch):
        return [copy_json(item) for item in patch if DIRECTIVE not in item]
    merged = [copy_json(item) for item in value]
    for item in patch:
        same = [index for index, old in enumerate(merged) if old.get(key) == item.get(key)]
        if item.get(DIRECTIVE) == "delete":
            merged = [old for index, old in enumerate(merged) if index not in same]
        elif same:
            merged[same[0]] = strategic_patch(merged[same[0]], item, items)
        else:
            merged.append(strategic_patch({}, item, items))
    return merged
