"""Verbs of juju on a small model of charms that only talk."""

import json
from pathlib import Path

import pytest
import yaml

from rehearsal.tests.cli.conftest import Command


def test_a_charm_is_located_and_deployed_on_the_error_output(juju: Command) -> None:
    status, out, err = juju("deploy", "./gamma-1.0.charm", "other", "--to", "0", "-n", "1")
    assert (status, out) == (0, "")
    assert err.splitlines() == [
        'Located local charm "gamma", revision 1',
        'Deploying "other" from local charm "gamma", revision 1 on ubuntu@24.04/stable',
    ]
    data = json.loads(juju("status", "--format", "json")[1])
    assert data["applications"]["other"]["units"]["other/0"]["machine"] == "0"


def test_a_charm_of_charmhub_is_deployed_by_its_name(juju: Command) -> None:
    assert juju("deploy", "easyrsa", "--channel", "1.35/stable", "--to", "lxd:0")[0] == 0
    data = json.loads(juju("status", "easyrsa", "--format", "json")[1])
    assert data["applications"]["easyrsa"]["charm-channel"] == "1.35/stable"
    assert list(data["machines"]["0"]["containers"]) == ["0/lxd/0"]


def test_a_folder_is_deployed_by_3_6_and_refused_by_4_0(juju: Command, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("name: own\nsummary: s\ndescription: d\n")
    status, _, err = juju("deploy", str(folder))
    assert status == 1
    assert "deploying from directory not supported" in err


def test_options_of_a_file_are_those_of_the_application(juju: Command, tmp_path: Path) -> None:
    path = tmp_path / "options.yaml"
    path.write_text("g2:\n  greeting: from a file\n")
    juju("deploy", "./gamma-1.0.charm", "g2", "--to", "0", "--config", str(path))
    assert juju("config", "g2", "greeting")[1] == "from a file\n"


def test_an_option_comes_from_a_file_after_an_at_sign(juju: Command, tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("two\nlines")
    assert juju("config", "gamma", f"greeting=@{path}")[0] == 0
    assert juju("config", "gamma", "greeting")[1] == "two\nlines\n"


def test_trust_is_an_option_of_every_application(juju: Command) -> None:
    juju("config", "gamma", "trust=true")
    assert juju("config", "gamma", "trust")[1] == "true\n"
    juju("trust", "gamma", "--remove")
    shown = json.loads(juju("config", "gamma", "--format", "json")[1])
    assert shown["application-config"]["trust"]["value"] is False


@pytest.mark.parametrize(
    ("selector", "units"),
    [
        ("gamma", ["gamma/0"]),
        ("gamma/0", ["gamma/0"]),
        ("0", ["gamma/0"]),
        ("nothing", []),
        ("g*", []),
    ],
)
def test_status_shows_what_is_selected(juju: Command, selector: str, units: list[str]) -> None:
    status, out, err = juju("status", selector, "--format", "json")
    found = json.loads(out)["applications"]
    assert status == 0
    assert [unit for app in found.values() for unit in app["units"]] == units
    assert err == ""


def test_status_of_nothing_says_so_on_the_error_output(juju: Command) -> None:
    assert juju("status", "nothing")[2] == "Nothing matched specified filter.\n"


def test_status_shows_relations_when_asked(juju: Command) -> None:
    assert "Integration provider" not in juju("status")[1]
    lines = juju("status", "--relations")[1].splitlines()
    head = next(index for index, line in enumerate(lines) if line.startswith("Integration"))
    rows = [line.split()[:4] for line in lines[head + 1 :]]
    assert ["gamma:site", "delta:site", "site", "regular"] in rows
    assert ["gamma:ring", "gamma:ring", "gamma-ring", "peer"] in rows


@pytest.mark.parametrize(
    ("form", "first"),
    [
        ("line", "- dd/0: "),
        ("summary", "# Machines: (3)"),
        ("yaml", "model:"),
    ],
)
def test_status_has_juju_s_formats(juju: Command, form: str, first: str) -> None:
    assert juju("status", "--format", form)[1].startswith(first)


def test_an_action_that_fails_ends_with_0_and_one_that_raises_with_1(juju: Command) -> None:
    status, out, err = juju("run", "gamma/0", "fail")
    assert (status, out) == (0, 'Action id 1 failed: failed as asked\npartial: "yes"\n\n')
    assert err.startswith("Running operation 0 with 1 task\n  - task 1 on unit-gamma-0\n")
    status, out, err = juju("run", "gamma/0", "raise")
    assert status == 1
    assert "Uncaught RuntimeError in charm code: raised as asked" in out
    assert err.endswith("use 'juju show-task' to inspect the failure\n\n")


def test_operations_and_tasks_are_kept(juju: Command) -> None:
    juju("run", "gamma/0", "ok", "name=bob", "count=3")
    task = json.loads(juju("show-task", "1", "--format", "json")[1])
    assert task["results"]["params"] == "{'count': 3, 'name': 'bob'}"
    operation = json.loads(juju("show-operation", "0", "--format", "json")[1])
    assert operation["action"]["parameters"] == {"name": "bob", "count": 3}
    assert list(json.loads(juju("operations", "--format", "json")[1])) == ["0"]
    found = juju("operations", "--status", "failed", "--format", "json")
    assert found == (0, "", "no matching operations\n")


def test_hook_tools_are_run_by_exec(juju: Command) -> None:
    status, out, _ = juju("exec", "--unit", "gamma/0", "--format", "json", "--", "echo", "hi")
    assert status == 0
    assert json.loads(out)["gamma/0"]["results"] == {"return-code": 0, "stdout": "hi\n"}
    assert juju("exec", "--machine", "0", "--", "id", "-un") == (0, "ubuntu\n", "")


def test_exec_runs_lists_of_commands(juju: Command) -> None:
    status, out, err = juju("exec", "--unit", "gamma/0", "--", "false || echo out; exit 3")
    assert (status, out) == (1, "out\n")
    assert "return code 3" in err


def test_a_wait_that_is_too_short_is_an_error(juju: Command) -> None:
    status, out, err = juju("exec", "--unit", "gamma/0", "--wait", "1s", "--", "sleep", "4")
    assert (status, out) == (1, "")
    assert err == "ERROR timed out waiting for results from: unit gamma/0\n"


def test_a_task_in_the_background_is_pending_first_and_then_ended(juju: Command) -> None:
    _, _, err = juju("run", "gamma/0", "ok", "--background")
    number = err.split("with task ")[1].split("\n")[0]
    shown = [json.loads(juju("show-task", number, "--format", "json")[1]) for _ in range(2)]
    assert [task["status"] for task in shown] == ["pending", "completed"]


def test_actions_are_listed_with_their_schema(juju: Command) -> None:
    assert json.loads(juju("actions", "gamma", "--format", "json")[1])["fail"] == "fails"
    schema = json.loads(juju("actions", "gamma", "--schema", "--format", "json")[1])
    assert schema["sh"]["required"] == ["cmd"]


def test_a_refusal_leaves_the_model_as_it_was(juju: Command) -> None:
    before = juju("status", "--format", "yaml")[1]
    assert juju("deploy", "./gamma-1.0.charm", "bad", "--config", "count=x")[0] == 1
    assert juju("integrate", "gamma", "delta")[0] == 1
    assert juju("remove-unit", "gamma/0")[0] == 1
    after = juju("status", "--format", "yaml")[1]
    assert yaml.safe_load(after)["applications"] == yaml.safe_load(before)["applications"]


def test_removals_ask_and_are_refused_without_an_answer(juju: Command) -> None:
    status, out, err = juju("remove-unit", "gamma/0")
    assert (status, out) == (1, "will remove unit gamma/0\n")
    assert err.endswith("Continue [y/N]? ERROR unit removal: aborted\n")


def test_a_unit_and_its_machine_are_removed(juju: Command) -> None:
    assert juju("remove-unit", "--no-prompt", "gamma/0")[0] == 0
    assert "gamma/0" not in juju("status")[1]
    assert juju("remove-machine", "--no-prompt", "0")[:2] == (0, "will remove machine 0\n")
    assert list(json.loads(juju("machines", "--format", "json")[1])["machines"]) == ["1", "2"]


def test_a_relation_goes_by_its_endpoints_or_its_id(juju: Command) -> None:
    shown = json.loads(juju("show-unit", "gamma/0", "--format", "json")[1])
    ids = {item["endpoint"]: item["relation-id"] for item in shown["gamma/0"]["relation-info"]}
    assert juju("remove-relation", str(ids["site"]))[0] == 0
    assert juju("remove-relation", "gamma:site", "delta:site")[0] == 1


def test_new_code_is_refused_when_it_drops_an_endpoint_in_use(juju: Command) -> None:
    status, _, err = juju("refresh", "delta", "--path", "./delta-3.0-nosite.charm")
    assert status == 1
    assert err.endswith('charm has no corresponding relation "site"\n')
    assert juju("refresh", "dd", "--path", "./delta-3.0-nosite.charm")[0] == 0


def test_a_secret_is_added_shown_and_removed(juju: Command) -> None:
    uri = juju("add-secret", "mysec", "user=bob")[1].strip()
    assert juju("grant-secret", "mysec", "gamma")[0] == 0
    shown = json.loads(juju("show-secret", "mysec", "--reveal", "--format", "json")[1])
    assert shown[uri.removeprefix("secret:")]["content"] == {"Data": {"user": "bob"}}
    assert juju("remove-secret", "mysec")[0] == 0
    assert juju("secrets", "--format", "json")[1] == "{}\n"


def test_storage_is_added_and_shown(juju: Command) -> None:
    assert (
        juju("add-storage", "gamma/0", "data=rootfs,1,10M")[2]
        == "added storage data/0 to gamma/0\n"
    )
    shown = json.loads(juju("storage", "--format", "json")[1])
    assert list(shown["storage"]) == ["data/0"]
    assert "data/0" in json.loads(juju("status", "--format", "json")[1])["storage"]["storage"]


def test_models_stand_side_by_side(juju: Command) -> None:
    assert juju("add-model", "second", "--no-switch")[0] == 0
    assert json.loads(juju("status", "-m", "second", "--format", "json")[1])["applications"] == {}
    assert juju("status", "-m", "third")[0] == 1
    names = [
        item["short-name"] for item in json.loads(juju("models", "--format", "json")[1])["models"]
    ]
    assert names == ["rehearsal", "second"]
    assert juju("destroy-model", "second", "--no-prompt")[0] == 0
    assert juju("show-model", "second")[0] == 1


def test_an_offer_of_one_model_is_consumed_in_another(juju: Command) -> None:
    assert juju("offer", "gamma:site")[0] == 0
    juju("add-model", "second", "--no-switch")
    assert juju("consume", "-m", "second", "admin/rehearsal.gamma")[2] == (
        "Added admin/rehearsal.gamma as gamma\n"
    )
    status, shown, error = juju("status", "-m", "second")
    assert (status, error) == (0, "")
    assert shown.split("\n\n")[1].splitlines() == [
        "SAAS   Status   Store  URL",
        "gamma  unknown  local  admin/rehearsal.gamma",
    ]
    found = json.loads(juju("find-offers", "--format", "json")[1])
    assert list(found) == ["rehearsal:admin/rehearsal.gamma"]


def test_constraints_are_shown_in_juju_s_units(juju: Command) -> None:
    assert juju("set-constraints", "gamma", "mem=1G", "cores=2")[0] == 0
    assert juju("constraints", "gamma")[1] == "cores=2 mem=1024M\n"
    assert json.loads(juju("constraints", "gamma", "--format", "json")[1]) == {
        "cores": 2,
        "mem": 1024,
    }


def test_an_option_of_the_model_is_set_shown_and_reset(juju: Command) -> None:
    key = "update-status-hook-interval"
    juju("model-config", f"{key}=10m")
    assert json.loads(juju("model-config", key, "--format", "json")[1]) == {
        key: {"Value": "10m", "Source": "model"}
    }
    juju("model-config", "--reset", key)
    assert juju("model-config", key)[1] == "5m\n"
