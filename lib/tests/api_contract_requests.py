# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What every API server answers to a raw request: facts, as in `api_contract`, with the wording.

They hold what `charmkit.kube` does not ask for itself but charms, people and stand-ins do:
status codes and texts, strict decoding, custom kinds, status, selectors, pages, evictions.
"""

from collections.abc import Callable, Sequence
from typing import Any

from lib.tests.api_contract import Reply, Site, config_map, daemon_set, eventually

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

Object = dict[str, Any]


def core(site: Site, plural: str, name: str = "", group: str = "api/v1") -> str:
    path = f"/{group}/namespaces/{site.namespace}/{plural}"
    return f"{path}/{name}" if name else path


def create(site: Site, plural: str, obj: Object, group: str = "api/v1", **query: str) -> Reply:
    return site.ask("POST", core(site, plural, group=group), obj, **query)


def pod(site: Site, name: str, node: str = "", **labels: str) -> Object:
    spec: Object = {
        "containers": [{"name": "c", "image": "example.test/x:1"}],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        **({"nodeName": node} if node else {}),
    }
    metadata = {"name": name, "namespace": site.namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def make_account(site: Site) -> None:
    """Pods need the account that a controller makes on a whole cluster; it may be there."""
    metadata = {"name": "default", "namespace": site.namespace}
    create(site, "serviceaccounts", {"metadata": metadata})


# Codes and texts


def a_token_that_nobody_knows_gets_401(site: Site) -> None:
    reply = site.ask("GET", "/api/v1/nodes", token="nonsense")
    assert reply.code == 401
    assert reply.document["reason"] == reply.document["message"] == "Unauthorized"


def who_may_do_nothing_gets_403_with_user_verb_and_resource(site: Site) -> None:
    path = core(site, "daemonsets", "d", "apis/apps/v1")
    reply = site.ask("GET", path, token=site.visitor)
    assert (reply.code, reply.document["reason"]) == (403, "Forbidden")
    assert reply.document["message"] == (
        'daemonsets.apps "d" is forbidden: User "visitor" cannot get resource "daemonsets" in '
        f'API group "apps" in the namespace "{site.namespace}"'
    )
    assert reply.document["details"] == {"name": "d", "group": "apps", "kind": "daemonsets"}


def at_cluster_scope_a_403_says_so(site: Site) -> None:
    reply = site.ask("GET", "/api/v1/nodes", token=site.visitor)
    assert reply.document["message"] == (
        'nodes is forbidden: User "visitor" cannot list resource "nodes" in API group "" at the '
        "cluster scope"
    )
    assert reply.document["details"] == {"kind": "nodes"}


def what_is_not_there_gets_404_with_its_name(site: Site) -> None:
    reply = site.ask("GET", core(site, "daemonsets", "none", "apis/apps/v1"))
    assert (reply.code, reply.document["reason"]) == (404, "NotFound")
    assert reply.document["message"] == 'daemonsets.apps "none" not found'
    assert reply.document["details"] == {"name": "none", "group": "apps", "kind": "daemonsets"}


def a_kind_that_is_not_served_gets_404_without_a_name(site: Site) -> None:
    reply = site.ask("GET", core(site, "unheardofs", "x", "apis/example.test/v1"))
    assert reply.code == 404


def what_is_there_cannot_be_created(site: Site) -> None:
    assert create(site, "configmaps", config_map(site)).code == 201
    reply = create(site, "configmaps", config_map(site))
    assert (reply.code, reply.document["reason"]) == (409, "AlreadyExists")
    assert reply.document["message"] == 'configmaps "m" already exists'
    assert reply.document["details"] == {"name": "m", "kind": "configmaps"}


def an_update_from_an_older_object_gets_409(site: Site) -> None:
    old = create(site, "configmaps", config_map(site, a="1")).document
    path = core(site, "configmaps", "m")
    site.ask("PATCH", path, {"data": {"a": "2"}}, kind=MERGE)
    reply = site.ask("PUT", path, {**old, "data": {"a": "3"}})
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")
    assert reply.document["message"] == (
        'Operation cannot be fulfilled on configmaps "m": the object has been modified; please '
        "apply your changes to the latest version and try again"
    )


def a_patch_from_an_older_object_gets_409(site: Site) -> None:
    old = create(site, "configmaps", config_map(site, a="1")).document
    path = core(site, "configmaps", "m")
    site.ask("PATCH", path, {"data": {"a": "2"}}, kind=MERGE)
    version = {"resourceVersion": old["metadata"]["resourceVersion"]}
    reply = site.ask("PATCH", path, {"metadata": version, "data": {"a": "3"}}, kind=MERGE)
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")


def a_delete_that_means_another_object_gets_409(site: Site) -> None:
    create(site, "configmaps", config_map(site))
    options = {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}
    reply = site.ask("DELETE", core(site, "configmaps", "m"), options)
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")
    assert site.ask("GET", core(site, "configmaps", "m")).code == 200


def a_bad_name_gets_422_with_field_and_reason(site: Site) -> None:
    reply = create(site, "configmaps", config_map(site, "Bad_Name"))
    assert (reply.code, reply.document["reason"]) == (422, "Invalid")
    (cause,) = reply.document["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "metadata.name")
    assert (
        'ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lower'
        in (reply.document["message"])
    )


def a_page_that_is_too_old_gets_410(site: Site) -> None:
    """Of events, since a server keeps a while of every other kind's history in memory."""
    for name in ("a", "b", "c"):
        event = {"metadata": {"name": name}, "involvedObject": {"namespace": site.namespace}}
        assert create(site, "events", event).code == 201
    path = core(site, "events")
    page = site.ask("GET", path, limit="1").document
    site.ask("DELETE", core(site, "events", "c"))
    site.forget_history()
    reply = site.ask("GET", path, limit="1", **{"continue": page["metadata"]["continue"]})
    assert (reply.code, reply.document["reason"]) == (410, "Expired")
    assert reply.document["message"].startswith("The provided continue parameter is too old")


