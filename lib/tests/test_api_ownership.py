# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who owns which field: server-side apply and the other writes, in detail."""

from typing import Any

import pytest

from lib.tests.api_requests import MERGE, NOW, STRATEGIC, apply, ask
from standins.kubernetes.api import ApiServer
from standins.kubernetes.fields import decode, encode, leaves
from standins.kubernetes.resources import builtin

PATH = "/apis/apps/v1/namespaces/default/daemonsets/d"
SPEC = ("spec", "template", "spec")


@pytest.fixture
def api() -> ApiServer:
    return ApiServer(lambda: NOW)


def daemon_set(**pod_spec: Any) -> dict[str, Any]:
    labels = {"app": "d"}
    spec = {"containers": [{"name": "c", "image": "x:1"}], **pod_spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def pod_spec(document: dict[str, Any]) -> dict[str, Any]:
    return document["spec"]["template"]["spec"]


def managers(document: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    entries = document["metadata"]["managedFields"]
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in entries
    }


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        (
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"volumes": [{"name": "w", "hostPath": {"path": "/w"}}]},
            {
                "volumes": [
                    {"name": "v", "emptyDir": {}},
                    {"name": "w", "hostPath": {"path": "/w"}},
                ]
            },
        ),
        (
            {"imagePullSecrets": [{"name": "a"}]},
            {"imagePullSecrets": [{"name": "b"}]},
            {"imagePullSecrets": [{"name": "a"}, {"name": "b"}]},
        ),
    ],
    ids=["atomic and equal", "volumes by name", "pull secrets by name"],
)
def test_lists_are_shared_by_their_type(
    api: ApiServer, first: dict[str, Any], second: dict[str, Any], merged: dict[str, Any]
) -> None:
    assert apply(api, PATH, daemon_set(**first), "a")[0] == 201
    status, document = apply(api, PATH, daemon_set(**second), "b")
    assert status == 200
    assert {key: pod_spec(document)[key] for key in merged} == merged


@pytest.mark.parametrize(
    ("field", "mine", "theirs"),
    [
        ("tolerations", [{"key": "a", "operator": "Exists"}], [{"operator": "Exists"}]),
        ("nodeSelector", {"a": "1"}, {"a": "1", "b": "2"}),
    ],
)
def test_what_is_atomic_has_one_owner_as_a_whole(
    api: ApiServer, field: str, mine: Any, theirs: Any
) -> None:
    apply(api, PATH, daemon_set(**{field: mine}), "a")
    status, document = apply(api, PATH, daemon_set(**{field: theirs}), "b")
    assert status == 409
    assert document["message"] == (
        f'Apply failed with 1 conflict: conflict with "a": .spec.template.spec.{field}'
    )


def test_several_conflicts_are_listed_by_manager(api: ApiServer) -> None:
    apply(api, PATH, daemon_set(), "a")
    node = {"dnsPolicy": "None", "containers": [{"name": "c", "image": "x:2"}]}
    apply(api, PATH, daemon_set(dnsPolicy="Default"), "b")
    status, document = apply(api, PATH, daemon_set(**node), "z")
    assert status == 409
    image = '.spec.template.spec.containers[name="c"].image'
    assert document["message"] == (
        "Apply failed with 3 conflicts: "
        f'conflicts with "a":\n- {image}\n'
        f'conflicts with "b":\n- {image}\n- .spec.template.spec.dnsPolicy'
    )
    assert [cause["reason"] for cause in document["details"]["causes"]] == [
        "FieldManagerConflict"
    ] * 3


def test_the_applied_order_of_a_list_holds(api: ApiServer) -> None:
    def with_env(*names: str) -> dict[str, Any]:
        env = [{"name": name, "value": "1"} for name in names]
        return daemon_set(containers=[{"name": "c", "image": "x:1", "env": env}])

    apply(api, PATH, with_env("A", "B", "C"), "a")
    apply(api, PATH, with_env("X"), "b")
    document = apply(api, PATH, with_env("C", "N", "A"), "a")[1]
    names = [item["name"] for item in pod_spec(document)["containers"][0]["env"]]
    assert [name for name in names if name != "X"] == ["C", "N", "A"]
    assert "X" in names


def test_ports_that_differ_in_protocol_are_two(api: ApiServer) -> None:
    def with_port(**port: Any) -> dict[str, Any]:
        return daemon_set(containers=[{"name": "c", "image": "x:1", "ports": [port]}])

    apply(api, PATH, with_port(containerPort=53), "a")
    document = apply(api, PATH, with_port(containerPort=53, protocol="UDP"), "b")[1]
    assert len(pod_spec(document)["containers"][0]["ports"]) == 2


