# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Our own manifests: templates to objects, and what has to be written. Pure but for the templates.

A charm renders what should be, lists what is there by label, and writes the difference: an object
is written when its stamp (the hash of what was rendered) or any rendered field differs, so a hook
in which nothing changed writes nothing.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import jinja2
import yaml

Object = dict[str, Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
"""Label by which an application finds and removes its objects."""

STAMP = "charmkit/rendered"
"""Annotation with the hash of the object as it was rendered."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What has to be done to objects of the cluster.

    Attributes:
        apply: Objects to apply, in the order of rendering.
        delete: Objects that are there and not rendered any more, as they were found.
    """

    apply: tuple[Object, ...] = ()
    delete: tuple[Object, ...] = ()


def render(folder: Path, name: str, values: Mapping[str, Any]) -> list[Object]:
    """Return the objects of a template, in its order.

    Args:
        folder: Where the templates are.
        name: Name of the template, such as `device-plugin.yaml.j2`.
        values: What the template uses; `{{ value | tojson }}` quotes text that may hold anything.

    Raises:
        jinja2.UndefinedError: The template uses a value that is not given: a bug.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - YAML for an API, no HTML
    )
    # str() of an undefined value raises what the value's use elsewhere would raise.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": str}
    text = environment.get_template(name).render(dict(values))
    documents = cast("list[Object | None]", list(yaml.safe_load_all(text)))
    return [json.loads(json.dumps(document)) for document in documents if document]


def labelled(obj: Mapping[str, Any], labels: Mapping[str, str]) -> Object:
    """Return an object with labels added to its metadata."""
    metadata = dict(obj["metadata"])
    return {**obj, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}}}


def stamped(obj: Mapping[str, Any]) -> Object:
    """Return an object that carries the hash of what it is."""
    metadata = dict(obj["metadata"])
    annotations = {**metadata.get("annotations", {}), STAMP: rendered_hash([obj])[:16]}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}


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


def identity(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return what tells an object from every other: kind, namespace, name."""
    metadata = obj["metadata"]
    return str(obj["kind"]), str(metadata.get("namespace", "")), str(metadata["name"])


def plan(rendered: Sequence[Object], observed: Sequence[Mapping[str, Any]]) -> Changes:
    """Return what has to be written so that the cluster has what was rendered.

    Args:
        rendered: What should be.
        observed: What is there, found by label; what is in it and not rendered is deleted.
    """
    found = {identity(obj): obj for obj in observed}
    wanted = {identity(obj) for obj in rendered}
    stale = [dict(obj) for key, obj in found.items() if key not in wanted]
    differing = [obj for obj in rendered if find_differences(obj, found.get(identity(obj), {}))]
    return Changes(tuple(differing), tuple(stale))
