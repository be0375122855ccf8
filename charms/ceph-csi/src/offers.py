# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Ceph clusters as others describe them: relation data, and the option for external ones. Pure.

Every text here is somebody else's: what cannot be used is named and never trusted, and one bad bag
does not hide a good one.

Source: facts of ceph-mon (key, auth, ceph-public-address in each unit's bag) and microceph (the
same in the unit that answered, ceph-mon-public-addresses in the application's bag).
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from cephkey import key_type, without_prefix
from charmkit.document import read_yaml
from monitors import Monitor, merge, parse_monitors

MON_ADDRESSES = "ceph-mon-public-addresses"
FSID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = re.compile(r"[a-z][a-z0-9-]{1,61}[a-z0-9]")
_USER = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_EXTERNAL_KEYS = frozenset({"name", "fsid", "monitors", "user"})


@dataclass(frozen=True, slots=True)
class Offer:
    """A Ceph cluster that somebody offers us.

    Attributes:
        name: What a row of the table of classes calls it: the remote application, or the name in
            the option.
        user: Our user there, without `client.`.
        keys: Keys of the user, the likeliest first; several while one is being changed.
        monitors: Where to ask.
        fsid: Identity of the cluster; empty where only the cluster itself knows.
        relation: Number of the relation; -1 for the option.
        missing: What has not been said yet, as a status names it.
        stamp: Differs when the other side answered something.
    """

    name: str
    user: str
    keys: tuple[str, ...] = field(default=(), repr=False)
    monitors: tuple[Monitor, ...] = ()
    fsid: str = ""
    relation: int = -1
    missing: tuple[str, ...] = ()
    stamp: str = ""


def read_offer(
    name: str,
    user: str,
    relation: int,
    application_bag: Mapping[str, str],
    unit_bags: Mapping[str, Mapping[str, str]],
) -> Offer:
    """Return what the other side of a relation offers.

    Args:
        name: The remote application.
        user: Our user there.
        relation: Number of the relation.
        application_bag: Its application's bag.
        unit_bags: Bag of each of its units.
    """
    bags = [unit_bags[unit] for unit in sorted(unit_bags)]
    keys, bad_key = _keys(bags)
    monitors, bad_address = _addresses(application_bag, bags)
    auth = sorted({bag["auth"] for bag in bags if bag.get("auth")})
    missing: list[str] = []
    if not keys:
        missing.append("a usable key" if bad_key else "key")
    if "cephx" not in auth:
        missing.append("auth cephx" if auth else "auth")
    if not monitors:
        missing.append("a usable ceph-public-address" if bad_address else "ceph-public-address")
    answers = sorted(text for bag in bags for key, text in bag.items() if key.startswith("broker"))
    stamp = hashlib.sha256("\n".join(answers).encode()).hexdigest()[:16]
    return Offer(name, user, keys, monitors, "", relation, tuple(missing), stamp)


def _keys(bags: Sequence[Mapping[str, str]]) -> tuple[tuple[str, ...], bool]:
    """Return the keys, the most frequent first, and whether some text is none."""
    texts = [bag["key"].strip() for bag in bags if bag.get("key", "").strip()]
    keys = [text for text in texts if _is_key(text)]
    ordered = sorted(dict.fromkeys(keys), key=lambda key: -keys.count(key))
    return tuple(ordered), len(keys) < len(texts)


def _is_key(text: str) -> bool:
    try:
        key_type(text)
    except ValueError:
        return False
    return True


def _addresses(
    application_bag: Mapping[str, str], bags: Sequence[Mapping[str, str]]
) -> tuple[tuple[Monitor, ...], bool]:
    """Return the monitors, the application's own list first, and whether some text is none."""
    texts = [*_json_texts(application_bag.get(MON_ADDRESSES, ""))]
    texts = texts or [bag["ceph-public-address"] for bag in bags if bag.get("ceph-public-address")]
    found: list[tuple[Monitor, ...]] = []
    for text in texts:
        with contextlib.suppress(ValueError):
            found.append(parse_monitors(text))
    return merge(found), len(found) < len(texts)


def _json_texts(text: str) -> list[str]:
    try:
        value = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str) and item]


def parse_external(text: str) -> tuple[Offer, ...]:
    """Return the clusters of the option external-clusters, without keys, in its order.

    A YAML list: `- {name: campus, fsid: ..., monitors: 10.0.0.1 10.0.0.2, user: k8s}`.

    Raises:
        ValueError: It is none; the reason names the cluster and the key.
    """
    loaded = read_yaml(text)
    if loaded is None:
        return ()
    if not isinstance(loaded, list):
        raise ValueError("must be a list, as in - {name: campus, fsid: ..., monitors: 10.0.0.1}")
    offers = tuple(_external(one, i + 1) for i, one in enumerate(cast("list[Any]", loaded)))
    for attribute in ("name", "fsid"):
        values = [getattr(offer, attribute) for offer in offers]
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise ValueError(f"{attribute} {twice[0]} is listed twice")
    return offers


def _external(entry: object, number: int) -> Offer:
    if not isinstance(entry, dict):
        raise ValueError(f"entry {number} must be a map with name, fsid, monitors and user")
    raw = {str(key): value for key, value in cast("dict[Any, Any]", entry).items()}
    name = str(raw.get("name") or "")
    if not _NAME.fullmatch(name):
        raise ValueError(f"entry {number}: name must be 3 or more of a-z, 0-9 and -")
    extra = sorted(set(raw) - _EXTERNAL_KEYS)
    lacking = sorted(key for key in _EXTERNAL_KEYS if not raw.get(key))
    if extra or lacking:
        raise ValueError(
            f"{name}: " + (f"no key '{extra[0][:24]}'" if extra else f"needs {lacking[0]}")
        )
    fsid, user = str(raw["fsid"]).strip().lower(), without_prefix(str(raw["user"]))
    if not FSID.fullmatch(fsid):
        raise ValueError(f"{name}: fsid must be what 'ceph fsid' prints")
    if not _USER.fullmatch(user):
        raise ValueError(f"{name}: user must be a name, as in k8s")
    try:
        monitors = parse_monitors(_listed(raw["monitors"]))
    except ValueError as error:
        raise ValueError(f"{name}: monitors: {error}") from error
    return Offer(name, user, (), monitors, fsid)


def _listed(value: object) -> str:
    return " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)
