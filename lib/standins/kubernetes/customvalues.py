# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Values of custom objects: defaults and bounds of the openAPIV3Schema of their definition.

Rules in CEL (x-kubernetes-validations) and formats are not checked. Texts: Kubernetes 1.35.4, as a
real API server answered (tests/functional/kubernetes).
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from standins.kubernetes.store import copy_json

Cause = tuple[str, str, str]
Document = Mapping[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_HEAD = frozenset({"apiVersion", "kind", "metadata"})


def fill_defaults(value: Any, document: Document, *, top: bool = True) -> None:
    """Fill in what a definition has a default for; the value is edited."""
    if isinstance(value, list):
        for item in value:
            fill_defaults(item, document.get("items") or {}, top=False)
    if not isinstance(value, dict):
        return
    for name, inner in (document.get("properties") or {}).items():
        if top and name in _HEAD:
            continue
        if name not in value and "default" in inner:
            value[name] = copy_json(inner["default"])
        if name in value:
            fill_defaults(value[name], inner, top=False)
    _fill_map(value, document)


def _fill_map(value: dict[str, Any], document: Document) -> None:
    values = document.get("additionalProperties")
    if isinstance(values, Mapping):
        for item in value.values():
            fill_defaults(item, values, top=False)


def find_causes(value: Any, document: Document, where: str = "") -> Iterator[Cause]:
    """Yield what a definition finds wrong with a value.

    Args:
        value: A custom object, or a part of it.
        document: The openAPIV3Schema of that part.
        where: Path of that part; empty for the whole, whose metadata are not looked at.
    """
    if value is None and document.get("nullable"):
        return
    if not _is_typed(value, document):
        yield _type_cause(value, document, where)
        return
    yield from _bound_causes(value, document, where)
    if isinstance(value, Mapping):
        yield from _object_causes(value, document, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_causes(item, document.get("items") or {}, f"{where}[{index}]")


def _is_typed(value: Any, document: Document) -> bool:
    if document.get("x-kubernetes-int-or-string"):
        return isinstance(value, (int, str)) and not isinstance(value, bool)
    kinds = _TYPES.get(document.get("type", ""))
    if kinds is None:
        return True
    return isinstance(value, kinds) and (bool in kinds) == isinstance(value, bool)


def _type_cause(value: Any, document: Document, where: str) -> Cause:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer"}
    sent = names.get(type(value), "null" if value is None else "number")
    wanted = document.get("type", "integer,string")
    text = f'Invalid value: "{sent}": {where} in body must be of type {wanted}: "{sent}"'
    return ("FieldValueTypeInvalid", where, text)


def _object_causes(value: Document, document: Document, where: str) -> Iterator[Cause]:
    for name in document.get("required") or ():
        if name not in value:
            yield ("FieldValueRequired", _child(where, name), "Required value")
    properties: Document = document.get("properties") or {}
    values = document.get("additionalProperties")
    for name, item in value.items():
        if not where and name in _HEAD:
            continue
        inner = properties.get(name, values if isinstance(values, Mapping) else None)
        if inner is not None:
            yield from find_causes(item, inner, _child(where, name))


def _child(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _bound_causes(value: Any, document: Document, where: str) -> Iterator[Cause]:
    if "enum" in document and value not in document["enum"]:
        known = ", ".join(json.dumps(item) for item in document["enum"])
        text = f"Unsupported value: {json.dumps(value)}: supported values: {known}"
        yield ("FieldValueNotSupported", where, text)
    for text in _bound_texts(value, document):
        yield (
            "FieldValueInvalid",
            where,
            f"Invalid value: {json.dumps(value)}: {where} in body should {text}",
        )


def _bound_texts(value: Any, document: Document) -> Iterator[str]:
    if isinstance(value, str):
        pattern = document.get("pattern")
        if pattern and not re.search(pattern, value):
            yield f"match '{pattern}'"
        yield from _length_texts(len(value), document, "Length", "be at {} {} chars long")
    elif isinstance(value, list):
        yield from _length_texts(len(value), document, "Items", "have at {} {} items")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if "minimum" in document and value < document["minimum"]:
            yield f"be greater than or equal to {document['minimum']}"
        if "maximum" in document and value > document["maximum"]:
            yield f"be less than or equal to {document['maximum']}"


def _length_texts(length: int, document: Document, what: str, text: str) -> Iterator[str]:
    if length < document.get(f"min{what}", 0):
        yield text.format("least", document[f"min{what}"])
    if length > document.get(f"max{what}", length):
        yield text.format("most", document[f"max{what}"])
