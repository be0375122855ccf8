"""kubectl on the model's cluster: a real one where there is one, and the one that is built in."""

import json
import shutil
from pathlib import Path

import pytest

from rehearsal.cli import homes, main

KUBECTLS = ["own", *(["kubectl"] if shutil.which("kubectl") else [])]
POD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: note}
data: {text: hello}
"""


@pytest.fixture(params=KUBECTLS)
def kubectl(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    lab: Path,
    capfd: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("REHEARSAL_KUBECTL", request.param if request.param == "own" else "")

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        status = main(["kubectl", "--home", str(lab), *words])
        out, err = capfd.readouterr()
        return status, out, err

    return run


def test_nodes_are_read_as_a_table_as_json_and_by_name(kubectl) -> None:
    assert kubectl("get", "nodes")[1].split()[:5] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    nodes = json.loads(kubectl("get", "nodes", "-o", "json")[1])["items"]
    capacity = {node["metadata"]["name"]: node["status"]["capacity"] for node in nodes}
    assert capacity["lab-1"]["nvidia.com/gpu"] == "2"
    assert kubectl("get", "node/lab-1", "-o", "name")[1] == "node/lab-1\n"


def test_what_is_applied_is_kept_and_what_is_deleted_is_gone(kubectl, tmp_path: Path) -> None:
    path = tmp_path / "note.yaml"
    path.write_text(POD)
    assert kubectl("apply", "--server-side", "-f", str(path))[0] in (0, 1)
    assert kubectl("apply", "-f", str(path))[0] == 0
    assert json.loads(kubectl("get", "cm", "note", "-o", "json")[1])["data"] == {"text": "hello"}
    assert kubectl("delete", "configmap", "note")[0] == 0
    status, _, err = kubectl("get", "configmap", "note")
    assert status == 1
    assert "(NotFound)" in err


def test_a_cordon_is_kept_and_taken_back(kubectl) -> None:
    assert kubectl("cordon", "lab-1")[0] == 0
    assert "SchedulingDisabled" in kubectl("get", "node", "lab-1")[1]
    assert kubectl("uncordon", "lab-1")[0] == 0
    assert "SchedulingDisabled" not in kubectl("get", "node", "lab-1")[1]


def test_the_built_in_one_refuses_what_it_does_not_know(
    lab: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REHEARSAL_KUBECTL", "own")
    assert main(["kubectl", "--home", str(lab), "drain", "lab-1"]) == 1
    assert "there are only apply, cordon, delete, get, uncordon" in capsys.readouterr().err


def test_model_time_follows_the_wall_while_somebody_looks(
    lab: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def now() -> str:
        capsys.readouterr()
        assert main(["status", "--home", str(lab), "--format", "json"]) == 0
        return str(json.loads(capsys.readouterr().out)["controller"]["timestamp"])

    main(["status", "--home", str(lab), "--speed", "3"])
    before = now()
    monkeypatch.setattr(homes, "seconds_since", lambda folder: 10.0)
    assert now() > before
