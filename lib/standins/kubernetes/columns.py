# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The columns of the server's tables, kind by kind. Pure.

As Kubernetes 1.35 prints the kinds that a rehearsal is about; every other kind has name and age.

Source: pkg/printers/internalversion/printers.go, AddHandlers and the print functions.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from standins.kubernetes.labeltext import label_text, selector_text

Object = Mapping[str, Any]
Row = Callable[[Object], Sequence[Any]]
Columns = tuple[Sequence[str], Row]

AGE = object()
"""Stands in a row where the age goes."""

_NONE = "<none>"
_UNSET = "<unset>"
_UNKNOWN = "<unknown>"
_ROLE = "node-role.kubernetes.io/"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def columns(key: str) -> Columns:
    """Return the columns after the name, and what fills them.

    Args:
        key: Name of the resource over all versions: `nodes`, `daemonsets.apps`.
    """
    return _COLUMNS.get(key, (("Age",), lambda obj: (AGE,)))


def wide_columns(key: str) -> Columns:
    """Return the further columns of `-o wide`, and what fills them."""
    return _WIDE.get(key, ((), lambda obj: ()))


def displayed_name(obj: Object) -> str:
    """Return an object's name; the default StorageClass is marked."""
    metadata = obj["metadata"]
    marked = (metadata.get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    return f"{metadata['name']} (default)" if marked else metadata["name"]


def _node(obj: Object) -> Sequence[Any]:
    conditions = obj.get("status", {}).get("conditions", ())
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "")
    states = {"True": ["Ready"], "": ["Unknown"]}.get(ready, ["NotReady"])
    if obj.get("spec", {}).get("unschedulable"):
        states = [*states, "SchedulingDisabled"]
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    roles = sorted(name.removeprefix(_ROLE) for name in labels if name.startswith(_ROLE))
    version = obj.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", "")
    return ",".join(states), ",".join(roles) or _NONE, AGE, version


def _pod(obj: Object) -> Sequence[Any]:
    status = obj.get("status", {})
    statuses = status.get("containerStatuses", ())
    ready = sum(1 for item in statuses if item.get("ready"))
    restarts = sum(item.get("restartCount", 0) for item in statuses)
    count = len(obj.get("spec", {}).get("containers", ()))
    states = [item.get("state", {}).get("waiting", {}) for item in statuses]
    waiting = next((state["reason"] for state in states if state.get("reason")), None)
    reason = status.get("reason") or waiting or status.get("phase", "")
    if "deletionTimestamp" in obj["metadata"]:
        reason = "Terminating"
    return f"{ready}/{count}", reason, str(restarts), AGE


def _pod_wide(obj: Object) -> Sequence[Any]:
    status, spec = obj.get("status", {}), obj.get("spec", {})
    texts = (status.get("podIP"), spec.get("nodeName"), status.get("nominatedNodeName"))
    return (*(text or _NONE for text in texts), _NONE)


def _daemon_set(obj: Object) -> Sequence[Any]:
    status = obj.get("status", {})
    fields = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    chosen = obj.get("spec", {}).get("template", {}).get("spec", {}).get("nodeSelector") or {}
    return (*(str(status.get(field, 0)) for field in fields), label_text(chosen), AGE)


def _namespace(obj: Object) -> Sequence[Any]:
    return obj.get("status", {}).get("phase", ""), AGE


def _node_wide(obj: Object) -> Sequence[Any]:
    status = obj.get("status", {})
    info = status.get("nodeInfo", {})
    fields = ("osImage", "kernelVersion", "containerRuntimeVersion")
    found = {item["type"]: item["address"] for item in reversed(status.get("addresses") or ())}
    addresses = (found.get(kind, _NONE) for kind in ("InternalIP", "ExternalIP"))
    return (*addresses, *(info.get(field) or _UNKNOWN for field in fields))


def _template_wide(obj: Object) -> Sequence[Any]:
    """Return containers, images and selector of a Deployment or a DaemonSet."""
    spec = obj.get("spec", {})
    containers = spec.get("template", {}).get("spec", {}).get("containers") or ()
    names = ",".join(item["name"] for item in containers)
    images = ",".join(item.get("image", "") for item in containers)
    return names, images, selector_text(spec.get("selector") or {})


def _deployment(obj: Object) -> Sequence[Any]:
    status = obj.get("status", {})
    wanted = obj.get("spec", {}).get("replicas", 1)
    ready = f"{status.get('readyReplicas', 0)}/{wanted}"
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    return ready, str(updated), str(available), AGE


def _service(obj: Object) -> Sequence[Any]:
    spec = obj.get("spec", {})
    ports = ",".join(_port(port) for port in spec.get("ports") or ())
    address = next(iter(spec.get("clusterIPs") or ()), spec.get("clusterIP"))
    kind = spec.get("type", "ClusterIP")
    return kind, address or _NONE, _external(obj, kind), ports or _NONE, AGE


def _port(port: Mapping[str, Any]) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node}/{port.get('protocol', 'TCP')}"


def _external(obj: Object, kind: str) -> str:
    spec = obj.get("spec", {})
    if kind == "ExternalName":
        return spec.get("externalName", "")
    given: list[str] = []
    if kind == "LoadBalancer":
        ingress = obj.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
        given = sorted({item.get("ip") or item.get("hostname", "") for item in ingress} - {""})
    given += spec.get("externalIPs") or ()
    return ",".join(given) or ("<pending>" if kind == "LoadBalancer" else _NONE)


