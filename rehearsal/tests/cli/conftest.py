"""The lab bundle, deployed once; each test works on a copy of its folder."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.cli import main

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "bundles/lab.yaml"

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lab") / "home"
    assert main(["deploy", str(LAB), "--home", str(home)]) == 0
    return home


@pytest.fixture
def lab(deployed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(deployed, tmp_path / "home", symlinks=True))


@pytest.fixture
def rehearse(capsys: pytest.CaptureFixture[str], lab: Path) -> Command:
    """Run one command on the lab; return its exit status, output and error output."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([*words, "--home", str(lab)])
        out, err = capsys.readouterr()
        return status, out, err

    return run
