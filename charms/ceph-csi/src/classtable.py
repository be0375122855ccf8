# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The option `storage-classes`: which StorageClasses there are. Pure.

A YAML list, one entry for each class:

    - {name: ceph-rbd, kind: rbd, pool: kubernetes, default: true}
    - {name: shared, kind: cephfs, file-system: cephfs, reclaim: Retain}

Unknown keys and values are refused with the class and the key. Names of pools and file systems are
letters, digits and `_.-` only, since they become parts of capabilities.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from charmkit.document import read_yaml
from names import Kind

RECLAIMS = ("Delete", "Retain")
BINDINGS = ("Immediate", "WaitForFirstConsumer")
FS_TYPES = ("ext4", "xfs")
MOUNTERS: Mapping[Kind, tuple[str, ...]] = {
    "rbd": ("rbd", "rbd-nbd"),
    "cephfs": ("kernel", "fuse"),
}
FEATURES: Mapping[str, tuple[int, int]] = {
    "layering": (3, 8),
    "exclusive-lock": (4, 9),
    "object-map": (5, 3),
    "fast-diff": (5, 3),
    "deep-flatten": (5, 1),
}
"""Features of an image, and the first kernel that maps an image with it.

Source: docs.ceph.com, "Kernel modules: krbd", and Linux's drivers/block/rbd.c.
"""

ENCRYPTED_CEPHFS = (6, 6)
"""First kernel whose CephFS client encrypts (fscrypt). Source: Linux, fs/ceph/crypto.c."""

NBD_FEATURES = ("journaling",)
"""Features that no kernel maps: mounter rbd-nbd only."""

_NEEDS = {
    "object-map": "exclusive-lock",
    "fast-diff": "object-map",
    "journaling": "exclusive-lock",
}
"""Features that a feature needs. Source: rbd(8), `rbd feature enable`."""

_OTHERWISE = {"fs-name": "file-system", "volume-binding-mode": "binding"}
"""What StorageClasses call a key of ours, with dashes."""

