# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Our own manifests: templates to objects, hashes, and what differs from what is there.

A charm renders what should be, reads what is there, and applies where `find_differences` finds
any, so a hook in which nothing changed writes nothing. A field that is not rendered any more is no
difference: an annotation with the `rendered_hash` of everything shows it.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import jinja2
import yaml

Object = dict[str, Any]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C where PyYAML has it: a hook renders each time, and it is ten times as fast."""

MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label by which an application finds and removes its objects."""


def render(folder: Path, name: str, values: Mapping[str, Any]) -> list[Object]:
    """Return the objects of a template, in its order.

    Args:
        folder: Where the templates are.
        name: Name of the template, such as `device-plugin.yaml.j2`.
        values: What the template uses; `{{ value | tojson }}` quotes text that may hold anything.

    Raises:
        jinja2.UndefinedError: The template uses a value that is not given: a bug.
    """
    text = _environment(folder).get_template(name).render(dict(values))
    loaded = yaml.load_all(text, Loader=_LOADER)
    documents = cast("list[Object | None]", list(loaded))
    return [json.loads(json.dumps(document)) for document in documents if document]


@functools.cache
def _environment(folder: Path) -> jinja2.Environment:
    """Return what compiles the templates of a folder; each is compiled once in a process."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - YAML for an API, no HTML
    )
    # str() of an undefined value raises what the value's use elsewhere would raise.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": str}
    return environment


def rendered_hash(objects: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of objects as canonical JSON, in hexadecimal.

    The order of fields does not count; the order of objects and of list items does.
    """
    text = json.dumps(list(objects), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def find_differences(rendered: Any, observed: Any, path: str = "") -> list[str]:
    """Return the paths of rendered fields that are missing or differ in what is there.

    Fields that only the observed object has are somebody else's or the server's.
    """
    if isinstance(rendered, Mapping) and isinstance(observed, Mapping):
        wanted, found = cast("Object", rendered), cast("Object", observed)
        return [
            difference
            for key in wanted
            for difference in find_differences(wanted[key], found.get(key), f"{path}.{key}")
        ]
    if isinstance(rendered, list) and isinstance(observed, list):
        return _list_differences(cast("list[Any]", rendered), cast("list[Any]", observed), path)
    return [] if rendered == observed or _is_nothing(rendered, observed) else [path]


def _list_differences(rendered: list[Any], observed: list[Any], path: str) -> list[str]:
    if len(rendered) != len(observed):
        return [path]
    pairs = enumerate(zip(rendered, observed, strict=True))
    return [d for index, (a, b) in pairs for d in find_differences(a, b, f"{path}[{index}]")]


def _is_nothing(rendered: Any, observed: Any) -> bool:
    """Return whether the server left out an empty container that was rendered."""
    return observed is None and rendered in ({}, [])
