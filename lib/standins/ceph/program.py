# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The program `ceph` of a simulated machine: the few commands that charms run.

Source: Ceph 16.2.15; the JSON is cut to the fields that clients read.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from charmkit.errors import NotReadyError
from standins.ceph.cluster import CephCluster, find_by_address
from standins.metal.system import ProgramError, System, UnknownProgramError

_HOST = re.compile(r"v[12]:(\[[^\]]+\]|[^:,\]]+):")
_MODERN = "Ag"
"""Beginning of a key of type AES-256."""

_UNREADABLE = (
    "auth: error parsing file keyring: error setting modifier for [{name}] type=key val={key}: "
    "Malformed input\n[errno 5] RADOS I/O error (error connecting to the cluster)\n"
)
"""Of a program that does not know such keys; it shows the key. Seen with ceph 16.2.15."""

_DENIED = "Error EACCES: access denied\n"


def ceph(system: System, argv: Sequence[str]) -> str:
    """Run ceph as the user and with the configuration that the arguments name."""
    options, words = _split(argv[1:])
    conf = system.files.find_text(options["--conf"]) or ""
    addresses = [one.strip("[]") for one in _HOST.findall(conf)]
    cluster = find_by_address(system.folder.parent.parent, addresses)
    if cluster is None:
        raise ProgramError(1, "[errno 110] RADOS timed out (error connecting to the cluster)\n")
    _log_in(system, cluster, options["--name"], conf)
    return _run(cluster, options["--name"], words)


def _split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    rest: list[str] = []
    items = iter(words)
    for word in items:
        if word.startswith("--"):
            options[word] = next(items)
        else:
            rest.append(word)
    return options, rest


def _log_in(system: System, cluster: CephCluster, name: str, conf: str) -> None:
    path = re.search(r"keyring = (\S+)", conf)
    keyring = (system.files.find_text(path[1]) if path else "") or ""
    key = re.search(r"key = (\S+)", keyring)
    state = cluster.read()
    user = state["users"].get(name)
    if user is None or key is None or user["key"] != key[1]:
        text = "[errno 13] RADOS permission denied (error connecting to the cluster)\n"
        raise ProgramError(1, text)
    if user["key"].startswith(_MODERN) and not state.get("program_knows_aes256k"):
        raise ProgramError(
            1, _UNREADABLE.format(file=path and path[1], name=name, key=user["key"])
        )


def _run(cluster: CephCluster, user: str, words: list[str]) -> str:
    for length in (3, 2, 1):
        command = " ".join(words[:length])
        if command in _COMMANDS:
            arguments = words[length:]
            system = arguments[0] if arguments else ""
            if not cluster.may_run(user, command, system):
                raise ProgramError(13, _DENIED)
            return json.dumps(_COMMANDS[command](cluster, arguments))
    raise UnknownProgramError(" ".join(["ceph", *words]))


def _fsid(cluster: CephCluster, arguments: list[str]) -> Any:
    del arguments
    return {"fsid": cluster.fsid}


def _mon_dump(cluster: CephCluster, arguments: list[str]) -> Any:
    del arguments
    state = cluster.read()
    mons: list[Any] = []
    for address in state["monitors"]:
        host = f"[{address}]" if ":" in address else address
        vector = [{"type": "v2", "addr": f"{host}:3300", "nonce": 0}]
        if state["v1"]:
            vector.append({"type": "v1", "addr": f"{host}:6789", "nonce": 0})
        mons.append({"name": address, "public_addrs": {"addrvec": vector}})
    return {"fsid": state["fsid"], "mons": mons}


def _fs_ls(cluster: CephCluster, arguments: list[str]) -> Any:
    del arguments
    systems = cluster.read()["file_systems"]
    return [
        {"name": name, "metadata_pool": one["metadata"], "data_pools": one["data"]}
        for name, one in systems.items()
    ]


def _pools(cluster: CephCluster, arguments: list[str]) -> Any:
    pools = cluster.read()["pools"]
    if arguments != ["detail"]:
        return list(pools)
    return [
        {
            "pool_name": name,
            "type": 3 if one.get("coded") else 1,
            "flags_names": ",".join(["hashpspool", *one.get("flags", ())]),
            "application_metadata": {one["application"]: one.get("tags", {})},
        }
        for name, one in pools.items()
    ]


def _await_metadata_server(cluster: CephCluster) -> None:
    """Hang until the caller gives up, as a manager does without an active metadata server."""
    if not cluster.read().get("metadata_servers", 1):
        raise NotReadyError("ceph: no answer in 20 s, it is tried again")


def _group_ls(cluster: CephCluster, arguments: list[str]) -> Any:
    _await_metadata_server(cluster)
    groups = cluster.read()["groups"].get(arguments[0], [])
    return [{"name": name} for name in groups]


def _group_create(cluster: CephCluster, arguments: list[str]) -> Any:
    _await_metadata_server(cluster)
    system, group = arguments[:2]
    with cluster.edit() as state:
        groups = state["groups"].setdefault(system, [])
        if group not in groups:
            groups.append(group)
    return {}


_COMMANDS = {
    "fsid": _fsid,
    "mon dump": _mon_dump,
    "fs ls": _fs_ls,
    "osd pool ls": _pools,
    "fs subvolumegroup ls": _group_ls,
    "fs subvolumegroup create": _group_create,
}
