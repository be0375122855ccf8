# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which projects are served, what their namespaces are called, and what becomes of them."""

from typing import Any

import pytest

from charmkit.errors import ConfigError, ConflictError, InterventionError, NotReadyError
from identity import Naming
from objects import Rules, render_all
from projects import (
    Project,
    check_template,
    namespace_name,
    parse_ids,
    parse_selector,
)
from quota import parse_quota
from rolemap import find_unknown, foreign_targets, parse_role_map
from spaces import DOMAIN, NAME, ORPHANED, PROJECT, Space, State, arrange

LAB = Project("a" * 32, "GPU Lab", "campus", tags=frozenset(["k8s"]))
BIO = Project("b" * 32, "bio", "campus", tags=frozenset(["k8s"]))
TEMPLATE, TODAY = "{name}-{id8}", "2026-11-30"


@pytest.mark.parametrize(
    ("name", "template", "expected"),
    [
        ("gpu-lab", TEMPLATE, "gpu-lab-aaaaaaaa"),
        ("GPU Lab (2026) / Müller", TEMPLATE, "gpu-lab-2026-m-ller-aaaaaaaa"),
        ("日本", TEMPLATE, "project-aaaaaaaa"),
        ("2d-materials", TEMPLATE, "p-2d-materials-aaaaaaaa"),
        ("x" * 255, TEMPLATE, "x" * 54 + "-aaaaaaaa"),
        ("kube-system", TEMPLATE, "kube-system-aaaaaaaa"),
        ("lab", "{domain}-{name}-{id}", "campus-lab-" + "a" * 32),
        ("y" * 100, "{domain}-{name}-{id}", "campus-" + "y" * 23 + "-" + "a" * 32),
        ("lab", "k8s-{id}", "k8s-" + "a" * 32),
    ],
    ids=range(9),
)
def test_any_name_of_a_project_makes_a_name_of_a_namespace(
    name: str, template: str, expected: str
) -> None:
    made = namespace_name(template, Project("a" * 32, name, "campus"))
    assert made == expected
    assert len(made) <= 63


@pytest.mark.parametrize(
    "template",
    [
        "",
        "{name}",
        "kube-{id8}",
        "{title}-{id8}",
        "{name}-{id8",
        "{name}_{id8}",
        "-{id}",
        "{id}-" + "x" * 60,
    ],
)
def test_a_template_that_mixes_projects_up_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="'"):
        check_template(template)


@pytest.mark.parametrize(
    "text", ["", "k8s", "tag=", "label=x", "tag=k8s/x", "tag=a,b", "ids=", "ids=lab"]
)
def test_what_chooses_no_projects_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"as in|comma|no id"):
        parse_selector(text)


def test_a_selector_takes_by_tag_domain_or_id_but_never_what_is_excluded() -> None:
    other = Project("c" * 32, "x", "other", tags=frozenset(["k8s-test"]))
    chosen = [
        [one.name for one in (LAB, BIO, other) if parse_selector(text).takes(one)]
        for text in ("tag=k8s", "domain=campus", f"ids={'b' * 32}")
    ]
    assert chosen == [["GPU Lab", "bio"], ["GPU Lab", "bio"], ["bio"]]


@pytest.mark.parametrize("text", ["tag=$TAG", "tag=k8s-${SITE}", "domain={{ d }}", "ids=$(ID)"])
def test_k01_a_selector_with_a_variable_that_nobody_filled_in_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="contains unrendered "):
        parse_selector(text)


@pytest.mark.parametrize("text", ["gpu-lab", f"{'a' * 32}, bio", "A" * 32])
def test_k03_a_name_where_an_id_is_needed_is_refused_with_the_way_to_the_id(text: str) -> None:
    with pytest.raises(ValueError, match="is no id but a name; openstack project show"):
        parse_ids(text)


