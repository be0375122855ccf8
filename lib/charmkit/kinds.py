# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which Kubernetes kinds the suite touches, and how the API spells them. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of the API: all that a request needs to know.

    Attributes:
        api_version: As in a manifest: `v1`, `apps/v1`.
        kind: As in a manifest: `DaemonSet`.
        plural: As in a path: `daemonsets`.
        namespaced: Whether objects of the kind live in a namespace.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        """Group of the API; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """Version within the group, such as `v1`."""
        return self.api_version.rpartition("/")[2]


_RBAC = "rbac.authorization.k8s.io/v1"

NODE = Kind("v1", "Node", "nodes", namespaced=False)
POD = Kind("v1", "Pod", "pods")
NAMESPACE = Kind("v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
DAEMON_SET = Kind("apps/v1", "DaemonSet", "daemonsets")
RUNTIME_CLASS = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False)
ROLE = Kind(_RBAC, "Role", "roles")
ROLE_BINDING = Kind(_RBAC, "RoleBinding", "rolebindings")
CLUSTER_ROLE = Kind(_RBAC, "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False)

KINDS = (
    NODE,
    POD,
    NAMESPACE,
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    DAEMON_SET,
    RUNTIME_CLASS,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
)
"""Every kind above; an object is matched to its kind by apiVersion and kind."""


def kind_of(api_version: str, kind: str) -> Kind:
    """Return the kind that a manifest names.

    Raises:
        LookupError: None of `KINDS`: a bug.
    """
    for known in KINDS:
        if (known.api_version, known.kind) == (api_version, kind):
            return known
    raise LookupError(f"{api_version} {kind} is not listed in charmkit.kinds")
