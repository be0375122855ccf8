# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""lightkube, built for `charmkit.kube`: clients, resource classes, selectors. Its only importer.

Pinned to lightkube 1.x, whose resource classes and client arguments are used as 1.0 has them. What
is built is typed `Any`: lightkube's overloads do not know resources that are made here.
"""

import functools
from typing import Any

import httpx2
import lightkube
from lightkube import KubeConfig, operators
from lightkube.config.models import Cluster, User
from lightkube.core.resource import ApiInfo, ResourceDef
from lightkube.generic_resource import GenericGlobalResource, GenericNamespacedResource
from lightkube.types import PatchType

from charmkit.kinds import Kind

APPLY = PatchType.APPLY
MERGE = PatchType.MERGE
_VERBS = ["get", "list", "global_list", "post", "patch", "put", "delete"]


def make_client(server: str, token: str, manager: str, wire: httpx2.BaseTransport) -> Any:
    """Return a client of one server.

    Args:
        server: URL of the API.
        token: Bearer token.
        manager: Field manager of what is written.
        wire: Transport, which verifies the server: `insecure` here only keeps lightkube from
            reading trust stores that the wire does not use.
    """
    cluster = Cluster(server=server, insecure=True)
    config = KubeConfig.from_one(cluster=cluster, user=User(token=token))
    return lightkube.Client(config, field_manager=manager, trust_env=False, transport=wire)


@functools.cache
def resource_class(kind: Kind, subresource: str = "") -> Any:
    """Return lightkube's class for a kind; it is not registered, so nothing else changes by it.

    Args:
        kind: What the class stands for; its instances are dicts.
        subresource: Such as `status` or `eviction`.
    """
    base = GenericNamespacedResource if kind.namespaced else GenericGlobalResource
    definition = ResourceDef(kind.group, kind.version, kind.kind)
    parent = definition if subresource else None
    info = ApiInfo(definition, kind.plural, _VERBS, parent, subresource or None)
    return type(kind.kind, (base,), {"_api_info": info})


def selector(text: str) -> Any:
    """Return a whole selector, in the API's notation, as lightkube takes it; empty is None."""
    return {"": _Verbatim(text)} if text else None


class _Verbatim(operators.Operator[str]):
    """A selector as it is, which lightkube would build from its parts."""

    def __init__(self, text: str) -> None:
        super().__init__("equal", "", text)

    def encode(self, key: str) -> str:
        return self.value
