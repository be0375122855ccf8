"""The lab bundle, deployed once; each test works on a copy of its folder."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.cli import main, scenes

ROOT = Path(__file__).resolve().parents[3]
LAB = ROOT / "bundles/lab.yaml"
HERE = Path(__file__).resolve().parents[1] / "data/observed"
WHOLE = ROOT.parent / "shared/data/juju-observed"
RECORDS = WHOLE if (WHOLE / "cli.jsonl").is_file() else HERE

Command = Callable[..., tuple[int, str, str]]


def command(capsys: pytest.CaptureFixture[str], home: Path) -> Command:
    """Return what runs one command on a home; status, output and error output come back."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main([words[0], "--home", str(home), *words[1:]])
        out, err = capsys.readouterr()
        return status, out, err

    return run


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
    return command(capsys, lab)


@pytest.fixture(scope="session")
def charms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The charms of the recorded command lines, packed."""
    place = tmp_path_factory.mktemp("charms")
    scenes.lay_out(RECORDS / "test-charms", place)
    return place


@pytest.fixture(scope="session")
def small(charms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with gamma/0, delta/0 and dd/0; gamma and delta are related by `site`."""
    home = tmp_path_factory.mktemp("small") / "home"
    for words in (
        ("deploy", f"{charms}/gamma-1.0.charm", "--config", "greeting=hey", "--juju", "4.0"),
        ("deploy", f"{charms}/delta-1.0.charm"),
        ("deploy", f"{charms}/delta-1.0.charm", "dd"),
        ("integrate", "gamma:site", "delta:site"),
    ):
        assert main([*words, "--home", str(home)]) == 0
    return home


@pytest.fixture
def juju(
    capsys: pytest.CaptureFixture[str],
    small: Path,
    charms: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """Run one command on the small model, in the folder with the packed charms."""
    home = Path(shutil.copytree(small, tmp_path / "home", symlinks=True))
    monkeypatch.chdir(charms)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    return command(capsys, home)
