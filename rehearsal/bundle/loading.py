# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Loads a bundle with its overlays. What is wrong with the files becomes findings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rehearsal.bundle.aliases import resolve_aliases
from rehearsal.bundle.findings import Finding, Findings, Position
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.merge import Merged
from rehearsal.bundle.model import Bundle, build
from rehearsal.bundle.scalars import Scalar
from rehearsal.bundle.schema import Decoded, Decoder
from rehearsal.bundle.series import resolve_series
from rehearsal.bundle.sources import Part, read_parts


@dataclass(frozen=True, slots=True)
class Loaded:
    """A bundle with its overlays merged.

    ``base`` is the first document alone, which Juju 4.0 verifies before it reads an overlay; it is
    alone indeed where ``has_overlays`` is false. Both are None when there is no readable first
    document.
    """

    bundle: Bundle | None
    base: Bundle | None
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    has_overlays: bool = False


def load(path: Path, overlays: Sequence[Path] = (), *, juju: JujuVersion = "3.6") -> Loaded:
    """Return a bundle with its overlays merged; never raises for what a file holds.

    Args:
        path: The bundle: a file, a folder or a zip with ``bundle.yaml``.
        overlays: Files like it, in the order of ``--overlay``.
        juju: Whose merge rules apply.
    """
    findings = Findings()
    parts = read_parts(path, list(overlays), findings)
    files = tuple(str(file) for file in (path, *overlays))
    if not parts or not parts[0].is_base:
        return Loaded(None, None, tuple(findings.found), files)
    merged = Merged(juju, findings)
    folder = parts[0].folder
    if parts[0].node is None:
        findings.error(
            "yaml",
            (),
            "the first document is empty; Juju's client crashes on it",
            "delete the lone --- before the bundle",
            Position(parts[0].file, 0),
        )
        return Loaded(None, None, tuple(findings.found), files)
    merged.start(_decode(parts[0], juju, findings), folder)
    base = build(merged, folder)
    for part in parts[1:]:
        _overlay(part, merged, findings)
    if juju == "3.6":
        resolve_series(merged)
    found = tuple(findings.found)
    return Loaded(build(merged, folder), base, found, files, has_overlays=len(parts) > 1)


def _decode(part: Part, juju: JujuVersion, findings: Findings) -> Decoded:
    node = part.node or Scalar("", True, 0)
    decoded = Decoder(part.file, juju, findings, part.is_base).decode(node)
    if part.is_base or not decoded.faulty:
        resolve_aliases(decoded, findings)
    return decoded


def _overlay(part: Part, merged: Merged, findings: Findings) -> None:
    if part.node is None:
        return
    decoded = _decode(part, merged.juju, findings)
    if not decoded.faulty:
        merged.apply(decoded, part.folder)
