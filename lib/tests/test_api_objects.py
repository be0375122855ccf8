# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How objects live and die in the API stand-in, and what stand-ins in process may do."""

import json
import time
from typing import Any

import pytest

from charmkit.kinds import CONFIG_MAP, DAEMON_SET, NODE, POD
from lib.tests.api_requests import MERGE, NOW, STRATEGIC, apply, ask, named, pod, send
from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.eviction import count_budgets


@pytest.fixture
def api() -> ApiServer:
    return ApiServer(lambda: NOW)


def owned_by(owner: dict[str, Any]) -> list[dict[str, Any]]:
    metadata = owner["metadata"]
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
    ]


# In process


def test_putting_what_is_there_writes_nothing(api: ApiServer) -> None:
    api.put(named("Node", "n1", status={"capacity": {"cpu": "8"}}))
    revision = api.revision
    found = api.find(NODE, "n1")
    assert found is not None
    api.put(found)
    api.put(named("Node", "n1", status={"capacity": {"cpu": "8"}}))
    assert api.revision == revision


def test_what_find_returns_may_be_edited_and_changes_nothing(api: ApiServer) -> None:
    api.put(named("Node", "n1", status={"capacity": {"cpu": "8"}}))
    for copy in (api.find(NODE, "n1"), api.list_objects("nodes")[0]):
        assert copy is not None
        copy["status"]["capacity"]["cpu"] = "9"
    assert api.scan(NODE)[0]["status"]["capacity"] == {"cpu": "8"}


def test_an_edit_says_whether_anything_changed(api: ApiServer) -> None:
    api.put(named("Node", "n1"))
    assert api.edit(NODE, "n1", "", lambda node: node.update(status={"phase": "x"}))
    assert not api.edit(NODE, "n1", "", lambda node: node.update(status={"phase": "x"}))
    assert not api.edit(NODE, "none", "", lambda node: node.update(status={}))


def test_the_generation_rises_with_the_spec_alone(api: ApiServer) -> None:
    api.put(pod("p"))
    api.edit(POD, "p", "default", lambda obj: obj["metadata"].update(labels={"a": "b"}))
    api.edit(POD, "p", "default", lambda obj: obj["status"].update(phase="Failed"))
    assert api.scan(POD)[0]["metadata"]["generation"] == 1
    api.edit(POD, "p", "default", lambda obj: obj["spec"].update(nodeName="n"))
    assert api.scan(POD)[0]["metadata"]["generation"] == 2


def test_a_kind_that_is_not_served_is_a_defect_of_the_stand_in(api: ApiServer) -> None:
    with pytest.raises(LookupError, match="v1 Nodule"):
        api.put(named("Nodule", "n"))
    with pytest.raises(LookupError, match="nodules"):
        api.find("nodules", "n")


def test_state_survives_being_written_down(api: ApiServer) -> None:
    api.put(pod("p"))
    api.put({**named("ServiceAccount", "a"), "metadata": {"name": "a", "namespace": "default"}})
    api.add_token("of-alice", "alice")
    path = "/api/v1/namespaces/default/serviceaccounts/a/token"
    token = ask(api, "POST", path, {})[1]["status"]["token"]
    again = ApiServer(lambda: NOW, key="another")
    again.load(json.loads(json.dumps(api.dump())))
    assert again.revision == api.revision
    assert again.dump() == api.dump()
    for known in (token, "of-alice"):
        assert ask(again, "GET", "/api/v1/nodes", token=known)[0] == 403


def test_state_of_another_schema_is_refused(api: ApiServer) -> None:
    with pytest.raises(ValueError, match="schema 2"):
        api.load({**api.dump(), "schema": 2})


def test_the_same_history_gives_the_same_state() -> None:
    first, second = ApiServer(lambda: NOW), ApiServer(lambda: NOW)
    for api in (first, second):
        api.put(pod("p"))
        ask(api, "DELETE", "/api/v1/namespaces/default/pods/p")
    assert first.dump() == second.dump()


# Death


