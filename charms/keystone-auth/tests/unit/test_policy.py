# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Old policies: read without guessing, said in RBAC or not at all."""

import json
from typing import Any

import pytest
import yaml

from identity import Naming
from policy import parse_policy
from policyrules import Known, to_rbac

NAMING = Naming("keystone:", "keystone:")
LAB, BIO, GROUP = "a" * 32, "b" * 32, "c" * 32
MATCH = "match: [{type: role, values: [x]}]"
PODS = "{verbs: [get], resources: [pods]}"
ROLES = ("member", "reader", "x")
KNOWN = Known({LAB: "gpu-lab", BIO: "bio"}, {GROUP: "staff"}, ROLES)


def v1(match: list[Any], **resource: Any) -> dict[str, Any]:
    wanted = {"verbs": ["list"], "resources": ["pods"], "version": "", "namespace": "lab"}
    return {"resource": {**wanted, **resource}, "match": match}


def rule(kind: str, *values: str) -> dict[str, Any]:
    return {"type": kind, "values": list(values)}


def imported(*entries: Any, known: Known = KNOWN) -> tuple[list[dict[str, Any]], list[str]]:
    found = to_rbac(parse_policy(json.dumps(entries)), NAMING, known)
    return list(found.objects), list(found.notes)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("$PROJECT_ID", "$PROJECT_ID"),
        ("${PROJECT_ID}", "${PROJECT_ID}"),
        ("{{ project_id }}", "{{ project_id }}"),
        ("lab-$NAME-x", "$NAME"),
    ],
)
def test_k01_a_variable_that_nobody_filled_in_is_named_with_its_entry(
    value: str, shown: str
) -> None:
    policy = json.dumps([v1([rule("project", value)])])
    with pytest.raises(ValueError, match="policy entry 0 contains unrendered ") as caught:
        parse_policy(policy)
    assert str(caught.value).endswith(shown)


def test_k01_the_variable_of_a_later_entry_and_of_another_form_is_found() -> None:
    good = v1([rule("project", LAB)])
    second = {
        "users": {"projects": ["$P"], "roles": ["member"]},
        "resource_permissions": {"*/pods": ["get"]},
    }
    with pytest.raises(ValueError, match="policy entry 1 contains unrendered"):
        parse_policy(json.dumps([good, second]))


def test_k01_the_policy_as_it_was_found() -> None:
    match = "match: [{type: project, values: [$PROJECT_ID]}]"
    text = f"[{{resource: {{verbs: [list], resources: [pods]}}, {match}}}]"
    with pytest.raises(ValueError, match=r"policy entry 0 contains unrendered \$PROJECT_ID"):
        parse_policy(text)


def test_a_role_on_a_project_becomes_a_binding_of_its_group() -> None:
    objects, notes = imported(v1([rule("project", "gpu-lab"), rule("role", "member")]))
    role, binding = objects
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "lab")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert binding["subjects"][0]["name"] == f"keystone:project:{LAB}:role:member"
    assert notes == []


def test_the_key_version_is_the_group_of_the_api_and_subresources_stay() -> None:
    objects, _ = imported(
        v1([rule("project", LAB)], version="apps", resources=["deployments/scale"], namespace="*")
    )
    assert objects[0]["kind"] == "ClusterRole"
    assert objects[0]["rules"][0]["apiGroups"] == ["apps"]
    assert objects[0]["rules"][0]["resources"] == ["deployments/scale"]


