# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is at a path that somebody wrote: a path that can be none is as one where nothing is.

The methods of `pathlib.Path` raise for names that are too long, that hold a null byte, or that lie
below a folder which may not be read; for the author of a bundle all of them mean "not there".
"""

from pathlib import Path


def is_there(path: Path) -> bool:
    """Return whether anything is at a path."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Return whether a file is at a path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return whether a folder is at a path."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
