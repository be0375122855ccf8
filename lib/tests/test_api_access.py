# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who gets in, who may do what, what is served, and what is said about it."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lib.tests.api_requests import MERGE, NOW, apply, ask, named, pod, send
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.http import serve
from standins.kubernetes.routes import Route, parse
from standins.kubernetes.selectors import selector_test

GROUP = "rbac.authorization.k8s.io"
PODS = "/api/v1/namespaces/t1/pods"


@pytest.fixture
def api() -> ApiServer:
    server = ApiServer(lambda: NOW)
    server.put(named("Namespace", "t1"))
    server.add_token("of-alice", "alice", ("team",))
    return server


def bind(
    api: ApiServer,
    *rules: dict[str, Any],
    namespace: str = "",
    subject: dict[str, Any] | None = None,
) -> None:
    """Give alice, or another subject, a role."""
    prefix = "" if namespace else "Cluster"
    metadata = {"name": "r", **({"namespace": namespace} if namespace else {})}
    head = {"apiVersion": f"{GROUP}/v1", "metadata": metadata}
    api.put({**head, "kind": f"{prefix}Role", "rules": list(rules)})
    reference = {"apiGroup": GROUP, "kind": f"{prefix}Role", "name": "r"}
    subjects = [subject or {"kind": "User", "name": "alice"}]
    api.put({**head, "kind": f"{prefix}RoleBinding", "roleRef": reference, "subjects": subjects})


def rule(*resources: str, verbs: str = "get", group: str = "", **more: Any) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split(), **more}


# Authentication


@pytest.mark.parametrize("token", ["wrong", "a.b.c", "of-alic", "of-alicee"])
def test_a_token_that_nobody_knows_is_unauthorized(api: ApiServer, token: str) -> None:
    status, document = ask(api, "GET", "/api/v1/nodes", token=token)
    assert (status, document["reason"], document["message"]) == (
        401,
        "Unauthorized",
        "Unauthorized",
    )


def test_without_a_token_one_sees_health_and_version_alone(api: ApiServer) -> None:
    assert send(api, "GET", "/readyz", token="").body == b"ok"
    assert ask(api, "GET", "/version", token="")[1]["gitVersion"] == "v1.35.4"
    status, document = ask(api, "GET", "/api/v1/nodes", token="")
    assert status == 403
    assert 'User "system:anonymous" cannot list resource "nodes"' in document["message"]
    assert ask(api, "GET", "/apis", token="")[0] == 403