def a_token_lives_ten_minutes_at_least(site: Site) -> None:
    make_account(site)
    path = core(site, "serviceaccounts", "default/token")
    reply = site.ask("POST", path, {"spec": {"expirationSeconds": 60}})
    assert reply.code == 422
    assert "may not specify a duration less than 10 minutes" in reply.document["message"]


def a_patch_of_an_unknown_type_gets_415(site: Site) -> None:
    create(site, "configmaps", config_map(site))
    reply = site.ask("PATCH", core(site, "configmaps", "m"), {}, kind="application/xml")
    assert (reply.code, reply.document["reason"]) == (415, "UnsupportedMediaType")


# Decoding


def a_strict_create_refuses_an_unknown_field(site: Site) -> None:
    typo = daemon_set(site)
    typo["spec"]["updateStrategie"] = {}
    reply = create(site, "daemonsets", typo, "apis/apps/v1", fieldValidation="Strict")
    assert (reply.code, reply.document["reason"]) == (400, "BadRequest")
    assert reply.document["message"].endswith(
        'strict decoding error: unknown field "spec.updateStrategie"'
    )


def a_lax_create_drops_an_unknown_field_with_a_warning(site: Site) -> None:
    typo = daemon_set(site)
    typo["spec"]["updateStrategie"] = {}
    reply = create(site, "daemonsets", typo, "apis/apps/v1")
    assert reply.code == 201
    assert "updateStrategie" not in reply.document["spec"]
    assert reply.headers["warning"] == '299 - "unknown field \\"spec.updateStrategie\\""'


def a_strict_patch_refuses_an_unknown_field_as_invalid(site: Site) -> None:
    create(site, "daemonsets", daemon_set(site), "apis/apps/v1")
    path = core(site, "daemonsets", "plugin", "apis/apps/v1")
    for kind in (MERGE, STRATEGIC):
        patch = {"spec": {"updateStrategie": {}}}
        reply = site.ask("PATCH", path, patch, kind=kind, fieldValidation="Strict")
        assert (reply.code, reply.document["reason"]) == (422, "Invalid")
        assert reply.document["message"].startswith(' "" is invalid: patch: Invalid value: "')
        assert reply.document["message"].endswith(
            'strict decoding error: unknown field "spec.updateStrategie"'
        )


def a_create_of_a_wrong_type_is_a_bad_request(site: Site) -> None:
    wrong = daemon_set(site)
    wrong["spec"]["minReadySeconds"] = "soon"
    reply = create(site, "daemonsets", wrong, "apis/apps/v1")
    assert (reply.code, reply.document["reason"]) == (400, "BadRequest")
    assert "DaemonSet in version" in reply.document["message"]
    assert "cannot be handled as a DaemonSet" in reply.document["message"]


def an_apply_of_a_wrong_type_gets_500_without_a_reason(site: Site) -> None:
    wrong = daemon_set(site)
    wrong["spec"]["minReadySeconds"] = "soon"
    path = core(site, "daemonsets", "plugin", "apis/apps/v1")
    reply = site.ask("PATCH", path, wrong, kind=APPLY, fieldManager="charm-a")
    assert (reply.code, "reason" in reply.document) == (500, False)
    assert reply.document["message"] == (
        f"failed to create typed patch object ({site.namespace}/plugin; apps/v1, "
        "Kind=DaemonSet): .spec.minReadySeconds: expected numeric (int or float), got string"
    )


def an_object_of_another_name_than_the_path_is_refused(site: Site) -> None:
    create(site, "configmaps", config_map(site))
    reply = site.ask("PUT", core(site, "configmaps", "m"), config_map(site, "other"))
    assert (reply.code, reply.document["reason"]) == (400, "BadRequest")
    assert reply.document["message"] == (
        "the name of the object (other) does not match the name on the URL (m)"
    )


def an_apply_needs_a_field_manager(site: Site) -> None:
    path = core(site, "configmaps", "m")
    reply = site.ask("PATCH", path, config_map(site), kind=APPLY)
    assert reply.code in (400, 422)
    assert (
        "fieldManager: Required value: is required for apply patch" in (reply.document["message"])
    )


# Apply


def an_apply_that_creates_says_201_and_the_next_200(site: Site) -> None:
    path = core(site, "configmaps", "m")
    for code in (201, 200):
        reply = site.ask("PATCH", path, config_map(site), kind=APPLY, fieldManager="charm-a")
        assert reply.code == code


