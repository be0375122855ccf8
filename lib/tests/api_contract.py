# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What every API server must do for `charmkit.kube.Kube`: facts, each a function of one gateway.

The functions know nothing of the stand-in, so the same table runs against a real API server: a
fixture there gives an administrator's `Kube` and a fresh namespace. `FACTS` lists them all;
`api_contract_requests` has those about raw requests.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from charmkit.errors import ConflictError, ForbiddenError, NotReadyError
from charmkit.kinds import (
    CLUSTER_ROLE,
    CONFIG_MAP,
    DAEMON_SET,
    NODE,
    POD,
    SERVICE_ACCOUNT,
)
from charmkit.kube import Kube
from charmkit.refusals import InvalidObjectError, MalformedRequestError, UnauthorizedError

PATIENCE = 30.0
"""A server heeds what became of accounts and roles a moment after it, and a token that it found
good for 10 s."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a raw request: HTTP status, JSON document, headers in lower case."""

    code: int
    document: dict[str, Any]
    headers: Mapping[str, str]


class Ask(Protocol):
    """Sends one raw request; without a token, as the administrator."""

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = "application/json",
        token: str | None = None,
        **query: str,
    ) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster to check.

    Attributes:
        admin: May do everything; its field manager is `charm-a`.
        namespace: Empty, for this fact alone.
        connect: Makes a gateway for another token, with the user name that goes with it.
        unique: Prefix of names at cluster scope.
        ask: Sends raw requests.
        visitor: Token of the user `visitor`, who may do nothing.
        settle: Lets the controllers have their turn, where they have none of their own.
        forget_history: Makes lists that were begun before too old to go on.
    """

    admin: Kube
    namespace: str
    connect: Callable[[str, str], Kube]
    unique: str
    ask: Ask
    visitor: str
    settle: Callable[[], None]
    forget_history: Callable[[], None]


def eventually(probe: Callable[[], bool], settle: Callable[[], None]) -> None:
    end = time.monotonic() + PATIENCE
    settle()
    while not probe():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
        settle()


def daemon_set(site: Site, **env: str) -> dict[str, Any]:
    labels = {"app": "plugin"}
    variables = [{"name": name, "value": value} for name, value in env.items()]
    container = {"name": "c", "image": "example.test/x:1", "env": variables}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": site.namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def config_map(site: Site, name: str = "m", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": site.namespace, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def variables_of(site: Site) -> dict[str, str]:
    found = site.admin.find(DAEMON_SET, "plugin", site.namespace)
    assert found is not None
    container = found["spec"]["template"]["spec"]["containers"][0]
    return {item["name"]: item["value"] for item in container.get("env", ())}


def a_missing_object_is_none(site: Site) -> None:
    assert site.admin.find(NODE, "no-such-node") is None
    assert site.admin.find(CONFIG_MAP, "none", site.namespace) is None


def an_apply_says_whether_it_changed_anything(site: Site) -> None:
    assert site.admin.apply(config_map(site, a="1"))
    assert not site.admin.apply(config_map(site, a="1"))
    assert site.admin.apply(config_map(site, a="2"))


def an_equal_apply_keeps_the_resource_version(site: Site) -> None:
    site.admin.apply(config_map(site, a="1"))
    first = site.admin.find(CONFIG_MAP, "m", site.namespace)
    site.admin.apply(config_map(site, a="1"))
    assert site.admin.find(CONFIG_MAP, "m", site.namespace) == first


def an_equal_apply_keeps_the_generation_and_what_was_filled_in(site: Site) -> None:
    """A controller may write the status of a DaemonSet in between."""
    site.admin.apply(daemon_set(site, A="1"))
    first = site.admin.find(DAEMON_SET, "plugin", site.namespace)
    site.admin.apply(daemon_set(site, A="1"))
    second = site.admin.find(DAEMON_SET, "plugin", site.namespace)
    assert first is not None
    assert second is not None
    assert second["spec"] == first["spec"]
    assert second["metadata"]["generation"] == first["metadata"]["generation"] == 1


def a_field_that_is_no_longer_applied_goes(site: Site) -> None:
    site.admin.apply(daemon_set(site, A="1", B="2"))
    site.admin.apply(daemon_set(site, A="1"))
    assert variables_of(site) == {"A": "1"}


def a_field_of_another_manager_stays(site: Site) -> None:
    site.admin.apply(config_map(site, a="1"))
    site.admin.apply(config_map(site, b="2"), manager="charm-b")
    site.admin.apply(config_map(site, a="3"))
    found = site.admin.find(CONFIG_MAP, "m", site.namespace)
    assert found is not None
    assert found["data"] == {"a": "3", "b": "2"}


def what_two_managers_share_goes_with_the_last(site: Site) -> None:
    site.admin.apply(config_map(site, a="1"))
    site.admin.apply(config_map(site, a="1"), manager="charm-b")
    site.admin.apply(config_map(site))
    found = site.admin.find(CONFIG_MAP, "m", site.namespace)
    assert found is not None
    assert found["data"] == {"a": "1"}
    site.admin.apply(config_map(site), manager="charm-b")
    found = site.admin.find(CONFIG_MAP, "m", site.namespace)
    assert found is not None
    assert not found.get("data")


def a_conflict_names_object_field_and_owner(site: Site) -> None:
    site.admin.apply(config_map(site, a="1"))
    with pytest.raises(ConflictError) as refusal:
        site.admin.apply(config_map(site, a="2"), manager="charm-b")
    text = str(refusal.value)
    assert text == (f'configmaps {site.namespace}/m: "charm-a" owns .data.a, let one of us go')


def force_takes_a_field_and_the_other_manager_then_conflicts(site: Site) -> None:
    site.admin.apply(config_map(site, a="1"))
    assert site.admin.apply(config_map(site, a="2"), manager="charm-b", force=True)
    with pytest.raises(ConflictError, match="charm-b"):
        site.admin.apply(config_map(site, a="1"))


def items_of_a_list_have_owners_of_their_own(site: Site) -> None:
    site.admin.apply(daemon_set(site, A="1"))
    other = daemon_set(site, B="2")
    site.admin.apply(other, manager="charm-b")
    assert variables_of(site) == {"A": "1", "B": "2"}
    site.admin.apply(daemon_set(site, A="9"))
    assert variables_of(site) == {"A": "9", "B": "2"}


def an_unknown_field_is_our_bug_and_no_outage(site: Site) -> None:
    typo = daemon_set(site)
    typo["spec"]["updateStrategie"] = {}
    with pytest.raises(MalformedRequestError, match=r"updateStrategie: field not declared"):
        site.admin.apply(typo)


def a_wrong_type_is_our_bug_and_no_outage(site: Site) -> None:
    wrong = daemon_set(site)
    wrong["spec"]["template"]["spec"]["containers"] = "x"
    with pytest.raises(MalformedRequestError, match=r"expected list, got &\{x\}"):
        site.admin.apply(wrong)


def a_bad_label_is_invalid_and_named(site: Site) -> None:
    bad = config_map(site)
    bad["metadata"]["labels"] = {"app": "-no-label-"}
    with pytest.raises(InvalidObjectError, match=r"refuses metadata\.labels: Invalid value"):
        site.admin.apply(bad)


def a_namespace_that_is_missing_means_waiting(site: Site) -> None:
    lost = config_map(site)
    lost["metadata"]["namespace"] = "no-such-namespace"
    with pytest.raises(NotReadyError, match="no-such-namespace"):
        site.admin.apply(lost)


def a_merge_patch_changes_and_removes(site: Site) -> None:
    site.admin.apply(config_map(site, a="1", b="2"))
    patch = {"data": {"a": None, "c": "3"}}
    patched = site.admin.patch(CONFIG_MAP, "m", patch, namespace=site.namespace)
    assert patched["data"] == {"b": "2", "c": "3"}


def a_patch_of_nothing_means_waiting(site: Site) -> None:
    with pytest.raises(NotReadyError, match="configmaps"):
        site.admin.patch(CONFIG_MAP, "none", {"data": {}}, namespace=site.namespace)


def a_list_selects_by_label_and_says_what_it_holds(site: Site) -> None:
    for name in ("b", "a", "c"):
        site.admin.apply(config_map(site, name))
    found = site.admin.list(CONFIG_MAP, namespace=site.namespace, labels="app in (a,b)")
    assert [item["metadata"]["name"] for item in found] == ["a", "b"]
    assert {(item["apiVersion"], item["kind"]) for item in found} == {("v1", "ConfigMap")}


def a_list_selects_by_field(site: Site) -> None:
    for name in ("a", "b"):
        site.admin.apply(config_map(site, name))
    found = site.admin.list(CONFIG_MAP, namespace=site.namespace, fields="metadata.name=b")
    assert [item["metadata"]["name"] for item in found] == ["b"]


def a_delete_says_whether_there_was_anything(site: Site) -> None:
    site.admin.apply(config_map(site))
    assert site.admin.delete(CONFIG_MAP, "m", site.namespace)
    assert not site.admin.delete(CONFIG_MAP, "m", site.namespace)


def a_delete_by_label_takes_nothing_else(site: Site) -> None:
    for name in ("ours", "theirs"):
        site.admin.apply(config_map(site, name))
    selector = f"app=ours,!{site.unique}"
    deleted = site.admin.delete_labelled((CONFIG_MAP,), selector)
    assert deleted == [f"ConfigMap {site.namespace}/ours"]
    assert site.admin.find(CONFIG_MAP, "theirs", site.namespace) is not None


def a_finalizer_keeps_an_object_until_it_is_taken_off(site: Site) -> None:
    held = config_map(site)
    held["metadata"]["finalizers"] = ["example.test/hold"]
    site.admin.apply(held)
    site.admin.delete(CONFIG_MAP, "m", site.namespace)
    found = site.admin.find(CONFIG_MAP, "m", site.namespace)
    assert found is not None
    assert "deletionTimestamp" in found["metadata"]
    patch = {"metadata": {"finalizers": None}}
    site.admin.patch(CONFIG_MAP, "m", patch, namespace=site.namespace)
    assert site.admin.find(CONFIG_MAP, "m", site.namespace) is None


def a_new_token_opens_the_api_as_its_account(site: Site) -> None:
    account = {"name": "charm", "namespace": site.namespace}
    site.admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    token, _ = site.admin.create_token("charm", site.namespace, 3600)
    charm = site.connect(token, f"system:serviceaccount:{site.namespace}:charm")
    with pytest.raises(ForbiddenError) as refusal:
        charm.list(NODE)
    assert str(refusal.value) == (
        "not allowed to list nodes; role charm lacks it, it is written again at the next update"
    )


def a_role_opens_what_it_names_and_nothing_else(site: Site) -> None:
    name = site.unique
    account = {"name": "charm", "namespace": site.namespace}
    site.admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    site.admin.apply({**head, "kind": "ClusterRole", "rules": rules})
    subjects = [{"kind": "ServiceAccount", "name": "charm", "namespace": site.namespace}]
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    binding = {**head, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
    site.admin.apply(binding)
    token, _ = site.admin.create_token("charm", site.namespace, 3600)
    charm = site.connect(token, f"system:serviceaccount:{site.namespace}:charm")

    def is_open() -> bool:
        try:
            return isinstance(charm.list(NODE), list)
        except ForbiddenError:
            return False

    eventually(is_open, site.settle)
    with pytest.raises(ForbiddenError, match="not allowed to get configmaps"):
        charm.apply(config_map(site))
    site.admin.delete(CLUSTER_ROLE, name)


def a_token_ends_with_its_account(site: Site) -> None:
    account = {"name": "charm", "namespace": site.namespace}
    site.admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    token, _ = site.admin.create_token("charm", site.namespace, 3600)
    site.admin.delete(SERVICE_ACCOUNT, "charm", site.namespace)
    charm = site.connect(token, "charm")

    def is_known() -> bool:
        try:
            charm.find(NODE, "n1")
        except UnauthorizedError:
            return False
        except ForbiddenError:
            return True
        raise AssertionError("it was let in")

    eventually(lambda: not is_known(), site.settle)


def a_token_that_nobody_knows_is_unauthorized(site: Site) -> None:
    with pytest.raises(UnauthorizedError, match="does not accept the token"):
        site.connect("nonsense", "nobody").find(NODE, "n1")


def an_eviction_of_a_pod_that_is_gone_is_no_failure(site: Site) -> None:
    site.admin.evict("none", site.namespace)


def pods_are_listed_over_all_namespaces(site: Site) -> None:
    assert isinstance(site.admin.list(POD), list)


FACTS: tuple[Callable[[Site], None], ...] = (
    a_missing_object_is_none,
    an_apply_says_whether_it_changed_anything,
    an_equal_apply_keeps_the_resource_version,
    an_equal_apply_keeps_the_generation_and_what_was_filled_in,
    a_field_that_is_no_longer_applied_goes,
    a_field_of_another_manager_stays,
    what_two_managers_share_goes_with_the_last,
    a_conflict_names_object_field_and_owner,
    force_takes_a_field_and_the_other_manager_then_conflicts,
    items_of_a_list_have_owners_of_their_own,
    an_unknown_field_is_our_bug_and_no_outage,
    a_wrong_type_is_our_bug_and_no_outage,
    a_bad_label_is_invalid_and_named,
    a_namespace_that_is_missing_means_waiting,
    a_merge_patch_changes_and_removes,
    a_patch_of_nothing_means_waiting,
    a_list_selects_by_label_and_says_what_it_holds,
    a_list_selects_by_field,
    a_delete_says_whether_there_was_anything,
    a_delete_by_label_takes_nothing_else,
    a_finalizer_keeps_an_object_until_it_is_taken_off,
    a_new_token_opens_the_api_as_its_account,
    a_role_opens_what_it_names_and_nothing_else,
    a_token_ends_with_its_account,
    a_token_that_nobody_knows_is_unauthorized,
    an_eviction_of_a_pod_that_is_gone_is_no_failure,
    pods_are_listed_over_all_namespaces,
)