def account_token(api: ApiServer, seconds: int = 3600) -> str:
    metadata = {"name": "charm", "namespace": "t1"}
    api.put({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    path = "/api/v1/namespaces/t1/serviceaccounts/charm/token"
    return ask(api, "POST", path, {"spec": {"expirationSeconds": seconds}})[1]["status"]["token"]


def test_a_token_ends_with_its_time() -> None:
    now = [NOW]
    api = ApiServer(lambda: now[0])
    api.put(named("Namespace", "t1"))
    token = account_token(api, 600)
    now[0] += 599
    assert ask(api, "GET", "/api/v1/nodes", token=token)[0] == 403
    now[0] += 1
    assert ask(api, "GET", "/api/v1/nodes", token=token)[0] == 401


def test_an_account_that_is_made_again_does_not_know_the_old_token(api: ApiServer) -> None:
    token = account_token(api)
    api.remove("serviceaccounts", "charm", "t1")
    account_token(api)
    assert ask(api, "GET", "/api/v1/nodes", token=token)[0] == 401


def test_a_forged_token_is_unauthorized(api: ApiServer) -> None:
    header, payload, signature = account_token(api).split(".")
    for forged in (f"{header}.{payload}x.{signature}", f"{header}.{payload}.{signature[:-2]}"):
        assert ask(api, "GET", "/api/v1/nodes", token=forged)[0] == 401


def test_a_token_lives_ten_minutes_at_least(api: ApiServer) -> None:
    account_token(api)
    path = "/api/v1/namespaces/t1/serviceaccounts/charm/token"
    status, document = ask(api, "POST", path, {"spec": {"expirationSeconds": 599}})
    assert status == 422
    assert "may not specify a duration less than 10 minutes" in document["message"]
    assert ask(api, "POST", path.replace("charm", "none"), {})[0] == 404


# Authorisation


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            "/apis/apps/v1/namespaces/t1/deployments/web",
            (
                'deployments.apps "web" is forbidden: User "alice" cannot get resource '
                '"deployments" in API group "apps" in the namespace "t1"'
            ),
        ),
        (
            "GET",
            "/api/v1/nodes",
            (
                'nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" '
                "at the cluster scope"
            ),
        ),
        (
            "POST",
            f"{PODS}/p/eviction",
            (
                'pods "p" is forbidden: User "alice" cannot create resource "pods/eviction" in '
                'API group "" in the namespace "t1"'
            ),
        ),
        (
            "DELETE",
            PODS,
            (
                'pods is forbidden: User "alice" cannot deletecollection resource "pods" in '
                'API group "" in the namespace "t1"'
            ),
        ),
        ("GET", "/metrics", 'forbidden: User "alice" cannot get path "/metrics"'),
    ],
    ids=["get", "list", "eviction", "collection", "path"],
)
def test_a_refusal_names_user_verb_and_resource(
    api: ApiServer, method: str, path: str, message: str
) -> None:
    status, document = ask(api, method, path, token="of-alice")
    assert (status, document["reason"], document["message"]) == (403, "Forbidden", message)


@pytest.mark.parametrize(
    ("rules", "path", "status"),
    [
        ([rule("pods")], f"{PODS}/p", 200),
        ([rule("*")], f"{PODS}/p", 200),
        ([rule("pods", verbs="*")], f"{PODS}/p", 200),
        ([rule("pods", verbs="list")], f"{PODS}/p", 403),
        ([rule("pods", group="apps")], f"{PODS}/p", 403),
        ([rule("pods", group="*")], f"{PODS}/p", 200),
        ([rule("pods", resourceNames=["p"])], f"{PODS}/p", 200),
        ([rule("pods", resourceNames=["q"])], f"{PODS}/p", 403),
        ([rule("pods", verbs="list", resourceNames=["p"])], PODS, 403),
        ([rule("pods/status")], f"{PODS}/p", 403),
        ([rule("pods")], f"{PODS}/p/status", 403),
        ([rule("*/status")], f"{PODS}/p/status", 200),
        ([], f"{PODS}/p", 403),
    ],
)
def test_a_rule_covers_what_it_says(
    api: ApiServer, rules: list[dict[str, Any]], path: str, status: int
) -> None:
    body = pod("p")
    body["metadata"]["namespace"] = "t1"
    api.put(body)
    bind(api, *rules)
    assert ask(api, "GET", path, token="of-alice")[0] == status


def test_a_role_in_a_namespace_ends_at_its_border(api: ApiServer) -> None:
    bind(api, rule("pods", verbs="list"), namespace="t1")
    assert ask(api, "GET", PODS, token="of-alice")[0] == 200
    assert ask(api, "GET", "/api/v1/namespaces/default/pods", token="of-alice")[0] == 403
    assert ask(api, "GET", "/api/v1/pods", token="of-alice")[0] == 403


@pytest.mark.parametrize(
    "subject",
    [
        {"kind": "Group", "name": "team"},
        {"kind": "Group", "name": "system:authenticated"},
        {"kind": "User", "name": "alice"},
    ],
    ids=["group", "everybody", "user"],
)
def test_a_binding_means_users_and_groups(api: ApiServer, subject: dict[str, Any]) -> None:
    bind(api, rule("nodes", verbs="list"), subject=subject)
    assert ask(api, "GET", "/api/v1/nodes", token="of-alice")[0] == 200
    api.remove(f"clusterrolebindings.{GROUP}", "r")
    assert ask(api, "GET", "/api/v1/nodes", token="of-alice")[0] == 403


