# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`plan-mig` foretells what a change then does, and changes nothing itself."""

import re
from pathlib import Path
from typing import Any

import pytest
from gpusite import Site
from gpuunit import Deployment
from ops import testing

from standins.nvidia.gpustate import Traits

TEAM = """
version: v1
mig-configs:
  team:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"1g.6gb": 4}
"""
UNITS = {"1g.6gb": 1, "2g.12gb": 2, "4g.24gb": 4}


def deploy(folder: Path, **options: Any) -> Deployment:
    unit = Deployment(Site(folder, plugin=False), **{"mig_profile": "all-1g.6gb", **options})
    unit.settle()
    return unit


def run_job(unit: Deployment, **fields: Any) -> None:
    unit.site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-1g.6gb": 1}, **fields)
    unit.site.world.advance(10)


def foretell(unit: Deployment, profile: str) -> dict[str, Any]:
    """Return a copy: the next action empties the results of the one before."""
    return dict(unit.act("plan-mig", profile=profile))


def foretold(results: dict[str, Any], verb: str) -> dict[int, list[str]]:
    """Return what a preview says of each GPU: `destroy`, `create`, `later` or `keep`."""
    return {
        index: sorted(re.findall(rf"{verb} (\S+?)(?:,|$)", results.get(f"gpu-{index}", "")))
        for index in (0, 1)
    }


def everything(unit: Deployment) -> tuple[Any, ...]:
    """Return all that a change could touch."""
    site = unit.site
    gpus = site.machine.gpus
    return site.uuids, gpus.revision, site.node["spec"], site.labels, site.waits, unit.writes()


@pytest.mark.parametrize("profile", ["all-4g.24gb", "all-2g.12gb", "all-balanced", "all-disabled"])
def test_a_preview_changes_nothing(profile: str, tmp_path: Path):
    unit = deploy(tmp_path)
    run_job(unit)
    unit.writes()
    before = everything(unit)
    unit.act("plan-mig", profile=profile)
    assert everything(unit) == before


@pytest.mark.parametrize("profile", ["all-4g.24gb", "all-2g.12gb", "all-balanced"])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_what_was_foretold_is_what_is_done(profile: str, busy: bool, tmp_path: Path):
    unit = deploy(tmp_path)
    if busy:
        run_job(unit)
    before = unit.site.instances
    results = foretell(unit, profile)
    unit.act("set-mig-profile", profile=profile)
    unit.settle()
    after, made = unit.site.instances, foretold(results, "create")
    for index, destroyed in foretold(results, "destroy").items():
        if f"gpu-{index}" in results:
            there = sorted({*before[index]} - {*destroyed} | {*made[index]})
            assert sorted(after[index]) == there
            assert sorted({*before[index]} - {*destroyed}) == foretold(results, "keep")[index]
        else:
            assert after[index] == before[index]
    assert results["offers-now"] == offer(unit.site)
    assert (results["waiting-for"] == "nobody") is not any(foretold(results, "later").values())


def offer(site: Site) -> str:
    counts = sorted(site.allocatable.items())
    return ", ".join(f"{count} x {name.removeprefix('nvidia.com/')}" for name, count in counts)


def test_what_was_foretold_for_later_comes_when_the_job_has_ended(tmp_path: Path):
    unit = deploy(tmp_path)
    run_job(unit)
    results = foretell(unit, "all-4g.24gb")
    (busy,) = [index for index, cuts in foretold(results, "later").items() if cuts]
    assert results["waiting-for"] == f"team-a/train-7 (GPU {busy})"
    assert results["evicts"] == "nobody"
    unit.act("set-mig-profile", profile="all-4g.24gb")
    unit.settle()
    unit.site.world.end_pod("train-7", "team-a")
    unit.settle()
    assert unit.site.instances[busy] == foretold(results, "later")[busy] == ["4g.24gb@0"]
    assert results["offers"] == offer(unit.site) == "2 x mig-4g.24gb"


def test_who_would_be_evicted_is_named_and_is_who_goes(tmp_path: Path):
    unit = deploy(tmp_path, drain="affected")
    run_job(unit, controller=True)
    results = foretell(unit, "all-4g.24gb")
    assert results["evicts"] == "team-a/train-7"
    assert unit.site.world.api.find("pods", "train-7", "team-a") is not None
    unit.act("set-mig-profile", profile="all-4g.24gb")
    unit.settle()
    assert unit.site.allocatable == {"nvidia.com/mig-4g.24gb": 2}


def test_a_bare_pod_is_not_foretold_to_be_evicted(tmp_path: Path):
    unit = deploy(tmp_path, drain="affected")
    run_job(unit)
    assert unit.act("plan-mig", profile="all-4g.24gb")["evicts"] == "nobody"


