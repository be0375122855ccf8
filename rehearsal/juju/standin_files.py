# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins that a user wrote: one Python file each, in folders beside the model.

A folder holds `NAME.py`, or `NAME/standin.py` beside the charm's metadata.yaml (with config.yaml
and actions.yaml, or a charmcraft.yaml). Each has a class `Charm` with
`handle(event, unit, world)`.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rehearsal import charm_files
from rehearsal.errors import CharmError, UsageError
from rehearsal.juju.entities import Charm
from standins.units import StandinCharm

FOLDER = "standins"
"""Folder of a model in which its stand-ins lie."""


NOTED = "standin-folders"
"""File of a model that names further folders, one a line, the newest first."""


def remember(home: Path, folder: Path) -> None:
    """Note a folder of stand-ins with a model, for this command and all later ones.

    Raises:
        UsageError: It is no folder, or none of its files is a stand-in.
    """
    if not folder.is_dir():
        raise UsageError(f"--standins {folder}: no such folder")
    if not [*folder.glob("*.py"), *folder.glob("*/standin.py")]:
        raise UsageError(f"--standins {folder}: it holds no NAME.py and no NAME/standin.py")
    home.mkdir(parents=True, exist_ok=True)
    lines = dict.fromkeys([str(folder.resolve()), *map(str, noted(home))])
    (home / NOTED).write_text("".join(f"{line}\n" for line in lines))


def noted(home: Path) -> list[Path]:
    """Return the folders that were noted with a model."""
    path = home / NOTED
    return [Path(line) for line in path.read_text().splitlines()] if path.exists() else []


class StandinFiles:
    """The stand-ins of some folders; the first folder that has a name wins."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = list(folders)

    def find_file(self, name: str) -> Path | None:
        """Return the file of a charm's stand-in, None when no folder has one.

        Args:
            name: Name of the charm; its file may have underscores for its hyphens.
        """
        for folder in self._folders:
            for stem in dict.fromkeys((name, name.replace("-", "_"))):
                for path in (folder / f"{stem}.py", folder / stem / "standin.py"):
                    if path.is_file():
                        return path
        return None

    def find_charm(self, name: str, *, channel: str = "", revision: int = 0) -> Charm | None:
        """Return a charm that a folder describes, None when none has metadata for it.

        Raises:
            CharmError: The metadata are none.
        """
        path = self.find_file(name)
        if path is None or path.name != "standin.py":
            return None
        charm = charm_files.read_charm(path.parent, path.parent)
        charm.kind, charm.source, charm.origin = "standin", charm.name, "charmhub"
        charm.channel, charm.revision = channel, revision
        return charm

    def load(self, name: str) -> StandinCharm | None:
        """Return a charm's stand-in, None when no folder has one.

        Raises:
            CharmError: The file has no class `Charm` with a `handle`.
        """
        path = self.find_file(name)
        if path is None:
            return None
        spec = importlib.util.spec_from_file_location(f"standin_{path.stem}_{id(path)}", path)
        if spec is None or spec.loader is None:
            raise CharmError(f"{path} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except (ImportError, SyntaxError, NameError) as error:
            raise CharmError(f"{path}: {error}") from error
        made: Any = getattr(module, "Charm", None)
        if not callable(getattr(made, "handle", None)):
            raise CharmError(f"{path} has no class Charm with a method handle")
        return made()
