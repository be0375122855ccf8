# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Words that Juju refuses, and how: exit status and last sentence, by their source."""

import json
import shlex
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
import yaml

from rehearsal.cli import goyaml, literals
from rehearsal.cli.contents import read_content
from rehearsal.cli.flags import Misuse
from rehearsal.cli.naming import fault_of_application
from rehearsal.cli.output import to_yaml
from rehearsal.cli.parameters import nest
from rehearsal.errors import UsageError
from rehearsal.tests.cli.conftest import Command

SENTENCES = yaml.safe_load((Path(__file__).parents[1] / "data/sentences.yaml").read_text())


@pytest.mark.parametrize("source", SENTENCES)
def test_what_juju_refuses_is_refused_in_its_words(juju: Command, source: str) -> None:
    for line, status, sentence in SENTENCES[source]:
        found, _, err = juju(*shlex.split(line))
        said = err.rstrip("\n").rpartition("\n")[2].removeprefix("ERROR ")
        assert (line, found, said) == (line, status, sentence)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x10", 16),
        ("010", 8),
        ("-3", -3),
        ("+4", 4),
        ("0b11", 3),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_go_reads_integers(text: str, value: int) -> None:
    assert literals.integer(text) == value


@pytest.mark.parametrize("text", ["", "1.5", "abc", "1_000", "9223372036854775808", "08"])
def test_go_refuses_integers(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"^strconv\.ParseInt: parsing "):
        literals.integer(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("90s", 90), ("1h30m", 5400), ("1.5s", 1.5), ("-2s", -2), ("250ms", 0.25)],
)
def test_go_reads_durations(text: str, value: float) -> None:
    assert literals.duration(text) == value


def test_go_refuses_durations() -> None:
    for text, sentence in (
        ("5", 'time: missing unit in duration "5"'),
        ("2d", 'time: unknown unit "d" in duration "2d"'),
        ("", 'time: invalid duration ""'),
    ):
        with pytest.raises(ArgumentTypeError, match=f"^{sentence}$"):
            literals.duration(text)


def test_names_of_applications_are_judged_as_juju_does() -> None:
    """Source: juju/names application.go, ValidateApplicationName."""
    assert fault_of_application("gpu-worker") == ""
    assert fault_of_application("app-1").endswith("unexpected number(s) found after last hyphen")
    assert fault_of_application("App").endswith("unexpected uppercase character")


def test_params_of_an_action_nest_over_a_file() -> None:
    """Source: cmd/juju/action/run.go, Run."""
    found = nest({"a": 1, "b": {"c": 2}}, {"a.x": "3", "b.d": "yes"}, as_text=False)
    assert found == {"a": {"x": 3}, "b": {"c": 2, "d": True}}


def test_secrets_are_read_from_words_and_files(tmp_path: Path) -> None:
    """Source: core/secrets/createsecret.go."""
    (tmp_path / "file").write_text("user: bob\ntoken: abc\n")
    (tmp_path / "pass").write_text("s3cret")
    words = [f"pass#file={tmp_path / 'pass'}", "word=ann=="]
    found = read_content(words, str(tmp_path / "file"))
    assert found == {"user": "bob", "token": "abc", "pass": "s3cret", "word": "ann=="}
    with pytest.raises(Misuse, match=r'^key "ab" not valid$'):
        read_content(["ab=1"])


def test_a_file_wins_over_the_words_of_a_secret(tmp_path: Path) -> None:
    """Source: cmd/juju/secrets/common.go, SecretUpsertContentCommand.Init."""
    (tmp_path / "file").write_text("user: bob\n")
    assert read_content(["user=ann"], str(tmp_path / "file")) == {"user": "bob"}


def test_secrets_keep_to_one_name_and_to_applications_that_there_are(juju: Command) -> None:
    """Source: apiserver/facades/client/secrets, cmd/juju/secrets/grantrevoke.go, list.go."""
    juju("add-secret", "one", "user=ann")
    juju("add-secret", "two", "user=bob")
    taken = juju("update-secret", "one", "--name", "two")
    assert (taken[0], taken[2]) == (1, 'ERROR secret with name "two" already exists\n')
    granted = juju("grant-secret", "one", "gamma,nosuch")
    assert granted[0] == 1
    assert granted[2].endswith('failed to grant/revoke secret: application "nosuch" not found\n')
    (shown,) = json.loads(juju("show-secret", "one", "--format", "json")[1]).values()
    assert [item["target"] for item in shown["access"]] == ["application-gamma"]
    lost = juju("show-secret", "one", "--reveal", "--revision", "9", "--format", "json")[1]
    (shown,) = json.loads(lost).values()
    assert "content" not in shown
    assert shown["error"] == "secret revision 9 not found"