def test_the_second_form_allowed_more_than_it_said_and_the_import_does_not() -> None:
    entry = {
        "users": {"projects": ["gpu-lab", "bio"], "roles": ["member"]},
        "resource_permissions": {"default/pods": ["create"]},
        "nonresource_permissions": {"/healthz": ["get"]},
    }
    objects, notes = imported(entry)
    assert objects[0]["rules"][0]["resources"] == ["pods"]
    assert objects[2]["rules"] == [{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]
    assert len(objects[1]["subjects"]) == 2
    assert "ignored API group and subresource" in notes[0]


def test_a_group_is_bound_by_its_id() -> None:
    objects, _ = imported(v1([rule("group", "staff")]))
    assert objects[1]["subjects"][0]["name"] == f"keystone:group:{GROUP}"


@pytest.mark.parametrize(
    ("match", "note"),
    [
        ([rule("role", "a"), rule("role", "b"), rule("project", LAB)], "several roles at once"),
        ([rule("role", "member")], "a role on any project; name the projects"),
        ([rule("user", "alice")], "has no domain: write DOMAIN:NAME"),
        ([rule("user", "campus:alice"), rule("project", LAB)], "a user and something else"),
        ([rule("group", "staff"), rule("role", "member")], "a group and something else"),
        ([rule("project", "GPU-Lab")], "Keystone has no project 'GPU-Lab', it has gpu-lab"),
        ([rule("group", "nobody")], "Keystone has no group 'nobody'"),
    ],
    ids=range(7),
)
def test_k03_what_rbac_cannot_say_is_reported_and_never_widened(match: Any, note: str) -> None:
    objects, notes = imported(v1(match))
    assert objects == []
    assert note in notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no list"),
        ("{", "neither JSON nor YAML"),
        ("{}", "no list"),
        ("data: {}", "without the key policies"),
        ("[1]", "entry 0 is no rule"),
        ("[{match: []}]", "allows nothing"),
        ("[{resource: {verbs: [get], resources: [pods]}}]", "has no match"),
        (f"[{{resource: {{verbs: [get]}}, {MATCH}}}]", "resources is missing"),
        (f"[{{resource: {PODS}, match: [{{type: roles, values: [x]}}]}}]", "unknown match type"),
        (f"[{{resource: {{verb: [get], resources: [pods]}}, {MATCH}}}]", "unknown key 'verb'"),
        (f"[{{resource: {{verbs: [], resources: [pods]}}, {MATCH}}}]", "list of words"),
        ("[{users: {}, resource_permissions: {'*/pods': [get]}}]", "neither projects nor roles"),
        ("[{users: {roles: [a]}}]", "allows nothing"),
        ("[{users: {roles: [a]}, resource_permissions: {'!kube-system/pods': [get]}}]", "all but"),
        ("[{users: {roles: [a]}, resource_permissions: {pods: [get]}}]", "no namespace/resource"),
        (f"[{{resource: {PODS}, 1: 2, x: y, {MATCH}}}]", "unknown key '1'"),
        (f"[{{resource: {PODS}, 2020-01-01: 2, {MATCH}}}]", "unknown key '2020-01-01'"),
        ("[{users: {roles: [a], 1: x}, x: y}]", "unknown key 'x'"),
        (f"[{{resource: {{version: {'a/' * 99}v1}}, {MATCH}}}]", "'(a/){20}': is the API group$"),
    ],
    ids=range(19),
)  # fmt: skip
def test_what_is_no_policy_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_policy(text)


def test_the_policy_may_come_in_its_config_map() -> None:
    inner = json.dumps([v1([rule("project", LAB)])])
    config_map = {"kind": "ConfigMap", "data": {"policies": inner}}
    assert len(parse_policy(yaml.safe_dump(config_map))) == 1


def test_lists_in_keys_of_the_second_form_are_taken_apart() -> None:
    entry = {
        "users": {"projects": [LAB]},
        "resource_permissions": {"['a','b']/['pods','services']": ["get"]},
    }
    objects, _ = imported(entry)
    places = [(one["metadata"]["namespace"], one["rules"][0]["resources"]) for one in objects[::2]]
    assert places == [
        ("a", ["pods"]),
        ("a", ["services"]),
        ("b", ["pods"]),
        ("b", ["services"]),
    ]


