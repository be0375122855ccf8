# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Juju refuses in the metadata of a charm, when the file is uploaded. Pure.

Source: facts on charm metadata; juju/charm v12 meta.go (Check, schemas), config.go, actions.go.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.bundle.names import CHARM
from rehearsal.bundle.rules_options import fits
from rehearsal.charm_metadata import Metadata
from rehearsal.facts import Endpoint, entries_of, names_of

_ROLES = ("provides", "requires", "peers")
_RANGE = re.compile(r"[0-9]+(?:[-+]|-[0-9]+)")
_TYPES = ("string", "int", "integer", "float", "boolean", "secret")
_ACTION = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_FORBIDDEN = ("$ref", "$schema")


def find_problem(found: Metadata, endpoints: Iterable[Endpoint]) -> str:
    """Return the first thing that Juju refuses, empty where there is nothing.

    Args:
        found: The charm's files.
        endpoints: The endpoints that could be read of them.
    """
    metadata = found.metadata
    problems = (
        _name(metadata),
        _whole(found),
        *_endpoints(metadata, list(endpoints)),
        *(_storage(name, body) for name, body in entries_of(metadata.get("storage"))),
        *(_resource(name, body) for name, body in entries_of(metadata.get("resources"))),
        *(_option(name, body) for name, body in entries_of(found.config.get("options"))),
        *(_action(name, body) for name, body in entries_of(found.actions)),
    )
    return next(filter(None, problems), "")


def _name(metadata: Mapping[str, Any]) -> str:
    name = metadata.get("name")
    if not name:
        return "metadata.yaml has no name"
    return "" if CHARM.fullmatch(str(name)) else f"{name} is no name of a charm"


def _whole(found: Metadata) -> str:
    if found.manifest is not None and not found.manifest.get("bases"):
        return "manifest.yaml names no base"
    if found.is_packed and "min-juju-version" in found.metadata:
        return "min-juju-version is for charms without a manifest: write assumes"
    subordinate = found.metadata.get("subordinate", False)
    return "" if fits("boolean", subordinate, "4.0") else "subordinate is neither true nor false"


def _endpoints(metadata: Mapping[str, Any], endpoints: list[Endpoint]) -> Iterable[str]:
    names = [name for role in _ROLES for name in names_of(metadata.get(role))]
    yield from (f"endpoint {n} is there twice" for n in sorted(set(names)) if names.count(n) > 1)
    for role in _ROLES:
        for name, body in entries_of(metadata.get(role)):
            yield _endpoint(name, body)
    is_subordinate = metadata.get("subordinate") is True
    inside = [end for end in endpoints if end.role == "requires" and end.scope == "container"]
    if is_subordinate and not inside:
        yield "a subordinate needs a requires endpoint with scope: container"
    for end in endpoints:
        if _is_reserved(end.name) and not (is_subordinate and end in inside):
            yield f"the name of the endpoint {end.name} is reserved"
        if end.role != "requires" and _is_reserved(end.interface):
            yield f"the interface {end.interface} of {end.name} is reserved"


def _is_reserved(name: str) -> bool:
    return name == "juju" or name.startswith("juju-")


def _endpoint(name: str, body: Any) -> str:
    if isinstance(body, str):
        return ""
    if not isinstance(body, dict) or not isinstance(body.get("interface"), str):
        return f"endpoint {name} has no interface"
    if body.get("scope", "global") not in ("global", "container"):
        return f"the scope of endpoint {name} is neither global nor container"
    limit = body.get("limit")
    is_number = isinstance(limit, int) and not isinstance(limit, bool)
    return "" if limit is None or is_number else f"the limit of endpoint {name} is no number"


def _storage(name: str, body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    kind = fields.get("type")
    if kind not in ("block", "filesystem"):
        return f"the type of storage {name} is neither block nor filesystem"
    if fields.get("location") and kind == "block":
        return f"storage {name} is a block device and has no location"
    multiple = fields.get("multiple")
    text = multiple.get("range", 1) if isinstance(multiple, dict) else 1
    is_count = isinstance(text, int) and text > 0
    return (
        "" if is_count or _RANGE.fullmatch(str(text)) else f"the range of storage {name} is none"
    )


def _resource(name: str, body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    if fields.get("type", "file" if "filename" in fields else "") not in ("file", "oci-image"):
        return f"the type of resource {name} is neither file nor oci-image"
    filename = str(fields.get("filename") or "")
    if fields.get("type") == "file" and (not filename or "/" in filename):
        return f"resource {name} names no file"
    return ""


def _option(name: str, body: Any) -> str:
    fields = body if isinstance(body, dict) else {}
    kind, default = fields.get("type") or "string", fields.get("default")
    if kind not in _TYPES:
        return f"the type {kind} of option {name} is unknown"
    return (
        "" if default is None or fits(kind, default, "4.0") else f"the default of {name} is none"
    )


def _action(name: str, body: Any) -> str:
    if not _ACTION.fullmatch(name) or _is_reserved(name):
        return f"{name} is no name of an action"
    return f"action {name} has {_FORBIDDEN[0]} or {_FORBIDDEN[1]}" if _refers(body) else ""


def _refers(body: Any) -> bool:
    pending, seen = [body], 0
    while pending and seen < 10_000:
        value = pending.pop()
        seen += 1
        if isinstance(value, dict):
            if any(key in value for key in _FORBIDDEN):
                return True
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return False
