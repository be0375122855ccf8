"""Packed charms run as Juju runs them: their own dispatch, interpreter and libraries."""

import zipfile
from pathlib import Path

import pytest
import yaml

from tests.packed.charmfile import PackedCharm
from tests.packed.conftest import FILES

ACTIONS = {"nvidia-driver": "show-driver", "gpu-worker": "show-gpus"}
ANYWHERE = "prepare-removal"
"""The action that every charm has."""


def listing() -> list[str]:
    places = ("/etc", "/opt", "/run", "/usr/bin", "/var/lib")
    return sorted(str(entry) for place in places for entry in Path(place).iterdir())


def defaults(charm: PackedCharm) -> dict[str, object]:
    options = yaml.safe_load((charm.folder / "config.yaml").read_text())["options"]
    return {name: option["default"] for name, option in options.items() if "default" in option}


def test_there_is_something_packed() -> None:
    assert FILES, "dist/ is empty: run make pack"


@pytest.mark.parametrize("hook", ["install", "config-changed", "action", "stop"])
def test_a_packed_charm_runs_its_hooks_and_leaves_the_machine_alone(
    packed: PackedCharm, hook: str
) -> None:
    before = listing()
    name = f"actions/{ACTIONS.get(packed.name, ANYWHERE)}" if hook == "action" else hook
    run = packed.dispatch(name, defaults(packed))
    assert run.code == 0, run.output
    assert listing() == before


def test_a_packed_charm_on_a_machine_without_gpu_installs_nothing(packed: PackedCharm) -> None:
    run = packed.dispatch("install", defaults(packed))
    assert run.code == 0, run.output
    assert not [call for call in run.called("apt-get") if "install" in call]
    assert run.called("status-set"), "the charm says nothing about itself"


def test_stand_ins_are_in_no_packed_charm(packed: PackedCharm) -> None:
    names = [str(path.relative_to(packed.folder)) for path in packed.folder.rglob("*.py")]
    assert not [name for name in names if "standins" in name or "rehearsal" in name]
    assert "lib/charmkit/errors.py" in names


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_packed_charm_names_one_base_and_one_architecture(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        manifest = yaml.safe_load(archive.read("manifest.yaml"))
    (base,) = manifest["bases"]
    assert base["architectures"] == ["amd64"]
    assert f"ubuntu-{base['channel'].split('/')[0]}" in file.name