def an_apply_owns_exactly_what_it_names(site: Site) -> None:
    path = core(site, "daemonsets", "plugin", "apis/apps/v1")
    obj = daemon_set(site, A="1")
    reply = site.ask("PATCH", path, obj, kind=APPLY, fieldManager="charm-a")
    (owner,) = [
        m for m in reply.document["metadata"]["managedFields"] if m["manager"] == "charm-a"
    ]
    assert owner["operation"] == "Apply"
    variable = {".": {}, "f:name": {}, "f:value": {}}
    container = {
        ".": {},
        "f:env": {'k:{"name":"A"}': variable},
        "f:image": {},
        "f:name": {},
    }
    template = {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': container}},
    }
    assert owner["fieldsV1"] == {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {"f:selector": {}, "f:template": template},
    }


def a_conflict_lists_its_causes(site: Site) -> None:
    path = core(site, "configmaps", "m")
    site.ask("PATCH", path, config_map(site, a="1"), kind=APPLY, fieldManager="charm-a")
    other = config_map(site, a="2")
    reply = site.ask("PATCH", path, other, kind=APPLY, fieldManager="charm-b")
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")
    assert reply.document["message"] == (
        'Apply failed with 1 conflict: conflict with "charm-a": .data.a'
    )
    assert reply.document["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "charm-a"',
            "field": ".data.a",
        }
    ]


def a_conflict_with_an_update_names_its_time_and_client(site: Site) -> None:
    create(site, "configmaps", config_map(site, a="1"), fieldManager="hand")
    path = core(site, "configmaps", "m")
    other = config_map(site, a="2")
    reply = site.ask("PATCH", path, other, kind=APPLY, fieldManager="charm-b")
    assert reply.code == 409
    assert reply.document["message"].startswith(
        'Apply failed with 1 conflict: conflict with "hand" using v1'
    )


def a_status_is_applied_through_its_subresource_alone(site: Site) -> None:
    path = core(site, "daemonsets", "plugin", "apis/apps/v1")
    applied = {**daemon_set(site), "status": {"desiredNumberScheduled": 7}}
    reply = site.ask("PATCH", path, applied, kind=APPLY, fieldManager="charm-a")
    assert reply.document["status"]["desiredNumberScheduled"] == 0
    head = {"apiVersion": "apps/v1", "kind": "DaemonSet", "status": applied["status"]}
    full = {"currentNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}
    head["status"] = {**full, **applied["status"]}
    head["metadata"] = {"name": "plugin", "namespace": site.namespace}
    query = {"fieldManager": "charm-s", "force": "true"}
    reply = site.ask("PATCH", f"{path}/status", head, kind=APPLY, **query)
    assert reply.document["status"]["desiredNumberScheduled"] == 7


# What may not change


def unchangeable(site: Site, path: str, patch: Object, text: str) -> None:
    reply = site.ask("PATCH", path, patch, kind=MERGE)
    assert (reply.code, reply.document["reason"]) == (422, "Invalid")
    assert text in reply.document["message"]


def the_selector_of_a_daemon_set_stays(site: Site) -> None:
    create(site, "daemonsets", daemon_set(site), "apis/apps/v1")
    labels = {"app": "plugin", "x": "y"}
    patch = {
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}},
        }
    }
    path = core(site, "daemonsets", "plugin", "apis/apps/v1")
    unchangeable(site, path, patch, "spec.selector: Invalid value:")
    unchangeable(site, path, patch, "field is immutable")


def the_role_of_a_binding_stays(site: Site) -> None:
    group = "apis/rbac.authorization.k8s.io/v1"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
    metadata = {"name": "b", "namespace": site.namespace}
    create(site, "rolebindings", {"metadata": metadata, "roleRef": role}, group)
    path = core(site, "rolebindings", "b", group)
    unchangeable(site, path, {"roleRef": {"name": "z"}}, "roleRef: Invalid value:")
    unchangeable(site, path, {"roleRef": {"name": "z"}}, "cannot change roleRef")


def the_handler_of_a_runtime_class_stays(site: Site) -> None:
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    body = {"metadata": {"name": site.unique}, "handler": "one"}
    assert site.ask("POST", classes, body).code == 201
    path = f"{classes}/{site.unique}"
    unchangeable(site, path, {"handler": "two"}, "handler: Invalid value:")
    unchangeable(site, path, {"handler": "two"}, "field is immutable")
    site.ask("DELETE", path)


def provisioner_and_parameters_of_a_storage_class_stay(site: Site) -> None:
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    body = {"metadata": {"name": site.unique}, "provisioner": "a.test", "parameters": {"p": "1"}}
    assert site.ask("POST", classes, body).code == 201
    path = f"{classes}/{site.unique}"
    unchangeable(site, path, {"parameters": {"p": "2"}}, "updates to parameters are forbidden")
    unchangeable(site, path, {"provisioner": "b.test"}, "updates to provisioner are forbidden")
    site.ask("DELETE", path)


