# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One simulated Ceph cluster as a JSON file, seen alike by charms, programs and drivers.

Capabilities are read as far as this suite writes them: which commands a user may run, which pools
it may use. Source of every rule: Ceph 16.2.15, as a real cluster answered.
"""

import base64
import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from standins.store import JsonStore

State = dict[str, Any]
DEFAULT_CAPS = {
    "mon": 'allow r, allow command "osd blacklist", allow command "osd blocklist"',
    "osd": "allow rwx",
}
"""What a new user of ceph-mon and microceph has. Source: charms_ceph utils.py, _default_caps."""

_COMMAND = re.compile(r'allow command "([^"]+)"(?: with vol_name=([\w.-]+))?')
_READABLE = ("fsid", "mon dump", "osd pool ls")
"""Commands of the monitor that `profile rbd` allows, among those that are used here."""


class DeniedError(Exception):
    """The user's capabilities do not allow it."""


class CephCluster:
    """A Ceph cluster: where its monitors are, what it has, who may do what."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._store = JsonStore(path)

    @classmethod
    def create(cls, folder: Path, name: str, addresses: Iterable[str]) -> "CephCluster":
        """Make a cluster in a model's folder.

        Args:
            folder: Folder of the model.
            name: Tells clusters apart; the fsid follows from it.
            addresses: Addresses of the monitors.
        """
        digest = hashlib.sha256(name.encode()).hexdigest()
        fsid = "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))
        path = folder / "ceph" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        state: State = {
            "schema": 1,
            "name": name,
            "fsid": fsid,
            "monitors": list(addresses),
            "v1": True,
            "pools": {},
            "file_systems": {},
            "groups": {},
            "users": {},
            "serial": 0,
            "osds": 3,
            "down": False,
            "metadata_servers": 1,
            "key_type": 1,
        }
        JsonStore(path).create(state)
        return cls(path)

    def read(self) -> State:
        """Return the state."""
        return self._store.read()

    def edit(self) -> Any:
        """Return a context in which the state may be changed."""
        return self._store.edit()

    @property
    def fsid(self) -> str:
        """Identity of the cluster."""
        return str(self.read()["fsid"])

    @property
    def monitors(self) -> list[str]:
        """Addresses of the monitors."""
        return list(self.read()["monitors"])

    def move_monitors(self, addresses: Iterable[str]) -> None:
        """Let the monitors be somewhere else from now on."""
        with self.edit() as state:
            state["monitors"] = list(addresses)

    def add_file_system(self, name: str) -> None:
        """Make a file system with its two pools."""
        with self.edit() as state:
            pools = {use: f"{name}_{use}" for use in ("metadata", "data")}
            for use, pool in pools.items():
                state["pools"][pool] = {"application": "cephfs", "tags": {use: name}}
            state["file_systems"][name] = {"metadata": pools["metadata"], "data": [pools["data"]]}

    def ensure_pool(self, name: str, application: str = "rbd") -> bool:
        """Make a pool; return whether it was not there."""
        with self.edit() as state:
            if name in state["pools"]:
                return False
            state["pools"][name] = {"application": application}
            return True

    def make_coded_pool(self, name: str, *flags: str) -> None:
        """Make an erasure-coded pool, with flags such as `ec_overwrites`."""
        with self.edit() as state:
            state["pools"][name] = {"application": "rbd", "coded": True, "flags": list(flags)}

    def set_flags(self, name: str, *flags: str) -> None:
        """Let a pool have these flags, such as `full` or `full_quota`, and no others."""
        with self.edit() as state:
            state["pools"][name]["flags"] = list(flags)

    def set_tags(self, name: str, **tags: str) -> None:
        """Let a pool have these tags of its application, and no others."""
        with self.edit() as state:
            state["pools"][name]["tags"] = tags

    def ensure_user(self, name: str, caps: Mapping[str, str] | None = None) -> str:
        """Return the key of a user, who is made with default capabilities when not there."""
        with self.edit() as state:
            if name not in state["users"]:
                state["serial"] += 1
                key = make_key(f"{state['fsid']} {name} {state['serial']}", state["key_type"])
                state["users"][name] = {"key": key, "caps": dict(caps or DEFAULT_CAPS)}
            return str(state["users"][name]["key"])

    def set_caps(self, name: str, caps: Mapping[str, str]) -> bool:
        """Set the capabilities of a user; return whether there is such a user."""
        with self.edit() as state:
            if name not in state["users"]:
                return False
            state["users"][name]["caps"] = dict(caps)
            return True

    def rotate_key(self, name: str) -> str:
        """Give a user a new key, and return it; the old one is refused from now on."""
        with self.edit() as state:
            state["serial"] += 1
            key = make_key(f"{state['fsid']} {name} {state['serial']}", state["key_type"])
            state["users"][name]["key"] = key
            return key

    def caps_of(self, name: str) -> dict[str, str]:
        """Return the capabilities of a user."""
        return dict(self.read()["users"][name]["caps"])

    def may_run(self, name: str, command: str, file_system: str = "") -> bool:
        """Say whether a user may run a command of monitor or manager."""
        caps = self.caps_of(name)
        for text in (caps.get("mon", ""), caps.get("mgr", "")):
            for match in _COMMAND.finditer(text):
                if match[1] == command and match[2] in (None, file_system):
                    return True
        mon = caps.get("mon", "")
        if "allow r" in re.sub(r"allow r fsname=\S+", "", mon) or "allow *" in mon:
            return command in (*_READABLE, "fs ls") or "allow rw" in caps.get("mgr", "")
        return "profile rbd" in mon and command in _READABLE

    def may_use(self, name: str, pool: str) -> bool:
        """Say whether a user may make images in a pool."""
        osd = [part.strip() for part in self.caps_of(name).get("osd", "").split(",")]
        return bool({f"profile rbd pool={pool}", "profile rbd", "allow rwx", "allow *"} & set(osd))


def make_key(seed: str, kind: int = 1) -> str:
    """Return a key of a type, the same for the same seed.

    Args:
        seed: Whatever tells keys apart.
        kind: 1 is AES, 2 is AES-256.
    """
    length = 16 if kind == 1 else 32
    secret = hashlib.sha256(seed.encode()).digest()[:length]
    return base64.b64encode(struct.pack("<HIIH", kind, 1_764_000_000, 0, length) + secret).decode()


def find_clusters(folder: Path) -> list[CephCluster]:
    """Return the clusters of a model, by name."""
    return [CephCluster(path) for path in sorted((folder / "ceph").glob("*.json"))]


def find_by_address(folder: Path, addresses: Iterable[str]) -> CephCluster | None:
    """Return the cluster that listens at one of some addresses, None when none does."""
    wanted = set(addresses)
    for cluster in find_clusters(folder):
        state = cluster.read()
        if wanted & set(state["monitors"]) and not state["down"]:
            return cluster
    return None