def test_a_pod_on_a_node_waits_for_its_kubelet(api: ApiServer) -> None:
    api.put(pod("p", node="n1"))
    path = "/api/v1/namespaces/default/pods/p"
    status, document = ask(api, "DELETE", path)
    assert status == 200
    assert document["metadata"]["deletionGracePeriodSeconds"] == 30
    assert document["metadata"]["deletionTimestamp"] == "2026-11-30T00:53:50Z"
    assert ask(api, "GET", path)[0] == 200
    assert ask(api, "DELETE", path, {"gracePeriodSeconds": 0})[0] == 200
    assert ask(api, "GET", path)[0] == 404


@pytest.mark.parametrize(
    "body",
    [pod("p", phase="Pending"), pod("p", node="n1", phase="Succeeded"),
     pod("p", node="n1", phase="Failed")],
    ids=["not bound", "succeeded", "failed"],
)  # fmt: skip
def test_a_pod_without_a_process_goes_at_once(api: ApiServer, body: dict[str, Any]) -> None:
    api.put(body)
    assert api.delete(POD, "p", "default")
    assert api.find(POD, "p", "default") is None


def test_what_an_object_alone_owns_goes_with_it(api: ApiServer) -> None:
    first = api.put(named("Node", "a"))
    second = api.put(named("Node", "b"))
    both = [*owned_by(first), *owned_by(second)]
    api.put(pod("one", ownerReferences=owned_by(first)))
    api.put(pod("two", ownerReferences=both))
    api.remove(NODE, "a")
    assert [item["metadata"]["name"] for item in api.scan(POD)] == ["two"]
    assert api.scan(POD)[0]["metadata"]["ownerReferences"] == owned_by(second)


def test_orphans_stay_when_they_are_asked_for(api: ApiServer) -> None:
    owner = api.put(named("Node", "a"))
    api.put(pod("p", ownerReferences=owned_by(owner)))
    ask(api, "DELETE", "/api/v1/nodes/a", {"propagationPolicy": "Orphan"})
    assert api.scan(POD)[0]["metadata"]["ownerReferences"] == []