def how_a_csi_driver_attaches_and_lives_stays(site: Site) -> None:
    drivers, name = "/apis/storage.k8s.io/v1/csidrivers", f"{site.unique}.example.test"
    body = {"metadata": {"name": name}, "spec": {"attachRequired": True}}
    assert site.ask("POST", drivers, body).code == 201
    path = f"{drivers}/{name}"
    attached = "spec.attachedRequired: Invalid value: false: field is immutable"
    unchangeable(site, path, {"spec": {"attachRequired": False}}, attached)
    modes = {"spec": {"volumeLifecycleModes": ["Ephemeral"]}}
    unchangeable(site, path, modes, "spec.volumeLifecycleModes: Invalid value:")
    assert site.ask("PATCH", path, {"spec": {"podInfoOnMount": True}}, kind=MERGE).code == 200
    site.ask("DELETE", path)


def the_spec_of_a_pod_stays(site: Site) -> None:
    make_account(site)
    create(site, "pods", pod(site, "p"))
    path = core(site, "pods", "p")
    unchangeable(site, path, {"spec": {"nodeName": "n"}}, "spec: Forbidden: pod updates may not")


def a_secret_that_is_immutable_stays(site: Site) -> None:
    body = {"metadata": {"name": "s"}, "immutable": True, "stringData": {"a": "1"}}
    assert create(site, "secrets", body).code == 201
    path = core(site, "secrets", "s")
    unchangeable(site, path, {"data": {"a": "Mg=="}}, "field is immutable when `immutable` is set")


def what_a_secret_is_given_as_text_is_kept_encoded(site: Site) -> None:
    body = {"metadata": {"name": "s"}, "stringData": {"a": "1"}}
    reply = create(site, "secrets", body)
    assert reply.document["data"] == {"a": "MQ=="}
    assert reply.document["type"] == "Opaque"
    assert "stringData" not in reply.document


# Custom kinds


def definition(site: Site, **properties: Object) -> Object:
    group = f"{site.unique}.example.test"
    spec = {"type": "object", "required": ["size"], "properties": properties}
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": "pools", "singular": "pool", "kind": "Pool", "listKind": "PoolList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"pools.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def define(site: Site) -> str:
    """Make a custom kind and return its group and version as in a path."""
    size = {"type": "integer", "minimum": 1, "maximum": 9}
    mode = {"type": "string", "enum": ["l2", "bgp"], "default": "l2"}
    tags = {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}}
    wanted = definition(site, size=size, mode=mode, tags=tags)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert site.ask("POST", path, wanted).code == 201
    group = f"apis/{wanted['spec']['group']}/v1"

    def is_served() -> bool:
        return site.ask("GET", core(site, "pools", group=group)).code == 200

    eventually(is_served, site.settle)
    return group


def undefine(site: Site) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    site.ask("DELETE", f"{path}/pools.{site.unique}.example.test")


def pool(site: Site, name: str = "p", **spec: Any) -> Object:
    api_version = f"{site.unique}.example.test/v1"
    metadata = {"name": name, "namespace": site.namespace}
    return {"apiVersion": api_version, "kind": "Pool", "metadata": metadata, "spec": spec}


def a_custom_kind_is_served_once_it_is_defined(site: Site) -> None:
    group = define(site)
    reply = create(site, "pools", pool(site, size=3), group)
    assert reply.code == 201
    assert reply.document["spec"] == {"size": 3, "mode": "l2"}
    assert reply.document["metadata"]["generation"] == 1
    items = site.ask("GET", core(site, "pools", group=group)).document["items"]
    assert [item["kind"] for item in items] == ["Pool"]
    undefine(site)


def a_definition_says_that_it_is_established(site: Site) -> None:
    define(site)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    found = site.ask("GET", f"{path}/pools.{site.unique}.example.test").document
    conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert (conditions["NamesAccepted"], conditions["Established"]) == ("True", "True")
    assert found["status"]["storedVersions"] == ["v1"]
    undefine(site)


def a_custom_object_out_of_bounds_gets_422(site: Site) -> None:
    group = define(site)
    wrong = {
        "spec.size": pool(site, size=12),
        "spec.mode": pool(site, size=1, mode="l3"),
        "spec.tags[0]": pool(site, size=1, tags=["A1"]),
    }
    for field, obj in wrong.items():
        reply = create(site, "pools", obj, group)
        assert (reply.code, reply.document["reason"]) == (422, "Invalid"), field
        assert [c["field"] for c in reply.document["details"]["causes"]] == [field]
    reply = create(site, "pools", pool(site, mode="l2"), group)
    assert "spec.size: Required value" in reply.document["message"]
    undefine(site)


def a_custom_object_of_a_wrong_type_gets_422_by_create_and_500_by_apply(site: Site) -> None:
    group = define(site)
    wrong = pool(site, size=1, tags="x")
    reply = create(site, "pools", wrong, group)
    assert (reply.code, reply.document["reason"]) == (422, "Invalid")
    assert "spec.tags: Invalid value:" in reply.document["message"]
    path = core(site, "pools", "p", group)
    reply = site.ask("PATCH", path, wrong, kind=APPLY, fieldManager="charm-a")
    assert (reply.code, "reason" in reply.document) == (500, False)
    assert ".spec.tags: expected list, got &{x}" in reply.document["message"]
    undefine(site)


