# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to the files of one machine: read, ensure, remove. Knows no service and no package.

Every path is an absolute path of the machine ("/etc/hostname") and is joined below `root`, which
is "/" in production and a folder in the rehearsal. Writes are atomic: a reader, or the machine
after a power loss, finds the old content or the new one (decision 0008).
"""

import contextlib
import errno
import glob
import os
import shutil
import stat
from collections.abc import Generator, Iterable
from pathlib import Path

from charmkit.errors import InterventionError, NotReadyError

_FULL = {errno.ENOSPC: "no space left", errno.EDQUOT: "no space left", errno.EROFS: "read-only"}


class Files:
    """The files of one machine.

    Every `ensure_` returns whether it changed anything, makes the parents that it needs, and
    raises InterventionError when the disk is full or read-only.
    """

    def __init__(self, root: Path = Path("/"), *, durable: bool = True) -> None:
        """Args: durable: flush each write to the disk; False only where a loss does no harm."""
        self.root = root
        self._durable = durable

    def path(self, path: str) -> Path:
        """Return where a path of the machine really is.

        Raises:
            ValueError: The path is not absolute.
        """
        if not path.startswith("/"):
            raise ValueError(f"{path!r} is not an absolute path")
        return self.root / path.lstrip("/")

    def find_text(self, path: str) -> str | None:
        """Return the content of a file, None when there is none."""
        try:
            return self.path(path).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read_text(self, path: str) -> str:
        """Return the content of a file.

        Raises:
            NotReadyError: There is no such file.
        """
        text = self.find_text(path)
        if text is None:
            raise NotReadyError(f"{path}: not there yet")
        return text

    def exists(self, path: str) -> bool:
        """Tell whether there is a file, a directory or a link that leads somewhere."""
        return self.path(path).exists()

    def glob(self, pattern: str) -> list[str]:
        """Return the paths of the machine that match a pattern, sorted."""
        self.path(pattern)
        found = glob.glob(pattern.lstrip("/"), root_dir=self.root)  # noqa: PTH207 - /proc changes
        return sorted(f"/{path}" for path in found)

    def find_link(self, path: str) -> str | None:
        """Return what a symbolic link names, as it is written; None when it is no link."""
        try:
            return os.readlink(self.path(path))  # noqa: PTH115 - as written, not normalised
        except OSError:
            return None

    def ensure_text(self, path: str, text: str, *, mode: int = 0o644) -> bool:
        """Make a file hold a text with a mode; a link in its place is replaced."""
        real = self.path(path)
        if self._is_text(real, text, mode):
            return False
        with _disk_trouble(path):
            real.parent.mkdir(parents=True, exist_ok=True)
            self._replace(real, text.encode(), mode)
        return True

    def ensure_directory(self, path: str, *, mode: int = 0o755) -> bool:
        """Make a directory with a mode."""
        real = self.path(path)
        if real.is_dir() and stat.S_IMODE(real.stat().st_mode) == mode:
            return False
        with _disk_trouble(path):
            real.mkdir(parents=True, exist_ok=True)
            real.chmod(mode)
        return True

    def ensure_link(self, path: str, target: str) -> bool:
        """Make a symbolic link; a link or file in its place is swapped atomically.

        The target is kept as written; relative ones work below any root.
        """
        if self.find_link(path) == target:
            return False
        real = self.path(path)
        with _disk_trouble(path):
            real.parent.mkdir(parents=True, exist_ok=True)
            fresh = _sibling(real)
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(target)
            fresh.replace(real)
            self._flush_directory(real.parent)
        return True

    def ensure_absent(self, path: str) -> bool:
        """Remove a file, a link (never what it names) or a whole tree."""
        real = self.path(path)
        if real.is_dir() and not real.is_symlink():
            shutil.rmtree(real)
            return True
        try:
            real.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def ensure_copy(self, source: Path, parts: Iterable[str], path: str) -> bool:
        """Copy parts of a folder outside the root to where there is nothing yet.

        The copy appears whole or not at all, so what is there is never looked into.

        Args:
            source: The folder.
            parts: Names of files and trees in it; those that it lacks are left out.
            path: Where the copies of the parts will be.
        """
        real = self.path(path)
        if real.exists():
            return False
        fresh = _sibling(real)
        with _disk_trouble(path):
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            for part in parts:
                _copy(source / part, fresh / part)
            if self._durable:
                os.sync()
            fresh.rename(real)
            self._flush_directory(real.parent)
        return True

    @staticmethod
    def _is_text(real: Path, text: str, mode: int) -> bool:
        try:
            status = real.lstat()
            same = stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == mode
            return same and real.read_bytes() == text.encode()
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _replace(self, real: Path, content: bytes, mode: int) -> None:
        fresh = _sibling(real)
        try:
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as stream:
                os.fchmod(stream.fileno(), mode)
                stream.write(content)
                stream.flush()
                if self._durable:
                    os.fsync(stream.fileno())
            fresh.replace(real)
        finally:
            fresh.unlink(missing_ok=True)
        self._flush_directory(real.parent)

    def _flush_directory(self, directory: Path) -> None:
        if not self._durable:
            return
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sibling(real: Path) -> Path:
    """Return a hidden name beside a path; each process has its own, so that two never mix."""
    return real.with_name(f".{real.name}.{os.getpid()}.new")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=_copy_file)
    elif source.exists():
        shutil.copy2(source, target)


def _copy_file(source: str, target: str) -> None:
    """Copy one file of a tree; copytree itself would hide why it failed (its errors are texts)."""
    with _disk_trouble(target):
        shutil.copy2(source, target)


@contextlib.contextmanager
def _disk_trouble(path: str) -> Generator[None]:
    """Turn a full or read-only disk into an error that a status can explain."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        reason = _FULL[error.errno]
        raise InterventionError(f"{path}: {reason}, make the disk writable") from error
