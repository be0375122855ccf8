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

DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
SERVICE = Kind("v1", "Service", "services")
SECRET = Kind("v1", "Secret", "secrets")
PERSISTENT_VOLUME = Kind("v1", "PersistentVolume", "persistentvolumes", namespaced=False)
PERSISTENT_VOLUME_CLAIM = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
RESOURCE_QUOTA = Kind("v1", "ResourceQuota", "resourcequotas")
LIMIT_RANGE = Kind("v1", "LimitRange", "limitranges")
NETWORK_POLICY = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
SERVICE_CIDR = Kind("networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", namespaced=False)
STORAGE_CLASS = Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False)
CSI_DRIVER = Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", namespaced=False)
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)

KINDS = tuple(value for value in tuple(vars().values()) if isinstance(value, Kind))
"""Every kind above; an object is matched to its kind by apiVersion and kind."""


def kind_of(api_version: str, kind: str, more: tuple[Kind, ...] = ()) -> Kind:
    """Return the kind that a manifest names.

    Args:
        api_version: As in the manifest.
        kind: As in the manifest.
        more: Kinds of custom resources that a charm brings.

    Raises:
        LookupError: None of them and none of `KINDS`: a bug.
    """
    for known in (*KINDS, *more):
        if (known.api_version, known.kind) == (api_version, kind):
            return known
    raise LookupError(f"{api_version} {kind} is not listed in charmkit.kinds")
