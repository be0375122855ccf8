# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where the models of a home lie: the first in the folder itself, others below `models`.

While there is just one model, every name means it. `add-model` makes more; from then on a name
must be that of a model.
"""

import json
import shutil
import time
from pathlib import Path

from rehearsal.errors import ExistsError, NotFoundError

FIRST = "rehearsal"
"""Name of the model that lies in the home's folder itself, unless it was given another."""

MODELS = "models"
WALL = "wall"
"""A file whose time says when the last command ended."""

CURRENT = "current-model"
REMOVED = "removed-models"
"""A file with the names of models that are no more."""


def short_name(model: str) -> str:
    """Return the name without controller and owner: `lab:admin/c2` is c2."""
    return model.rpartition(":")[2].rpartition("/")[2]


def names(home: Path) -> list[str]:
    """Return the models of a home; the first is the one in its folder."""
    folder = home / MODELS
    more = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    return [first_name(home), *more]


def first_name(home: Path) -> str:
    """Return the name of the model in the folder itself."""
    path = home / "name.json"
    return str(json.loads(path.read_text())) if path.exists() else FIRST


def folder_of(home: Path, model: str) -> Path:
    """Return the folder of a model.

    Args:
        home: The home.
        model: A name as `--model` takes it; empty means the current one.

    Raises:
        NotFoundError: There are several models, none of this name.
    """
    folder = home / MODELS
    if not folder.is_dir():
        return home
    name = short_name(model) or current(home)
    if name == first_name(home):
        return home
    if not (folder / name).is_dir():
        raise NotFoundError(said_of_unknown(home, model))
    return folder / name


def current(home: Path) -> str:
    """Return the model that commands mean that name none."""
    path = home / CURRENT
    return path.read_text().strip() if path.exists() else first_name(home)


def switch(home: Path, model: str) -> None:
    """Make a model the current one.

    Raises:
        NotFoundError: There is none of this name.
    """
    name = short_name(model)
    if name not in names(home):
        raise NotFoundError(f'"{model}" is not the name of a model or controller')
    (home / CURRENT).write_text(f"{name}\n")


def add(home: Path, model: str) -> Path:
    """Make the folder of another model and return it.

    Raises:
        ExistsError: There is one of this name.
    """
    if model in names(home):
        raise ExistsError(f"failed to create new model: model already exists: {model}")
    folder = home / MODELS / model
    folder.mkdir(parents=True)
    inventory = home / "inventory.yaml"
    if inventory.exists():
        shutil.copyfile(inventory, folder / "inventory.yaml")
    return folder


def remove(home: Path, model: str) -> None:
    """Remove a model with all that is in it; of the first one, what its folder holds.

    Raises:
        NotFoundError: There is none of this name.
    """
    name = short_name(model)
    if name not in names(home):
        raise NotFoundError(said_of_unknown(home, model))
    if name != first_name(home):
        shutil.rmtree(home / MODELS / name)
    else:
        for path in home.iterdir():
            if path.name not in (MODELS, "inventory.yaml"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    (home / CURRENT).unlink(missing_ok=True)
    with (home / REMOVED).open("a") as file:
        file.write(f"{name}\n")


def was_removed(home: Path, model: str) -> bool:
    """Return whether there was a model of this name: juju's client then still knows its owner."""
    path = home / REMOVED
    return path.exists() and short_name(model) in path.read_text().split()


def said_of_unknown(home: Path, model: str) -> str:
    """Return what is said of a model that is not there: its owner, if the client knew it once."""
    written = model.rpartition(":")[2]
    if was_removed(home, model) and "/" not in written:
        written = f"admin/{written}"
    return f"model {FIRST}:{written} not found"


def note_time(folder: Path) -> None:
    """Note that a command ended now."""
    if folder.is_dir():
        (folder / WALL).touch()


def seconds_since(folder: Path) -> float:
    """Return the wall time since the last command on a model ended."""
    path = folder / WALL
    return max(0.0, time.time() - path.stat().st_mtime) if path.exists() else 0.0
