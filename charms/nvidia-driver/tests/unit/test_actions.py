# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Actions: what they answer, and what the unit is like afterwards."""

import json
from collections.abc import Callable
from typing import Any

import ops
import pytest
from ops import testing

import toolkit
from standins.charms.toml import render

MakeSite = Callable[..., Any]
THERE, NEWER = "580.173.02", "580.181.04"


@pytest.fixture
def dgx(site: MakeSite) -> Any:
    machine = site("dgx-a100-40")
    machine.host.files.ensure_text(toolkit.CONTAINERD, render("nvidia-container-runtime"))
    machine.install()
    return machine


def run(machine: Any, name: str) -> dict[str, Any]:
    machine.emit(machine.context.on.action(name))
    return machine.context.action_results


def test_show_driver_tells_all_there_is(dgx: Any) -> None:
    dgx.machine.gpus.add_process(dgx.machine.gpus.read()[3].uuid, 4711)
    shown = run(dgx, "show-driver")
    assert shown["installed"] == shown["loaded"] == shown["fabric-manager"] == THERE
    assert shown["branch"] == "580-server-open"
    assert shown["kernel"] == "6.8.0-90-generic"
    assert shown["runtime-handler"] == "nvidia-container-runtime"
    assert shown["nvswitches"] == "6"
    assert json.loads(shown["gpus"])[0] == "0000:07:00.0 0x20b0"
    assert json.loads(shown["in-use-by"]) == [{"command": "python3", "pid": 4711}]
    assert "nvidia-utils-580-server" in json.loads(shown["packages"])


@pytest.mark.parametrize(
    "options", [{"hardware": "cpu"}, {"passthrough": True}, {}], ids=["cpu", "vfio", "new"]
)
def test_actions_work_on_any_machine(site: MakeSite, options: dict[str, Any]) -> None:
    machine = site(**options)
    assert run(machine, "show-driver")["installed"] == ""
    assert run(machine, "prepare-removal")["in-use-by"] == "nobody"


def test_an_action_leaves_the_status_as_it_is(dgx: Any) -> None:
    before = dgx.status
    run(dgx, "show-driver")
    assert dgx.status == before


def test_prepare_removal_says_what_stays_and_changes_nothing(dgx: Any) -> None:
    before = dgx.host.packages.held()
    said = run(dgx, "prepare-removal")
    assert f"driver {THERE} (580-server-open)" in said["stays"]
    assert "container toolkit" in said["stays"]
    assert "52nvidia-driver-charm" in said["undone"]
    assert said["dies"] == "nothing: running jobs keep their GPUs"
    assert dgx.host.packages.held() == before


def test_upgrade_driver_says_that_there_is_nothing_newer(dgx: Any) -> None:
    assert run(dgx, "upgrade-driver") == {"from": THERE, "to": THERE}
    assert isinstance(dgx.status, ops.ActiveStatus)


def test_upgrade_driver_moves_the_whole_set_at_once(dgx: Any) -> None:
    dgx.host.set_archive_step(2)
    assert run(dgx, "upgrade-driver") == {"from": THERE, "to": NEWER}
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")
    assert dgx.published.fabric_manager == dgx.published.loaded_version == NEWER
    dgx.update()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")


def test_upgrade_driver_waits_for_the_worker_and_is_not_forgotten(dgx: Any) -> None:
    dgx.host.set_archive_step(2)
    dgx.hear_worker()
    with pytest.raises(testing.ActionFailed) as caught:
        run(dgx, "upgrade-driver")
    reason = f"driver {THERE} to {NEWER}: waiting for gpu-worker to drain"
    assert caught.value.message == reason
    dgx.state = caught.value.state
    assert dgx.status == ops.WaitingStatus(reason)
    dgx.update()
    dgx.grant()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")


def test_an_upgrade_that_cannot_be_had_is_told_and_forgotten(dgx: Any) -> None:
    dgx.configure(driver_branch="620-server")
    with pytest.raises(testing.ActionFailed) as caught:
        run(dgx, "upgrade-driver")
    assert caught.value.message == (
        "driver-branch: driver 620-server-open: no libnvidia-compute-620-server in the apt sources"
    )
    dgx.state = caught.value.state
    dgx.host.set_archive_step(2)
    dgx.configure(driver_branch="auto")
    assert dgx.status == ops.ActiveStatus(f"driver {THERE} (580-server-open)")


def test_nothing_is_upgraded_that_was_not_asked_for(dgx: Any) -> None:
    dgx.host.set_archive_step(2)
    dgx.update()
    assert dgx.published.driver_version == THERE
