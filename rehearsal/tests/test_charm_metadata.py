# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The one reader of charms, and the same charm for the check and for the engine."""

import os
import zipfile
from pathlib import Path

import pytest

from rehearsal import charm_metadata
from rehearsal.bundle.charmfiles import read_charm
from rehearsal.charm_views import charm_from, facts_of
from rehearsal.facts import CharmFileError, find_facts

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
METADATA = "name: x\nsubordinate: true\nrequires: {h: {interface: juju-info, scope: container}}\n"


def packed(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.yaml", text)
    return path


def test_packed_unpacked_and_source_say_the_same(tmp_path: Path):
    config = "options: {a: {type: int, default: 3}}\n"
    whole = packed(tmp_path / "x.charm", metadata=METADATA, config=config, actions="go: {}")
    folder, source = tmp_path / "folder", tmp_path / "source"
    folder.mkdir()
    source.mkdir()
    for name, text in (("metadata", METADATA), ("config", config), ("actions", "go: {}")):
        (folder / f"{name}.yaml").write_text(text)
    craft = (
        f"{METADATA}config: {{options: {{a: {{type: int, default: 3}}}}}}\nactions: {{go: {{}}}}"
    )
    (source / "charmcraft.yaml").write_text(craft)
    found = [charm_metadata.read(path) for path in (whole, folder, source)]
    assert [part.metadata["name"] for part in found] == ["x", "x", "x"]
    assert [part.config for part in found] == [
        {"options": {"a": {"type": "int", "default": 3}}}
    ] * 3
    assert [part.actions for part in found] == [{"go": {}}] * 3
    assert [part.is_packed for part in found] == [True, False, False]


WHOLE = [path for path in sorted(CHARMS.glob("*.charm")) if path.stem != "broken"]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_every_recorded_charm_is_read(path: Path):
    charm = read_charm(path)
    assert charm.name
    assert charm.is_packed


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("nothing", "no such file"),
        ("loop", "symbolic links|no such file"),
        ("text", "not a zip file"),
        ("binary", "not a zip file"),
        ("cut", "no charm archive"),
        ("fifo", "no such file"),
        ("empty folder", "neither charmcraft.yaml nor metadata.yaml"),
        ("no metadata", "holds no metadata.yaml"),
        ("broken yaml", "no YAML"),
        ("list", "must be a map"),
        ("huge", "larger than"),
        ("huge in a folder", "larger than"),
    ],
)
def test_what_is_no_charm_says_why_in_one_line(kind: str, reason: str, tmp_path: Path):
    path = tmp_path / "x.charm"
    big = "a" * (charm_metadata.MAX_BYTES + 1)
    makers = {
        "nothing": lambda: None,
        "loop": lambda: path.symlink_to(path),
        "text": lambda: path.write_text("hello"),
        "binary": lambda: path.write_bytes(bytes(range(256)) * 9),
        "cut": lambda: path.write_bytes((CHARMS / "etcd.charm").read_bytes()[:-30]),
        "fifo": lambda: os.mkfifo(path),
        "empty folder": path.mkdir,
        "no metadata": lambda: packed(path, config="{}"),
        "broken yaml": lambda: packed(path, metadata="a: ["),
        "list": lambda: packed(path, metadata="- a"),
        "huge": lambda: packed(path, metadata=big),
        "huge in a folder": lambda: (path.mkdir(), (path / "metadata.yaml").write_text(big)),
    }
    makers[kind]()
    with pytest.raises(CharmFileError, match=reason) as stop:
        charm_metadata.read(path)
    assert "\n" not in str(stop.value)


def test_the_engine_gets_what_the_facts_say():
    facts = find_facts("kubernetes-worker")
    assert facts is not None
    charm = charm_from(facts, channel="1.35/stable", revision=7)
    assert (charm.name, charm.kind, charm.origin) == ("kubernetes-worker", "standin", "charmhub")
    assert (charm.channel, charm.revision) == ("1.35/stable", 7)
    again = facts_of(charm)
    assert again.endpoints == facts.endpoints
    assert {name: option.type for name, option in again.options.items()} == {
        name: option.type for name, option in facts.options.items()
    }


def test_a_charm_without_a_stand_in_is_not_modelled():
    facts = find_facts("landscape-client")
    assert facts is not None
    assert charm_from(facts).kind == "unmodelled"
    assert charm_from(facts).subordinate
