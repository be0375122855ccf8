"""Commands, as a person types them."""

import json
from pathlib import Path

import jubilant
import pytest
import yaml

from rehearsal.cli import main
from rehearsal.tests.cli.conftest import LAB, Command


def message(rehearse: Command, unit: str) -> str:
    status = jubilant.Status._from_dict(json.loads(rehearse("status", "--format", "json")[1]))
    workload = status.get_units("gpu")["gpu/0"].subordinates[unit].workload_status
    return f"{workload.current}: {workload.message}"


def test_status_is_read_by_jubilant(rehearse: Command) -> None:
    assert message(rehearse, "gpu-worker/0") == "active: all-disabled: 2 x gpu"


def test_status_on_a_settled_model_runs_no_hook(rehearse: Command) -> None:
    before = rehearse("debug-log")[1]
    rehearse("status")
    assert rehearse("debug-log")[1] == before


def test_an_option_is_set_shown_and_reset(rehearse: Command) -> None:
    assert rehearse("config", "gpu-worker", "mig-profile=all-balanced")[0] == 0
    assert rehearse("config", "gpu-worker", "mig-profile")[1] == "all-balanced\n"
    shown = json.loads(rehearse("config", "gpu-worker", "--format", "json")[1])
    assert shown["settings"]["mig-profile"]["source"] == "user"
    assert message(rehearse, "gpu-worker/0").startswith("active: all-balanced: 4 x mig-1g.6gb")
    assert rehearse("config", "gpu-worker", "--reset", "mig-profile")[0] == 0
    assert message(rehearse, "gpu-worker/0") == "active: all-disabled: 2 x gpu"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("config", "nobody", "a=b"), 'ERROR application "nobody" not found\n'),
        (("config", "gpu-worker", "no=1"), 'ERROR unknown option "no"\n'),
        (("config", "gpu-worker", "a", "b=1"), "ERROR cannot set and retrieve configuration"),
        (("run", "gpu-worker/9", "show-gpus"), 'ERROR unit "gpu-worker/9" not found\n'),
        (("run", "gpu-worker/0", "dance"), 'ERROR action "dance" not defined on unit'),
        (("add-unit", "nobody"), 'ERROR application "nobody" not found\n'),
        (("reboot", "77"), "ERROR machine 77 not found\n"),
        (("job", "end", "team-a/none"), "ERROR there is no pod team-a/none\n"),
        (("job", "run", "team-a/none"), "ERROR a job needs a resource"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_is_one_line_and_status_1(
    rehearse: Command, words: tuple[str, ...], error: str
) -> None:
    status, out, err = rehearse(*words)
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith(error.strip())


@pytest.mark.parametrize("words", [[], ["dance"], ["config"], ["advance", "soon"]])
def test_a_misused_command_ends_with_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_an_action_gives_results_and_the_shape_of_juju(rehearse: Command) -> None:
    status, out, _ = rehearse("run", "gpu-worker/0", "show-gpus", "--format", "json")
    task = json.loads(out)["gpu-worker/0"]
    assert status == 0
    assert task["status"] == "completed"
    assert "A30" in json.dumps(task["results"])


def test_a_job_takes_a_gpu_and_gives_it_back(rehearse: Command) -> None:
    assert rehearse("job", "run", "team-a/train", "nvidia.com/gpu=1")[0] == 0
    assert "team-a/train" in rehearse("gpus")[1]
    assert rehearse("job", "end", "team-a/train")[0] == 0
    assert "team-a/train" not in rehearse("gpus")[1]


def test_a_unit_shows_its_relation_data(rehearse: Command) -> None:
    data = yaml.safe_load(rehearse("show-unit", "gpu-worker/0")[1])
    ends = {item["endpoint"] for item in data["gpu-worker/0"]["relation-info"]}
    assert {"gpu-driver", "kube-control", "host"} <= ends


def test_the_inventory_says_who_has_what(rehearse: Command) -> None:
    rows = {line.split()[0]: line.split()[-1] for line in rehearse("machines")[1].splitlines()[1:]}
    assert rows["lab-1"] == "1"
    assert rows["dgx-1"] == "free"


def test_a_unit_that_no_machine_fits_says_why_of_each(rehearse: Command) -> None:
    status, _, err = rehearse("add-unit", "gpu")
    assert status == 1
    assert err.startswith("ERROR no machine fits tags=gpu: add one to MAAS\n")
    assert "  dgx-1: lacks tag gpu\n" in err


def test_the_second_deploy_of_a_bundle_changes_nothing(rehearse: Command) -> None:
    status, out, err = rehearse("deploy", str(LAB))
    assert (status, out) == (0, "")
    assert err.endswith("No changes to apply.\n")


def test_time_passes_and_update_status_runs(rehearse: Command) -> None:
    rehearse("advance", "10m")
    assert '"update-status" hook' in rehearse("debug-log")[1]


def test_a_reboot_brings_the_same_resources_back(rehearse: Command) -> None:
    rehearse("config", "gpu-worker", "mig-profile=all-1g.6gb")
    assert rehearse("reboot", "1")[0] == 0
    rehearse("advance", "5m")
    assert "nvidia.com/mig-1g.6gb 8" in rehearse("nodes")[1]


def test_nothing_of_the_command_is_written_outside_its_folder(
    rehearse: Command, lab: Path, tmp_path: Path
) -> None:
    rehearse("advance", "1m")
    assert [path.name for path in tmp_path.iterdir()] == [lab.name]
