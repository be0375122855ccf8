"""Which code of a charm is run: the packed file, or the source that it was packed from."""

import shutil
import zipfile
from pathlib import Path

import pytest

from rehearsal.site import current_code


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "charms/web/charmcraft.yaml": "name: web\n",
        "charms/web/src/charm.py": "ONE = 1\n",
        "lib/charmkit/errors.py": "TWO = 2\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "dist").mkdir()
    return tmp_path


def packed(tree: Path) -> Path:
    file = tree / "dist/web_ubuntu-24.04-amd64.charm"
    with zipfile.ZipFile(file, "w") as archive:
        archive.write(tree / "charms/web/src/charm.py", "src/charm.py")
        archive.write(tree / "lib/charmkit/errors.py", "lib/charmkit/errors.py")
    return file


def test_a_file_that_was_packed_from_the_source_is_run(tree: Path) -> None:
    file = packed(tree)
    assert current_code(file) == file


def test_without_a_packed_file_the_source_is_run(tree: Path) -> None:
    assert current_code(tree / "dist/web_ubuntu-24.04-amd64.charm") == tree / "charms/web"


@pytest.mark.parametrize("changed", ["charms/web/src/charm.py", "lib/charmkit/errors.py"])
def test_a_file_that_is_older_than_the_source_is_not_run(tree: Path, changed: str) -> None:
    file = packed(tree)
    (tree / changed).write_text("THREE = 3\n")
    assert current_code(file) == tree / "charms/web"


def test_a_module_that_is_not_packed_yet_counts_as_a_change(tree: Path) -> None:
    file = packed(tree)
    (tree / "charms/web/src/new.py").write_text("")
    assert current_code(file) == tree / "charms/web"


def test_a_file_of_somebody_else_is_run_as_it_is(tree: Path) -> None:
    file = Path(shutil.copy(packed(tree), tree / "web.charm"))
    (tree / "charms/web/src/charm.py").write_text("THREE = 3\n")
    assert current_code(file) == file
