# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb `facts`: what is known of a charm that is not ours, from a packed file or metadata."""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path

from rehearsal import charm_metadata
from rehearsal.bundle.charmfiles import facts_from
from rehearsal.bundle.factsfile import render_facts
from rehearsal.charm_metadata import Metadata
from rehearsal.errors import UsageError
from rehearsal.facts import CharmFileError

Verb = Callable[[str, str], argparse.ArgumentParser]
FOLDER = Path(str(resources.files("rehearsal"))) / "data" / "charms"
"""Where the facts lie that the check reads."""


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    facts = verb("facts", "add facts on a charm: from a packed file, a folder, or its YAML files")
    facts.add_argument("paths", nargs="+", type=Path, metavar="CHARM|METADATA")
    facts.add_argument(
        "--repo", default="", help="where the charm is from; the file's name if not"
    )
    facts.add_argument("--commit", default="", help="commit of the repository")
    facts.add_argument("--date", default="", help="day on which it was read; today if not said")
    facts.add_argument("--folder", type=Path, default=FOLDER, help="folder of the facts")
    facts.add_argument("--dry-run", action="store_true", help="print the facts only")
    facts.set_defaults(run=_facts)


def _facts(arguments: argparse.Namespace) -> int:
    """Write one file of facts.

    Raises:
        CharmFileError: The paths hold no charm.
        UsageError: The file cannot be written, or the charm's name is none.
    """
    charm = facts_from(read(arguments.paths), arguments.paths[0].name)
    date = arguments.date or datetime.now(tz=timezone.utc).date().isoformat()
    repo = arguments.repo or arguments.paths[0].name
    text = render_facts(charm, repo=repo, date=date, commit=arguments.commit)
    if arguments.dry_run:
        sys.stdout.write(text)
        return 0
    if not charm.name.replace("-", "").isalnum():
        raise UsageError(f'"{charm.name}" is no name of a charm')
    path = arguments.folder / f"{charm.name}.yaml"
    try:
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    sys.stderr.write(f"wrote {path}\n")
    return 0


def read(paths: Sequence[Path]) -> Metadata:
    """Return the parts of one charm from a packed file, a folder, or its YAML files.

    Raises:
        CharmFileError: They hold no charm.
    """
    if len(paths) == 1 and paths[0].suffix not in (".yaml", ".yml"):
        return charm_metadata.read(paths[0])
    texts: dict[str, bytes] = {}
    for path in paths:
        name = _part(path)
        try:
            if path.stat().st_size > charm_metadata.MAX_BYTES:
                raise CharmFileError(f"{path}: larger than {charm_metadata.MAX_BYTES} bytes")
            texts[name] = path.read_bytes()
        except (OSError, ValueError) as error:
            raise CharmFileError(f"{path}: {getattr(error, 'strerror', error)}") from error
    return charm_metadata.from_texts(texts, str(paths[0].parent))


def _part(path: Path) -> str:
    """Return which part of a charm a file is, by its name.

    Raises:
        CharmFileError: The name says nothing.
    """
    for name in charm_metadata.NAMES:
        if path.stem.endswith(Path(name).stem):
            return name
    known = ", ".join(charm_metadata.NAMES)
    raise CharmFileError(f"{path}: is none of {known}, no packed charm and no folder")
