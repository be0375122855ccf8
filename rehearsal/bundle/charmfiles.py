# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Reads packed charms of anyone, and charm sources, into what the check knows about a charm."""

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from rehearsal.facts import (
    Charm,
    CharmFileError,
    devices_of,
    endpoints_of,
    entries_of,
    names_of,
    options_of,
    read_mapping,
    storage_of,
)

MAX_BYTES = 1024 * 1024
"""Largest metadata file that is read from a charm."""


@lru_cache(maxsize=256)
def read_packed(path: Path) -> Charm:
    """Return what a packed charm says about itself.

    Raises:
        CharmFileError: The file is no zip, or has no readable metadata.yaml.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            texts = {
                name: _member(archive, name)
                for name in ("metadata.yaml", "config.yaml", "actions.yaml", "manifest.yaml")
                if name in names
            }
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise CharmFileError(f"{path.name}: no charm archive: {error}") from error
    if "metadata.yaml" not in texts:
        raise CharmFileError(f"{path.name}: holds no metadata.yaml")
    parts = {name: read_mapping(text, f"{path.name}/{name}") for name, text in texts.items()}
    manifest = parts.get("manifest.yaml")
    charm = _charm(parts["metadata.yaml"], parts.get("config.yaml", {}), path.name)
    problem = _problem(charm, parts["metadata.yaml"])
    if manifest is None:
        problem = "no-manifest"
    return replace(
        charm,
        bases=_manifest_bases(manifest or {}),
        actions=tuple(names_of(parts.get("actions.yaml"))),
        is_packed=True,
        problem=problem,
    )


@lru_cache(maxsize=64)
def read_source(folder: Path) -> Charm:
    """Return what charmcraft.yaml of a charm's source (or metadata.yaml and config.yaml) says.

    Raises:
        CharmFileError: The folder holds neither, or they cannot be read.
    """
    texts = {
        name: folder / name
        for name in ("charmcraft.yaml", "metadata.yaml", "config.yaml", "actions.yaml")
        if (folder / name).is_file()
    }
    parts = {name: read_mapping(path.read_bytes(), name) for name, path in texts.items()}
    craft = parts.get("charmcraft.yaml", {})
    metadata = {**craft, **parts.get("metadata.yaml", {})}
    if "name" not in metadata:
        raise CharmFileError(f"{folder.name}: neither charmcraft.yaml nor metadata.yaml names it")
    charm = _charm(metadata, parts.get("config.yaml") or craft.get("config") or {}, str(folder))
    actions = parts.get("actions.yaml") or craft.get("actions")
    return replace(
        charm,
        bases=_platform_bases(craft),
        actions=tuple(names_of(actions)),
        problem=_problem(charm, metadata),
    )


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES} bytes")
    return archive.read(name)


def _charm(metadata: Mapping[str, Any], config: Mapping[str, Any], source: str) -> Charm:
    return Charm(
        name=str(metadata.get("name") or ""),
        subordinate=metadata.get("subordinate") is True,
        endpoints=endpoints_of(metadata),
        options=options_of(config.get("options")),
        resources={
            name: str(body.get("type", "file")) if isinstance(body, dict) else str(body)
            for name, body in entries_of(metadata.get("resources"))
        },
        storage=storage_of(metadata.get("storage")),
        devices=devices_of(metadata.get("devices")),
        extra_bindings=tuple(names_of(metadata.get("extra-bindings"))),
        source=source,
    )


def _manifest_bases(manifest: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    bases = manifest.get("bases")
    for base in bases if isinstance(bases, list) else []:
        if isinstance(base, dict):
            channel = str(base.get("channel", "")).partition("/")[0]
            arches = base.get("architectures")
            known = tuple(str(arch) for arch in arches) if isinstance(arches, list) else ()
            found[f"{base.get('name', '')}@{channel}"] = known
    return found


def _platform_bases(craft: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    platforms = entries_of(craft.get("platforms"))
    for name, body in platforms:
        targets = body.get("build-for") if isinstance(body, dict) else None
        texts = targets if isinstance(targets, list) else [targets or name]
        for text in texts:
            base, _, arch = str(text).rpartition(":")
            base = base or str(craft.get("base", ""))
            if base:
                found[base] = (*found.get(base, ()), arch)
    return found


def _problem(charm: Charm, metadata: Mapping[str, Any]) -> str:
    names = [
        name for role in ("provides", "requires", "peers") for name in names_of(metadata.get(role))
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"endpoint {twice[0]} is there twice"
    if not charm.name:
        return "metadata.yaml has no name"
    container = any(
        end.role == "requires" and end.scope == "container" for end in charm.endpoints.values()
    )
    if charm.subordinate and not container:
        return "a subordinate needs a requires endpoint with scope: container"
    return ""