def test_k03_roles_are_compared_exactly_and_those_that_keystone_has_are_shown() -> None:
    have = ("admin", "member", "reader")
    assert find_unknown(["member", "reader"], have) == ""
    for role in ("Member", "_member_", "MEMBER"):
        assert find_unknown([role], have) == (
            f"Keystone has no role '{role}' but member (names are exact)"
        )
    assert find_unknown(["staff"], have) == (
        "Keystone has no role 'staff', it has admin, member, reader"
    )
    both = ("Member", "_member_")
    assert "but Member and _member_" in find_unknown(["member"], both)


@pytest.mark.parametrize(
    "text",
    ["", "member", "member=", "=edit", "member=cluster-admin", "member=system:node",
     "member=kubeadm:cluster-admins", "member=a b", "member=edit,member=view"],
)  # fmt: skip
def test_a_role_map_that_makes_administrators_or_nobody_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no pair|administrators|twice|no role"):
        parse_role_map(text)


def test_a_role_map_names_roles_of_ours_and_of_the_site() -> None:
    roles = parse_role_map("member=edit, reader=reader\nstaff = edit")
    assert roles == {"member": "edit", "reader": "reader", "staff": "edit"}
    assert foreign_targets(roles) == ("edit",)


def namespace(name: str, project: str = "", **labels: str) -> dict[str, Any]:
    ours = {PROJECT: project} if project else {}
    notes = {NAME: "GPU Lab", DOMAIN: "campus"} if project else {}
    return {"metadata": {"name": name, "labels": {**ours, **labels}, "annotations": notes}}


def shape(*args: Any, **kwargs: Any) -> list[tuple[str, State]]:
    layout = arrange(*args, today=TODAY, **kwargs)
    assert layout.problems == ()
    return [(space.name, space.state) for space in layout.spaces]


def test_a_renamed_project_keeps_its_namespace() -> None:
    renamed = Project(LAB.id, "Robotics", "campus")
    assert shape([renamed], [namespace("gpu-lab-aaaaaaaa", LAB.id)], TEMPLATE) == [
        ("gpu-lab-aaaaaaaa", State.OPEN)
    ]


def test_a_disabled_project_is_closed_and_an_enabled_one_open_again() -> None:
    there = [namespace("lab", LAB.id)]
    off = Project(LAB.id, "GPU Lab", "campus", enabled=False)
    assert shape([off], there, TEMPLATE) == [("lab", State.DISABLED)]
    assert shape([LAB], there, TEMPLATE) == [("lab", State.OPEN)]


def test_a_deleted_project_leaves_its_namespace_with_the_day_and_comes_back_to_it() -> None:
    there = [namespace("lab", LAB.id), namespace("bio", BIO.id)]
    layout = arrange([BIO], there, TEMPLATE, today=TODAY)
    assert [(one.name, one.state, one.since) for one in layout.spaces] == [
        ("lab", State.ORPHANED, TODAY),
        ("bio", State.OPEN, ""),
    ]
    marked = [namespace("lab", LAB.id, **{ORPHANED: "2026-01-01"}), there[1]]
    assert arrange([BIO], marked, TEMPLATE, today=TODAY).spaces[0].since == "2026-01-01"
    assert shape([LAB, BIO], marked, TEMPLATE)[0] == ("lab", State.OPEN)


@pytest.mark.parametrize("count", [2, 5, 40])
def test_a_keystone_that_suddenly_shows_nothing_closes_nothing(count: int) -> None:
    there = [namespace(f"n{number}", f"{number:032x}") for number in range(count)]
    with pytest.raises(
        InterventionError, match=f"{count} of {count} projects lost, nothing closed"
    ):
        arrange([], there, TEMPLATE, today=TODAY)
    forced = shape([], there, TEMPLATE, force=True)
    assert {state for _, state in forced} == {State.ORPHANED}


def test_most_projects_at_once_are_not_closed_but_a_few_are() -> None:
    there = [namespace(f"n{number}", f"{number:032x}") for number in range(10)]
    left = [Project(f"{number:032x}", "x", "campus") for number in range(7)]
    assert len(shape(left, there, TEMPLATE)) == 10
    with pytest.raises(InterventionError):
        arrange(left[:4], there, TEMPLATE, today=TODAY)


