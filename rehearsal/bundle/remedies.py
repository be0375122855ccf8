# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What to write instead of a key that Juju does not know, or of a value of a wrong type. Pure."""

from difflib import get_close_matches

from rehearsal.bundle.document import Mapping, Node, Sequence, key_text
from rehearsal.bundle.findings import Path, dotted
from rehearsal.bundle.keys import APPLICATION, Struct
from rehearsal.bundle.scalars import Scalar, resolve

_FORMER = {"services": "applications", "units": "num_units", "config": "options",
           "endpoint-bindings": "bindings", "placement": "to", "machine": "machines"}  # fmt: skip
"""Words of other tools and of older bundles, and what a bundle calls it today."""


def _spelt(name: str) -> str:
    """Return a key as bundles spell theirs: small letters, dashes, but for num_units."""
    return name.lower() if name.lower().startswith("num") else name.lower().replace("_", "-")


def for_unknown(name: str, item: Node, kind: Struct) -> tuple[str, str]:
    """Return the key that is meant, empty if none comes near, and what to do about an unknown one.

    Args:
        name: The key.
        item: What stands below it.
        kind: The map in which it stands.
    """
    if name == "series":
        return "", "write base: ubuntu@24.04 (default-base: for the whole bundle)"
    meant = _FORMER.get(name, "")
    if meant not in kind.fields:
        meant = next(iter(get_close_matches(_spelt(name), kind.fields, 1)), "")
    if meant:
        return meant, f"did you mean {meant!r}?"
    if "applications" in kind.fields:
        if not isinstance(item, Scalar) and (name == "variables" or name.startswith("x-")):
            return (
                "",
                "write each anchor (&name) where it is used first; a bundle has no other place",
            )
        keys = {key_text(key) for key, _ in item.pairs} if isinstance(item, Mapping) else set()
        if keys and keys <= APPLICATION.keys():
            return "", f"indent {name}: so that it stands below applications:"
    return "", f"delete it; {kind.name} has {', '.join(sorted(kind.fields))}"


def describe(node: Node) -> str:
    """Return what a node is, for a sentence on its type."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a map"
    return f"{'' if node.plain else 'the text '}{node.text[:40]!r}"


def for_type(node: Node, path: Path, wanted: str) -> str:
    """Return what to write where a value of another type is wanted.

    Args:
        node: What stands there.
        path: Where it stands.
        wanted: string, int, bool, list or map.
    """
    name = dotted(path[-1:])
    if path[:1] == ("applications",) and len(path) == 2 and name in APPLICATION:
        return f"indent {name}: so that it stands below the name of its application"
    if path[:1] == ("relations",) and len(path) > 1:
        return "write [application:endpoint, application:endpoint], without a blank after a colon"
    if not path:
        return "begin with the keys of a bundle: applications: and the rest"
    if wanted in ("int", "bool"):
        value = resolve(Scalar(node.text, True, 0)) if isinstance(node, Scalar) else None
        is_right = type(value) is (int if wanted == "int" else bool)
        shown = {"int": "a whole number", "bool": "true or false"}[wanted]
        return f"write {name}: {node.text if isinstance(node, Scalar) and is_right else shown}"
    if wanted == "list":
        item = f'"{node.text[:40]}"' if isinstance(node, Scalar) else "..."
        return f"write {name}: [{item}]"
    if wanted == "map":
        return f"write key: value pairs below {name}:"
    key = "" if isinstance(path[-1], int) else f"{name}: "
    return f'write one text in quotes: {key}"{_as_text(node)}"'


def _as_text(node: Node) -> str:
    """Return what a list or a map of plain values says as one text, as constraints are written."""
    if isinstance(node, Mapping):
        pairs = [(key_text(key), value) for key, value in node.pairs[:4]]
        return " ".join(f"{key}={v.text[:40]}" for key, v in pairs if isinstance(v, Scalar))
    items = node.items[:4] if isinstance(node, Sequence) else []
    return " ".join(item.text[:40] for item in items if isinstance(item, Scalar))