def test_a_namespace_goes_when_it_is_empty_and_takes_nothing_new(api: ApiServer) -> None:
    api.put(named("Namespace", "t1"))
    waiting = pod("p", node="n1")
    waiting["metadata"]["namespace"] = "t1"
    api.put(waiting)
    ask(api, "DELETE", "/api/v1/namespaces/t1")
    assert ask(api, "GET", "/api/v1/namespaces/t1")[1]["status"]["phase"] == "Terminating"
    path = "/api/v1/namespaces/t1/configmaps/m"
    metadata = {"name": "m", "namespace": "t1"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    status, document = apply(api, path, body, "a")
    assert status == 403
    assert document["message"] == (
        'configmaps "m" is forbidden: unable to create new content in namespace t1 because it is '
        "being terminated"
    )
    api.remove(POD, "p", "t1")
    assert ask(api, "GET", "/api/v1/namespaces/t1")[0] == 404


def test_the_last_finalizer_ends_an_object_that_is_being_deleted(api: ApiServer) -> None:
    api.put(named("Node", "n") | {"metadata": {"name": "n", "finalizers": ["x/a"]}})
    api.delete(NODE, "n")
    assert "deletionTimestamp" in api.scan(NODE)[0]["metadata"]
    api.edit(NODE, "n", "", lambda node: node["metadata"].update(finalizers=[]))
    assert api.find(NODE, "n") is None


# Writes


def test_a_new_node_has_the_not_ready_taint_and_keeps_its_status(api: ApiServer) -> None:
    node = named("Node", "n1", spec={}, status={"capacity": {"nvidia.com/gpu": "8"}})
    document = ask(api, "POST", "/api/v1/nodes", node)[1]
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert document["spec"]["taints"] == [taint]
    assert document["status"]["capacity"] == {"nvidia.com/gpu": "8"}


def test_a_new_pod_is_pending_and_requests_what_it_limits(api: ApiServer) -> None:
    body = pod("p")
    body["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    document = ask(api, "POST", "/api/v1/namespaces/default/pods", body)[1]
    assert document["status"] == {"phase": "Pending"}
    resources = document["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {"nvidia.com/gpu": "1"}


def test_a_create_of_what_is_there_is_refused(api: ApiServer) -> None:
    api.put(named("Node", "n1"))
    status, document = ask(api, "POST", "/api/v1/nodes", named("Node", "n1"))
    assert (status, document["message"]) == (409, 'nodes "n1" already exists')


def test_a_name_can_be_made_up_from_a_prefix(api: ApiServer) -> None:
    body = pod("x")
    body["metadata"] = {"generateName": "job-", "namespace": "default"}
    path = "/api/v1/namespaces/default/pods"
    names = {ask(api, "POST", path, body)[1]["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(len(name) == len("job-") + 5 for name in names)
    assert ask(api, "POST", path, {"metadata": {}, "spec": body["spec"]})[0] == 422


def test_a_write_from_an_older_object_is_refused(api: ApiServer) -> None:
    api.put(named("Node", "n1"))
    old = ask(api, "GET", "/api/v1/nodes/n1")[1]
    api.edit(NODE, "n1", "", lambda node: node["metadata"].update(labels={"a": "b"}))
    status, document = ask(api, "PUT", "/api/v1/nodes/n1", old)
    assert status == 409
    assert document["message"] == (
        'Operation cannot be fulfilled on nodes "n1": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )
    uid = {"preconditions": {"uid": "another"}}
    assert ask(api, "DELETE", "/api/v1/nodes/n1", uid)[0] == 409


def test_a_dry_run_answers_and_keeps_nothing(api: ApiServer) -> None:
    before = api.dump()
    node = named("Node", "n1")
    status, document = ask(api, "POST", "/api/v1/nodes", node, dryRun="All")
    assert (status, document["metadata"]["name"]) == (201, "n1")
    assert apply(api, "/api/v1/nodes/n2", named("Node", "n2"), "a", dryRun="All")[0] == 201
    assert api.dump() == before


@pytest.mark.parametrize("strict", [False, True])
def test_an_unknown_field_of_a_patch_is_dropped_with_a_warning_or_refused(
    api: ApiServer, strict: bool
) -> None:
    api.put(named("Node", "n1", spec={}))
    query = {"fieldValidation": "Strict"} if strict else {}
    patch = {"spec": {"unschedulabel": True}}
    response = send(api, "PATCH", "/api/v1/nodes/n1", patch, kind=MERGE, **query)
    if strict:
        assert response.status == 422
        assert b'strict decoding error: unknown field \\"spec.unschedulabel\\"' in response.body
    else:
        assert response.status == 200
        assert response.headers["warning"] == '299 - "unknown field \\"spec.unschedulabel\\""'
        assert b"unschedulabel" not in response.body


@pytest.mark.parametrize(
    ("patch", "taints"),
    [
        ({"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}, ["b"]),
        ({"spec": {"taints": None}}, []),
        ({"spec": {"taints": [], "unschedulable": True}}, []),
    ],
    ids=["replace", "remove", "empty"],
)
def test_a_strategic_patch_replaces_the_taints(
    api: ApiServer, patch: dict[str, Any], taints: list[str]
) -> None:
    api.put(named("Node", "n1", spec={"taints": [{"key": "a", "effect": "NoExecute"}]}))
    document = ask(api, "PATCH", "/api/v1/nodes/n1", patch, kind=STRATEGIC)[1]
    assert [taint["key"] for taint in document["spec"].get("taints", ())] == taints


def test_the_status_is_written_apart_from_the_rest(api: ApiServer) -> None:
    api.put(named("Node", "n1", spec={}, status={"capacity": {"nvidia.com/gpu": "8"}}))
    patch = {"status": {"capacity": {"nvidia.com/gpu": "9"}}}
    ask(api, "PATCH", "/api/v1/nodes/n1", patch, kind=MERGE)
    assert api.scan(NODE)[0]["status"]["capacity"]["nvidia.com/gpu"] == "8"
    ask(api, "PATCH", "/api/v1/nodes/n1/status", patch, kind=MERGE)
    assert api.scan(NODE)[0]["status"]["capacity"]["nvidia.com/gpu"] == "9"


def test_a_strategic_patch_merges_conditions_by_type(api: ApiServer) -> None:
    ready = {"type": "Ready", "status": "False"}
    api.put(named("Node", "n1", status={"conditions": [ready, {"type": "X", "status": "True"}]}))
    patch = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    document = ask(api, "PATCH", "/api/v1/nodes/n1/status", patch, kind=STRATEGIC)[1]
    statuses = {item["type"]: item["status"] for item in document["status"]["conditions"]}
    assert statuses == {"Ready": "True", "X": "True"}


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("1500m", "must be an integer"),
        ("8x", "quantities must match the regular expression"),
        ("", "quantities must match the regular expression"),
    ],
)
def test_amounts_of_a_gpu_are_whole_numbers(api: ApiServer, amount: str, text: str) -> None:
    api.put(named("Node", "n1"))
    patch = {"status": {"capacity": {"nvidia.com/gpu": amount}}}
    status, document = ask(api, "PATCH", "/api/v1/nodes/n1/status", patch, kind=MERGE)
    assert status == 422
    assert text in document["message"]
    assert document["details"]["causes"][0]["field"] == "status.capacity[nvidia.com/gpu]"


def test_a_pod_must_limit_what_it_requests_of_a_gpu(api: ApiServer) -> None:
    body = pod("p")
    amounts = {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}}
    body["spec"]["containers"][0]["resources"] = amounts
    status, document = ask(api, "POST", "/api/v1/namespaces/default/pods", body)
    assert status == 422
    assert "must be equal to nvidia.com/gpu limit of 2" in document["message"]


# Budgets


@pytest.mark.parametrize(
    ("spec", "pods", "allowed"),
    [
        ({"minAvailable": 1}, 3, 2),
        ({"minAvailable": "50%"}, 3, 1),
        ({"minAvailable": "100%"}, 3, 0),
        ({"maxUnavailable": 1}, 3, 1),
        ({"maxUnavailable": 0}, 3, 0),
        ({"minAvailable": 5}, 3, 0),
    ],
)
def test_a_budget_counts_its_ready_pods(
    api: ApiServer, spec: dict[str, Any], pods: int, allowed: int
) -> None:
    for number in range(pods):
        api.put(pod(f"p{number}", labels={"app": "x"}))
    api.put(pod("done", phase="Succeeded", labels={"app": "x"}))
    api.put(pod("other"))
    budget = {**spec, "selector": {"matchLabels": {"app": "x"}}}
    metadata = {"name": "b", "namespace": "default"}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    api.put({**kind, "metadata": metadata, "spec": budget})
    assert count_budgets(api)
    assert not count_budgets(api)
    status = api.scan("poddisruptionbudgets.policy")[0]["status"]
    assert (status["disruptionsAllowed"], status["expectedPods"]) == (allowed, pods)


# Size


def test_a_read_among_many_objects_is_quick(api: ApiServer) -> None:
    for number in range(100):
        api.put(named("Node", f"n{number}", status={"capacity": {"cpu": "128"}}))
    for number in range(500):
        api.put(pod(f"p{number}", node=f"n{number % 100}"))
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    request = ApiRequest("GET", "/api/v1/nodes/n7", {}, headers)
    begin = time.perf_counter()
    for _ in range(200):
        assert api.handle(request).status == 200
    assert (time.perf_counter() - begin) / 200 < 0.003, "0.02 ms on an idle core; 3 ms is broken"


def test_kinds_are_found_by_their_names_and_by_their_values(api: ApiServer) -> None:
    assert api.list_objects(DAEMON_SET) == api.list_objects("daemonsets.apps") == []
    assert api.list_objects(CONFIG_MAP, "default") == []
