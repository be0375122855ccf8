# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The schema that Keystone holds a mapping against.

Source: Keystone 30.0.0, `keystone.federation.utils`: three versions of one closed schema; an
unknown version is a crash. Version 30 drops what stands beside the rules in silence (seen with a
description); older releases refuse it with 400 (rackerlabs/genestack#907).
"""

from collections.abc import Mapping
from typing import Any

import jsonschema

from standins.keystone.answers import KeystoneError

_TEXT = {"type": "string"}
_DOMAIN = {
    "type": "object",
    "properties": {"id": _TEXT, "name": _TEXT},
    "additionalProperties": False,
}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def _projects(version: str) -> dict[str, Any]:
    roles = {"type": "array", "items": _object(["name"], name=_TEXT)}
    place = {} if version == "1.0" else {"domain": _DOMAIN}
    return {"type": "array", "items": _object(["name", "roles"], name=_TEXT, roles=roles, **place)}


PROJECTS = _projects("2.0")
"""What a value for `projects_json` has to be."""


def _schema(version: str) -> dict[str, Any]:
    filters = [
        _object(["type", word], type=_TEXT, regex={"type": "boolean"}, **{word: {"type": "array"}})
        for word in ("any_one_of", "not_any_of", "blacklist", "whitelist")
    ]
    kinds = {"enum": ["ephemeral", "local"]}
    user = _object([], id=_TEXT, name=_TEXT, email=_TEXT, domain=_DOMAIN, type=kinds)
    by_name = _object(["name", "domain"], name=_TEXT, domain=_DOMAIN)
    group = {"oneOf": [_object(["id"], id=_TEXT), by_name]}
    texts = {"groups": _TEXT, "group_ids": _TEXT}
    texts |= {"projects_json": _TEXT} if version == "3.0" else {}
    texts["projects"] = _projects(version)
    local = _object([], user=user, group=group, domain=_DOMAIN, **texts)
    remote = {"oneOf": [_object(["type"], type=_TEXT), *filters]}
    rule = _object(
        ["local", "remote"],
        local={"type": "array", "items": local},
        remote={"type": "array", "minItems": 1, "items": remote},
    )
    rules = {"type": "array", "minItems": 1, "items": rule}
    return {"type": "object", "required": ["rules"], "properties": {"rules": rules}}


_SCHEMAS = {version: _schema(version) for version in ("1.0", "2.0", "3.0")}
_KNOWN = ("id", "rules", "schema_version")


def check_mapping(values: Mapping[str, Any], *, closed: bool = False) -> None:
    """Refuse a mapping that does not fit.

    Args:
        values: What a client sent.
        closed: Whether fields beside the rules are refused, as older releases do.

    Raises:
        KeystoneError: 400 with the reasons, or a crash over an unknown version.
    """
    version = values.get("schema_version", "1.0")
    if version not in _SCHEMAS:
        raise KeystoneError(500, f"KeyError: {version}", crash=True)
    extra = [word for word in values if word not in _KNOWN]
    if closed and extra:
        message = f"Additional properties are not allowed ('{extra[0]}' was unexpected)"
        raise KeystoneError(400, message)
    found = jsonschema.Draft4Validator(_SCHEMAS[version]).iter_errors(values)
    texts = "".join(sorted(f"{error.message}\n" for error in found))
    if texts:
        raise KeystoneError(400, texts)


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Keystone stores of a mapping that it has taken."""
    return {word: values[word] for word in ("rules", "schema_version") if word in values}