def test_an_apply_that_creates_needs_create_beside_patch(api: ApiServer) -> None:
    bind(api, rule("nodes", verbs="patch get"))
    path, node = "/api/v1/nodes/n1", named("Node", "n1")
    headers = {"kind": "application/apply-patch+yaml", "token": "of-alice", "fieldManager": "a"}
    status, document = ask(api, "PATCH", path, node, **headers)
    assert status == 403
    assert 'cannot create resource "nodes"' in document["message"]
    api.put(node)
    assert ask(api, "PATCH", path, node, **headers)[0] == 200


def test_the_audit_log_says_who_did_what(api: ApiServer) -> None:
    ask(api, "GET", "/api/v1/nodes", token="of-alice")
    ask(api, "POST", f"{PODS}/p/eviction", {})
    seen = [
        (line.user, line.verb, line.resource, line.namespace, line.name, line.code)
        for line in api.audit
    ]
    assert seen == [
        ("alice", "list", "nodes", "", "", 403),
        ("admin", "create", "pods/eviction", "t1", "p", 404),
    ]


# Paths


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/api/v1/nodes", Route("", "v1", "", "nodes")),
        ("/api/v1/nodes/n", Route("", "v1", "", "nodes", "n")),
        ("/api/v1/nodes/n/status", Route("", "v1", "", "nodes", "n", "status")),
        ("/api/v1/pods", Route("", "v1", "", "pods")),
        ("/api/v1/namespaces", Route("", "v1", "", "namespaces")),
        ("/api/v1/namespaces/t", Route("", "v1", "t", "namespaces", "t")),
        ("/api/v1/namespaces/t/status", Route("", "v1", "t", "namespaces", "t", "status")),
        ("/api/v1/namespaces/t/pods", Route("", "v1", "t", "pods")),
        ("/api/v1/namespaces/t/pods/p/eviction", Route("", "v1", "t", "pods", "p", "eviction")),
        ("/apis/apps/v1/daemonsets", Route("apps", "v1", "", "daemonsets")),
        ("/apis/apps/v1/namespaces/t/daemonsets/d", Route("apps", "v1", "t", "daemonsets", "d")),
        ("/apis/apps/v1", Route()),
        ("/api", Route()),
        ("/", Route()),
    ],
)
def test_a_path_is_taken_apart(path: str, route: Route) -> None:
    assert parse(path) == route


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("GET", "/api/v1/nodes?watch", "application/json"),
        ("PATCH", "/api/v1/nodes/n1", "application/json-patch+json"),
        ("GET", f"{PODS}/p/log", "application/json"),
        ("POST", f"{PODS}/p/exec", "application/json"),
        ("GET", "/openapi/v3", "application/json"),
    ],
    ids=["watch", "json patch", "log", "exec", "openapi"],
)
def test_what_no_charm_uses_is_said_to_be_missing(
    api: ApiServer, method: str, path: str, kind: str
) -> None:
    api.put(named("Node", "n1"))
    body = pod("p")
    body["metadata"]["namespace"] = "t1"
    api.put(body)
    path, _, watch = path.partition("?")
    query = {"watch": "true"} if watch else {}
    status, document = ask(api, method, path, [], kind=kind, **query)
    assert (status, document["kind"]) == (501, "Status")


@pytest.mark.parametrize("path", ["/api/v1/nodules", "/apis/apps/v2/daemonsets", "/apis/none"])
def test_what_is_not_served_is_not_found(api: ApiServer, path: str) -> None:
    status, document = ask(api, "GET", path)
    assert status == 404
    assert document["message"] == "the server could not find the requested resource"


