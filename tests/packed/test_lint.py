"""What charmcraft and charmlint say about the charms."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packed.charmfile import ROOT, find_python
from tests.packed.conftest import FILES

TOOLS = Path(sys.executable).parent
FOLDERS = sorted(path.parent for path in (ROOT / "charms").glob("*/charmcraft.yaml"))


def run(*command: str | Path, where: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_charmcraft_reads_the_project(folder: Path) -> None:
    done = run(TOOLS / "charmcraft", "expand-extensions", where=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_charmcraft_finds_no_fault_in_the_file(file: Path) -> None:
    done = run(TOOLS / "charmcraft", "analyse", "--format", "json", file)
    results = json.loads(done.stdout)
    assert [item for item in results if item["result"] in ("error", "errors", "fatal")] == []
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_charmlint_finds_no_error(folder: Path, tmp_path: Path) -> None:
    python = find_python("24.04")
    if python is None:
        pytest.skip("charmlint needs Python 3.12, and none is here")
    tree = tmp_path / folder.name
    shutil.copytree(folder, tree)
    tool = (TOOLS / "uv", "tool", "run", "--python", python, "charmlint==0.3.0")
    done = run(*tool, tree)
    assert done.returncode == 0, done.stdout + done.stderr
