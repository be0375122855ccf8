# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The drivers' configuration as it is in the cluster. Pure."""

import json
from collections.abc import Mapping
from typing import Any, cast

from fields import part

Object = dict[str, Any]


def parse_config(obj: Mapping[str, Any] | None) -> list[Object]:
    """Return the entries of a `config.json`, as the driver would read them.

    Args:
        obj: The ConfigMap, None when there is none. What cannot be read has no entries.

    Source: ceph-csi, internal/util/csiconfig.go, readClusterInfo.
    """
    text = str(part(obj, "data").get("config.json", "[]"))
    try:
        loaded = json.loads(text)
    except ValueError:
        return []
    entries = cast("list[Any]", loaded) if isinstance(loaded, list) else []
    return [cast("Object", entry) for entry in entries if _is_entry(entry)]


def parse_stamps(text: str) -> dict[str, str]:
    """Return the stamps in an annotation; none when it holds none."""
    try:
        loaded = json.loads(text or "{}")
    except ValueError:
        return {}
    found = cast("Object", loaded) if isinstance(loaded, dict) else {}
    return {fsid: stamp for fsid, stamp in found.items() if isinstance(stamp, str)}


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    found = cast("Object", entry)
    return isinstance(found.get("clusterID"), str) and isinstance(found.get("monitors"), list)
