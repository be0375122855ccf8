# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to a Ceph cluster: the program `ceph` of the machine, as the drivers' own user.

Nothing of the machine's own Ceph set-up is read or written: configuration and key are files of the
application, the key's for root alone; no key is ever an argument of a process.
"""

import contextlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caps import SUBVOLUME_GROUP
from charmkit.commands import CommandError
from charmkit.errors import InterventionError, NotReadyError
from charmkit.host import Host
from fields import items, part
from monitors import Monitor, parse_monitors
from offers import FSID, Offer

CEPH = "/usr/bin/ceph"
PACKAGE = "ceph-common"
CONNECT_SECONDS = 5
COMMAND_SECONDS = 20

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DENIED = re.compile(r"EACCES|EPERM|[Pp]ermission denied|access denied|Operation not permitted")
_UNKNOWN_KEY = re.compile(r"errno 13|error connecting|handle_auth_bad_method|Malformed input")

_CODED, _OVERWRITES = 3, "ec_overwrites"
"""Type of an erasure-coded pool, and its flag, in `osd pool ls detail`. Seen on Ceph 16.2.15."""

_SUBVOLUMES = ("fs", "subvolumegroup")
_FULL, _QUOTA, _NEARLY = "full", "full_quota", ("nearfull", "backfillfull")
"""Flags of a pool that takes no more data, and of one that soon will not.

Source: Ceph, src/osd/osd_types.h, pg_pool_t::get_flag_name; full_quota seen on Ceph 16.2.15.
"""


@dataclass(frozen=True, slots=True)
class FileSystem:
    """One CephFS file system, its pools for data, and the one for its names."""

    name: str
    data_pools: tuple[str, ...]
    metadata_pool: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool.

    Attributes:
        name: Its name.
        coded: It is erasure-coded.
        overwrites: What is in it can be overwritten, though it is.
        full: It takes no more data: `full` for want of space, `quota` by its quota.
        nearly_full: Soon it will be full.
        tags: Its tags of the application cephfs; None where the cluster does not tell.
    """

    name: str
    coded: bool = False
    overwrites: bool = False
    full: str = ""
    nearly_full: bool = False
    tags: Mapping[str, str] | None = None


class KeyRefusedError(InterventionError):
    """The cluster does not know a user with that key."""


class DeniedError(NotReadyError):
    """The user's capabilities do not allow what was asked, yet."""


def ensure_program(host: Host) -> bool:
    """Install the program; return whether it had to be.

    Raises:
        InterventionError: apt refuses, or has no such package.
        NotReadyError: Another process holds dpkg's lock.
    """
    if host.files.exists(CEPH):
        return False
    found = host.packages.candidates([PACKAGE])
    if PACKAGE not in found:
        raise InterventionError(f"{PACKAGE}: apt has no such package, check the apt sources")
    host.packages.install(found)
    return True


def _pool(raw: Mapping[str, Any]) -> Pool:
    flags = str(raw.get("flags_names", "")).split(",")
    applications = raw.get("application_metadata")
    return Pool(
        str(raw.get("pool_name")),
        coded=raw.get("type") == _CODED,
        overwrites=_OVERWRITES in flags,
        full="quota" if _QUOTA in flags else "full" if _FULL in flags else "",
        nearly_full=any(flag in flags for flag in _NEARLY),
        tags=part(raw, "application_metadata", "cephfs") if applications is not None else None,
    )