@pytest.mark.parametrize(
    "left",
    [
        "${PROJECT:-x}",
        "$(PROJECT)",
        "%PROJECT_ID%",
        "@PROJECT_ID@",
        "<PROJECT_ID>",
        "<project-id>",
        "{project_id}",
        "{% if lab %}",
    ],
)
def test_k01_a_variable_of_any_templating_is_named(left: str) -> None:
    rule = {"resource": {"verbs": ["list"], "resources": ["pods"]}}
    rules = [rule | {"match": [{"type": "project", "values": ["a", left]}]}]
    with pytest.raises(ValueError, match="policy entry 0 contains unrendered") as caught:
        parse_policy(json.dumps(rules))
    assert str(caught.value).endswith(left)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (v1([rule("project", "a"), rule("project", "b")]), "two matches of project at once"),
        (v1([rule("user", "a:x"), rule("user", "a:y")]), "two matches of user at once"),
        ({"users": {"projects": ["a"], "groups": ["x"]}}, "unknown key 'groups' in users"),
        ({"users": {"projects": ["a"]}, "match": [rule("role", "x")]}, "unknown key 'match'"),
        ({"users": {"projects": ["a"]}, "resource_permission": {}}, "'resource_permission'"),
    ],
    ids=range(5),
)
def test_a_condition_that_would_get_lost_is_refused_and_never_widened(
    entry: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"policy entry 0: .*{message}"):
        parse_policy(json.dumps([entry]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"namespace": ["a", "b"]}, "is no namespace, name one, or \\* for all"),
        ({"namespace": "Demo Project"}, "'Demo Project' is no namespace"),
        ({"namespace": "team-*"}, "'team-\\*' is no namespace"),
        ({"version": "v1"}, "version 'v1': is the API group, write ''"),
        ({"version": "apps/v1"}, "version 'apps/v1': is the API group, write 'apps'"),
        ({"version": "batch/v1beta1"}, "write 'batch'"),
        ({"version": 1}, "version '1' is no API group"),
        ({"verbs": ["GET"]}, "'GET' is no verb, as in get"),
        ({"verbs": None}, "verbs is missing"),
        ({"resources": ["Pods"]}, "'Pods' is no resource, as in pods or pods/log"),
        ({"resources": ["pods/"]}, "'pods/' is no resource"),
        ({"resources": ["*/scale"]}, "'\\*/scale' is no resource"),
        ({"resources": ["pods/*"]}, "'pods/\\*': RBAC has no word for it, name the subresources"),
    ],
    ids=range(13),
)
def test_what_the_old_webhook_never_matched_is_refused(
    change: dict[str, Any], message: str
) -> None:
    entry = v1([rule("project", LAB)])
    entry["resource"] |= change
    with pytest.raises(ValueError, match=message):
        parse_policy(json.dumps([entry]))


@pytest.mark.parametrize("path", ["healthz", "/api*/x", "", "/a b"])
def test_a_path_that_rbac_has_no_word_for_is_refused(path: str) -> None:
    entry = {"nonresource": {"verbs": ["get"], "path": path}, "match": [rule("project", LAB)]}
    with pytest.raises(ValueError, match="is no path"):
        parse_policy(json.dumps([entry]))


@pytest.mark.parametrize("path", ["*", "/healthz", "/healthz/*"])
def test_a_path_that_rbac_has_is_kept(path: str) -> None:
    entry = {"nonresource": {"verbs": ["get"], "path": path}, "match": [rule("project", LAB)]}
    objects, _ = imported(entry)
    assert objects[0]["rules"] == [{"nonResourceURLs": [path], "verbs": ["get"]}]


@pytest.mark.parametrize(
    ("permissions", "message"),
    [
        ({"resource_permissions": {"default/pods/exec": ["create"]}}, "subresources were never"),
        ({"nonresource_permissions": {"/healthz/*": ["get"]}}, "compared paths whole"),
        ({"nonresource_permissions": {"*": ["get"]}}, "compared paths whole"),
    ],
    ids=["subresource", "paths below", "every path"],
)
def test_what_the_second_form_passed_over_is_not_granted(permissions: Any, message: str) -> None:
    entry = {"users": {"projects": [LAB], "roles": ["member"]}, **permissions}
    with pytest.raises(ValueError, match=f"policy entry 0: .*{message}"):
        parse_policy(json.dumps([entry]))


def test_case_and_blanks_in_keys_of_the_second_form_do_not_count() -> None:
    users = {"projects": [LAB], "roles": ["member"]}
    keys = {" Default / ['podTemplates', 'services'] ": ["get"]}
    objects, _ = imported({"users": users, "resource_permissions": keys})
    places = [(one["metadata"]["namespace"], one["rules"][0]["resources"]) for one in objects[::2]]
    assert places == [("default", ["podtemplates"]), ("default", ["services"])]