def test_somebody_elses_namespace_is_left_alone_and_the_others_are_served() -> None:
    there = [namespace("gpu-lab-aaaaaaaa")]
    layout = arrange([LAB, BIO], there, TEMPLATE, today=TODAY)
    assert [one.name for one in layout.spaces] == ["bio-bbbbbbbb"]
    assert isinstance(layout.problems[0], ConflictError)
    assert f"label it {PROJECT}={LAB.id} to use it" in str(layout.problems[0])


def test_a_namespace_that_is_going_is_waited_for() -> None:
    going = namespace("lab", LAB.id)
    going["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z"
    layout = arrange([LAB, BIO], [going], TEMPLATE, today=TODAY)
    assert [one.name for one in layout.spaces] == ["bio-bbbbbbbb"]
    assert isinstance(layout.problems[0], NotReadyError)


def test_two_namespaces_of_one_project_are_for_a_person_to_sort_out() -> None:
    there = [namespace("one", LAB.id), namespace("two", LAB.id)]
    layout = arrange([LAB], there, TEMPLATE, today=TODAY)
    assert str(layout.problems[0]).startswith("namespaces one, two: one project's")


@pytest.mark.parametrize("name", ["kube-system", "default"])
def test_a_namespace_of_the_cluster_is_nobodys_though_it_is_labelled(name: str) -> None:
    layout = arrange([LAB], [namespace(name, LAB.id)], TEMPLATE, today=TODAY)
    assert isinstance(layout.problems[0], InterventionError)


def test_a_template_that_leads_into_the_clusters_own_namespaces_is_refused() -> None:
    layout = arrange([LAB], [], "kube-{id}", today=TODAY)
    assert isinstance(layout.problems[0], ConfigError)


@pytest.mark.parametrize(
    ("quota", "limit"),
    [
        ("cpu=16,memory=64Gi", None),
        ("limits.cpu=16", {"cpu": "1"}),
        ("cpu=16,limits.memory=64Gi", {"memory": "4Gi"}),
        ("limits.cpu=16,limits.memory=64Gi", {"cpu": "1", "memory": "4Gi"}),
    ],
    ids=range(4),
)
def test_a_container_has_a_limit_it_did_not_ask_for_only_where_the_quota_needs_one(
    quota: str, limit: dict[str, str] | None
) -> None:
    """A default limit refuses every larger request that says no limit."""
    rules = Rules(
        application="keystone-auth",
        naming=Naming("keystone:", "keystone:"),
        roles=parse_role_map("member=member"),
        hard=True,
        default_quota=parse_quota(quota),
        container_defaults=parse_quota("cpu=1,memory=4Gi"),
        isolate=False,
        pod_security="baseline",
    )
    objects, _ = render_all(rules, [Space("lab", LAB, State.OPEN)], ())
    item = next(one for one in objects if one["kind"] == "LimitRange")["spec"]["limits"][0]
    assert item["defaultRequest"] == {"cpu": "1", "memory": "4Gi"}
    assert item.get("default") == limit


@pytest.mark.parametrize("name", ["on", "null", "12345678", "0x1f", "2026-01-01"])
def test_names_that_yaml_reads_as_something_else_stay_names(name: str) -> None:
    rules = Rules(
        application=name,
        naming=Naming("keystone:", "keystone:"),
        roles=parse_role_map("member=member"),
        hard=True,
        default_quota={"cpu": "32"},
        container_defaults={"cpu": "1"},
        isolate=True,
        pod_security="baseline",
    )
    objects, problems = render_all(rules, [Space(name, LAB, State.OPEN)], ())
    assert problems == []
    assert {one["metadata"].get("namespace", name) for one in objects} == {name}
    names = {kind: set[str]() for kind in ("Namespace", "ResourceQuota", "LimitRange")}
    for one in objects:
        names.setdefault(one["kind"], set()).add(one["metadata"]["name"])
    assert names["Namespace"] == names["LimitRange"] == {name}
    assert names["ResourceQuota"] == {name, f"{name}-not-given"}
