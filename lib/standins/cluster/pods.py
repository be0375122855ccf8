# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a pod asks for, tolerates and selects. Pure: plain dicts in the API's form, no store."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

IDLE = "standins/idle"
"""Annotation of a pod that holds its devices without a process, such as a notebook."""

_SLEEPS = re.compile(r"(while )?sleep [^;&|]+(; do :; done)?")

_SUFFIXES = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
}
_QUANTITY = re.compile(r"^(\d+(?:\.\d+)?)(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")


def milli(quantity: object) -> int:
    """Return a quantity of the API in thousandths, rounded down.

    Raises:
        ValueError: The text is no quantity; the words are the API server's.

    Source: k8s.io/apimachinery resource.Quantity; the sentence was recorded on 1.35.4.
    """
    match = _QUANTITY.match(str(quantity))
    if match is None:
        raise ValueError("quantities must match the regular expression")
    number, suffix = match.groups()
    if suffix == "m":
        return int(float(number))
    return int(float(number) * 1000 * _SUFFIXES[suffix or ""])


def is_extended(resource: str) -> bool:
    """Return whether a resource is counted in whole devices, such as nvidia.com/gpu."""
    return "/" in resource and not resource.startswith("kubernetes.io/")


def requests(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return what a pod needs at once: thousandths of a unit, whole devices for devices.

    Init containers run one after the other before the others, so each counts alone.

    Source: Kubernetes, "Init containers", resource sharing within containers.
    """
    spec = pod.get("spec", {})
    total: dict[str, int] = {}
    for container in spec.get("containers", ()):
        for resource, amount in _wanted(container).items():
            total[resource] = total.get(resource, 0) + amount
    for container in spec.get("initContainers", ()):
        for resource, amount in _wanted(container).items():
            total[resource] = max(total.get(resource, 0), amount)
    return {resource: amount for resource, amount in total.items() if amount}


def devices_wanted(pod: Mapping[str, Any]) -> dict[str, int]:
    """Return the device resources that a pod requests, by name of the resource."""
    return {name: count for name, count in sorted(requests(pod).items()) if is_extended(name)}


def _wanted(container: Mapping[str, Any]) -> dict[str, int]:
    """Return one container's requests; a limit stands in for a request that is not there."""
    resources = container.get("resources", {})
    both = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {
        name: milli(amount) // 1000 if is_extended(name) else milli(amount)
        for name, amount in both.items()
    }


def key(obj: Mapping[str, Any]) -> str:
    """Return `namespace/name`."""
    metadata = obj["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def node_of(pod: Mapping[str, Any]) -> str:
    """Return the node that a pod is bound to, empty when it is not."""
    return pod.get("spec", {}).get("nodeName") or ""


def phase(pod: Mapping[str, Any]) -> str:
    """Return the phase; a pod that nobody looked at yet is Pending."""
    return pod.get("status", {}).get("phase") or "Pending"


def is_finished(pod: Mapping[str, Any]) -> bool:
    """Return whether the pod ended for good."""
    return phase(pod) in ("Succeeded", "Failed")


def is_leaving(obj: Mapping[str, Any]) -> bool:
    """Return whether somebody deleted the object and it is only still being taken down."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def owner(obj: Mapping[str, Any]) -> str:
    """Return the uid of the controller that owns the object, empty when none does."""
    for reference in obj["metadata"].get("ownerReferences", ()):
        if reference.get("controller"):
            return str(reference["uid"])
    return ""


def condition(obj: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return one condition of a status, empty when it is not there."""
    for entry in obj.get("status", {}).get("conditions", ()):
        if entry.get("type") == kind:
            return entry
    return {}


def tolerates(pod: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Return whether one of the pod's tolerations covers the taint.

    Source: Kubernetes, "Taints and Tolerations": an empty key with Exists covers everything, an
    empty effect covers every effect.
    """
    return any(_covers(entry, taint) for entry in pod.get("spec", {}).get("tolerations") or ())


def _covers(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Return whether a toleration covers a taint."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key"):
        return exists
    if toleration["key"] != taint["key"]:
        return False
    return exists or (toleration.get("value") or "") == (taint.get("value") or "")


def untolerated(
    pod: Mapping[str, Any], node: Mapping[str, Any], effects: Sequence[str]
) -> Mapping[str, Any] | None:
    """Return the first taint of the node with one of the effects that the pod does not bear."""
    for taint in node.get("spec", {}).get("taints") or ():
        if taint.get("effect") in effects and not tolerates(pod, taint):
            return taint
    return None


def sleeps(container: Mapping[str, Any]) -> bool:
    """Return whether a container does nothing but sleep: it computes on no device it is given."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if words[:2] == ["sh", "-c"]:
        words = words[2:]
    return bool(_SLEEPS.fullmatch(" ".join(words)))


def computes_nothing(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod holds its devices without a process on them."""
    annotations = pod["metadata"].get("annotations") or {}
    return annotations.get(IDLE) == "true" or all(map(sleeps, pod["spec"]["containers"]))


def selects(pod: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Return whether node selector and required node affinity of a pod admit the node."""
    labels = node["metadata"].get("labels") or {}
    spec = pod.get("spec", {})
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    return not terms or any(_term_admits(term, node, labels) for term in terms)


def _term_admits(
    term: Mapping[str, Any], node: Mapping[str, Any], labels: Mapping[str, str]
) -> bool:
    """Return whether every expression of one node selector term holds."""
    fields = {"metadata.name": node["metadata"]["name"]}
    return all(
        _expression_holds(expression, labels) for expression in term.get("matchExpressions", ())
    ) and all(_expression_holds(expression, fields) for expression in term.get("matchFields", ()))


def _expression_holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether one label expression holds.

    Raises:
        ValueError: The operator is none of the API's.
    """
    value = labels.get(expression["key"])
    values: list[str] = expression.get("values") or []
    operator = expression["operator"]
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(operator, value, values[0])
        case _:
            raise ValueError(f"{operator} is not a valid label selector operator")


def _compares(operator: str, value: str, bound: str) -> bool:
    """Return whether an integer label is on the right side of a bound."""
    if not (value.lstrip("-").isdigit() and bound.lstrip("-").isdigit()):
        return False
    return int(value) > int(bound) if operator == "Gt" else int(value) < int(bound)
