# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The stand-in's schemas of built-in kinds against the server's own OpenAPI documents.

Merging, ownership and pruning follow from these: fields, types, keys of lists, atomic parts.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import httpx2
import pytest

from standins.kubernetes.resources import Resource, builtin
from standins.kubernetes.schema import Schema
from tests.functional.kubernetes.controlplane import ControlPlane

Document = Mapping[str, Any]


class Server:
    """The server's schemas."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self.documents = cache(self._read)

    def _read(self, path: str) -> Document:
        found: Document = self._client.get(path).json()["components"]["schemas"]
        return found

    def root(self, resource: Resource) -> tuple[Document, Document]:
        """Return all schemas of a group, and that of a resource."""
        group = f"apis/{resource.group}" if resource.group else "api"
        schemas = self.documents(f"/openapi/v3/{group}/{resource.version}")
        for schema in schemas.values():
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                sought = (resource.group, resource.version, resource.kind)
                if (kind["group"], kind["version"], kind["kind"]) == sought:
                    return schemas, schema
        raise LookupError(resource.key)


@pytest.fixture(scope="module")
def server(cluster: ControlPlane) -> Iterator[Server]:
    with cluster.client() as client:
        yield Server(client)


def resolve(document: Document, schemas: Document) -> Document:
    """Follow a reference; what stands beside it counts, too."""
    if "allOf" in document and len(document["allOf"]) == 1:
        return {**resolve(document["allOf"][0], schemas), **without(document, "allOf")}
    if "$ref" in document:
        name = document["$ref"].rpartition("/")[2]
        return {**resolve(schemas[name], schemas), **without(document, "$ref")}
    return document


def without(document: Document, key: str) -> dict[str, Any]:
    return {k: v for k, v in document.items() if k != key}


def differences(
    ours: Schema, document: Document, schemas: Document, where: str, above: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield where a schema of ours is not the server's; what contains itself is left once."""
    theirs = resolve(document, schemas)
    kind = theirs.get("type", "")
    if ours.shape == "any" or theirs.get("format") == "int-or-string" or "oneOf" in theirs:
        return
    if kind == "object" and "properties" in theirs:
        yield from struct_differences(ours, theirs, schemas, where, above)
    elif kind == "object":
        if ours.shape != "map":
            yield f"{where}: {ours.shape}, theirs a map"
        elif ours.atomic != (theirs.get("x-kubernetes-map-type") == "atomic"):
            yield f"{where}: atomic {ours.atomic}, theirs {not ours.atomic}"
    elif kind == "array":
        yield from list_differences(ours, theirs, schemas, where, above)
    elif SCALARS.get(kind) not in (None, ours.shape):
        yield f"{where}: {ours.shape}, theirs {kind}"


UNKNOWN = {"workloadRef"}
"""Fields behind a feature gate that is off, which later versions do not have any more."""

SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def struct_differences(
    ours: Schema, theirs: Document, schemas: Document, where: str, above: tuple[str, ...]
) -> Iterator[str]:
    if ours.shape != "struct":
        yield f"{where}: {ours.shape}, theirs a struct"
        return
    if ours.atomic != (theirs.get("x-kubernetes-map-type") == "atomic"):
        yield f"{where}: atomic {ours.atomic}, theirs {not ours.atomic}"
    missing = set(theirs["properties"]) - set(ours.fields) - UNKNOWN
    if missing:
        yield f"{where}: lacks {', '.join(sorted(missing))}"
    more = set(ours.fields) - set(theirs["properties"])
    if more:
        yield f"{where}: has also {', '.join(sorted(more))}"
    for name, inner in theirs["properties"].items():
        if name in ours.fields and above.count(name) < 2:
            path = f"{where}.{name}"
            yield from differences(ours.fields[name], inner, schemas, path, (*above, name))


def list_differences(
    ours: Schema, theirs: Document, schemas: Document, where: str, above: tuple[str, ...]
) -> Iterator[str]:
    if ours.shape != "list":
        yield f"{where}: {ours.shape}, theirs a list"
        return
    keys = tuple(theirs.get("x-kubernetes-list-map-keys", ()))
    if set(ours.keys) != set(keys):
        yield f"{where}: keys {list(ours.keys)}, theirs {list(keys)}"
    if ours.unique != (theirs.get("x-kubernetes-list-type") == "set"):
        yield f"{where}: a set {ours.unique}, theirs {not ours.unique}"
    if ours.items is not None:
        yield from differences(ours.items, theirs["items"], schemas, f"{where}[]", above)


@pytest.mark.parametrize("key", sorted(builtin()))
def test_the_schema_of_the_stand_in_is_the_servers(key: str, server: Server) -> None:
    resource = builtin()[key]
    schemas, document = server.root(resource)
    assert sorted(differences(resource.schema, document, schemas, resource.kind)) == []