def an_unknown_field_of_a_custom_object_is_pruned_or_refused(site: Site) -> None:
    group = define(site)
    typo = pool(site, size=1, sise=2)
    reply = create(site, "pools", typo, group, fieldValidation="Strict")
    assert (reply.code, reply.document["reason"]) == (400, "BadRequest")
    assert 'strict decoding error: unknown field "spec.sise"' in reply.document["message"]
    reply = create(site, "pools", typo, group)
    assert (reply.code, "sise" in reply.document["spec"]) == (201, False)
    assert reply.headers["warning"] == '299 - "unknown field \\"spec.sise\\""'
    undefine(site)


def the_status_of_a_custom_object_is_written_apart(site: Site) -> None:
    group = define(site)
    reply = create(site, "pools", {**pool(site, size=1), "status": {"phase": "x"}}, group)
    assert "status" not in reply.document
    path = core(site, "pools", "p", group)
    status = {"status": {"phase": "Ready"}, "spec": {"size": 5}}
    found = site.ask("PATCH", f"{path}/status", status, kind=MERGE).document
    assert (found["status"], found["spec"]["size"]) == ({"phase": "Ready"}, 1)
    assert found["metadata"]["generation"] == 1
    patch = {"status": {"phase": "Gone"}, "spec": {"size": 5}}
    found = site.ask("PATCH", path, patch, kind=MERGE).document
    assert (found["status"], found["spec"]["size"]) == ({"phase": "Ready"}, 5)
    assert found["metadata"]["generation"] == 2
    undefine(site)


def a_strategic_patch_of_a_custom_object_gets_415(site: Site) -> None:
    group = define(site)
    create(site, "pools", pool(site, size=1), group)
    reply = site.ask("PATCH", core(site, "pools", "p", group), {}, kind=STRATEGIC)
    assert (reply.code, reply.document["reason"]) == (415, "UnsupportedMediaType")
    undefine(site)


def the_objects_of_a_kind_go_with_its_definition(site: Site) -> None:
    group = define(site)
    create(site, "pools", pool(site, size=1), group)
    undefine(site)
    path = core(site, "pools", group=group)
    eventually(lambda: site.ask("GET", path).code == 404, site.settle)


# Selectors and pages


def labels_are_selected_by_equality_sets_and_presence(site: Site) -> None:
    for name, labels in {"a": {"t": "1"}, "b": {"t": "2"}, "c": {}}.items():
        obj = config_map(site, name)
        obj["metadata"]["labels"] = {"app": name, **labels}
        create(site, "configmaps", obj)
    wanted = {
        "t=1": "a",
        "t==2": "b",
        "t!=1,app": "bc",
        "t": "ab",
        "!t,app": "c",
        "t in (1,2)": "ab",
        "t notin (2),app": "ac",
        "app=a,t=2": "",
    }
    for selector, names in wanted.items():
        items = site.ask("GET", core(site, "configmaps"), labelSelector=selector).document["items"]
        assert "".join(item["metadata"]["name"] for item in items) == names, selector


def a_selector_that_is_none_gets_400(site: Site) -> None:
    reply = site.ask("GET", core(site, "configmaps"), labelSelector="a in (")
    assert (reply.code, reply.document["reason"]) == (400, "BadRequest")


def pods_are_selected_by_node_and_phase(site: Site) -> None:
    make_account(site)
    for name, node in {"a": "", "b": "n-x", "c": "n-y"}.items():
        create(site, "pods", pod(site, name, node))
    wanted = {
        "spec.nodeName=n-x": "b",
        "spec.nodeName!=n-x": "ac",
        "spec.nodeName=": "a",
        "status.phase=Pending,metadata.name=c": "c",
        "status.phase!=Pending": "",
    }
    for selector, names in wanted.items():
        items = site.ask("GET", core(site, "pods"), fieldSelector=selector).document["items"]
        assert "".join(item["metadata"]["name"] for item in items) == names, selector


