# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which resources the API serves: the built-in kinds, and what definitions in the store add."""

import functools
import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import lightkube.models.meta_v1 as meta_v1

from standins.kubernetes.answers import qualified
from standins.kubernetes.fieldtypes import LATER_KINDS
from standins.kubernetes.schema import ANY, Schema, custom_schema, struct_schema

SERVED = (
    "core_v1",
    "apps_v1",
    "admissionregistration_v1",
    "apiextensions_v1",
    "autoscaling_v2",
    "batch_v1",
    "certificates_v1",
    "coordination_v1",
    "discovery_v1",
    "events_v1",
    "networking_v1",
    "node_v1",
    "policy_v1",
    "rbac_authorization_v1",
    "resource_v1",
    "scheduling_v1",
    "storage_v1",
)
"""Groups and versions that Kubernetes 1.35 serves by default, as lightkube names the modules."""

SHORT_NAMES: Mapping[str, tuple[str, ...]] = {
    "nodes": ("no",),
    "pods": ("po",),
    "namespaces": ("ns",),
    "configmaps": ("cm",),
    "services": ("svc",),
    "serviceaccounts": ("sa",),
    "daemonsets": ("ds",),
    "deployments": ("deploy",),
    "replicasets": ("rs",),
    "events": ("ev",),
    "resourcequotas": ("quota",),
    "poddisruptionbudgets": ("pdb",),
    "persistentvolumes": ("pv",),
    "persistentvolumeclaims": ("pvc",),
    "storageclasses": ("sc",),
    "customresourcedefinitions": ("crd", "crds"),
}
"""What people type after `kubectl get`."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of the API.

    Attributes:
        subresources: Names such as `status`, `eviction`, `token`.
        source: Where the schema comes from: a generated model, or the schema itself.
        document: The openAPIV3Schema of a custom kind, None for a built-in one.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    subresources: frozenset[str] = frozenset()
    source: "type | Schema" = field(default=ANY, compare=False, repr=False)
    document: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> Schema:
        """What its objects may hold; built at the first use, for it takes milliseconds."""
        return self.source if isinstance(self.source, Schema) else struct_schema(self.source)

    @property
    def key(self) -> str:
        """Name of the resource over all versions: `nodes`, `daemonsets.apps`."""
        return qualified(self.plural, self.group)

    @property
    def api_version(self) -> str:
        """As in a manifest."""
        return f"{self.group}/{self.version}" if self.group else self.version


@functools.lru_cache(maxsize=1)
def builtin() -> Mapping[str, Resource]:
    """Return the built-in resources by key."""
    found: dict[str, Resource] = {}
    for module in SERVED:
        for resource in _of_module(module):
            if resource.key not in LATER_KINDS:
                found.setdefault(resource.key, resource)
    return found


def _of_module(name: str) -> Iterable[Resource]:
    module = importlib.import_module(f"lightkube.resources.{name}")
    classes: list[Any] = [item for _, item in inspect.getmembers(module, inspect.isclass)]
    mains = [c for c in classes if hasattr(c, "_api_info") and c._api_info.parent is None]
    for main in mains:
        info = main._api_info
        if "get" not in info.verbs:
            continue
        yield Resource(
            info.resource.group,
            info.resource.version,
            info.plural,
            info.resource.kind,
            any(base.__name__ == "NamespacedResource" for base in main.__mro__),
            _subresources(main),
            _model_of(main),
        )


def _subresources(main: Any) -> frozenset[str]:
    nested: list[Any] = [item for _, item in inspect.getmembers(main, inspect.isclass)]
    names = {c._api_info.action for c in nested if hasattr(c, "_api_info") and c._api_info.action}
    return frozenset(names)


def _model_of(main: Any) -> type:
    return next(c for c in main.__mro__ if c.__module__.startswith("lightkube.models."))


def defined(definition: Mapping[str, Any]) -> Iterable[Resource]:
    """Return the resources that a CustomResourceDefinition adds, one for each served version."""
    spec = definition["spec"]
    metadata = struct_schema(meta_v1.ObjectMeta)
    for version in spec["versions"]:
        if not version.get("served", True):
            continue
        document = version.get("schema", {}).get("openAPIV3Schema", {})
        yield Resource(
            spec["group"],
            version["name"],
            spec["names"]["plural"],
            spec["names"]["kind"],
            spec["scope"] == "Namespaced",
            frozenset(version.get("subresources", {})),
            custom_schema(document, metadata),
            document,
        )
