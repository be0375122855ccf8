# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the fields of a kind are: types, and how lists and maps are owned.

Field names and types come from lightkube's models, which are generated from the API's own OpenAPI
document; what those leave out (list and map types) is in the tables of `fieldtypes`. The stand-in
checks and merges by this, as the real server does by its typed schema.
"""

import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from standins.kubernetes.fieldtypes import (
    ATOMIC_FIELDS,
    ATOMIC_STRUCTS,
    GRANULAR_FIELDS,
    LATER_FIELDS,
    LIST_KEYS,
    LIST_SETS,
    PLAIN_CONDITIONS,
)

Shape = Literal["struct", "map", "list", "string", "number", "boolean", "any"]


@dataclass(frozen=True, slots=True)
class Schema:
    """What a value may be.

    Attributes:
        shape: The kind of value; `any` takes every value.
        fields: Fields of a struct; nothing else may stand in it.
        items: What the values of a map or the items of a list are.
        atomic: Whether one manager owns the value as a whole.
        keys: Fields that tell the items of an associative list apart.
        unique: Whether a list of scalars is a set.
    """

    shape: Shape
    fields: "Mapping[str, Schema]" = field(default_factory=dict)
    items: "Schema | None" = None
    atomic: bool = False
    keys: tuple[str, ...] = ()
    unique: bool = False


ANY = Schema("any")
STRING = Schema("string")
NUMBER = Schema("number")
BOOLEAN = Schema("boolean")
_SCALARS: Mapping[Any, Schema] = {str: STRING, int: NUMBER, float: NUMBER, bool: BOOLEAN}


@functools.cache
def struct_schema(model: type) -> Schema:
    """Return the schema of a generated model.

    Args:
        model: A msgspec struct of lightkube.models.
    """
    name = model.__name__
    if name == "JSONSchemaProps":  # It contains itself; a schema within a schema stays unchecked.
        return ANY
    later = LATER_FIELDS.get(name, ())
    fields = {
        item.encode_name: _field_schema(name, item.encode_name, item.type)
        for item in msgspec.structs.fields(model)
        if item.encode_name not in later
    }
    return Schema("struct", fields=fields, atomic=name in ATOMIC_STRUCTS)


def _field_schema(owner: str, name: str, annotation: Any) -> Schema:
    plain = _without_none(annotation)
    origin = typing.get_origin(plain)
    if origin is list:
        return _list_schema(owner, name, typing.get_args(plain)[0])
    if plain is dict or origin is dict:
        return Schema("map", items=ANY, atomic=(owner, name) in ATOMIC_FIELDS)
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        found = struct_schema(plain)
        return replace(found, atomic=False) if (owner, name) in GRANULAR_FIELDS else found
    return _SCALARS.get(plain, ANY)


def _list_schema(owner: str, name: str, item: Any) -> Schema:
    model = _without_none(item)
    is_struct = isinstance(model, type) and issubclass(model, msgspec.Struct)
    items = struct_schema(model) if is_struct else _SCALARS.get(model, ANY)
    keys = LIST_KEYS.get((owner, name), ())
    if name == "conditions" and is_struct and owner not in PLAIN_CONDITIONS:
        keys = ("type",)
    unique = (owner, name) in LIST_SETS
    return Schema("list", items=items, keys=keys, unique=unique, atomic=not keys and not unique)


def _without_none(annotation: Any) -> Any:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        rest = [item for item in typing.get_args(annotation) if item is not type(None)]
        return rest[0] if len(rest) == 1 else object
    return annotation


def custom_schema(document: Mapping[str, Any], metadata: Schema) -> Schema:
    """Return the schema of a custom kind from the openAPIV3Schema of its definition.

    Args:
        document: The schema of the whole object.
        metadata: Schema of ObjectMeta, which a definition does not repeat.
    """
    whole = _open_api(document)
    fields = {**whole.fields, "apiVersion": STRING, "kind": STRING, "metadata": metadata}
    return Schema("struct", fields=fields)


def _open_api(document: Mapping[str, Any]) -> Schema:
    if document.get("x-kubernetes-preserve-unknown-fields") or "type" not in document:
        return ANY
    kind = document["type"]
    if kind == "object":
        return _open_api_object(document)
    if kind == "array":
        keys = tuple(document.get("x-kubernetes-list-map-keys", ()))
        unique = document.get("x-kubernetes-list-type") == "set"
        items = _open_api(document.get("items", {}))
        atomic = not keys and not unique
        return Schema("list", items=items, keys=keys, unique=unique, atomic=atomic)
    names = {"string": STRING, "integer": NUMBER, "number": NUMBER, "boolean": BOOLEAN}
    return names.get(kind, ANY)


def _open_api_object(document: Mapping[str, Any]) -> Schema:
    atomic = document.get("x-kubernetes-map-type") == "atomic"
    if "properties" in document:
        fields = {name: _open_api(item) for name, item in document["properties"].items()}
        return Schema("struct", fields=fields, atomic=atomic)
    values = document.get("additionalProperties")
    items = _open_api(values) if isinstance(values, Mapping) else ANY
    return Schema("map", items=items, atomic=atomic) if values else ANY


def child_schema(schema: Schema, name: str) -> Schema:
    """Return the schema of a field of a struct or of a value of a map."""
    if schema.shape == "struct":
        return schema.fields.get(name, ANY)
    return schema.items or ANY
