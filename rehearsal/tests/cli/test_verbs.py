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
        (("config", "gpu-worker", "no=1"), "ERROR invalid application config: unknown option"),
        (("run", "gpu-worker/0", "dance"), 'ERROR action "dance" not defined for unit'),
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
    assert (status, out) == (1, "{}\n" if words[0] == "config" else "")
    assert err.splitlines()[-1].startswith(error.strip())


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["config"], "ERROR no application name specified"),
        (["config", "a", "b", "c=1"], "ERROR cannot get value and set key=value pairs"),
        (["advance", "soon"], "ERROR 'soon' is no span of time"),
        (["status", "--watch", "5s"], "ERROR option provided but not defined: --watch"),
        (["status", "--format"], "ERROR option needs an argument: --format"),
        (
            ["deploy", "./x.charm", "--trust=maybe"],
            'ERROR invalid value "maybe" for option --trust',
        ),
        (["add-unit", "a", "-n", "x"], 'ERROR invalid value "x" for option -n'),
        (["advance", "1m", "2m"], 'ERROR unrecognized args: ["2m"]'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_misused_command_ends_with_2(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(error)


def test_an_unknown_verb_is_answered_with_the_nearest_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["frobnicate"]) == 1
    assert "Did you mean:\n\trelate" in capsys.readouterr().err


def test_without_words_the_verbs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "  kubectl " in out
    assert "  deploy " in out


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
    text = rehearse("inventory")[1]
    rows = {line.split()[0]: line.split()[-1] for line in text.splitlines()[1:]}
    assert rows["lab-1"] == "0"
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
