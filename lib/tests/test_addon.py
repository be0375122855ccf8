# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What an add-on keeps in a cluster: applied, mended, pruned, removed; only what is its own."""

from typing import Any

import pytest

from charmkit.addon import PART_OF, Addon, key
from charmkit.credentials import Credentials
from charmkit.errors import ConflictError
from charmkit.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, NAMESPACE, SECRET, Kind
from charmkit.kube import Kube
from charmkit.refusals import InvalidObjectError
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.transport import ApiTransport

NOW = 1_796_000_000.0
BANANA = Kind("fruit.example/v1", "Banana", "bananas")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bananas.fruit.example"},
    "spec": {
        "group": "fruit.example",
        "scope": "Namespaced",
        "names": {"kind": "Banana", "plural": "bananas", "singular": "banana"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"ripe": {"type": "boolean"}}}
                        },
                    }
                },
            }
        ],
    },
}


def config(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def secret(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"a": "Yg=="}}


@pytest.fixture
def api() -> ApiServer:
    return ApiServer(lambda: NOW)


@pytest.fixture
def kube(api: ApiServer) -> Kube:
    credentials = Credentials(("https://api",), ADMIN_TOKEN, "", "admin", "test")
    return Kube(credentials, manager="fruit", transport=ApiTransport(api))


@pytest.fixture
def addon(kube: Kube) -> Addon:
    return Addon(kube, "fruit", "default", (BANANA,))


def writes(api: ApiServer) -> list[str]:
    found = [access.verb for access in api.audit if access.verb not in ("get", "list")]
    api.audit.clear()
    return found


def test_what_is_as_rendered_costs_one_read_and_no_write(api: ApiServer, addon: Addon) -> None:
    assert addon.ensure([config("a"), config("b")], sweep=False)
    writes(api)
    assert addon.ensure([config("a"), config("b")], sweep=False) == []
    assert [access.verb for access in api.audit] == ["get"]


def test_a_sweep_of_what_is_as_rendered_writes_nothing(api: ApiServer, addon: Addon) -> None:
    addon.ensure([config("a", x="1"), secret("b")], sweep=False)
    writes(api)
    assert addon.ensure([config("a", x="1"), secret("b")], sweep=True) == []
    assert writes(api) == []


@pytest.mark.parametrize("how", ["deleted", "changed", "label"])
def test_a_sweep_mends_what_somebody_changed(kube: Kube, addon: Addon, how: str) -> None:
    addon.ensure([config("a", x="1")], sweep=False)
    if how == "deleted":
        kube.delete(CONFIG_MAP, "a", "default")
    elif how == "changed":
        kube.patch(CONFIG_MAP, "a", {"data": {"x": "2"}}, namespace="default")
    else:
        kube.patch(CONFIG_MAP, "a", {"metadata": {"labels": {PART_OF: None}}}, namespace="default")
    assert addon.ensure([config("a", x="1")], sweep=False) == []
    assert addon.ensure([config("a", x="1")], sweep=True) == ["ConfigMap default/a"]
    found = kube.find(CONFIG_MAP, "a", "default") or {}
    assert found["data"] == {"x": "1"}
    assert found["metadata"]["labels"][PART_OF] == "fruit"


def test_what_is_not_rendered_any_more_goes_and_what_is_not_ours_stays(
    kube: Kube, addon: Addon
) -> None:
    kube.apply(config("mine"), manager="somebody")
    addon.ensure([config("a"), secret("b")], sweep=False)
    assert addon.ensure([config("a")], sweep=False) == ["Secret default/b deleted"]
    assert kube.find(SECRET, "b", "default") is None
    assert kube.find(CONFIG_MAP, "mine", "default") is not None


def test_an_object_of_somebody_else_is_not_taken(kube: Kube, addon: Addon) -> None:
    kube.apply(config("a", x="theirs"), manager="somebody")
    with pytest.raises(ConflictError, match="ConfigMap default/a: belongs to somebody else"):
        addon.ensure([config("a", x="ours")], sweep=False)
    assert (kube.find(CONFIG_MAP, "a", "default") or {})["data"] == {"x": "theirs"}


def test_a_custom_kind_and_its_definition_come_in_one_list(kube: Kube, addon: Addon) -> None:
    banana = {
        "apiVersion": "fruit.example/v1",
        "kind": "Banana",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"ripe": True},
    }
    addon.ensure([DEFINITION, banana], sweep=False)
    assert (kube.find(BANANA, "one", "default") or {})["spec"] == {"ripe": True}
    assert addon.ensure([DEFINITION, banana], sweep=True) == []


def test_removal_takes_everything_but_namespaces_and_definitions(kube: Kube, addon: Addon) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "orchard"}}
    addon.ensure([namespace, DEFINITION, config("a"), secret("b")], sweep=False)
    assert addon.remove() == ["Secret default/b", "ConfigMap default/a"]
    assert addon.remove() == []
    assert kube.find(NAMESPACE, "orchard") is not None
    assert kube.find(CUSTOM_RESOURCE_DEFINITION, "bananas.fruit.example") is not None


def test_objects_of_a_crashed_first_run_are_found_again(api: ApiServer, addon: Addon) -> None:
    broken = {**config("never"), "metadata": {"name": "Not A Name", "namespace": "default"}}
    with pytest.raises(InvalidObjectError):
        addon.ensure([secret("b"), broken], sweep=False)
    assert addon.ensure([config("a")], sweep=False) == [
        "ConfigMap default/a",
        "Secret default/b deleted",
    ]


def test_an_object_is_called_by_kind_namespace_and_name() -> None:
    assert key(config("a")) == "ConfigMap default/a"
    assert key(DEFINITION) == "CustomResourceDefinition bananas.fruit.example"
