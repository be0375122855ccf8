# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import errno
import os
import stat
from pathlib import Path

import pytest

from charmkit.errors import InterventionError, NotReadyError
from charmkit.files import Files


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "root")


def test_a_path_of_the_machine_is_joined_below_the_root(files: Files) -> None:
    assert files.path("/etc/hostname") == files.root / "etc/hostname"


def test_a_relative_path_is_a_bug_of_the_caller(files: Files) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        files.path("etc/hostname")


def test_an_absent_file_is_none_or_not_ready(files: Files) -> None:
    assert files.find_text("/etc/hostname") is None
    with pytest.raises(NotReadyError, match="/etc/hostname"):
        files.read_text("/etc/hostname")


def test_a_file_below_a_file_is_absent(files: Files) -> None:
    files.ensure_text("/etc/hostname", "dgx-1\n")
    assert files.find_text("/etc/hostname/x") is None
    assert not files.ensure_absent("/etc/hostname/x")


def test_text_is_written_once(files: Files) -> None:
    assert files.ensure_text("/etc/modprobe.d/x.conf", "blacklist nouveau\n")
    assert not files.ensure_text("/etc/modprobe.d/x.conf", "blacklist nouveau\n")
    assert files.read_text("/etc/modprobe.d/x.conf") == "blacklist nouveau\n"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755], ids=oct)
def test_the_mode_is_as_asked_and_mended(files: Files, mode: int) -> None:
    files.ensure_text("/a", "x", mode=mode)
    assert stat.S_IMODE(files.path("/a").stat().st_mode) == mode
    files.path("/a").chmod(0o640)
    assert files.ensure_text("/a", "x", mode=mode)
    assert stat.S_IMODE(files.path("/a").stat().st_mode) == mode


def test_a_write_leaves_nothing_beside_the_file(files: Files) -> None:
    files.ensure_text("/etc/a", "1")
    files.ensure_text("/etc/a", "2")
    assert [one.name for one in files.path("/etc").iterdir()] == ["a"]


def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(files: Files) -> None:
    files.ensure_text("/etc/real", "kept")
    files.ensure_link("/etc/name", "real")
    assert files.ensure_text("/etc/name", "kept")
    files.ensure_text("/etc/name", "new")
    assert files.read_text("/etc/real") == "kept"


def test_a_full_disk_is_something_a_person_mends(files: Files) -> None:
    class Full(Files):
        def _replace(self, real: Path, content: bytes, mode: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InterventionError, match=r"/etc/a: no space left"):
        Full(files.root).ensure_text("/etc/a", "x")


def test_directories_get_their_mode(files: Files) -> None:
    assert files.ensure_directory("/var/lib/gpu-worker", mode=0o700)
    assert not files.ensure_directory("/var/lib/gpu-worker", mode=0o700)
    assert files.ensure_directory("/var/lib/gpu-worker", mode=0o755)


def test_a_link_is_swapped(files: Files) -> None:
    assert files.ensure_link("/opt/a/current", "1")
    assert not files.ensure_link("/opt/a/current", "1")
    assert files.ensure_link("/opt/a/current", "2")
    assert files.find_link("/opt/a/current") == "2"


def test_what_is_no_link_names_nothing(files: Files) -> None:
    files.ensure_text("/a", "")
    assert files.find_link("/a") is None
    assert files.find_link("/b") is None


def test_removing_a_link_leaves_what_it_names(files: Files) -> None:
    files.ensure_text("/opt/a/1/x", "kept")
    files.ensure_link("/opt/a/current", "1")
    assert files.ensure_absent("/opt/a/current")
    assert files.read_text("/opt/a/1/x") == "kept"


def test_removing_a_tree_removes_everything_once(files: Files) -> None:
    files.ensure_text("/opt/a/b/c", "x")
    assert files.ensure_absent("/opt/a")
    assert not files.ensure_absent("/opt/a")


def test_patterns_give_sorted_paths_of_the_machine(files: Files) -> None:
    for name in ("b", "a", "c.txt"):
        files.ensure_text(f"/etc/{name}", "")
    assert files.glob("/etc/[ab]") == ["/etc/a", "/etc/b"]
    assert files.glob("/nowhere/*") == []


def make_source(folder: Path) -> Path:
    source = folder / "charm"
    source.joinpath("src/sub").mkdir(parents=True)
    source.joinpath("src/sub/a.py").write_text("1")
    source.joinpath("version").write_text("1.0\n")
    source.joinpath("hooks").mkdir()
    return source


def test_named_parts_of_a_folder_are_copied_once(files: Files, tmp_path: Path) -> None:
    source = make_source(tmp_path)
    assert files.ensure_copy(source, ("src", "lib", "version"), "/opt/a/1")
    assert not files.ensure_copy(source, ("src", "lib", "version"), "/opt/a/1")
    assert files.glob("/opt/a/1/*") == ["/opt/a/1/src", "/opt/a/1/version"]
    assert files.read_text("/opt/a/1/src/sub/a.py") == "1"


def test_a_copy_that_was_cut_off_is_made_again(files: Files, tmp_path: Path) -> None:
    source = make_source(tmp_path)
    files.ensure_text(f"/opt/a/.1.{os.getpid()}.new/src/sub/b.py", "half")
    assert files.ensure_copy(source, ("src",), "/opt/a/1")
    assert files.glob("/opt/a/.*") == []
    assert files.glob("/opt/a/1/src/sub/*") == ["/opt/a/1/src/sub/a.py"]


def test_a_copy_that_fails_half_way_is_not_there(files: Files, tmp_path: Path) -> None:
    source = make_source(tmp_path)
    os.mkfifo(source / "src/sub/pipe")
    with pytest.raises(OSError, match="named pipe"):
        files.ensure_copy(source, ("src", "version"), "/opt/a/1")
    assert not files.exists("/opt/a/1")


def test_who_needs_no_durability_gets_the_same_files(tmp_path: Path) -> None:
    files = Files(tmp_path, durable=False)
    assert files.ensure_text("/a", "x")
    assert files.ensure_link("/b", "a")
    assert files.read_text("/b") == "x"
