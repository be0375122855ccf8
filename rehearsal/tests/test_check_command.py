# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`check` and `deploy` as commands: exit status, words, output; no input gives a traceback."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.cli import main

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
BODY = f"{{charm: {CHARMS}/etcd.charm, num_units: 1}}"
RIGHT = f"default-base: ubuntu@24.04\napplications:\n  e: {BODY}\n"
WARNED = RIGHT.replace("num_units", "nosuch: 1, num_units")
WRONG = RIGHT.replace("num_units: 1", "num_units: -1")
TRUST = RIGHT.replace("num_units", "trust: true, num_units")

Rehearse = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rehearse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Rehearse:
    """Run one command in a folder of its own; return its exit status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([*words, "--home", str(tmp_path / "home")])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def write(text: str, name: str = "b.yaml") -> str:
    Path(name).write_text(text)
    return f"./{name}"


@pytest.mark.parametrize(
    ("text", "words", "status"),
    [
        (RIGHT, [], 0),
        (RIGHT, ["--strict"], 0),
        (WARNED, ["--juju", "4.0"], 0),
        (WARNED, ["--juju", "4.0", "--strict"], 1),
        (WARNED, [], 1),
        (WARNED, ["--juju", "3.6"], 1),
        (WRONG, [], 1),
        (TRUST, [], 0),
        (TRUST, ["--strict"], 1),
        (RIGHT, ["--juju", "2.9"], 2),
        (RIGHT, ["--format", "xml"], 2),
        (RIGHT, ["--nosuch"], 2),
        (RIGHT, ["--overlay"], 2),
    ],
    ids=["right", "right strict", "warned", "warned strict", "unknown key of 3.6", "said 3.6",
         "wrong", "trust", "trust strict", "no such juju", "no such format",
         "no such word", "overlay of nothing"],
)  # fmt: skip
def test_the_exit_status_of_check(text: str, words: list[str], status: int, rehearse: Rehearse):
    assert rehearse("check", write(text), *words)[0] == status


def test_json_is_a_list_with_all_keys(rehearse: Rehearse):
    _, out, _ = rehearse("check", write(WRONG), "--format", "json")
    (finding,) = json.loads(out)
    assert {key: finding[key] for key in ("severity", "rule", "path", "message")} == {
        "severity": "error",
        "rule": "V10",
        "path": "applications.e.num_units",
        "message": "negative number of units",
    }
    assert finding["remedy"]
    assert rehearse("check", write(RIGHT), "--format", "json")[1].strip() == "[]"


def test_a_bare_path_is_fine_for_check_and_ambiguous_for_deploy(rehearse: Rehearse):
    write(RIGHT)
    assert rehearse("check", "b.yaml")[0] == 0
    status, _, err = rehearse("deploy", "b.yaml", "--dry-run")
    assert status == 1
    assert "ambiguous" in err


@pytest.mark.parametrize(
    ("text", "words", "status", "said"),
    [
        (RIGHT, [], 0, ""),
        (WRONG, [], 1, "negative number of units"),
        (TRUST, [], 1, "deploy with: juju deploy ./bundle.yaml --trust"),
        (TRUST, ["--trust"], 0, ""),
        (TRUST, ["--force"], 0, "deployed without trust"),
        (RIGHT, ["--base", "ubuntu@22.04"], 1, "--base is not supported when deploying a bundle"),
        (RIGHT, ["--config", "x=y"], 1, "--config is not supported"),
        (RIGHT, ["-n", "3"], 1, "-n is not supported"),
        (RIGHT, ["--channel", "stable"], 0, "--channel is ignored"),
        (RIGHT, ["myname"], 0, "the name myname is ignored"),
        (RIGHT, ["--map-machines", "9=0"], 0, "the model has no machine 0"),
        (RIGHT, ["--map-machines=two"], 2, 'expected "existing" or'),
        (RIGHT, ["--map-machines=existing"], 0, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_words_of_deploy(
    text: str, words: list[str], status: int, said: str, rehearse: Rehearse
):
    found, out, err = rehearse("deploy", write(text), "--dry-run", *words)
    assert found == status
    assert said in err
    assert ("- deploy application e on ubuntu@24.04" in out) == (status == 0)


def test_a_dry_run_of_an_empty_home_makes_nothing(rehearse: Rehearse, tmp_path: Path):
    assert rehearse("deploy", write(RIGHT), "--dry-run")[0] == 0
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("juju", ["3.6", "4.0"])
def test_deploy_add_and_deploy_again(juju: str, rehearse: Rehearse):
    path = write(RIGHT)
    status, out, err = rehearse("deploy", path, "--juju", juju)
    assert status == 0
    assert out.splitlines()[0] == "Executing changes:"
    assert out.splitlines()[-1] == "- add unit e/0 to new machine 0"
    assert err.splitlines()[-1] == "Deploy of bundle completed."
    status, out, err = rehearse("deploy", path, "--dry-run")
    if juju == "3.6":
        assert (status, out, err) == (0, "", "No changes to apply.\n")
    else:
        assert 'set constraints for e to ""' in out
        assert "the deploy stops at: upload charm etcd from local" in err
    more = write(RIGHT.replace("num_units: 1", "num_units: 2, constraints: arch=amd64"))
    status, out, _ = rehearse("deploy", more, "--dry-run")
    assert "- add unit e/1 to new machine 1" in out


def test_model_constraints_let_a_bundle_be_deployed_again_on_juju_4(rehearse: Rehearse):
    path = write(RIGHT)
    assert rehearse("set-model-constraints", "arch=amd64")[0] == 0
    assert rehearse("deploy", path, "--juju", "4.0")[0] == 0
    assert rehearse("deploy", path)[0] == 0
    assert rehearse("deploy", path)[2].endswith("No changes to apply.\n")


def test_units_that_a_bundle_does_not_want_stay_with_a_word(rehearse: Rehearse):
    rehearse("deploy", write(RIGHT.replace("num_units: 1", "num_units: 2")))
    status, out, err = rehearse("deploy", write(RIGHT))
    assert (status, out) == (0, "")
    assert "e has 2 units and keeps them" in err


def odd_paths(folder: Path) -> dict[str, Path]:
    """Return paths that a person may name by mistake, made in a folder."""
    paths = {
        name: folder / name for name in ("nothing", "folder", "binary", "loop", "empty", "fifo")
    }
    paths["folder"].mkdir()
    paths["binary"].write_bytes(bytes(range(256)) * 40)
    paths["loop"].symlink_to("loop")
    paths["empty"].write_text("")
    os.mkfifo(paths["fifo"])
    paths["device"] = Path("/dev/null")
    paths["surrogates"] = folder / os.fsdecode(b"\xff\xfe")
    paths["control"] = folder / "a\x1b[31m\n"
    paths["below a file"] = folder / "empty" / "x"
    paths["long"] = folder / ("x" * 5000)
    return paths


ODD = ["nothing", "folder", "binary", "loop", "empty", "fifo", "device", "surrogates", "control",
       "below a file", "long"]  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_odd_paths_are_refused_without_a_traceback(kind: str, rehearse: Rehearse, tmp_path: Path):
    path = str(odd_paths(tmp_path)[kind])
    right = write(RIGHT)
    assert rehearse("check", path)[0] == 1
    assert rehearse("deploy", path)[0] == 1
    expected = 0 if kind in ("empty", "device") else 1
    assert rehearse("check", right, "--overlay", path)[0] in (expected, 1)
    if kind != "fifo":  # a pipe is waited for, as it should be: maas ... | rehearse check
        status, _, err = rehearse("check", right, "--inventory", path)
        assert status == 1
        assert err.startswith("ERROR ")
    status, _, err = rehearse("facts", path, "--dry-run")
    assert status == 1
    assert err.startswith("ERROR ")
    charm = RIGHT.replace(f"{CHARMS}/etcd.charm", json.dumps(path))
    assert rehearse("check", write(charm))[0] == 1
