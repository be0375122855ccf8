# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins that a user wrote, found by the charm's name."""

from pathlib import Path

import pytest

from rehearsal.errors import CharmError
from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal
from rehearsal.juju.entities import Charm

STANDIN = """
from standins.units import HookError


class Charm:
    def handle(self, event, unit, world):
        if event.hook == "start" and unit.config.get("fails"):
            raise HookError("told to")
        unit.results["answer"] = "42"
        unit.status = ("active", f"written by hand, {event.hook}")
"""
METADATA = "name: our-ldap\nprovides:\n  ldap: {interface: ldap}\n"


def run(home: Path, charm: Charm | None, **config: object) -> tuple[str, str]:
    """Deploy one unit and return its status."""
    assert charm is not None
    with Rehearsal(home, durable=False) as juju:
        machine = juju.add_machine().id
        juju.deploy(charm, Deployment(machines=(machine,), config=config))
        juju.settle()
        data = juju.status_data()["applications"][charm.name]["units"][f"{charm.name}/0"]
    status = data["workload-status"]
    return status["current"], status.get("message", "")


def test_a_charm_that_nobody_modelled_is_run_by_a_file_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "standins").mkdir()
    assert run(tmp_path / "none", Charm("nfs-server")) == ("unknown", "not modelled")
    (tmp_path / "standins/nfs_server.py").write_text(STANDIN)
    assert run(tmp_path, Charm("nfs-server")) == ("active", "written by hand, start")


def test_a_charm_that_nobody_knows_is_described_by_its_metadata(tmp_path: Path) -> None:
    folder = tmp_path / "standins/our-ldap"
    folder.mkdir(parents=True)
    (folder / "standin.py").write_text(STANDIN)
    (folder / "metadata.yaml").write_text(METADATA)
    (folder / "config.yaml").write_text("options: {fails: {type: boolean, default: false}}")
    with Rehearsal(tmp_path, durable=False) as juju:
        charm = juju.find_standin("our-ldap", channel="stable", revision=7)
        assert juju.find_standin("another") is None
    assert charm is not None
    assert (charm.origin, charm.channel, charm.revision) == ("charmhub", "stable", 7)
    assert run(tmp_path, charm, fails=True) == ("error", 'hook failed: "start"')


@pytest.mark.parametrize("text", ["x = 1", "class Charm: pass", "import nothing_of_that_name"])
def test_a_file_that_is_no_stand_in_is_refused_with_its_path(tmp_path: Path, text: str) -> None:
    (tmp_path / "standins").mkdir()
    (tmp_path / "standins/odd.py").write_text(text)
    with pytest.raises(CharmError, match=r"standins/odd\.py"):
        run(tmp_path, Charm("odd"))