_CLASS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_CLASS_NAME_LIMIT = 253
_CEPH_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_SHARED = ("name", "cluster", "kind", "reclaim", "binding", "mounter", "encrypted", "expand")
_KEYS: Mapping[Kind, frozenset[str]] = {
    "rbd": frozenset({*_SHARED, "default", "pool", "data-pool", "fs-type", "image-features"}),
    "cephfs": frozenset({*_SHARED, "default", "file-system", "pool"}),
}


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One StorageClass as the operator wants it.

    Attributes:
        name: Name of the class.
        kind: `rbd` or `cephfs`.
        cluster: Name or fsid of the Ceph cluster; empty where there is only one.
        pool: RBD pool; of CephFS a data pool, empty for the file system's own choice.
        data_pool: Erasure-coded pool for the data of RBD images; empty for none.
        file_system: CephFS file system; empty where the cluster has only one.
        reclaim: What happens to a volume whose claim is deleted: Delete or Retain.
        binding: Immediate or WaitForFirstConsumer.
        fs_type: File system on an RBD volume.
        mounter: Who mounts; rbd and kernel are the drivers' own choice.
        features: Features of RBD images, in the order given.
        encrypted: Volumes are encrypted on the node.
        expand: Claims may grow.
        default: The cluster's default class.
    """

    name: str
    kind: Kind
    cluster: str = ""
    pool: str = ""
    data_pool: str = ""
    file_system: str = ""
    reclaim: str = "Delete"
    binding: str = "Immediate"
    fs_type: str = "ext4"
    mounter: str = ""
    features: tuple[str, ...] = ("layering",)
    encrypted: bool = False
    expand: bool = True
    default: bool = False


def parse_table(text: str) -> tuple[ClassRow, ...]:
    """Return the classes of the option, in its order; none for an empty text.

    Raises:
        ValueError: The text is no such list; the reason names the class and the key.
    """
    loaded = read_yaml(text)
    if loaded is None:
        return ()
    if not isinstance(loaded, list):
        raise ValueError("must be a list of classes, as in - {name: ceph-rbd, kind: rbd}")
    rows = tuple(_parse_row(entry, i + 1) for i, entry in enumerate(cast("list[Any]", loaded)))
    _check_together(rows)
    return rows


def _check_together(rows: tuple[ClassRow, ...]) -> None:
    names = [row.name for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is listed twice")
    defaults = [row.name for row in rows if row.default]
    if len(defaults) > 1:
        raise ValueError(f"{', '.join(defaults)} are all default, keep one")


def _parse_row(entry: object, number: int) -> ClassRow:
    if not isinstance(entry, dict):
        raise ValueError(f"entry {number} must be a map, as in {{name: ceph-rbd, kind: rbd}}")
    raw = {str(key): value for key, value in cast("dict[Any, Any]", entry).items()}
    name = raw.get("name")
    if not is_class_name(name):
        raise ValueError(f"entry {number}: name must be lower case, as in ceph-rbd")
    name = cast("str", name)
    kind = raw.get("kind")
    if kind != "rbd" and kind != "cephfs":
        raise ValueError(f"{name}: kind must be rbd or cephfs, not {_shown(kind)}")
    unknown = sorted(set(raw) - _KEYS[kind])
    if unknown:
        raise ValueError(
            f"{name}: kind {kind} has no {_shown(unknown[0])}{_hint(unknown[0], kind)}"
        )
    values = {key.replace("-", "_"): value for key, value in raw.items()}
    features = values.pop("image_features", None)
    checked: dict[str, Any] = {}
    for key, value in values.items():
        checked[key] = value if key in ("name", "kind") else _check(name, kind, key, value)
    if features is not None:
        checked["features"] = _features(name, features)
    return _check_row(ClassRow(**checked))


def _hint(key: str, kind: Kind) -> str:
    """Return which key is meant, where one is like it: the API spells some otherwise."""
    dashed = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", key).lower()
    known = sorted(_KEYS[kind])
    near = [one for one in known if dashed.startswith(f"{one}-")]
    near = near or difflib.get_close_matches(_OTHERWISE.get(dashed, dashed), known, n=1)
    return f", did you mean {near[0]}" if near else ""


def _check(name: str, kind: Kind, key: str, value: object) -> Any:
    option = key.replace("_", "-")
    if key in ("encrypted", "expand", "default"):
        if not isinstance(value, bool):
            raise ValueError(f"{name}: {option} must be true or false, not {_shown(value)}")
        return value
    words: Mapping[str, tuple[str, ...]] = {
        "reclaim": RECLAIMS,
        "binding": BINDINGS,
        "fs_type": FS_TYPES,
        "mounter": MOUNTERS[kind],
    }
    if key in words:
        return _one_of(name, option, value, words[key])
    if not isinstance(value, str) or not _CEPH_NAME.fullmatch(value):
        raise ValueError(f"{name}: {option} must be a name, not {_shown(value)}")
    return value


def _one_of(name: str, option: str, value: object, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{name}: {option} must be {' or '.join(words)}, not {_shown(value)}")
    return cast("str", value)


def _features(name: str, value: object) -> tuple[str, ...]:
    """Return the features of a list, or of a text with commas or blanks."""
    listed = isinstance(value, list)
    parts = cast("list[Any]", value) if listed else re.split(r"[,\s]+", str(value or ""))
    features = tuple(str(part).strip() for part in parts if str(part).strip())
    known = (*FEATURES, *NBD_FEATURES)
    for feature in features:
        if feature not in known:
            raise ValueError(
                f"{name}: image-features has no {_shown(feature)}: {', '.join(known)}"
            )
        needed = _NEEDS.get(feature)
        if needed and needed not in features:
            raise ValueError(f"{name}: image-features: {feature} needs {needed}")
    return tuple(dict.fromkeys(features))


def _check_row(row: ClassRow) -> ClassRow:
    if set(row.features) & set(NBD_FEATURES) and row.mounter != "rbd-nbd":
        raise ValueError(f"{row.name}: image-features: journaling needs mounter rbd-nbd")
    if row.encrypted and row.mounter == "fuse":
        raise ValueError(f"{row.name}: encrypted needs mounter kernel, fuse cannot encrypt")
    return row


def find_old_kernels(row: ClassRow, kernels: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return the nodes whose kernel cannot mount volumes of a class, sorted.

    Args:
        row: The class.
        kernels: Kernel version by node.
    """
    if row.kind == "cephfs":
        needed = ENCRYPTED_CEPHFS if row.encrypted else (0, 0)
    elif row.mounter == "rbd-nbd":
        return []
    else:
        needed = max((FEATURES[name] for name in row.features if name in FEATURES), default=(0, 0))
    return sorted(node for node, version in kernels.items() if version < needed)


def find_row_warnings(row: ClassRow, kernels: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return what volumes of a class will lack; arguments as of `find_old_kernels`.

    An image without layering is made, but its snapshots and clones are refused. Seen with the
    driver of October 2024.
    """
    found: list[str] = []
    nodes = find_old_kernels(row, kernels)
    if nodes:
        what = "image-features need" if row.kind == "rbd" else "encrypted needs"
        found.append(f"{row.name}: {what} a newer kernel on {nodes[0]}")
    if row.kind == "rbd" and "layering" not in row.features:
        found.append(f"{row.name}: image-features lack layering, so no snapshots and no clones")
    return found


def _shown(value: object) -> str:
    text = " ".join(str(value).split())
    return f"'{text if len(text) <= 24 else text[:23] + '…'}'"


def is_class_name(value: object) -> bool:
    """Return whether something can be the name of a StorageClass: a DNS subdomain."""
    short = isinstance(value, str) and len(value) <= _CLASS_NAME_LIMIT
    return short and _CLASS_NAME.fullmatch(cast("str", value)) is not None


def is_ceph_name(text: str) -> bool:
    """Return whether a text can be a name of a pool or file system that we put into caps."""
    return _CEPH_NAME.fullmatch(text) is not None