@pytest.mark.parametrize("kind", ["user", "group", "project", "role"])
def test_a_match_for_anybody_is_reported_and_binds_nobody(kind: str) -> None:
    others = [rule("project", LAB)] if kind == "role" else []
    objects, notes = imported(v1([rule(kind, "*"), *others]))
    assert (objects, notes) == ([], [f"entry 0: '*' is every {kind}; name those that are meant"])


def test_nothing_from_a_rule_on_at_which_the_old_webhook_broke_off_is_granted() -> None:
    before, behind = v1([rule("project", LAB)]), v1([rule("project", BIO)])
    broken = {"resource": {"verbs": ["get"], "resources": ["pods"]}}
    broken |= {"nonresource": {"verbs": ["get"], "path": "/healthz"}}
    broken["match"] = [rule("project", LAB)]
    objects, notes = imported(before, broken, behind)
    assert [one["metadata"]["name"] for one in objects[::2]] == ["imported-0-0", "imported-1-0"]
    assert objects[2]["rules"] == [{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]
    assert notes == [
        (
            "entry 1: has no version and namespace: the old webhook broke off here; write it "
            "(version '' is the core API group, namespace * is all)"
        ),
        "entry 2: is behind entry 1, where the old webhook broke off; mend that first",
    ]


def test_what_is_in_no_namespace_alone_is_not_made_all_namespaces() -> None:
    objects, notes = imported(v1([rule("project", LAB)], namespace=""))
    assert objects == []
    assert notes[0].startswith("entry 0: namespace '' is for what is in none")


@pytest.mark.parametrize(
    "key",
    [
        "['a',' b ']/pods",
        "['a'/pods",
        "['a'] /x/pods",
        "['a' 'b']/pods",
        "['a', 1]/pods",
        "['a','*']/pods",
        "['a',]/pods",
        "[]/pods",
        "*/['pods'",
        "\x1cdefault/pods",
    ],
)
def test_a_key_that_the_old_webhook_passed_over_grants_nothing(key: str) -> None:
    users = {"projects": [LAB], "roles": ["member"]}
    with pytest.raises(ValueError, match="policy entry 0"):
        parse_policy(json.dumps([{"users": users, "resource_permissions": {key: ["get"]}}]))


@pytest.mark.parametrize(
    "entry",
    [
        v1([{"type": "project", "values": LAB}]),
        v1([rule("project", LAB)], verbs="get"),
        v1([rule("project", LAB)], resources="pods"),
        {"nonresource": {"verbs": ["get"], "path": ["/a"]}, "match": [rule("project", LAB)]},
        {"users": {"projects": LAB}, "resource_permissions": {"a/pods": ["get"]}},
        {"users": {"projects": [LAB], "roles": {}}, "resource_permissions": {"a/pods": ["get"]}},
        {"users": {"projects": [LAB]}, "resource_permissions": {"a/pods": "get"}},
    ],
    ids=range(7),
)
def test_a_word_where_the_old_webhook_wanted_a_list_is_refused_as_it_was(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"policy entry 0: .*(write|list of words)"):
        parse_policy(json.dumps([entry]))


def test_case_of_verbs_counts_in_the_first_form_alone() -> None:
    entry = {"users": {"projects": [LAB]}, "resource_permissions": {"a/pods": ["GET", "List"]}}
    objects, _ = imported(entry)
    assert objects[0]["rules"][0]["verbs"] == ["get", "list"]


def test_the_id_of_a_group_was_never_met_and_is_not_bound() -> None:
    objects, notes = imported(v1([rule("group", GROUP)]))
    assert objects == []
    assert notes[0].endswith("is an id, which was never met; write staff")


def test_the_id_of_a_project_was_a_group_of_all_its_people() -> None:
    objects, _ = imported(v1([rule("group", LAB)]))
    assert [one["name"] for one in objects[1]["subjects"]] == [f"keystone:project:{LAB}"]


def test_a_name_that_several_have_means_all_of_them_as_it_did() -> None:
    known = Known({LAB: "lab", BIO: "lab"}, {GROUP: "staff", "d" * 32: "staff"}, ROLES)
    objects, notes = imported(
        v1([rule("project", "lab"), rule("role", "member")]),
        v1([rule("group", "staff")]),
        known=known,
    )
    names = [[one["name"] for one in binding["subjects"]] for binding in objects[1::2]]
    assert names == [
        [f"keystone:project:{one}:role:member" for one in (LAB, BIO)],
        [f"keystone:group:{one}" for one in (GROUP, "d" * 32)],
    ]
    assert "project 'lab' is 2 projects, as it was" in notes[0]


def test_values_that_mean_nobody_are_named_and_the_others_are_kept() -> None:
    match = [rule("project", "nowhere", "bio", "LAB"), rule("role", "member")]
    objects, notes = imported(v1(match))
    assert [one["name"] for one in objects[1]["subjects"]] == [
        f"keystone:project:{BIO}:role:member"
    ]
    assert notes == [
        "entry 0: Keystone has no project 'nowhere'",
        "entry 0: Keystone has no project 'LAB'",
    ]


def test_k03_a_role_that_keystone_lacks_binds_nobody_and_is_named_with_the_one_it_has() -> None:
    objects, notes = imported(v1([rule("project", "gpu-lab"), rule("role", "Member", "reader")]))
    subjects = [one["subjects"] for one in objects if one["kind"] == "RoleBinding"]
    assert [[one["name"] for one in found] for found in subjects] == [
        [f"keystone:project:{LAB}:role:reader"]
    ]
    assert notes == ["entry 0: Keystone has no role 'Member' but member (names are exact)"]
    second = {
        "users": {"projects": ["gpu-lab"], "roles": ["k8s-viewers"]},
        "resource_permissions": {"*/pods": ["get"]},
    }
    assert imported(second) == (
        [],
        ["entry 0: Keystone has no role 'k8s-viewers', it has member, reader, x"],
    )


def test_users_are_named_as_tokens_name_them_and_none_is_another() -> None:
    objects, notes = imported(v1([rule("user", "campus:a%25b", "system:serviceaccount:a:b")]))
    assert [one["name"] for one in objects[1]["subjects"]] == ["keystone:campus:a%2525b"]
    assert notes == [
        "entry 0: user 'system:serviceaccount:a:b' is Kubernetes' own, bind it by hand",
        "entry 0: user 'campus:a%25b' is taken as a%25b of domain campus",
    ]


def test_a_role_that_is_there_twice_is_one() -> None:
    users = {"projects": [LAB], "roles": ["member", "member"]}
    objects, _ = imported({"users": users, "resource_permissions": {"a/pods": ["get"]}})
    assert objects[1]["subjects"][0]["name"] == f"keystone:project:{LAB}:role:member"


def test_a_match_that_is_no_list_is_said_so() -> None:
    policy = {"resource": v1([])["resource"], "match": rule("project", LAB)}
    with pytest.raises(ValueError, match="policy entry 0: match is no list"):
        parse_policy(json.dumps([policy]))


def test_a_rule_for_everything_is_remarked() -> None:
    wide = {"verbs": ["*"], "resources": ["*"], "version": "*", "namespace": "*"}
    _, notes = imported({"resource": wide, "match": [rule("project", LAB)]})
    assert notes == ["entry 0: allows everything in the whole cluster, is that meant?"]


def test_the_map_for_sync_is_not_taken_for_the_policy() -> None:
    with pytest.raises(ValueError, match="the one for sync, see project-selector and role-map"):
        parse_policy("data: {syncConfig: 'namespace-format: n-%i'}")


def test_json_with_tabs_is_read_and_a_key_that_is_there_twice_is_not() -> None:
    text = json.dumps([v1([rule("project", LAB)])], indent="\t")
    assert len(parse_policy(text)) == 1
    with pytest.raises(ValueError, match="'match' is there twice"):
        parse_policy(f"[{{resource: {PODS}, {MATCH}, {MATCH}}}]")


def test_a_text_that_swells_when_it_is_read_is_refused() -> None:
    swelling = "- &a [x, x]\n- &b [*a, *a]\n- [*b, *b]"
    with pytest.raises(ValueError, match="YAML alias"):
        parse_policy(swelling)