def _service_wide(obj: Object) -> Sequence[Any]:
    return (label_text(obj.get("spec", {}).get("selector") or {}),)


def _storage_class(obj: Object) -> Sequence[Any]:
    policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    expands = "true" if obj.get("allowVolumeExpansion") else "false"
    return obj.get("provisioner", ""), policy or "Delete", mode or "Immediate", expands, AGE


def _claim(obj: Object) -> Sequence[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    volume = spec.get("volumeName", "")
    size = status.get("capacity", {}).get("storage", "0") if volume else ""
    modes = _access(status.get("accessModes") or ()) if volume else ""
    attributes = spec.get("volumeAttributesClassName", _UNSET)
    chosen = spec.get("storageClassName", "")
    return _phase(obj), volume, size, modes, chosen, attributes, AGE


def _volume(obj: Object) -> Sequence[Any]:
    spec = obj.get("spec", {})
    claim = spec.get("claimRef")
    return (
        spec.get("capacity", {}).get("storage", "0"),
        _access(spec.get("accessModes") or ()),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim['namespace']}/{claim['name']}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", _UNSET),
        obj.get("status", {}).get("reason", ""),
        AGE,
    )


def _volume_mode(obj: Object) -> Sequence[Any]:
    return (obj.get("spec", {}).get("volumeMode", _UNSET),)


def _phase(obj: Object) -> str:
    gone = "deletionTimestamp" in obj["metadata"]
    return "Terminating" if gone else obj.get("status", {}).get("phase", "")


def _access(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _quota(obj: Object) -> Sequence[Any]:
    """Return what a quota grants; `?` is in use where no controller counts it."""
    status = obj.get("status", {})
    used = status.get("used") or {}
    pairs = sorted((status.get("hard") or obj.get("spec", {}).get("hard") or {}).items())
    requests = (_used(name, used, hard) for name, hard in pairs if name[:7] != "limits.")
    limits = (_used(name, used, hard) for name, hard in pairs if name[:7] == "limits.")
    return ", ".join(requests), ", ".join(limits), AGE


def _used(name: str, used: Mapping[str, Any], hard: Any) -> str:
    return f"{name}: {used.get(name, '?')}/{hard}"


def _secret(obj: Object) -> Sequence[Any]:
    return obj.get("type", "Opaque"), str(len(obj.get("data") or ())), AGE


def _config_map(obj: Object) -> Sequence[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return str(count), AGE


def _service_account(obj: Object) -> Sequence[Any]:
    return str(len(obj.get("secrets") or ())), AGE


def _binding(obj: Object) -> Sequence[Any]:
    role = obj.get("roleRef", {})
    return f"{role.get('kind', '')}/{role.get('name', '')}", AGE


def _binding_wide(obj: Object) -> Sequence[Any]:
    subjects: Sequence[Mapping[str, str]] = obj.get("subjects") or ()
    names: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in subjects:
        space = f"{subject['namespace']}/" if subject["kind"] == "ServiceAccount" else ""
        names[subject["kind"]].append(space + subject["name"])
    return tuple(", ".join(found) for found in names.values())


_BINDING: Columns = (("Role", "Age"), _binding)
_SUBJECTS: Columns = (("Users", "Groups", "ServiceAccounts"), _binding_wide)
_TEMPLATE: Columns = (("Containers", "Images", "Selector"), _template_wide)

_COLUMNS: Mapping[str, Columns] = {
    "nodes": (("Status", "Roles", "Age", "Version"), _node),
    "pods": (("Ready", "Status", "Restarts", "Age"), _pod),
    "daemonsets.apps": (
        ("Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"),
        _daemon_set,
    ),
    "deployments.apps": (("Ready", "Up-to-date", "Available", "Age"), _deployment),
    "namespaces": (("Status", "Age"), _namespace),
    "services": (("Type", "Cluster-IP", "External-IP", "Port(s)", "Age"), _service),
    "storageclasses.storage.k8s.io": (
        ("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
        _storage_class,
    ),
    "persistentvolumeclaims": (
        (
            *("Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
            *("VolumeAttributesClass", "Age"),
        ),
        _claim,
    ),
    "persistentvolumes": (
        (
            *("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
            *("VolumeAttributesClass", "Reason", "Age"),
        ),
        _volume,
    ),
    "resourcequotas": (("Request", "Limit", "Age"), _quota),
    "secrets": (("Type", "Data", "Age"), _secret),
    "configmaps": (("Data", "Age"), _config_map),
    "serviceaccounts": (("Secrets", "Age"), _service_account),
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
}

_WIDE: Mapping[str, Columns] = {
    "nodes": (
        ("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        _node_wide,
    ),
    "pods": (("IP", "Node", "Nominated Node", "Readiness Gates"), _pod_wide),
    "daemonsets.apps": _TEMPLATE,
    "deployments.apps": _TEMPLATE,
    "services": (("Selector",), _service_wide),
    "persistentvolumeclaims": (("VolumeMode",), _volume_mode),
    "persistentvolumes": (("VolumeMode",), _volume_mode),
    "rolebindings.rbac.authorization.k8s.io": _SUBJECTS,
    "clusterrolebindings.rbac.authorization.k8s.io": _SUBJECTS,
}
