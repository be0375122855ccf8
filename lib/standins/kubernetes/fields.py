# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Fields as paths: what an object sets, who owns which, and how fieldsV1 spells it.

A path is a tuple of elements: ("f", name) a field, ("k", ((key, value), ...)) an item of an
associative list, ("v", value) a member of a set.

Source: structured-merge-diff v6, the library of server-side apply in Kubernetes 1.35: which paths
an object sets (leaves, atomic values, empty containers, and every item of an associative list).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from standins.kubernetes.fieldtypes import KEY_DEFAULTS
from standins.kubernetes.schema import ANY, Schema, child_schema

Element = tuple[str, Any]
Path = tuple[Element, ...]
Paths = frozenset[Path]

UNOWNED: Paths = frozenset(
    {
        (("f", "apiVersion"),),
        (("f", "kind"),),
        (("f", "metadata"),),
        *(
            (("f", "metadata"), ("f", name))
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "generation",
                "managedFields",
                "resourceVersion",
                "selfLink",
                "uid",
            )
        ),
    }
)
"""Fields that nobody owns; everything below managedFields is left out as well."""


def item_key(item: Any, keys: tuple[str, ...]) -> Element:
    """Return the element that tells an item of an associative list from its neighbours."""
    values = [(key, item.get(key, KEY_DEFAULTS.get(key))) for key in keys]
    return ("k", tuple(sorted((key, value) for key, value in values if value is not None)))


def leaves(obj: Mapping[str, Any], schema: Schema) -> dict[Path, Any]:
    """Return what an object sets, by path; containers appear where they are atomic or empty.

    An item of an associative list has a path of its own with the value None.
    """
    kept = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    metadata = kept.get("metadata")
    if isinstance(metadata, Mapping):
        kept["metadata"] = {
            key: value
            for key, value in metadata.items()
            if (("f", "metadata"), ("f", key)) not in UNOWNED
        }
    found = dict(_walk(kept, schema, ()))
    found.pop((("f", "metadata"),), None)
    return found


def _walk(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value and not schema.atomic:
        for name, item in value.items():
            yield from _walk(item, child_schema(schema, name), (*path, ("f", name)))
    elif isinstance(value, list) and value and schema.keys:
        for item in value:
            inner = (*path, item_key(item, schema.keys))
            yield inner, None
            yield from _walk(item, schema.items or ANY, inner)
    elif isinstance(value, list) and value and schema.unique:
        yield from (((*path, ("v", item)), item) for item in value)
    else:
        yield path, value


def changed(old: Mapping[Path, Any], new: Mapping[Path, Any]) -> Paths:
    """Return the paths that a write added or gave another value."""
    missing = object()
    return frozenset(path for path, value in new.items() if old.get(path, missing) != value)


def removed(old: Mapping[Path, Any], new: Mapping[Path, Any]) -> Paths:
    """Return the paths that a write took away."""
    return frozenset(path for path in old if path not in new)


def encode(paths: Paths) -> dict[str, Any]:
    """Return paths as fieldsV1."""
    tree: dict[str, Any] = {}
    for path in sorted(paths, key=repr):
        node = tree
        for element in path:
            node = node.setdefault(_spelled(element), {})
        if path[-1][0] == "k":
            node["."] = {}
    return tree


def decode(tree: Mapping[str, Any]) -> Paths:
    """Return the paths of a fieldsV1 tree."""
    return frozenset(_decode(tree, ()))


def _decode(tree: Mapping[str, Any], path: Path) -> Iterator[Path]:
    if not tree and path:
        yield path
    for name, inner in tree.items():
        if name == ".":
            yield path
        else:
            yield from _decode(inner, (*path, _element(name)))


def _spelled(element: Element) -> str:
    kind, value = element
    if kind == "f":
        return f"f:{value}"
    content = dict(value) if kind == "k" else value
    return f"{kind}:{json.dumps(content, separators=(',', ':'), sort_keys=True)}"


def _element(text: str) -> Element:
    kind, _, rest = text.partition(":")
    if kind == "f":
        return ("f", rest)
    value = json.loads(rest)
    return ("k", tuple(sorted(value.items()))) if kind == "k" else ("v", value)


def spell(path: Path) -> str:
    """Return a path as messages print it: `.spec.containers[name="c"].image`."""
    return "".join(_printed(element) for element in path)


def _printed(element: Element) -> str:
    kind, value = element
    if kind == "f":
        return f".{value}"
    if kind == "k":
        inner = ",".join(f"{key}={json.dumps(item)}" for key, item in value)
        return f"[{inner}]"
    return f"[={json.dumps(value)}]"
