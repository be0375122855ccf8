# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Base and overlays by Juju's merge rules."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.bundle import load
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Bundle

BASE = """
default-base: ubuntu@24.04
applications:
  a: {charm: ./a.charm, num_units: 2, to: ["0", "1"], options: {x: 1, y: two}, trust: true}
  b: {charm: ./b.charm, storage: {data: 1G}, constraints: mem=1G}
machines: {"0": {}, "1": {constraints: cores=2}}
relations:
- [a:p, b:q]
- [a:r, b:s]
saas: {far: {url: admin/m.o}}
"""


def merged(tmp_path: Path, *overlays: str, juju: JujuVersion = "4.0") -> Bundle:
    (tmp_path / "b.yaml").write_text(BASE)
    paths: list[Path] = []
    for index, text in enumerate(overlays):
        paths.append(tmp_path / f"o{index}" / "o.yaml")
        paths[-1].parent.mkdir()
        paths[-1].write_text(text)
    bundle = load(tmp_path / "b.yaml", paths, juju=juju).bundle
    assert bundle is not None
    return bundle


@pytest.mark.parametrize(
    ("overlay", "name", "field", "value"),
    [
        ("{num_units: 0}", "a", "num_units", 0),
        ("{to: []}", "a", "to", ()),
        ("{to: null}", "a", "to", ()),
        ("{trust: false}", "a", "trust", False),
        ("{options: {x: 3}}", "a", "options", {"x": 3, "y": "two"}),
        ("{options: {x: null}}", "a", "options", {"y": "two"}),
        ("{options: {}}", "a", "options", {"x": 1, "y": "two"}),
        ("{options: null}", "a", "options", {}),
        ("{constraints: ''}", "b", "constraints", ""),
        ("{storage: {data: null}}", "b", "storage", {"data": ""}),
        ("{charm: null}", "b", "charm", ""),
        ("{}", "b", "charm", "./b.charm"),
    ],
)
def test_a_key_that_is_written_counts(
    overlay: str, name: str, field: str, value: Any, tmp_path: Path
):
    bundle = merged(tmp_path, f"applications: {{{name}: {overlay}}}")
    assert getattr(bundle.applications[name], field) == value


def test_a_null_application_goes_with_its_relations(tmp_path: Path):
    bundle = merged(
        tmp_path, "applications: {b: null, c: {charm: ./c.charm}}\nrelations: [[a:p, c:q]]"
    )
    assert sorted(bundle.applications) == ["a", "c"]
    assert bundle.relations == (("a:p", "c:q"),)
    assert bundle.at(("relations", 0)).file.endswith("o.yaml")


def test_a_null_saas_goes_too(tmp_path: Path):
    assert merged(tmp_path, "saas: {far: null}").saas == {}


@pytest.mark.parametrize(
    ("overlay", "machines"),
    [("machines: {'7': {}}", ["7"]), ("machines: {}", []), ("machines: null", ["0", "1"])],
)
def test_machines_replace_the_whole_map(overlay: str, machines: list[str], tmp_path: Path):
    assert sorted(merged(tmp_path, overlay).machines) == machines


def test_relations_are_added_and_later_overlays_win(tmp_path: Path):
    bundle = merged(
        tmp_path,
        "relations: [[a:t, b:u]]\napplications: {a: {options: {x: 5}}}",
        "applications: {a: {options: {x: 6}}}",
    )
    assert [ends[0] for ends in bundle.relations] == ["a:p", "a:r", "a:t"]
    assert bundle.applications["a"].options["x"] == 6
    assert bundle.at(("applications", "a", "options", "x")).file.endswith("o1/o.yaml")


@pytest.mark.parametrize(("juju", "base"), [("3.6", "ubuntu@24.04"), ("4.0", "ubuntu@22.04")])
def test_only_juju_4_takes_an_overlays_default_base(juju: JujuVersion, base: str, tmp_path: Path):
    assert merged(tmp_path, "default-base: ubuntu@22.04", juju=juju).default_base == base


def test_charm_paths_are_relative_to_the_file_that_declares_them(tmp_path: Path):
    bundle = merged(tmp_path, "applications: {c: {charm: ./c.charm}, a: {options: {x: 2}}}")
    assert bundle.applications["c"].charm_path == tmp_path / "o0" / "c.charm"
    assert bundle.applications["a"].charm_path == tmp_path / "a.charm"


@pytest.mark.parametrize(
    ("directive", "text"), [("include-file", "one\n"), ("include-base64", "b25lCg==")]
)
def test_includes_are_relative_to_the_declaring_file(directive: str, text: str, tmp_path: Path):
    (tmp_path / "o0").mkdir()
    (tmp_path / "o0" / "p.txt").write_text("one\n")
    (tmp_path / "b.yaml").write_text(BASE)
    overlay = tmp_path / "o0" / "o.yaml"
    overlay.write_text(
        f"applications: {{a: {{options: {{x: '{directive}://p.txt'}}, annotations: {{n: 1}}}}}}\n"
    )
    bundle = load(tmp_path / "b.yaml", [overlay]).bundle
    assert bundle is not None
    assert bundle.applications["a"].options["x"] == text
    assert bundle.applications["a"].annotations == {"n": "1"}


def test_the_base_alone_stays_as_it_was(tmp_path: Path):
    (tmp_path / "b.yaml").write_text(BASE)
    (tmp_path / "o.yaml").write_text("applications: {a: null, b: {options: {z: 1}}}")
    loaded = load(tmp_path / "b.yaml", [tmp_path / "o.yaml"])
    assert loaded.base is not None
    assert sorted(loaded.base.applications) == ["a", "b"]
    assert loaded.base.applications["b"].options == {}


def test_a_document_with_a_wrong_type_is_dropped_by_juju_4(tmp_path: Path):
    text = "applications: {a: {num_units: '5', options: {x: 9}}}"
    assert merged(tmp_path, text).applications["a"].options["x"] == 1
