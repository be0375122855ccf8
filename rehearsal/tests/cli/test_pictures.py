"""What is drawn for people: tables, status, GPUs."""

import json
from pathlib import Path

import pytest

from rehearsal.cli import gpus, status, table
from standins.nvidia.gpus import GpuModel

OBSERVED = Path(__file__).resolve().parents[3].parent / "shared/data/juju-observed/json"


def test_a_table_has_two_blanks_between_columns_and_none_at_the_end() -> None:
    text = table.render(("App", "Scale", "Message"), [("a", "10", ""), ("long", "1", "x")], (1,))
    assert text == "App   Scale  Message\na        10\nlong      1  x"


def status_of(**application: object) -> dict[str, object]:
    return {
        "model": {"name": "m", "controller": "c", "cloud": "maas", "version": "3.6.14"},
        "machines": {},
        "applications": {
            "dgx": {
                "charm-name": "kubernetes-worker",
                "charm-rev": 4,
                "application-status": {"current": "active"},
                **application,
            }
        },
    }


def test_subordinates_stand_below_their_principal_with_the_leader_marked() -> None:
    below = {
        "gpu-worker/0": {
            "workload-status": {"current": "blocked", "message": "mig-profile: no"},
            "juju-status": {"current": "idle"},
            "leader": True,
        }
    }
    unit = {
        "workload-status": {"current": "active"},
        "juju-status": {"current": "idle"},
        "machine": "3",
        "subordinates": below,
    }
    lines = status.render(status_of(units={"dgx/0": unit})).splitlines()
    assert lines[-2].split() == ["dgx/0", "active", "idle", "3"]
    assert lines[-1].startswith("  gpu-worker/0*  blocked")
    assert lines[-1].endswith("mig-profile: no")


def test_units_are_in_the_order_of_their_numbers() -> None:
    unit = {"workload-status": {"current": "active"}, "juju-status": {"current": "idle"}}
    units = {f"dgx/{number}": unit for number in (10, 2, 1)}
    text = status.render(status_of(units=units))
    assert [text.index(f"dgx/{number} ") for number in (1, 2, 10)] == sorted(
        text.index(f"dgx/{number} ") for number in (1, 2, 10)
    )


@pytest.mark.skipif(not OBSERVED.is_dir(), reason="the records of a controller are not here")
@pytest.mark.parametrize("name", ["status-json", "status-mixed", "status-exposed"])
def test_what_a_controller_sent_can_be_drawn(name: str) -> None:
    data = json.loads((OBSERVED / f"{name}.json").read_text())
    text = status.render(data)
    for application in data["applications"].values():
        for unit in application.get("units", {}):
            assert unit in text


def cut(path: Path) -> GpuModel:
    return GpuModel.create(path, board="a100-40gb", count=2)


def test_a_gpu_that_is_not_cut_is_drawn_whole(tmp_path: Path) -> None:
    model = cut(tmp_path / "gpus.json")
    lines = gpus.render("3", model.read(), {}).splitlines()
    assert lines[0] == "3: 2 x NVIDIA A100-SXM4-40GB"
    assert lines[1].split() == ["GPU", "0", "|[", "whole", "GPU", "]|"]


def test_a_gpu_in_use_is_marked_and_its_user_named(tmp_path: Path) -> None:
    model = cut(tmp_path / "gpus.json")
    first = model.read()[0].uuid
    lines = gpus.render("3", model.read(), {first: "team-a/train-7"}).splitlines()
    assert "####whole GPU####" in lines[1]
    assert lines[1].endswith("team-a/train-7")
    assert "#" not in lines[2]


def test_a_lost_gpu_is_said_to_be_lost(tmp_path: Path) -> None:
    model = cut(tmp_path / "gpus.json")
    model.lose(1)
    assert "fell off the bus" in gpus.render("3", model.read(), {})


def test_a_node_shows_cordon_taints_and_gpu_resources() -> None:
    node = {
        "metadata": {"name": "dgx-5"},
        "spec": {"unschedulable": True, "taints": [{"key": "gpu-pool/starting"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "1", "nvidia.com/gpu": "0"},
            "capacity": {"nvidia.com/gpu": "8"},
        },
    }
    row = gpus.render_nodes([node]).splitlines()[1]
    assert row.split() == ["dgx-5", "Ready,cordoned", "gpu-pool/starting", "nvidia.com/gpu", "0"]