# Selectors


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("", "abc"),
        ("app=x", "ab"),
        ("app==x", "ab"),
        ("app!=x", "c"),
        ("tier", "b"),
        ("!tier", "ac"),
        ("app in (x, y)", "ab"),
        ("app notin (x)", "c"),
        ("app=x,tier=1", "b"),
        ("app in (x),!tier", "a"),
        ("x.y/z=1", ""),
    ],
)
def test_a_label_selector_chooses(api: ApiServer, selector: str, found: str) -> None:
    for name, labels in (("a", {"app": "x"}), ("b", {"app": "x", "tier": "1"}), ("c", {})):
        api.put(named("Node", name) | {"metadata": {"name": name, "labels": labels}})
    document = ask(api, "GET", "/api/v1/nodes", labelSelector=selector)[1]
    assert "".join(item["metadata"]["name"] for item in document["items"]) == found


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("spec.nodeName=n1", "a"),
        ("spec.nodeName!=n1", "bc"),
        ("spec.nodeName=", "c"),
        ("status.phase=Running,spec.nodeName=n2", ""),
        ("metadata.name=b", "b"),
    ],
)
def test_a_field_selector_chooses(api: ApiServer, selector: str, found: str) -> None:
    api.put(pod("a", node="n1"))
    api.put(pod("b", node="n2", phase="Pending"))
    api.put(pod("c"))
    document = ask(api, "GET", "/api/v1/pods", fieldSelector=selector)[1]
    assert "".join(item["metadata"]["name"] for item in document["items"]) == found


def test_a_field_that_cannot_be_selected_is_refused(api: ApiServer) -> None:
    status, document = ask(api, "GET", "/api/v1/pods", fieldSelector="spec.priority=1")
    assert (status, document["message"]) == (400, "field label not supported: spec.priority")
    assert ask(api, "GET", "/api/v1/pods", labelSelector="a b")[0] == 400


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "3"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "Exists"}]}, False),
    ],
)
def test_a_selector_object_chooses(selector: dict[str, Any] | None, chosen: bool) -> None:
    assert selector_test(selector)({"a": "1"}) is chosen


def test_a_list_comes_in_pages(api: ApiServer) -> None:
    for number in range(5):
        api.put(named("Node", f"n{number}"))
    names: list[str] = []
    query: dict[str, str] = {}
    for remaining in (3, 1, None):
        document = ask(api, "GET", "/api/v1/nodes", limit="2", **query)[1]
        names += [item["metadata"]["name"] for item in document["items"]]
        assert document["metadata"].get("remainingItemCount") == remaining
        query = {"continue": document["metadata"].get("continue", "")}
    assert names == [f"n{number}" for number in range(5)]


def test_items_of_a_list_leave_out_what_the_list_says(api: ApiServer) -> None:
    api.put(named("Node", "n1"))
    document = ask(api, "GET", "/api/v1/nodes")[1]
    assert (document["kind"], document["apiVersion"]) == ("NodeList", "v1")
    assert "kind" not in document["items"][0]


def test_a_collection_is_deleted_by_selector(api: ApiServer) -> None:
    for name in "abc":
        api.put(named("Node", name) | {"metadata": {"name": name, "labels": {"app": name}}})
    assert ask(api, "DELETE", "/api/v1/nodes", labelSelector="app notin (b)")[0] == 200
    assert [node["metadata"]["name"] for node in api.scan("nodes")] == ["b"]


# Custom kinds


