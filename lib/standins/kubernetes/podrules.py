# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the API refuses in pods and in the templates of pods: amounts, ports, mounts.

Source: Kubernetes 1.35.4; each rule was answered so by a real API server, which
tests/functional/kubernetes asks again.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Cause = tuple[str, str, str]

_QUANTITY = re.compile(r"[+-]?(\d+|\d+\.\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_QUANTITY_TEXT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_PORT_NAMES = (
    (".{0,15}", "must be no more than 15 characters"),
    ("[-a-z0-9]*", "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
    (".*[a-z].*", "must contain at least one letter (a-z)"),
    ("(?!.*--).*", "must not contain consecutive hyphens"),
    ("(?!-).*(?<!-)", "must not begin or end with a hyphen"),
)


def quantity_causes(amounts: Mapping[str, Any], where: str) -> Iterator[Cause]:
    """Yield what is wrong with amounts of resources."""
    for name, amount in amounts.items():
        text, field = str(amount), f"{where}.{name}" if "/" not in name else f"{where}[{name}]"
        if not _QUANTITY.fullmatch(text):
            yield ("FieldValueInvalid", field, f'Invalid value: "{text}": {_QUANTITY_TEXT}')
        elif "/" in name and not text.isdecimal():
            yield ("FieldValueInvalid", field, f'Invalid value: "{text}": must be an integer')


def template_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """Yield what is wrong with the spec of a kind that makes pods."""
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    if not wanted.items() <= labels.items():
        yield (
            "FieldValueInvalid",
            "spec.template.metadata.labels",
            f"Invalid value: {labels}: `selector` does not match template `labels`",
        )
    yield from pod_causes(spec["template"].get("spec") or {}, "spec.template.spec")


def pod_causes(spec: Mapping[str, Any], where: str) -> Iterator[Cause]:
    """Yield what is wrong with the spec of a pod."""
    if not spec.get("containers"):
        yield ("FieldValueRequired", f"{where}.containers", "Required value")
    volumes = {volume["name"] for volume in spec.get("volumes") or ()}
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            field = f"{where}.{kind}[{index}]"
            yield from _resource_causes(container, f"{field}.resources")
            yield from _port_causes(container, f"{field}.ports")
            yield from _mount_causes(container, volumes, f"{field}.volumeMounts")


def _port_causes(container: Mapping[str, Any], where: str) -> Iterator[Cause]:
    for index, port in enumerate(container.get("ports") or ()):
        name, field = port.get("name", ""), f"{where}[{index}].name"
        for pattern, text in _PORT_NAMES if name else ():
            if not re.fullmatch(pattern, name):
                yield ("FieldValueInvalid", field, f'Invalid value: "{name}": {text}')


def _mount_causes(container: Mapping[str, Any], volumes: set[str], where: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount["name"] not in volumes:
            yield ("FieldValueNotFound", f"{where}[{index}].name", f'Not found: "{mount["name"]}"')
        if mount["mountPath"] in seen:
            text = f'Invalid value: "{mount["mountPath"]}": must be unique'
            yield ("FieldValueInvalid", f"{where}[{index}].mountPath", text)
        seen.add(mount["mountPath"])


def _resource_causes(container: Mapping[str, Any], field: str) -> Iterator[Cause]:
    resources: Mapping[str, Any] = container.get("resources") or {}
    limits: Mapping[str, Any] = resources.get("limits") or {}
    requests: Mapping[str, Any] = resources.get("requests") or {}
    yield from quantity_causes(limits, f"{field}.limits")
    yield from quantity_causes(requests, f"{field}.requests")
    for name, amount in sorted(requests.items()):
        if "/" in name and str(limits.get(name)) != str(amount):
            yield (
                "FieldValueInvalid",
                f"{field}.requests",
                (
                    f'Invalid value: "{amount}": must be equal to {name} limit of '
                    f"{limits.get(name, 0)}"
                ),
            )
