# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the check knows about a charm of which there is a file or a folder."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from rehearsal import charm_metadata
from rehearsal.bundle.charmrules import find_problem
from rehearsal.charm_metadata import Metadata
from rehearsal.facts import (
    CharmFacts,
    devices_of,
    endpoints_of,
    entries_of,
    features_of,
    names_of,
    options_of,
    storage_of,
)


@lru_cache(maxsize=256)
def read_charm(path: Path) -> CharmFacts:
    """Return what a packed charm, or a charm's folder or source, says about itself.

    Raises:
        CharmFileError: It is no charm, or its metadata cannot be read.
    """
    found = charm_metadata.read(path)
    return facts_from(found, path.name if found.is_packed else str(path))


def facts_from(found: Metadata, source: str) -> CharmFacts:
    """Return what the check knows of a charm from its parts; `source` says where they are from."""
    charm = _charm(found.metadata, found.config, source)
    has_manifest = found.manifest is not None
    problem = find_problem(found, charm.endpoints.values())
    return replace(
        charm,
        bases=_manifest_bases(found.manifest or {}) or _platform_bases(found.metadata),
        actions=tuple(names_of(dict(found.actions))),
        is_packed=found.is_packed,
        problem="no-manifest" if found.is_packed and not has_manifest else problem,
    )


def _charm(metadata: Mapping[str, Any], config: Mapping[str, Any], source: str) -> CharmFacts:
    return CharmFacts(
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
        assumes=features_of(metadata.get("assumes")),
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
