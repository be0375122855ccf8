# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the API refuses to store: unknown fields, wrong types, bad names, labels and quantities.

Checked as a real server checks it. Not checked: cross-field rules of each kind beyond those here,
admission policies. What may not change is in `immutable`, what custom kinds allow in
`customvalues`, what is filled in in `defaults`.

Source: Kubernetes 1.35.4, as seen by a client; apimachinery's validation of names and labels.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from standins.kubernetes.answers import RefusalError, invalid
from standins.kubernetes.customvalues import find_causes
from standins.kubernetes.fields import item_key, spell
from standins.kubernetes.podrules import pod_causes, quantity_causes, template_causes
from standins.kubernetes.resources import Resource
from standins.kubernetes.schema import ANY, Schema, child_schema

Cause = tuple[str, str, str]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH_NAME = re.compile(r"[^/%]+")
_LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_MAX_NAME, _MAX_LABEL = 253, 63


def typed_errors(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Yield what a typed apply finds wrong, in the server's words."""
    if value is None or schema.shape == "any":
        return
    if schema.shape == "list":
        yield from _list_errors(value, schema, path)
    elif schema.shape in ("struct", "map"):
        yield from _map_errors(value, schema, path)
    elif not _is_scalar(value, schema.shape):
        names = {"number": "numeric (int or float)"}
        shown = f"&{{{value}}}" if isinstance(value, (list, dict)) else _go_type(value)
        yield f"{path}: expected {names.get(schema.shape, schema.shape)}, got {shown}"


def _is_scalar(value: Any, shape: str) -> bool:
    kinds = {"string": str, "boolean": bool, "number": (int, float)}
    return isinstance(value, kinds[shape]) and (shape == "boolean") == isinstance(value, bool)


def _go_type(value: Any) -> str:
    names: Mapping[type, str] = {str: "string", bool: "bool", int: "int64", float: "float64"}
    return names.get(type(value), str(value))


def _map_errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: expected map, got &{{{value}}}"
        return
    for name, item in value.items():
        if schema.shape == "struct" and name not in schema.fields:
            yield f"{path}.{name}: field not declared in schema"
        else:
            yield from typed_errors(item, child_schema(schema, name), f"{path}.{name}")


def _list_errors(value: Any, schema: Schema, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected list, got &{{{value}}}"
        return
    seen: set[Any] = set()
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if schema.keys and isinstance(item, Mapping):
            key = item_key(item, schema.keys)
            where = f"{path}{spell((key,))}"
            if key in seen:
                yield f"{path}: duplicate entries for key {spell((key,))}"
            seen.add(key)
        yield from typed_errors(item, schema.items or ANY, where)


def check_typed_patch(obj: Mapping[str, Any], resource: Resource) -> None:
    """Refuse an applied object that does not fit its kind.

    Raises:
        RefusalError: 500 without a reason, as the server answers it.
    """
    found = list(typed_errors(obj, resource.schema))
    if not found:
        return
    metadata = obj["metadata"]
    place = f"{metadata.get('namespace', '')}/{metadata['name']}"
    text = found[0] if len(found) == 1 else "errors:\n" + "\n".join(f"  {e}" for e in found)
    raise RefusalError(
        500,
        "",
        f"failed to create typed patch object ({place}; {resource.api_version}, "
        f"Kind={resource.kind}): {text}",
    )


def check_decoded(
    obj: Mapping[str, Any], resource: Resource, *, strict: bool, patch: str = ""
) -> list[str]:
    """Return warnings about unknown fields of a create, update or patch.

    Args:
        obj: The object as it was sent, or as a patch made it.
        resource: What it is.
        strict: Whether the client wants unknown fields refused.
        patch: The patch as it was sent; empty for whole objects.

    Raises:
        RefusalError: A value has the wrong type, or a field is unknown and the client is strict.
            Wrong types of custom kinds are left to `check_values`.
    """
    found = list(typed_errors(obj, resource.schema))
    unknown = [text.partition(": field not")[0] for text in found if "field not declared" in text]
    wrong = [text for text in found if ": expected" in text]
    if wrong and resource.document is None:
        raise RefusalError(
            400,
            "BadRequest",
            f'{resource.kind} in version "{resource.version}" '
            f"cannot be handled as a {resource.kind}: {wrong[0]}",
        )
    warnings = [f'unknown field "{path[1:]}"' for path in unknown]
    if warnings and strict:
        raise _strict_refusal(resource, ", ".join(warnings), patch)
    return warnings


def _strict_refusal(resource: Resource, unknown: str, patch: str) -> RefusalError:
    """Return the refusal of unknown fields; that of a patch names no object."""
    text = f"strict decoding error: {unknown}"
    if not patch:
        head = f'{resource.kind} in version "{resource.version}" cannot be handled as a '
        return RefusalError(400, "BadRequest", f"{head}{resource.kind}: {text}")
    cause = ("FieldValueInvalid", "patch", f"Invalid value: {json.dumps(patch)}: {text}")
    return invalid("", "", "", [cause])


def without_unknown(value: Any, schema: Schema) -> Any:
    """Return a value without fields that its kind has not: a decoder drops them."""
    if isinstance(value, Mapping) and schema.shape == "struct":
        return {
            name: without_unknown(item, schema.fields[name])
            for name, item in value.items()
            if name in schema.fields
        }
    if isinstance(value, Mapping) and schema.items is not None:
        return {name: without_unknown(item, schema.items) for name, item in value.items()}
    if isinstance(value, list) and schema.items is not None:
        return [without_unknown(item, schema.items) for item in value]
    return value


def check_values(obj: Mapping[str, Any], resource: Resource) -> None:
    """Refuse an object with a bad name, label, quantity or pod.

    Raises:
        RefusalError: 422 with one cause for each wrong value.
    """
    causes = list(_causes(obj, resource))
    if causes:
        raise invalid(resource.kind, resource.group, obj["metadata"]["name"], causes)


def _causes(obj: Mapping[str, Any], resource: Resource) -> Iterator[Cause]:
    metadata = obj["metadata"]
    if resource.document is not None:
        yield from find_causes(obj, resource.document)
    yield from _name_causes(metadata["name"], resource)
    for key, value in (metadata.get("labels") or {}).items():
        yield from _label_causes(key, value, "metadata.labels")
    for key in metadata.get("annotations") or {}:
        yield from _key_causes(key, "metadata.annotations")
    if resource.key == "nodes":
        status = obj.get("status") or {}
        for part in ("capacity", "allocatable"):
            yield from quantity_causes(status.get(part) or {}, f"status.{part}")
    if resource.key == "pods":
        yield from pod_causes(obj.get("spec") or {}, "spec")
    template = (obj.get("spec") or {}).get("template") if resource.group == "apps" else None
    if template:
        yield from template_causes(obj["spec"])


def _name_causes(name: str, resource: Resource) -> Iterator[Cause]:
    free = resource.group == "rbac.authorization.k8s.io"
    pattern = _PATH_NAME if free else _NAME
    if len(name) > _MAX_NAME or not pattern.fullmatch(name):
        text = (
            f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
            "character"
        )
        yield ("FieldValueInvalid", "metadata.name", text)


def _label_causes(key: str, value: Any, where: str) -> Iterator[Cause]:
    yield from _key_causes(key, where)
    text = str(value)
    if text and (len(text) > _MAX_LABEL or not _LABEL_NAME.fullmatch(text)):
        yield (
            "FieldValueInvalid",
            where,
            (
                f'Invalid value: "{text}": a valid label must be an empty string or consist of '
                "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                f"alphanumeric character, at most {_MAX_LABEL} of them"
            ),
        )


def _key_causes(key: str, where: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    good = bool(_LABEL_NAME.fullmatch(name)) and len(name) <= _MAX_LABEL
    if slash and not (len(prefix) <= _MAX_NAME and _NAME.fullmatch(prefix)):
        good = False
    if not good:
        yield (
            "FieldValueInvalid",
            where,
            (
                f'Invalid value: "{key}": a qualified name must '
                "consist of alphanumeric characters, '-', '_' or '.', with an optional DNS "
                "subdomain prefix and '/'"
            ),
        )
