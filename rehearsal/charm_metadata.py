# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Reads what a charm says of itself: the one reader of packed files, unpacked folders and sources.

A charm is a zip with metadata.yaml, config.yaml, actions.yaml and manifest.yaml, a folder with the
same, or its source with charmcraft.yaml. Whatever else lies there is not looked at.
"""

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.facts import CharmFileError, read_mapping
from rehearsal.paths import is_file, is_folder

MAX_BYTES = 1024 * 1024
"""Largest file that is read of a charm."""
NAMES = ("charmcraft.yaml", "metadata.yaml", "config.yaml", "actions.yaml", "manifest.yaml")


@dataclass(frozen=True, slots=True)
class Metadata:
    """The parts of a charm as plain data; `manifest` is None when there is none."""

    metadata: Mapping[str, Any]
    config: Mapping[str, Any]
    actions: Mapping[str, Any]
    manifest: Mapping[str, Any] | None = None
    is_packed: bool = field(default=False)


def read(path: Path) -> Metadata:
    """Return the parts of a charm.

    Args:
        path: Packed file, or folder of an unpacked charm or of a source.

    Raises:
        CharmFileError: It is no charm; the message names the file.
    """
    try:
        texts = _in_folder(path) if is_folder(path) else _in_zip(path)
    except (
        OSError,
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        RuntimeError,
        ValueError,
        EOFError,
        zlib.error,
    ) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CharmFileError(f"{path.name}: no charm archive: {reason}") from error
    return from_texts(texts, path.name, is_packed=not is_folder(path))


def from_texts(texts: Mapping[str, bytes], name: str, *, is_packed: bool = False) -> Metadata:
    """Return the parts of a charm from its files' contents by file name.

    Args:
        texts: Contents of files that `NAMES` lists.
        name: What messages call the charm.
        is_packed: The files come from a packed charm.

    Raises:
        CharmFileError: Nothing names the charm, or a file is no YAML map.
    """
    parts = {file: read_mapping(text, f"{name}/{file}") for file, text in texts.items()}
    craft = {} if is_packed else parts.get("charmcraft.yaml", {})
    if is_packed and "metadata.yaml" not in parts:
        raise CharmFileError(f"{name}: holds no metadata.yaml")
    metadata = {**craft, **parts.get("metadata.yaml", {})}
    if "name" not in metadata and not is_packed:
        raise CharmFileError(f"{name}: neither charmcraft.yaml nor metadata.yaml names it")
    return Metadata(
        metadata,
        _map(craft.get("config")) or parts.get("config.yaml", {}),
        _map(craft.get("actions")) or parts.get("actions.yaml", {}),
        parts.get("manifest.yaml"),
        is_packed,
    )


def _map(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _in_folder(path: Path) -> dict[str, bytes]:
    return {name: _limited(path / name) for name in NAMES if is_file(path / name)}


def _limited(path: Path) -> bytes:
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path.name} is larger than {MAX_BYTES} bytes")
    return path.read_bytes()


def _in_zip(path: Path) -> dict[str, bytes]:
    if not path.is_file():
        raise FileNotFoundError(2, "no such file")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        return {name: _member(archive, name) for name in NAMES if name in names}


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES} bytes")
    return archive.read(name)
