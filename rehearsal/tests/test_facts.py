# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is known about charms: facts, packed charms, sources."""

import zipfile
from pathlib import Path

import pytest
import yaml

from rehearsal.bundle.charmfiles import read_charm
from rehearsal.bundle.factsfile import render_facts
from rehearsal.facts import CharmFileError, Endpoint, find_facts, from_mapping

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
DATA = Path(__file__).parents[1] / "data" / "charms"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_facts_file_is_whole_and_says_where_it_is_from(path: Path):
    charm = find_facts(path.stem)
    assert charm is not None
    assert charm.name == path.stem
    source = yaml.safe_load(path.read_text())["source"]
    assert source["repo"]
    assert source["date"] >= "2020"
    assert all(endpoint.interface for endpoint in charm.endpoints.values())


def test_an_unknown_charm_has_no_facts():
    assert find_facts("nosuch") is None
    assert find_facts("../data/etcd") is None


def test_juju_info_is_always_there():
    charm = from_mapping({"name": "x"})
    assert charm.find_endpoint("juju-info") == Endpoint("juju-info", "provides", "juju-info")
    assert charm.find_endpoint("other") is None


def test_a_packed_charm_tells_its_bases_options_and_storage():
    charm = read_charm(CHARMS / "sto.charm")
    assert charm.bases == {"ubuntu@24.04": ("amd64",)}
    assert (charm.storage["many"].least, charm.storage["many"].most) == (0, 2)
    assert charm.devices["gpu"].most == 4
    worker = read_charm(CHARMS / "gpu-worker.charm")
    assert worker.subordinate
    assert worker.options["busy-threshold"].type == "float"
    assert worker.endpoints["kube-control"].limit == 1


@pytest.mark.parametrize(
    ("name", "problem"),
    [("badmeta", "endpoint db is there twice"), ("nomanifest", "no-manifest"), ("etcd", "")],
)
def test_a_charm_that_juju_refuses_says_why(name: str, problem: str):
    assert read_charm(CHARMS / f"{name}.charm").problem == problem


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "holds no metadata.yaml"),
        ({"metadata.yaml": "a: ["}, "no YAML"),
        ({"metadata.yaml": "- a"}, "must be a map"),
        ({"metadata.yaml": "x" * 2_000_000}, "larger than"),
    ],
    ids=["empty", "broken", "list", "huge"],
)
def test_a_zip_that_is_no_charm_says_why(members: dict[str, str], reason: str, tmp_path: Path):
    path = tmp_path / "x.charm"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with pytest.raises(CharmFileError, match=reason):
        read_charm(path)
    with pytest.raises(CharmFileError, match="no charm archive"):
        read_charm(CHARMS / "broken.charm")


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nprovides: [a]\nstorage: {s: {multiple: {range: many}}}\nsubordinate: yes please",
        "name: x\nprovides: {a: null, b: {interface: [1]}}\nrequires: 7\ndevices: {d: 1}",
        "name: [x]\nresources: {r: null}\noptions: 3",
    ],
)
def test_odd_metadata_is_taken_as_far_as_it_goes(text: str, tmp_path: Path):
    (tmp_path / "metadata.yaml").write_text(text)
    read_charm(tmp_path)


def test_a_source_folder_tells_platforms_and_options(tmp_path: Path):
    (tmp_path / "charmcraft.yaml").write_text(
        "name: x\nsubordinate: true\nrequires: {host: {interface: juju-info, scope: container}}\n"
        "config: {options: {a: {type: int, default: 3}}}\nactions: {go: {}}\n"
        "platforms:\n  one: {build-on: ['ubuntu@24.04'], build-for: ['ubuntu@24.04:amd64']}\n"
        "  ubuntu@22.04:arm64:\n"
    )
    charm = read_charm(tmp_path)
    assert charm.bases == {"ubuntu@24.04": ("amd64",), "ubuntu@22.04": ("arm64",)}
    assert charm.options["a"].default == 3
    assert charm.actions == ("go",)
    assert charm.problem == ""


@pytest.mark.parametrize("name", ["gpu-worker", "sto", "etcd-multiarch", "keystone"])
def test_facts_written_from_a_packed_charm_read_back_the_same(name: str):
    charm = read_charm(CHARMS / f"{name}.charm")
    text = render_facts(charm, repo=f"{name}.charm", date="2026-11-30")
    again = from_mapping(yaml.safe_load(text))
    for field in ("name", "subordinate", "bases", "endpoints", "resources", "extra_bindings"):
        assert getattr(again, field) == getattr(charm, field), field
    assert {name: option.type for name, option in again.options.items()} == {
        name: option.type for name, option in charm.options.items()
    }
    assert sorted(again.actions) == sorted(charm.actions)