def a_field_that_cannot_be_selected_gets_400(site: Site) -> None:
    reply = site.ask("GET", core(site, "pods"), fieldSelector="spec.unheard=true")
    assert (reply.code, reply.document["reason"]) == (400, "BadRequest")
    assert reply.document["message"] == "field label not supported: spec.unheard"
    reply = site.ask("GET", core(site, "configmaps"), fieldSelector="data.x=1")
    assert reply.document["message"] == (
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def a_list_comes_in_pages(site: Site) -> None:
    for name in ("a", "b", "c"):
        create(site, "configmaps", config_map(site, name))
    path, query = core(site, "configmaps"), {"labelSelector": "app"}
    seen, query["limit"] = [], "2"
    while True:
        page = site.ask("GET", path, **query).document
        seen.append([item["metadata"]["name"] for item in page["items"]])
        if not page["metadata"].get("continue"):
            break
        query["continue"] = page["metadata"]["continue"]
    assert seen == [["a", "b"], ["c"]]


def a_collection_is_deleted_by_label(site: Site) -> None:
    for name in ("a", "b"):
        create(site, "configmaps", config_map(site, name))
    reply = site.ask("DELETE", core(site, "configmaps"), labelSelector="app=a")
    assert reply.code == 200
    assert site.ask("GET", core(site, "configmaps", "a")).code == 404
    assert site.ask("GET", core(site, "configmaps", "b")).code == 200


# Birth and death


def a_name_is_made_up_from_a_prefix(site: Site) -> None:
    body = {"metadata": {"generateName": "x-"}}
    names = [create(site, "configmaps", body).document["metadata"]["name"] for _ in range(2)]
    assert len(set(names)) == 2
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def a_dry_run_keeps_nothing(site: Site) -> None:
    assert create(site, "configmaps", config_map(site), dryRun="All").code == 201
    assert site.ask("GET", core(site, "configmaps", "m")).code == 404


def the_generation_rises_with_the_spec_alone(site: Site) -> None:
    create(site, "daemonsets", daemon_set(site), "apis/apps/v1")
    path = core(site, "daemonsets", "plugin", "apis/apps/v1")
    for patch, generation in (
        ({"metadata": {"labels": {"x": "y"}}}, 1),
        ({"spec": {"minReadySeconds": 3}}, 2),
        ({"spec": {"minReadySeconds": 3}}, 2),
    ):
        found = site.ask("PATCH", path, patch, kind=MERGE).document
        assert found["metadata"]["generation"] == generation


def a_delete_answers_with_success_and_what_went(site: Site) -> None:
    made = create(site, "configmaps", config_map(site)).document
    reply = site.ask("DELETE", core(site, "configmaps", "m"))
    assert (reply.code, reply.document["kind"]) == (200, "Status")
    assert reply.document["status"] == "Success"
    uid = made["metadata"]["uid"]
    assert reply.document["details"] == {"name": "m", "kind": "configmaps", "uid": uid}


def a_deleted_object_with_a_finalizer_takes_no_new_one(site: Site) -> None:
    held = config_map(site)
    held["metadata"]["finalizers"] = ["example.test/hold"]
    create(site, "configmaps", held)
    path = core(site, "configmaps", "m")
    reply = site.ask("DELETE", path)
    assert reply.document["kind"] == "ConfigMap"
    assert reply.document["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["example.test/hold", "example.test/more"]}}
    reply = site.ask("PATCH", path, more, kind=MERGE)
    assert (reply.code, reply.document["reason"]) == (422, "Invalid")
    assert (
        "no new finalizers can be added if the object is being deleted"
        in (reply.document["message"])
    )
    assert site.ask("PATCH", path, {"data": {"still": "editable"}}, kind=MERGE).code == 200
    assert site.ask("PATCH", path, {"metadata": {"finalizers": []}}, kind=MERGE).code == 200
    assert site.ask("GET", path).code == 404


def what_an_object_owns_goes_with_it(site: Site) -> None:
    owner = create(site, "configmaps", config_map(site, "owner")).document["metadata"]
    owned = config_map(site, "owned")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    owned["metadata"]["ownerReferences"] = [reference]
    create(site, "configmaps", owned)
    site.ask("DELETE", core(site, "configmaps", "owner"))
    path = core(site, "configmaps", "owned")
    eventually(lambda: site.ask("GET", path).code == 404, site.settle)


def a_namespace_that_ends_takes_nothing_new(site: Site) -> None:
    name = f"{site.unique}-ends"
    site.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    held = {"metadata": {"name": "m", "finalizers": ["example.test/hold"]}}
    path = f"/api/v1/namespaces/{name}/configmaps"
    site.ask("POST", path, held)
    site.ask("DELETE", f"/api/v1/namespaces/{name}")
    reply = site.ask("POST", path, {"metadata": {"name": "late"}})
    assert (reply.code, reply.document["reason"]) == (403, "Forbidden")
    assert reply.document["message"] == (
        f'configmaps "late" is forbidden: unable to create new content in namespace {name} '
        "because it is being terminated"
    )
    (cause,) = reply.document["details"]["causes"]
    assert cause["reason"] == "NamespaceTerminating"
    site.ask("PATCH", f"{path}/m", {"metadata": {"finalizers": []}}, kind=MERGE)
    gone = f"/api/v1/namespaces/{name}"
    eventually(lambda: site.ask("GET", gone).code == 404, site.settle)


# Nodes, pods, evictions


def a_new_node_is_tainted_not_ready_whatever_it_says(site: Site) -> None:
    taint = {"key": "example.test/x", "effect": "NoSchedule"}
    body = {"metadata": {"name": site.unique}, "spec": {"taints": [taint]}}
    made = site.ask("POST", "/api/v1/nodes", body).document
    assert [t["key"] for t in made["spec"]["taints"]] == [
        "example.test/x",
        "node.kubernetes.io/not-ready",
    ]
    path = f"/api/v1/nodes/{site.unique}"
    found = site.ask("PATCH", path, {"spec": {"taints": [taint]}}, kind=MERGE).document
    assert [t["key"] for t in found["spec"]["taints"]] == ["example.test/x"]
    site.ask("DELETE", path)


def amounts_of_a_device_are_whole_numbers(site: Site) -> None:
    site.ask("POST", "/api/v1/nodes", {"metadata": {"name": site.unique}})
    path = f"/api/v1/nodes/{site.unique}/status"
    for amount, text in (
        ("8x", "quantities must match the regular expression"),
        ("1500m", "must be an integer"),
    ):
        patch = {"status": {"capacity": {"nvidia.com/gpu": amount}}}
        reply = site.ask("PATCH", path, patch, kind=MERGE)
        assert reply.code in (400, 422), amount
        assert text in reply.document["message"]
    site.ask("DELETE", f"/api/v1/nodes/{site.unique}")


def a_pod_limits_what_it_requests_of_a_device(site: Site) -> None:
    make_account(site)
    unequal = pod(site, "p")
    resources = {"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}}
    unequal["spec"]["containers"][0]["resources"] = resources
    reply = create(site, "pods", unequal)
    assert reply.code == 422
    assert "must be equal to nvidia.com/gpu limit of 2" in reply.document["message"]


def a_port_has_a_short_plain_name(site: Site) -> None:
    for name, text in (
        ("http-provisioner", "must be no more than 15 characters"),
        ("Http", "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        ("a--b", "must not contain consecutive hyphens"),
        ("-a", "must not begin or end with a hyphen"),
        ("80", "must contain at least one letter (a-z)"),
    ):
        obj = daemon_set(site)
        port = {"name": name, "containerPort": 8080}
        obj["spec"]["template"]["spec"]["containers"][0]["ports"] = [port]
        reply = create(site, "daemonsets", obj, "apis/apps/v1")
        assert (reply.code, reply.document["reason"]) == (422, "Invalid")
        (cause,) = reply.document["details"]["causes"]
        assert cause["field"] == "spec.template.spec.containers[0].ports[0].name"
        assert cause["message"] == f'Invalid value: "{name}": {text}'


def a_mount_needs_its_volume_and_a_place_of_its_own(site: Site) -> None:
    obj = daemon_set(site)
    spec = obj["spec"]["template"]["spec"]
    spec["volumes"] = [{"name": "a", "emptyDir": {}}]
    mounts = [{"name": name, "mountPath": "/x"} for name in ("a", "b")]
    spec["containers"][0]["volumeMounts"] = mounts
    reply = create(site, "daemonsets", obj, "apis/apps/v1")
    causes = {c["field"]: c["message"] for c in reply.document["details"]["causes"]}
    where = "spec.template.spec.containers[0].volumeMounts[1]"
    assert causes == {
        f"{where}.name": 'Not found: "b"',
        f"{where}.mountPath": 'Invalid value: "/x": must be unique',
    }


def a_new_pod_is_pending_with_its_defaults(site: Site) -> None:
    make_account(site)
    wanted = pod(site, "p")
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "2"}}
    wanted["status"] = {"phase": "Running"}
    made = create(site, "pods", wanted).document
    assert made["status"]["phase"] == "Pending"
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "2"}
    spec = made["spec"]
    assert (spec["restartPolicy"], spec["schedulerName"]) == ("Always", "default-scheduler")


def ready_pods(site: Site, names: Sequence[str]) -> None:
    make_account(site)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in names:
        assert create(site, "pods", pod(site, name, site.unique, app="gpu")).code == 201
        path = core(site, "pods", f"{name}/status")
        assert site.ask("PATCH", path, {"status": ready}, kind=MERGE).code == 200


def budget(site: Site) -> Object:
    selector = {"matchLabels": {"app": "gpu"}}
    metadata = {"name": "b", "namespace": site.namespace}
    return {"metadata": metadata, "spec": {"minAvailable": 1, "selector": selector}}


def evict(site: Site, name: str, **query: str) -> Reply:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return site.ask("POST", core(site, "pods", f"{name}/eviction"), body, **query)


def an_eviction_waits_for_a_budget_that_nobody_counted(site: Site) -> None:
    ready_pods(site, ("p",))
    create(site, "poddisruptionbudgets", budget(site), "apis/policy/v1")
    path = core(site, "poddisruptionbudgets", "b", "apis/policy/v1")
    site.ask("PATCH", f"{path}/status", {"status": {"observedGeneration": 0}}, kind=MERGE)
    reply = evict(site, "p")
    if reply.code == 201:
        return  # A controller was quicker; the fact is about a cluster without one.
    assert (reply.code, reply.document["reason"]) == (429, "TooManyRequests")


def a_budget_lets_one_go_and_holds_the_other(site: Site) -> None:
    ready_pods(site, ("p", "q"))
    create(site, "poddisruptionbudgets", budget(site), "apis/policy/v1")
    path = core(site, "poddisruptionbudgets", "b", "apis/policy/v1")

    def is_counted() -> bool:
        status = site.ask("GET", path).document.get("status") or {}
        return bool(status.get("disruptionsAllowed") == 1)

    eventually(is_counted, site.settle)
    reply = evict(site, "p")
    assert (reply.code, reply.document["status"]) == (201, "Success")

    def is_counted_again() -> bool:
        return bool(site.ask("GET", path).document["status"]["currentHealthy"] == 1)

    eventually(is_counted_again, site.settle)
    reply = evict(site, "q")
    assert (reply.code, reply.document["reason"]) == (429, "TooManyRequests")
    assert reply.document["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    (cause,) = reply.document["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == ("The disruption budget b needs 1 healthy pods and has 1 currently")
    assert "retry-after" not in reply.headers


def two_budgets_of_one_pod_get_500(site: Site) -> None:
    ready_pods(site, ("p",))
    for name in ("b", "c"):
        wanted = budget(site)
        wanted["metadata"]["name"] = name
        create(site, "poddisruptionbudgets", wanted, "apis/policy/v1")
    reply = evict(site, "p")
    assert reply.code == 500
    assert "more than one PodDisruptionBudget" in reply.document["message"]


def a_dry_run_of_an_eviction_evicts_nothing(site: Site) -> None:
    ready_pods(site, ("p",))
    assert evict(site, "p", dryRun="All").code == 201
    assert "deletionTimestamp" not in site.ask("GET", core(site, "pods", "p")).document["metadata"]


def an_eviction_of_nothing_gets_404(site: Site) -> None:
    reply = evict(site, "none")
    assert (reply.code, reply.document["message"]) == (404, 'pods "none" not found')


def a_pod_without_a_node_goes_at_once(site: Site) -> None:
    make_account(site)
    create(site, "pods", pod(site, "p"))
    site.ask("DELETE", core(site, "pods", "p"))
    assert site.ask("GET", core(site, "pods", "p")).code == 404


def a_pod_on_a_node_waits_for_its_kubelet(site: Site) -> None:
    make_account(site)
    patient = pod(site, "p", site.unique)
    patient["spec"]["terminationGracePeriodSeconds"] = 30
    create(site, "pods", patient)
    running = {"status": {"phase": "Running"}}
    site.ask("PATCH", core(site, "pods", "p/status"), running, kind=MERGE)
    site.ask("DELETE", core(site, "pods", "p"))
    found = site.ask("GET", core(site, "pods", "p")).document
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    site.ask("DELETE", core(site, "pods", "p"), {"gracePeriodSeconds": 0})
    assert site.ask("GET", core(site, "pods", "p")).code == 404


FACTS: tuple[Callable[[Site], None], ...] = (
    a_token_that_nobody_knows_gets_401,
    who_may_do_nothing_gets_403_with_user_verb_and_resource,
    at_cluster_scope_a_403_says_so,
    what_is_not_there_gets_404_with_its_name,
    a_kind_that_is_not_served_gets_404_without_a_name,
    what_is_there_cannot_be_created,
    an_update_from_an_older_object_gets_409,
    a_patch_from_an_older_object_gets_409,
    a_delete_that_means_another_object_gets_409,
    a_bad_name_gets_422_with_field_and_reason,
    a_page_that_is_too_old_gets_410,
    a_token_lives_ten_minutes_at_least,
    a_patch_of_an_unknown_type_gets_415,
    a_strict_create_refuses_an_unknown_field,
    a_lax_create_drops_an_unknown_field_with_a_warning,
    a_strict_patch_refuses_an_unknown_field_as_invalid,
    a_create_of_a_wrong_type_is_a_bad_request,
    an_apply_of_a_wrong_type_gets_500_without_a_reason,
    an_object_of_another_name_than_the_path_is_refused,
    an_apply_needs_a_field_manager,
    an_apply_that_creates_says_201_and_the_next_200,
    an_apply_owns_exactly_what_it_names,
    a_conflict_lists_its_causes,
    a_conflict_with_an_update_names_its_time_and_client,
    a_status_is_applied_through_its_subresource_alone,
    the_selector_of_a_daemon_set_stays,
    the_role_of_a_binding_stays,
    the_handler_of_a_runtime_class_stays,
    provisioner_and_parameters_of_a_storage_class_stay,
    how_a_csi_driver_attaches_and_lives_stays,
    the_spec_of_a_pod_stays,
    a_secret_that_is_immutable_stays,
    what_a_secret_is_given_as_text_is_kept_encoded,
    a_custom_kind_is_served_once_it_is_defined,
    a_definition_says_that_it_is_established,
    a_custom_object_out_of_bounds_gets_422,
    a_custom_object_of_a_wrong_type_gets_422_by_create_and_500_by_apply,
    an_unknown_field_of_a_custom_object_is_pruned_or_refused,
    the_status_of_a_custom_object_is_written_apart,
    a_strategic_patch_of_a_custom_object_gets_415,
    the_objects_of_a_kind_go_with_its_definition,
    labels_are_selected_by_equality_sets_and_presence,
    a_selector_that_is_none_gets_400,
    pods_are_selected_by_node_and_phase,
    a_field_that_cannot_be_selected_gets_400,
    a_list_comes_in_pages,
    a_collection_is_deleted_by_label,
    a_name_is_made_up_from_a_prefix,
    a_dry_run_keeps_nothing,
    the_generation_rises_with_the_spec_alone,
    a_delete_answers_with_success_and_what_went,
    a_deleted_object_with_a_finalizer_takes_no_new_one,
    what_an_object_owns_goes_with_it,
    a_namespace_that_ends_takes_nothing_new,
    a_new_node_is_tainted_not_ready_whatever_it_says,
    amounts_of_a_device_are_whole_numbers,
    a_pod_limits_what_it_requests_of_a_device,
    a_port_has_a_short_plain_name,
    a_mount_needs_its_volume_and_a_place_of_its_own,
    a_new_pod_is_pending_with_its_defaults,
    an_eviction_waits_for_a_budget_that_nobody_counted,
    a_budget_lets_one_go_and_holds_the_other,
    two_budgets_of_one_pod_get_500,
    a_dry_run_of_an_eviction_evicts_nothing,
    an_eviction_of_nothing_gets_404,
    a_pod_without_a_node_goes_at_once,
    a_pod_on_a_node_waits_for_its_kubelet,
)