def test_what_is_exposed_is_shown_and_taken_back(juju: Command) -> None:
    """Source: recorded on 4.0.15; domain/application/service/exposed.go."""
    juju("expose", "gamma", "--to-cidrs", "10.0.0.0/8")
    juju("expose", "gamma", "--endpoints", "site")
    shown = json.loads(juju("show-application", "gamma", "--format", "json")[1])["gamma"]
    assert shown["exposed-endpoints"] == {
        "": {"expose-to-cidrs": ["10.0.0.0/8"]},
        "site": {"expose-to-cidrs": ["0.0.0.0/0", "::/0"]},
    }
    juju("unexpose", "gamma", "--endpoints", "site")
    shown = json.loads(juju("show-application", "gamma", "--format", "json")[1])["gamma"]
    assert list(shown["exposed-endpoints"]) == [""]
    juju("unexpose", "gamma")
    shown = json.loads(juju("show-application", "gamma", "--format", "json")[1])["gamma"]
    assert shown["exposed"] is False
    assert "exposed-endpoints" not in shown


def test_values_of_constraints_have_their_types(juju: Command) -> None:
    """Source: juju core/constraints/constraints.go, Value and String."""
    juju("set-constraints", "gamma", "cores=0", "cpu-power=100", "allocate-public-ip=true")
    shown = json.loads(juju("constraints", "gamma", "--format", "json")[1])
    assert shown == {"allocate-public-ip": True, "cores": 0, "cpu-power": 100}
    assert juju("constraints", "gamma")[1] == "allocate-public-ip=true cores= cpu-power=100\n"


def test_on_3_6_a_subordinate_has_no_constraints(juju: Command, charms: Path) -> None:
    """Source: 3.6 state/application.go, ErrSubordinateConstraints."""
    juju("model-config", "agent-version=3.6.14")
    juju("deploy", f"{charms}/sub1-1.0.charm")
    for words in (["constraints", "sub1"], ["set-constraints", "sub1", "mem=1G"]):
        status, _, err = juju(*words)
        assert (status, err) == (
            1,
            "ERROR constraints do not apply to subordinate applications\n",
        )


def test_secrets_and_numbers_among_options_are_read_as_the_controller_does(juju: Command) -> None:
    """Source: juju internal/charm/config.go; 4.0.15 took `secret:x` in a bundle."""
    status, _, err = juju("deploy", "./gamma-1.0.charm", "g9", "--config", "token=foo")
    assert status == 1
    assert err.endswith('application config: option "token" expected secret, got "foo"\n')
    refused = juju("config", "gamma", "count= 5")
    assert refused[2] == 'ERROR option "count" expected int, got " 5"\n'


def test_an_empty_key_of_a_map_is_written_as_go_does() -> None:
    """Source: gopkg.in/yaml.v2; `show-application` of an exposed application."""
    assert to_yaml({"a": {"": {"b": ["c"]}}}) == 'a:\n  "":\n    b:\n    - c'


def test_storage_is_listed_by_its_kind(juju: Command) -> None:
    """Source: cmd/juju/storage/list.go; an offer's users and use: cmd/juju/crossmodel/list.go."""
    juju("deploy", "./gamma-1.0.charm", "gs", "--storage", "data=rootfs,1,10M")
    shown = json.loads(juju("storage", "--filesystem", "--format", "json")[1])
    assert list(shown) == ["filesystems"]
    assert juju("storage", "--filesystem")[1].startswith("Machine  Unit  Storage ID  ID ")
    assert juju("storage", "--volume")[1] == ""
    juju("offer", "gamma:site")
    assert list(json.loads(juju("offers", "--format", "json")[1])) == ["gamma"]
    assert json.loads(juju("offers", "--active-only", "--format", "json")[1]) == {}


