# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""``rehearse facts``: a file of facts from a packed charm, a folder, or YAML files."""

import argparse
from pathlib import Path

import pytest
import yaml

from rehearsal.cli import facts
from rehearsal.errors import RehearsalError, UsageError
from rehearsal.facts import CharmFileError, find_facts

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"


def run(*paths: Path, folder: Path | None = None, dry_run: bool = False) -> int:
    """Carry the verb out."""
    arguments = argparse.Namespace(
        paths=list(paths),
        repo="somewhere",
        commit="abc",
        date="2026-11-30",
        folder=folder,
        dry_run=dry_run,
    )
    return facts._facts(arguments)


@pytest.mark.parametrize("name", ["etcd", "gpu-worker", "sto", "keystone"])
def test_a_packed_charm_becomes_facts_that_the_check_reads(name: str, tmp_path: Path):
    assert run(CHARMS / f"{name}.charm", folder=tmp_path) == 0
    charm = find_facts(name, tmp_path)
    assert charm is not None
    assert charm.source == "somewhere 2026-11-30"
    assert charm.bases
    written = yaml.safe_load((tmp_path / f"{name}.yaml").read_text())
    assert written["source"] == {"repo": "somewhere", "commit": "abc", "date": "2026-11-30"}


@pytest.mark.parametrize("names", [("metadata", "config"), ("my-metadata", "my-config")])
def test_yaml_files_of_one_charm_belong_together(names: tuple[str, str], tmp_path: Path):
    metadata, config = (tmp_path / f"{name}.yaml" for name in names)
    metadata.write_text("name: x\nprovides: {p: {interface: i, limit: 2}}\n")
    config.write_text("options: {o: {type: boolean, default: true}}\n")
    run(metadata, config, folder=tmp_path)
    charm = find_facts("x", tmp_path)
    assert charm is not None
    assert charm.endpoints["p"].limit == 2
    assert charm.options["o"].type == "boolean"


def test_a_dry_run_prints_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(CHARMS / "etcd.charm", folder=tmp_path, dry_run=True) == 0
    assert yaml.safe_load(capsys.readouterr().out)["name"] == "etcd"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "No such file"), ("a: [", "no YAML"), ("- a", "must be a map"), ("a: 1", "names it")],
)
def test_metadata_that_is_none_is_one_line(text: str | None, reason: str, tmp_path: Path):
    path = tmp_path / "metadata.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CharmFileError, match=reason) as stop:
        run(path, folder=tmp_path)
    assert isinstance(stop.value, RehearsalError)
    assert "\n" not in str(stop.value)


def test_a_yaml_file_of_another_name_is_refused(tmp_path: Path):
    (tmp_path / "x.yaml").write_text("name: x")
    with pytest.raises(CharmFileError, match=r"is none of charmcraft\.yaml, metadata\.yaml"):
        run(tmp_path / "x.yaml", folder=tmp_path)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".."])
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path):
    (tmp_path / "metadata.yaml").write_text(yaml.safe_dump({"name": name}))
    with pytest.raises(UsageError, match="is no name of a charm"):
        run(tmp_path / "metadata.yaml", folder=tmp_path)


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path):
    with pytest.raises(UsageError, match="No such file or directory"):
        run(CHARMS / "etcd.charm", folder=tmp_path / "nosuch")
