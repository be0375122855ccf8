# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Manifests: templates to objects, and what has to be written."""

from pathlib import Path
from typing import Any

import jinja2
import pytest

from charmkit import manifests

TEMPLATE = """
{# A comment of ours. #}
apiVersion: v1
kind: Namespace
metadata: {name: {{ namespace }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: {{ namespace }}}
data:
  text: {{ text | tojson }}
{% if extra %}
  extra: "yes"
{% endif %}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.yaml.j2").write_text(TEMPLATE)
    return tmp_path


def rendered(folder: Path, **values: Any) -> list[dict[str, Any]]:
    given = {"namespace": "pool", "text": "a", "extra": False, **values}
    return manifests.render(folder, "t.yaml.j2", given)


def test_a_template_gives_its_objects_in_order(folder: Path) -> None:
    assert [obj["kind"] for obj in rendered(folder)] == ["Namespace", "ConfigMap"]


def test_a_value_that_is_missing_is_a_bug(folder: Path) -> None:
    with pytest.raises(jinja2.UndefinedError, match="text"):
        manifests.render(folder, "t.yaml.j2", {"namespace": "x", "extra": False})


@pytest.mark.parametrize("text", ["a: b", "- x", "'", "{{ namespace }}", "#", "", "yes", "ü\n"])
def test_a_quoted_value_stays_what_it_is(folder: Path, text: str) -> None:
    assert rendered(folder, text=text)[1]["data"] == {"text": text}


def test_aliases_of_a_template_are_no_shared_objects(tmp_path: Path) -> None:
    (tmp_path / "t.yaml.j2").write_text("kind: A\na: &x {k: 1}\nb: *x\n")
    obj = manifests.render(tmp_path, "t.yaml.j2", {})[0]
    obj["a"]["k"] = 2
    assert obj["b"] == {"k": 1}


def test_the_hash_knows_content_and_not_the_order_of_fields() -> None:
    first = manifests.rendered_hash([{"a": 1, "b": [1, 2]}])
    assert first == manifests.rendered_hash([{"b": [1, 2], "a": 1}])
    assert first != manifests.rendered_hash([{"a": 1, "b": [2, 1]}])
    assert len(first) == 64


def config_map(name: str = "m", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "pool"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def as_observed(obj: dict[str, Any]) -> dict[str, Any]:
    """What a server makes of an object: more metadata, a status, defaults."""
    metadata = {**obj["metadata"], "uid": "u", "resourceVersion": "7", "annotations": {"x": "y"}}
    return {**obj, "metadata": {**metadata, **obj["metadata"]}, "immutable": False}


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({}, []),
        ({"data": {"a": "2", "b": "2"}}, [".data.a"]),
        ({"data": {"b": "2"}}, [".data.a"]),
        ({"data": None}, [".data"]),
        ({"data": {"a": "1", "b": "2", "c": "3"}}, []),
    ],
    ids=["equal", "changed", "removed", "emptied", "more"],
)
def test_differences_are_what_we_render_and_is_not_there(
    change: dict[str, Any], paths: list[str]
) -> None:
    wanted = config_map(a="1", b="2")
    assert manifests.find_differences(wanted, {**as_observed(wanted), **change}) == paths


def test_a_list_of_another_length_differs_as_a_whole() -> None:
    assert manifests.find_differences({"a": [1, 2]}, {"a": [1]}) == [".a"]
    assert manifests.find_differences({"a": [{"b": 1}]}, {"a": [{"b": 2, "c": 3}]}) == [".a[0].b"]


def test_an_empty_container_that_the_server_left_out_is_no_difference() -> None:
    assert manifests.find_differences({"spec": {"tolerations": []}}, {"spec": {}}) == []


def test_what_was_applied_is_no_difference_and_the_hash_shows_a_field_that_went() -> None:
    before, after = config_map(a="1", b="2"), config_map(a="1")
    assert manifests.find_differences(after, as_observed(before)) == []
    assert manifests.rendered_hash([after]) != manifests.rendered_hash([before])
