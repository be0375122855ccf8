# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Reads bundles and overlays from files, folders and zip archives into documents."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

from rehearsal.bundle.document import DocumentError, Node, parse
from rehearsal.bundle.findings import Findings, Position
from rehearsal.paths import is_folder

MAX_BYTES = 4 * 1024 * 1024
"""Largest bundle file that is read; real ones are below 100 KB."""


@dataclass(frozen=True, slots=True)
class Part:
    """One YAML document: the first of the first file is the base, all others are overlays."""

    node: Node | None
    file: str
    folder: Path
    is_base: bool


def read_parts(base: Path, overlays: list[Path], findings: Findings) -> list[Part]:
    """Return the documents of a bundle and its overlays in the order in which Juju merges them.

    What cannot be read becomes a finding.
    """
    parts: list[Part] = []
    for index, path in enumerate([base, *overlays]):
        is_first = index == 0
        documents = _documents(path, findings, is_first)
        if documents is None:
            continue
        _report_empty(path, documents, is_first, findings)
        for number, node in enumerate(documents):
            parts.append(Part(node, str(path), _folder(path), is_first and number == 0))
    return parts


def _report_empty(
    path: Path, documents: list[Node | None], is_first: bool, findings: Findings
) -> None:
    """Report a bundle without a document, and an overlay that Juju takes without a word."""
    at = Position(str(path), 0)
    if is_first and not documents:
        findings.error("yaml", (), "the bundle is empty", "name a bundle file", at)
    elif not is_first and not any(documents):
        findings.warning("merge", (), "the overlay holds nothing", "fill it, or leave it out", at)


def _folder(path: Path) -> Path:
    return path if is_folder(path) else path.parent


def _documents(path: Path, findings: Findings, is_first: bool) -> list[Node | None] | None:
    what = "bundle" if is_first else "overlay"
    try:
        return parse(_read(path))
    except DocumentError as error:
        at = Position(str(path), error.line)
        findings.error("yaml", (), str(error), error.remedy, at)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        findings.error(
            "file",
            (),
            f"{what} {path}: {reason}",
            _remedy(error),
            Position(str(path), 0),
        )
    return None


def _remedy(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "name a file that exists"
    if isinstance(error, PermissionError):
        return "let the file be read: chmod +r"
    return "name a bundle: a YAML file, or a folder or zip that holds bundle.yaml"


def _read(path: Path) -> bytes:
    if path.is_dir():
        path = path / "bundle.yaml"
    if not path.is_file():
        raise FileNotFoundError(
            2, f"{path} not found" if path.name == "bundle.yaml" else "not found"
        )
    if zipfile.is_zipfile(path):
        return _from_zip(path)
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    return path.read_bytes()


def _from_zip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo("bundle.yaml").file_size > MAX_BYTES:
            raise ValueError(f"bundle.yaml is larger than {MAX_BYTES} bytes")
        return archive.read("bundle.yaml")
