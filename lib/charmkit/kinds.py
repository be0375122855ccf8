# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which Kubernetes kinds the suite touches, and how the API spells them. Pure.

A `Kind` is all that a request needs to know: the group and version in its path, the plural, and
whether the objects live in namespaces.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of the API.

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
        group, _, version = self.api_version.rpartition("/")
        return group if version else ""

    @property
    def version(self) -> str:
        """Version within the group, such as `v1`."""
        return self.api_version.rpartition("/")[2]


NODE = Kind("v1", "Node", "nodes", namespaced=False)
POD = Kind("v1", "Pod", "pods")
NAMESPACE = Kind("v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
SECRET = Kind("v1", "Secret", "secrets")
SERVICE = Kind("v1", "Service", "services")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
RESOURCE_QUOTA = Kind("v1", "ResourceQuota", "resourcequotas")
PERSISTENT_VOLUME = Kind("v1", "PersistentVolume", "persistentvolumes", namespaced=False)
DAEMON_SET = Kind("apps/v1", "DaemonSet", "daemonsets")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps/v1", "ReplicaSet", "replicasets")
JOB = Kind("batch/v1", "Job", "jobs")
RUNTIME_CLASS = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False)
POD_DISRUPTION_BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
ROLE = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False
)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
STORAGE_CLASS = Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False)
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)

KINDS = (
    NODE,
    POD,
    NAMESPACE,
    CONFIG_MAP,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    RESOURCE_QUOTA,
    PERSISTENT_VOLUME,
    DAEMON_SET,
    DEPLOYMENT,
    REPLICA_SET,
    JOB,
    RUNTIME_CLASS,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    STORAGE_CLASS,
    CUSTOM_RESOURCE_DEFINITION,
)
"""Every kind above; an object is matched to its kind by apiVersion and kind."""


def kind_of(api_version: str, kind: str) -> Kind:
    """Return the kind that a manifest names.

    Raises:
        LookupError: None of `KINDS`; a custom kind is passed to the gateway as its own `Kind`.
    """
    for known in KINDS:
        if known.api_version == api_version and known.kind == kind:
            return known
    raise LookupError(f"{api_version} {kind} is not listed in charmkit.kinds")
