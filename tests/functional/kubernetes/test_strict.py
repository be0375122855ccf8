# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every object that a charm renders, once through a decoder that refuses unknown fields.

By raw HTTP, since lightkube drops unknown fields of its models and has no argument for this.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx2
import pytest

from tests.functional.kubernetes.controlplane import ControlPlane
from tests.functional.kubernetes.rendering import CHARMS, ROOT, Rendered, render
from tests.functional.kubernetes.running import eventually, nothing_stays, path_of

Object = dict[str, Any]

NO_OBJECTS: Mapping[str, str] = {
    "nvidia-driver": "it never talks to Kubernetes",
    "keystone-saml": "it never talks to Kubernetes",
}
NO_ACCOUNT: Mapping[str, str] = {"keystone-auth": "its grant hangs on its options"}
APPLY = "application/apply-patch+yaml"
LAST = ("ValidatingWebhookConfiguration",)
"""Kinds that are applied after all others: what they call does not run here."""


@pytest.fixture
def client(cluster: ControlPlane) -> Iterator[httpx2.Client]:
    with cluster.client() as opened:
        yield opened


def apply(client: httpx2.Client, obj: Object) -> httpx2.Response:
    query = {"fieldManager": "strict", "fieldValidation": "Strict", "force": "true"}
    body, headers = json.dumps(obj).encode(), {"Content-Type": APPLY}
    return client.patch(path_of(client, obj), params=query, content=body, headers=headers)


def check(reply: httpx2.Response) -> None:
    assert reply.status_code in (200, 201), f"{reply.url.path}: {reply.text}"
    assert "warning" not in reply.headers, f"{reply.url.path}: {reply.headers['warning']}"


def wait_for(client: httpx2.Client, definition: Object) -> None:
    spec = definition["spec"]
    served = [v["name"] for v in spec["versions"] if v.get("served", True)]
    path = f"/apis/{spec['group']}/{served[0]}/{spec['names']['plural']}"
    eventually(lambda: client.get(path).status_code == 200, f"{path} is served")


def apply_all(client: httpx2.Client, writer: httpx2.Client, objects: Sequence[Object]) -> None:
    for obj in sorted(objects, key=lambda obj: obj["kind"] in LAST):
        check(apply(writer, obj))
        if obj["kind"] == "CustomResourceDefinition":
            wait_for(client, obj)


@contextlib.contextmanager
def cleaned(client: httpx2.Client, objects: Sequence[Object]) -> Iterator[None]:
    """Delete objects at the end, and wait until their namespaces and kinds are gone."""
    try:
        yield
    finally:
        paths = []
        for obj in objects:
            with contextlib.suppress(LookupError):
                paths.append(path_of(client, obj))
        for path in [p for p in paths if "webhook" in p] + paths[::-1]:
            client.delete(path)
        for path in paths:
            eventually(lambda p=path: client.get(p).status_code == 404, f"{path} is gone", 60.0)


@pytest.mark.parametrize("charm", CHARMS)
def test_every_rendered_object_passes_strict_validation(charm: str, client: httpx2.Client) -> None:
    rendered = render(charm)
    assert rendered.objects
    everything = [namespace_of(rendered), *rendered.account, *rendered.objects]
    wanted = [obj for obj in everything if obj]
    with cleaned(client, wanted):
        apply_all(client, client, wanted)


@pytest.mark.parametrize("charm", [name for name in CHARMS if name not in NO_ACCOUNT])
def test_the_account_of_a_charm_may_write_what_it_renders(
    charm: str, cluster: ControlPlane, client: httpx2.Client
) -> None:
    """Nobody writes a role with rights that they do not hold: the grant has to have them."""
    rendered = render(charm)
    wanted = [namespace_of(rendered), *rendered.account]
    with cleaned(client, [*wanted, *rendered.objects]):
        apply_all(client, client, wanted)
        namespace, name = rendered.user
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = client.post(path, json={}).json()["status"]["token"]
        with cluster.client(token) as account:
            nothing_stays(lambda: unheeded(account, rendered.account))
            apply_all(client, account, rendered.objects)


def unheeded(account: httpx2.Client, objects: Sequence[Object]) -> list[str]:
    """Return the roles that the server does not grant to an account yet.

    It looks at roles and bindings of both scopes by watches of their own, each a moment behind.
    """
    roles = [obj for obj in objects if obj["kind"] in ("Role", "ClusterRole") and obj["rules"]]
    return [f"{obj['kind']} not heeded" for obj in roles if not is_granted(account, obj)]


def is_granted(account: httpx2.Client, role: Object) -> bool:
    rule = role["rules"][0]
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {
        "namespace": role["metadata"].get("namespace", ""),
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "name": (rule.get("resourceNames") or [""])[0],
    }
    body = {"spec": {"resourceAttributes": attributes}}
    reply = account.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=body)
    assert reply.status_code == 201, reply.text
    return bool(reply.json()["status"]["allowed"])


def namespace_of(rendered: Rendered) -> Object:
    """The namespace of a charm's account, which an administrator makes with it."""
    namespace = rendered.user[0]
    if not namespace:
        return {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}


def test_every_charm_takes_part_or_has_no_objects() -> None:
    every = {path.parent.name for path in (ROOT / "charms").glob("*/charmcraft.yaml")}
    assert every - {*CHARMS, *NO_OBJECTS} == set()


def test_a_typo_in_a_rendered_object_is_refused(client: httpx2.Client) -> None:
    (plugin,) = [o for o in render("gpu-worker").objects if o["kind"] == "DaemonSet"][:1]
    typo = {**plugin, "spec": {**plugin["spec"], "updateStrategie": {}}}
    reply = apply(client, typo)
    assert reply.status_code == 500
    assert "updateStrategie: field not declared in schema" in reply.text