def test_a_model_that_is_refused_is_not_there(juju: Command, tmp_path: Path) -> None:
    """Source: cmd/juju/controller/addmodel.go; cmd/juju/common/flags.go, ReadAttrs."""
    refused = juju("add-model", "other", "--config", "nosuch.yaml")
    assert refused[0] == 1
    assert "unable to parse config: open " in refused[2]
    assert juju("add-model", "other", "--config", "update-status-hook-interval=abc")[0] == 1
    (tmp_path / "c.yaml").write_text("update-status-hook-interval: 7m\n")
    assert juju("add-model", "other", "--config", str(tmp_path / "c.yaml"))[0] == 0
    shown = juju("model-config", "-m", "other", "update-status-hook-interval")
    assert shown[1] == "7m\n"


def test_the_log_is_cut_by_application_and_printed_as_json(juju: Command) -> None:
    """Source: cmd/juju/commands/debuglog.go, processEntities."""
    lines = juju("debug-log", "--include", "gamma", "--format", "json")[1].splitlines()
    assert {json.loads(line)["entity"] for line in lines} == {"unit-gamma-0"}
    assert "unit-gamma-0" not in juju("debug-log", "--exclude", "unit-gamma-*")[1]


def test_exec_names_what_it_cannot_reach(juju: Command) -> None:
    """Source: domain/operation/state/start.go."""
    status, out, err = juju("exec", "--machine", "0,77", "--", "id", "-un")
    assert (status, out) == (0, "ubuntu\n")
    assert err.endswith('getting machine UUID for "77": machine "77" not found\n')
    status, _, err = juju("exec", "--application", "nosuch", "--", "id")
    assert status == 1
    assert err.endswith("getting units for applications [nosuch]: no application found\n")
    listed = json.loads(juju("operations", "--machines", "0", "--format", "json")[1])
    assert [item["summary"] for item in listed.values()] == ['exec "id -un"']
    assert juju("operations")[1].split()[:3] == ["ID", "Status", "Started"]


def test_several_tasks_in_the_background_are_listed(juju: Command) -> None:
    """Source: cmd/juju/action/common.go, processOperationResults."""
    status, out, err = juju("exec", "--background", "--machine", "0,1", "--", "true")
    assert (status, out) == (0, '"0":\n  id: "1"\n"1":\n  id: "2"\n')
    assert err == (
        "Scheduled operation 0 with 2 tasks\n"
        "Check operation status with 'juju show-operation 0'\n"
        "Check task status with 'juju show-task <id>'\n"
    )


def test_what_is_printed_goes_to_a_file(juju: Command, tmp_path: Path) -> None:
    """Source: internal/cmd/output.go."""
    assert juju("status", "--format", "json", "-o", str(tmp_path / "out"))[:2] == (0, "")
    assert "gamma" in json.loads((tmp_path / "out").read_text())["applications"]


def test_unit_names_of_an_app_view_keep_the_local_unit(juju: Command) -> None:
    """Recorded on 4.0.15: `show-unit --app --format json`."""
    shown = json.loads(juju("show-unit", "gamma/0", "--app", "--format", "json")[1])["gamma/0"]
    assert all(
        item["local-unit"] == {"in-scope": False, "data": None} for item in shown["relation-info"]
    )
    assert "local-unit" not in juju("show-unit", "gamma/0", "--app")[1]


def test_a_map_among_parameters_is_text_to_4_0(juju: Command) -> None:
    """Recorded on 4.0.15; domain/operation/state/start.go, insertOperationParameter."""
    found = json.loads(juju("run", "gamma/0", "ok", "obj.x=5", "--format", "json")[1])["gamma/0"]
    assert found["message"] == (
        'cannot run "ok" action: validation failed: (root).obj : must be of type object, '
        'given "map[x:5]"'
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[", "yaml: did not find expected node content"),
        ("[1, 2", "yaml: did not find expected ',' or ']'"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: 1\nb: c: d", "yaml: line 2: mapping values are not allowed in this context"),
        ("'x", "yaml: found unexpected end of stream"),
        ("a: 1\n- b", "yaml: line 1: did not find expected key"),
    ],
)
def test_yaml_that_is_none_is_refused_as_go_does(text: str, sentence: str) -> None:
    """Source: gopkg.in/yaml.v2 decode.go."""
    with pytest.raises(UsageError) as raised:
        goyaml.load(text)
    assert str(raised.value) == sentence