def definition() -> dict[str, Any]:
    spec = {
        "type": "object",
        "properties": {
            "addresses": {"type": "array", "items": {"type": "string"}},
            "autoAssign": {"type": "boolean"},
        },
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": schema}
    names = {"kind": "Pool", "plural": "pools"}
    body = {"group": "lb.test", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pools.lb.test"},
        "spec": body,
    }


def custom(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "t1"}
    return {"apiVersion": "lb.test/v1beta1", "kind": "Pool", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"addresses": "x"},
            (
                "failed to create typed patch object (t1/p; lb.test/v1beta1, Kind=Pool): "
                ".spec.addresses: expected list, got &{x}"
            ),
        ),
        (
            {"autoAsign": True},
            (
                "failed to create typed patch object (t1/p; lb.test/v1beta1, Kind=Pool): "
                ".spec.autoAsign: field not declared in schema"
            ),
        ),
    ],
    ids=["type", "typo"],
)
def test_a_custom_kind_is_checked_by_its_definition(
    api: ApiServer, spec: dict[str, Any], message: str
) -> None:
    path = "/apis/lb.test/v1beta1/namespaces/t1/pools/p"
    assert apply(api, path, custom(), "a")[0] == 404
    api.put(definition())
    assert apply(api, path, custom(addresses=["192.0.2.1/32"]), "a")[0] == 201
    status, document = apply(api, path, custom(**spec), "a")
    assert (status, document["message"]) == (500, message)
    assert "reason" not in document
    api.remove("customresourcedefinitions.apiextensions.k8s.io", "pools.lb.test")
    assert apply(api, path, custom(), "a")[0] == 404


# Discovery and HTTP


def test_a_client_finds_kinds_by_discovery(api: ApiServer) -> None:
    api.put(definition())
    groups = {group["name"] for group in ask(api, "GET", "/apis")[1]["groups"]}
    assert {"apps", "policy", GROUP, "lb.test"} <= groups
    core = ask(api, "GET", "/api/v1")[1]["resources"]
    nodes = next(item for item in core if item["name"] == "nodes")
    assert (nodes["kind"], nodes["namespaced"], nodes["shortNames"]) == ("Node", False, ["no"])
    custom_group = ask(api, "GET", "/apis/lb.test")[1]
    assert custom_group["preferredVersion"]["groupVersion"] == "lb.test/v1beta1"
    listed = ask(api, "GET", "/apis/lb.test/v1beta1")[1]["resources"]
    assert [item["name"] for item in listed] == ["pools"]


def test_over_http_a_request_without_a_token_may_be_given_one(api: ApiServer) -> None:
    with serve(api) as anonymous:
        assert httpx2.get(f"{anonymous.url}/api/v1/nodes", trust_env=False).status_code == 403
    with serve(api, token=ADMIN_TOKEN) as front:
        answer = httpx2.get(f"{front.url}/api/v1/nodes", trust_env=False)
        assert answer.json()["kind"] == "NodeList"
        refused = httpx2.get(
            f"{front.url}/api/v1/nodes", headers={"Authorization": "Bearer x"}, trust_env=False
        )
        assert refused.status_code == 401


def test_a_protobuf_body_is_said_not_to_be_understood(api: ApiServer) -> None:
    kind = "application/vnd.kubernetes.protobuf"
    assert ask(api, "POST", "/api/v1/nodes", {}, kind=kind)[0] == 415


@pytest.mark.parametrize("body", ["[]", "3", "{broken: ["], ids=["list", "number", "broken"])
def test_a_body_that_is_no_object_is_refused(api: ApiServer, body: str, tmp_path: Path) -> None:
    with serve(api, token=ADMIN_TOKEN) as front:
        answer = httpx2.post(f"{front.url}/api/v1/nodes", content=body, trust_env=False)
    assert answer.status_code == 400
    assert json.loads(answer.content)["reason"] == "BadRequest"


def test_a_merge_patch_of_a_custom_kind_works_and_a_strategic_one_does_not(api: ApiServer) -> None:
    api.put(definition())
    api.put(custom(addresses=["192.0.2.1/32"]))
    path = "/apis/lb.test/v1beta1/namespaces/t1/pools/p"
    patch = {"spec": {"autoAssign": False}}
    assert ask(api, "PATCH", path, patch, kind=MERGE)[1]["spec"]["autoAssign"] is False
    kind = "application/strategic-merge-patch+json"
    assert ask(api, "PATCH", path, patch, kind=kind)[0] == 415