def test_an_item_that_is_applied_twice_is_refused(api: ApiServer) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    twice = daemon_set(containers=[{"name": "c", "image": "x:1", "env": env}])
    status, document = apply(api, PATH, twice, "a")
    assert status == 500
    assert 'duplicate entries for key [name="A"]' in document["message"]


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (MERGE, {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}),
        (STRATEGIC, {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}),
    ],
)
def test_a_patch_takes_what_it_changes(api: ApiServer, kind: str, patch: dict[str, Any]) -> None:
    apply(api, PATH, daemon_set(dnsPolicy="None"), "a")
    document = ask(api, "PATCH", PATH, patch, kind=kind)[1]
    assert pod_spec(document)["dnsPolicy"] == "Default"
    status, refusal = apply(api, PATH, daemon_set(dnsPolicy="None"), "a")
    assert status == 409
    assert refusal["details"]["causes"][0]["message"] == ('conflict with "kubectl" using apps/v1')


def test_a_field_that_an_update_leaves_alone_stays_with_its_owner(api: ApiServer) -> None:
    document = apply(api, PATH, daemon_set(dnsPolicy="None"), "a")[1]
    document["metadata"]["annotations"] = {"by": "hand"}
    updated = ask(api, "PUT", PATH, document)[1]
    assert set(managers(updated)) == {("a", "Apply", ""), ("kubectl", "Update", "")}
    assert apply(api, PATH, daemon_set(dnsPolicy="None"), "a")[0] == 200


def test_the_status_is_owned_apart(api: ApiServer) -> None:
    apply(api, PATH, daemon_set(), "a")
    status = {"status": {"numberReady": 1, "desiredNumberScheduled": 1}}
    document = ask(api, "PATCH", f"{PATH}/status", status, kind=MERGE)[1]
    assert document["status"]["numberReady"] == 1
    assert ("kubectl", "Update", "status") in managers(document)
    again = apply(api, PATH, daemon_set(), "a")[1]
    assert again == document


def test_finalizers_are_a_set_of_many(api: ApiServer) -> None:
    def held(*names: str) -> dict[str, Any]:
        obj = daemon_set()
        obj["metadata"]["finalizers"] = list(names)
        return obj

    apply(api, PATH, held("x/a"), "a")
    apply(api, PATH, held("x/b"), "b")
    document = apply(api, PATH, held("x/c"), "a")[1]
    assert sorted(document["metadata"]["finalizers"]) == ["x/b", "x/c"]


def test_an_apply_needs_a_manager_and_no_managed_fields(api: ApiServer) -> None:
    assert ask(api, "PATCH", PATH, daemon_set(), kind="application/apply-patch+yaml")[0] == 400
    document = apply(api, PATH, daemon_set(), "a")[1]
    assert apply(api, PATH, document, "b")[0] == 400


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "Deployment"}, "does not match the expected API version"),
        ({"metadata": {"name": "other", "namespace": "default"}}, "does not match the name"),
        ({"metadata": {"name": "d", "namespace": "other"}}, "does not match the namespace"),
    ],
    ids=["kind", "name", "namespace"],
)
def test_an_object_must_be_what_the_path_says(
    api: ApiServer, change: dict[str, Any], reason: str
) -> None:
    status, document = apply(api, PATH, {**daemon_set(), **change}, "a")
    assert status == 400
    assert reason in document["message"]


def test_field_sets_survive_being_written_down() -> None:
    obj = daemon_set(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[{"name": "c", "ports": [{"containerPort": 1}], "args": ["x"]}],
    )
    obj["metadata"]["finalizers"] = ["x/a"]
    paths = frozenset(leaves(obj, builtin()["daemonsets.apps"].schema))
    assert decode(encode(paths)) == paths
    assert encode(paths)["f:spec"]["f:template"]["f:spec"]["f:containers"] == {
        'k:{"name":"c"}': {
            ".": {},
            "f:args": {},
            "f:name": {},
            "f:ports": {
                'k:{"containerPort":1,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}
            },
        }
    }


def test_labels_with_slashes_are_fields_like_others(api: ApiServer) -> None:
    path = "/api/v1/nodes/n1"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    api.put(node)
    label = {**node, "metadata": {"name": "n1", "labels": {"gpu-pool/name": "a"}}}
    apply(api, path, label, "a")
    other = {**node, "metadata": {"name": "n1", "labels": {"gpu-pool/name": "b"}}}
    status, document = apply(api, path, other, "b")
    assert status == 409
    assert document["message"].endswith('conflict with "a": .metadata.labels.gpu-pool/name')
    bare = apply(api, path, node, "a")[1]
    assert "labels" not in bare["metadata"]
