# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import jsonschema
import pytest
from gpusite import POOL, Site
from gpuunit import META, Deployment
from ops import testing


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    made = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    assert made.settle()[0] == "active"
    return made


def job(unit: Deployment) -> None:
    unit.site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-1g.6gb": 1})
    unit.site.world.advance(10)


def test_a_machine_is_cut_as_the_action_says_until_it_is_forgotten(unit: Deployment):
    unit.act("set-mig-profile", profile="all-2g.12gb")
    assert unit.settle() == (
        "active",
        "all-2g.12gb by action (option: all-1g.6gb): 4 x mig-2g.12gb",
    )
    unit.act("set-mig-profile", profile="")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x mig-1g.6gb")
    unit.site.assert_in_service()


def test_an_action_begins_the_change_itself(unit: Deployment):
    unit.act("set-mig-profile", profile="all-2g.12gb")
    assert unit.site.cordon == (True, f"{POOL}/0")


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        ("a b", "profile: 'a b' is no name of a layout, as in all-1g.5gb"),
        ("all-1g.5gb", "GPU 0 (A30) has no profile 1g.5gb"),
        ("all-enable", "unknown layout 'all-enable'"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_and_not_kept(
    profile: str, reason: str, unit: Deployment
):
    with pytest.raises(testing.ActionFailed) as failed:
        unit.act("set-mig-profile", profile=profile)
    assert reason in failed.value.message
    assert unit.settle() == ("active", "all-1g.6gb: 8 x mig-1g.6gb")


def test_show_gpus_shows_who_uses_what(unit: Deployment):
    job(unit)
    results = unit.act("show-gpus")
    assert "NVIDIA A30, MIG on: 1g.6gb@0" in results["gpu-0"]
    assert "(team-a/train-7)" in results["gpu-0"] + results["gpu-1"]


def test_show_gpus_needs_no_cluster_and_no_valid_option(unit: Deployment):
    unit.drop("kube-control")
    unit.configure(drain="force")
    assert "MIG on" in unit.act("show-gpus")["gpu-0"]


def test_prepare_removal_says_what_stays_and_what_goes(unit: Deployment):
    job(unit)
    results = unit.act("prepare-removal")
    assert "GPU 0 1g.6gb@0" in results["gpus"]
    assert results["running"] == "team-a/train-7 keeps its devices until it ends"
    assert results["pool"] == "goes, no node left"
    assert unit.site.allocatable == {"nvidia.com/mig-1g.6gb": 8}


def test_an_action_without_a_cluster_fails_in_one_line(tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False))
    unit.drop("kube-control")
    with pytest.raises(testing.ActionFailed) as failed:
        unit.act("plan-mig")
    assert failed.value.message == "integrate kube-control to continue"


@pytest.mark.parametrize("action", META["actions"])
def test_actions_have_strict_schemas(action: str):
    schema = META["actions"][action]
    assert schema["additionalProperties"] is False
    properties = schema.get("params", {})
    for name, parameter in properties.items():
        assert parameter["description"], name
    strict = {"type": "object", "properties": properties, "additionalProperties": False}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"unknown": 1}, strict)