@pytest.mark.parametrize(
    ("reboot", "words"), [("never", "not allowed"), ("when-needed", "allowed")]
)
def test_resets_and_what_happens_without_them_are_foretold(
    reboot: str, words: str, tmp_path: Path
):
    unit = deploy(tmp_path, mig_profile="all-disabled", reboot=reboot)
    results = foretell(unit, "all-2g.12gb")
    assert results["gpu-0"] == "MIG on, reset, create 2g.12gb@0, create 2g.12gb@2"
    assert results["resets"] == "GPU 0 and 1"
    assert results["reboot"] == f"if a reset is refused ({words} by option reboot)"
    assert results["calls"] == 10
    assert unit.act("plan-mig", profile="all-disabled")["resets"] == "none"


def test_a_driver_that_hides_profiles_shows_the_mode_alone(tmp_path: Path):
    unit = deploy(tmp_path, mig_profile="all-disabled")
    unit.site.machine.gpus.set_traits(Traits(profiles_visible=False))
    assert unit.act("plan-mig", profile="all-enabled")["gpu-0"] == "MIG on, reset"


def test_a_preview_without_a_name_is_about_the_layout_in_force(tmp_path: Path):
    assert deploy(tmp_path).act("plan-mig") == {
        "layout": "all-1g.6gb",
        "unchanged": "2 of 2 GPUs",
        "calls": 0,
        "resets": "none",
        "reboot": "none",
        "evicts": "nobody",
        "waiting-for": "nobody",
        "offers-now": "8 x mig-1g.6gb",
        "offers": "8 x mig-1g.6gb",
    }


FIRST = """
version: v1
mig-configs:
  first: [{devices: [0], mig-enabled: true, mig-devices: {2g.12gb: 2}}]
"""
ALONE = "left alone, the layout leaves it out (option unlisted-gpus)"


@pytest.mark.parametrize("unlisted", ["keep", "off"])
def test_a_gpu_that_a_layout_leaves_out_is_not_said_to_be_right(unlisted: str, tmp_path: Path):
    unit = deploy(tmp_path, mig_layouts=FIRST, unlisted_gpus=unlisted)
    before = foretell(unit, "first")
    turned_off = "MIG off, reset, " + ", ".join(f"destroy 1g.6gb@{n}" for n in range(4))
    assert before["gpu-1"] == (ALONE if unlisted == "keep" else turned_off)
    assert before["unchanged"] == "0 of 2 GPUs"
    unit.configure(mig_profile="first")
    assert unit.settle()[0] == "active"
    after = unit.act("plan-mig")
    assert after.get("gpu-1", "") == (ALONE if unlisted == "keep" else "")
    assert after["unchanged"] == ("1 of 2 GPUs" if unlisted == "keep" else "2 of 2 GPUs")
    assert "gpu-0" not in after


def test_a_layout_that_cannot_be_is_refused_in_words(tmp_path: Path):
    unit = deploy(tmp_path)
    with pytest.raises(testing.ActionFailed, match=r"GPU 0 \(A30\) has no profile 1g.5gb"):
        unit.act("plan-mig", profile="all-1g.5gb")


@pytest.mark.parametrize(
    ("unlisted", "offers"),
    [("keep", {"mig-1g.6gb": 4, "mig-2g.12gb": 2}), ("off", {"gpu": 1, "mig-1g.6gb": 4})],
)
def test_gpus_that_a_layout_leaves_out_stay_or_are_turned_off(
    unlisted: str, offers: dict[str, int], tmp_path: Path
):
    unit = deploy(tmp_path, mig_profile="all-2g.12gb", mig_layouts=TEAM, unlisted_gpus=unlisted)
    words = ", ".join(f"{count} x {name}" for name, count in offers.items())
    assert unit.act("plan-mig", profile="team")["offers"] == words
    unit.configure(mig_profile="team")
    assert unit.settle() == ("active", f"team: {words}")
    assert unit.site.allocatable == {f"nvidia.com/{name}": n for name, n in offers.items()}
    unit.site.assert_in_service()


def test_a_layout_that_leaves_a_gpu_out_is_refused_where_that_is_an_error(tmp_path: Path):
    unit = deploy(tmp_path, mig_profile="all-2g.12gb", mig_layouts=TEAM, unlisted_gpus="error")
    unit.configure(mig_profile="team")
    assert unit.settle() == ("blocked", "mig-profile: layout team leaves out GPU 1")
    assert unit.site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    unit.site.assert_in_service()
