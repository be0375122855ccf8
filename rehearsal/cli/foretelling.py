# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a layout would do to each machine of the GPU pools; asked of a copy, so nothing is touched.

The answer is the charm's own: its action `plan-mig`, run on a copy of the model's folder.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError
from rehearsal.juju.names import natural
from rehearsal.site import Site

ACTION = "plan-mig"
"""Action that foretells; whichever charm has it."""


def foretell(home: Path, profile: str) -> tuple[str, bool]:
    """Return what a layout would change, unit by unit, and whether every unit can have it.

    Args:
        home: The model's folder.
        profile: Name of a layout; empty for the one in force on each machine.

    Raises:
        NotFoundError: No unit has the action.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        with Site(home):
            shutil.copytree(home, copy, symlinks=True, ignore=_no_special_files)
        with Site(copy) as site, Progress(site, "gpus"):
            units = _find_units(site)
            if not units:
                raise NotFoundError(f"no unit has the action {ACTION}")
            results = site.juju.run_action(units, ACTION, {"profile": profile} if profile else {})
    text = "\n".join(_describe(unit, results[unit]) for unit in units)
    return text, all(results[unit].get("status") == "completed" for unit in units)


def _find_units(site: Site) -> list[str]:
    model = site.juju.model
    units = [name for name, unit in model.units.items() if ACTION in model.charm_of(unit).actions]
    return sorted(units, key=natural)


def _describe(unit: str, result: Mapping[str, Any]) -> str:
    if result.get("status") != "completed":
        return f"{unit}: {result.get('message', 'no answer')}"
    answers: Mapping[str, Any] = result["results"]
    shown = {name: answers[name] for name in answers.keys() - {"layout", "return-code"}}
    lines = [f"  {name:13} {value}" for name, value in sorted(shown.items(), key=_order)]
    return "\n".join([f"{unit}: {answers['layout']}", *lines])


def _order(item: tuple[str, Any]) -> tuple[bool, Any]:
    """Put the GPUs first, by number."""
    return not item[0].startswith("gpu-"), natural(item[0])


def _no_special_files(folder: str, names: list[str]) -> list[str]:
    """Leave out sockets and pipes of workers: they belong to processes, not to the model."""
    paths = {name: Path(folder) / name for name in names}
    return [
        name
        for name, path in paths.items()
        if not (path.is_symlink() or path.is_file() or path.is_dir())
    ]