class Ceph:
    """One cluster, seen with one key of our user there."""

    def __init__(self, host: Host, application: str, offer: Offer, key: str) -> None:
        """Write nothing yet.

        Args:
            host: The machine.
            application: Owner of the files.
            offer: Where the cluster is, and who we are there.
            key: One of the offer's.
        """
        self._host = host
        self._offer = offer
        self._key = key
        self._base = f"{folder(application)}/{offer.name}"

    def fsid(self) -> str:
        """Return the cluster's identity.

        Raises:
            KeyRefusedError: It does not know the key.
            NotReadyError: No monitor answers.
        """
        answer = self._ask("fsid")
        fsid = str(part(answer).get("fsid", ""))
        if not FSID.fullmatch(fsid):
            raise NotReadyError(f"{self._offer.name}: ceph fsid gave no identity")
        return fsid

    def monitors(self) -> tuple[Monitor, ...]:
        """Return the monitors as the cluster itself lists them. Raises as `fsid` does."""
        answer = self._ask("mon", "dump")
        found: list[Monitor] = []
        for mon in items(part(answer).get("mons")):
            addresses = [part(one) for one in items(part(mon, "public_addrs").get("addrvec"))]
            texts = [
                f"{one['type']}:{one.get('addr')}"
                for one in addresses
                if one.get("type") in ("v1", "v2")
            ]
            with contextlib.suppress(ValueError):  # What this program cannot name, no driver can.
                found += parse_monitors(f"[{','.join(texts)}]") if texts else ()
        return tuple(sorted(found))

    def file_systems(self) -> tuple[FileSystem, ...]:
        """Return the file systems whose name can be one of ours, by name. Raises as `fsid`."""
        answer = self._ask("fs", "ls")
        found = [
            FileSystem(
                str(one["name"]),
                tuple(map(str, items(one.get("data_pools")))),
                str(one.get("metadata_pool") or ""),
            )
            for one in map(part, items(answer))
            if _NAME.fullmatch(str(one.get("name", "")))
        ]
        return tuple(sorted(found, key=lambda one: one.name))

    def pools(self) -> tuple[Pool, ...]:
        """Return all pools, by name. Raises as `fsid` does."""
        found = map(part, items(self._ask("osd", "pool", "ls", "detail")))
        return tuple(sorted(map(_pool, found), key=lambda pool: pool.name))

    def ensure_subvolume_group(self, file_system: str) -> bool:
        """Make the group that the CephFS driver keeps its volumes in; return whether it was not.

        Raises:
            DeniedError: The capabilities are not there yet.
            InterventionError: An external user lacks capabilities.
            NotReadyError: No manager or metadata server answers.
        """
        groups = self._ask(*_SUBVOLUMES, "ls", file_system)
        names = [part(one).get("name") for one in items(groups)]
        if SUBVOLUME_GROUP in names:
            return False
        self._run([*_SUBVOLUMES, "create", file_system, SUBVOLUME_GROUP])
        return True

    def _ask(self, *words: str) -> Any:
        text = self._run([*words, "--format", "json"])
        try:
            return json.loads(text)
        except ValueError as error:
            what = " ".join(words)
            raise NotReadyError(f"{self._offer.name}: ceph {what} gave no JSON") from error

    def _run(self, words: Sequence[str]) -> str:
        self._write_files()
        argv = [CEPH, "--conf", f"{self._base}.conf", "--name", f"client.{self._offer.user}"]
        argv += ["--connect-timeout", str(CONNECT_SECONDS), *words]
        try:
            return self._host.run(argv, timeout=COMMAND_SECONDS)
        except CommandError as error:
            named = itertools.takewhile(lambda word: not word.startswith("--"), words[:3])
            raise self._meaning(error, " ".join(named)) from error
        except NotReadyError as error:  # It hung, and was killed.
            raise self._silence(words) from error

    def _silence(self, words: Sequence[str]) -> NotReadyError:
        """Return who it is that does not answer.

        A manager without an active metadata server hangs over subvolumes. Seen on Ceph 16.2.15.
        """
        name = self._offer.name
        if tuple(words[:2]) == _SUBVOLUMES:
            text = f"{name}: no metadata server of {words[3]} answers, look at ceph fs status"
            return NotReadyError(text)
        where = self._offer.monitors[0].address
        return NotReadyError(f"{name}: no monitor answers at {where}, check network and ports")

    def _meaning(self, error: CommandError, what: str) -> Exception:
        name, text = self._offer.name, error.stderr or error.stdout
        if "TimedOut" in text or "timed out" in text or "errno 110" in text:
            return self._silence(())
        if _UNKNOWN_KEY.search(text):
            return KeyRefusedError(f"{name}: the cluster refuses the key of {self._offer.user}")
        if _DENIED.search(text):
            denied = f"{name}: user {self._offer.user} may not {what}"
            if self._offer.relation < 0:  # No broker gives an external user anything.
                return InterventionError(f"{denied}, run show-caps and what it prints")
            return DeniedError(f"{denied} yet")
        return NotReadyError(f"{name}: {error}")

    def _write_files(self) -> None:
        files = self._host.files
        if not files.exists(folder_of(self._base)):
            files.ensure_directory(folder_of(self._base), mode=0o700)
        hosts = ",".join(monitor.vector() for monitor in self._offer.monitors)
        lines = ["[global]", f"mon host = {hosts}", f"keyring = {self._base}.keyring"]
        conf = "\n".join([*lines, "log to stderr = false", ""])
        keyring = f"[client.{self._offer.user}]\n\tkey = {self._key}\n"
        files.ensure_text(f"{self._base}.conf", conf, mode=0o600)
        files.ensure_text(f"{self._base}.keyring", keyring, mode=0o600)


def folder(application: str) -> str:
    """Return where an application keeps configuration and keys for the program."""
    return f"/var/lib/{application}/ceph"


def folder_of(path: str) -> str:
    """Return the folder of a path of the machine."""
    return path.rpartition("/")[0]


def forget_files(host: Host, application: str) -> bool:
    """Remove configuration and keys; return whether there were any."""
    return host.files.ensure_absent(folder(application))
