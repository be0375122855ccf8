# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which objects a list asks for: label and field selectors.

Source: Kubernetes documentation, "Labels and Selectors" and "Field Selectors" (1.35).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from standins.kubernetes.answers import RefusalError

Test = Callable[[Mapping[str, Any]], bool]

FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "events": (
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "reason",
    ),
}
"""Fields beside metadata.name and metadata.namespace that a list may select on."""

_SET = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s+\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^=!\s]+)\s*(?P<op>==|=|!=)\s*(?P<value>\S*)$")


def label_test(selector: str) -> Test:
    """Return a test on labels.

    Args:
        selector: As in `labelSelector=`; empty selects everything.

    Raises:
        RefusalError: The text is no selector.
    """
    tests = [_label_term(term.strip()) for term in _split(selector) if term.strip()]
    return lambda labels: all(test(labels) for test in tests)


def _split(selector: str) -> list[str]:
    return re.split(r",(?![^(]*\))", selector)


def _label_term(term: str) -> Test:
    if found := _SET.match(term):
        values = {value.strip() for value in found["values"].split(",")}
        key, inside = found["key"], found["op"] == "in"
        return lambda labels: (labels.get(key) in values) is inside
    if found := _EQUAL.match(term):
        key, value, equal = found["key"], found["value"], found["op"] != "!="
        return lambda labels: (labels.get(key) == value) is equal
    if term.startswith("!"):
        key = term[1:].strip()
        return lambda labels: key not in labels
    if re.fullmatch(r"\S+", term):
        return lambda labels: term in labels
    raise RefusalError(400, "BadRequest", f"unable to parse requirement: {term}")


def field_test(resource: str, selector: str) -> Test:
    """Return a test on the fields of a resource's objects.

    Args:
        resource: Key of the resource, such as `pods`.
        selector: As in `fieldSelector=`; empty selects everything.

    Raises:
        RefusalError: The resource has no such selectable field.
    """
    known = ("metadata.name", "metadata.namespace", *FIELDS.get(resource, ()))
    terms: list[tuple[tuple[str, ...], str, bool]] = []
    for term in (item for item in selector.split(",") if item):
        found = _EQUAL.match(term)
        if found is None:
            raise RefusalError(400, "BadRequest", f"invalid field selector: {term}")
        if found["key"] not in known:
            raise RefusalError(400, "BadRequest", _unknown_field(resource, found["key"]))
        path = tuple(found["key"].split("."))
        terms.append((path, found["value"], found["op"] != "!="))
    return lambda obj: all((_text(obj, path) == value) is same for path, value, same in terms)


def _unknown_field(resource: str, name: str) -> str:
    """Return what is said of a field that cannot be selected: kinds without any name all."""
    if resource in FIELDS:
        return f"field label not supported: {name}"
    return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _text(obj: Mapping[str, Any], path: tuple[str, ...]) -> str:
    value: Any = obj
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def selector_test(selector: Mapping[str, Any] | None) -> Test:
    """Return a test on labels from a LabelSelector object.

    Args:
        selector: matchLabels and matchExpressions; None selects nothing, an empty one everything.
    """
    if selector is None:
        return lambda labels: False
    terms = [f"{key}={value}" for key, value in selector.get("matchLabels", {}).items()]
    terms += [_expression(item) for item in selector.get("matchExpressions", ())]
    return label_test(",".join(terms))


def _expression(item: Mapping[str, Any]) -> str:
    key, operator = item["key"], item["operator"]
    values = ",".join(item.get("values", ()))
    forms = {
        "In": f"{key} in ({values})",
        "NotIn": f"{key} notin ({values})",
        "Exists": key,
        "DoesNotExist": f"!{key}",
    }
    return forms[operator]
