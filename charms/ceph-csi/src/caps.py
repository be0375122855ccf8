# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the drivers' user may do in a Ceph cluster: what they need, on what is in use. Pure.

Upstream's documentation gives the manager `allow rw` for CephFS, which lets the key make and
delete whole file systems; here it is the list of commands that the driver calls, each on the
file systems in use. The monitor grants reading of its maps (`profile rbd`) and the list of file
systems.

Source: ceph-csi, docs/capabilities.md; ceph-csi internal/cephfs/core (calls of go-ceph's FSAdmin);
tried on Ceph 16.2.15: what is listed suffices, file systems, pools and users cannot be made.
"""

from collections.abc import Iterable
from dataclasses import dataclass

SUBVOLUME_GROUP = "csi"
"""Where the CephFS driver keeps its volumes; its default, which the monitors' caps name too."""

_ON_A_FILE_SYSTEM = (
    "fs clone cancel",
    "fs clone status",
    "fs subvolume create",
    "fs subvolume exist",
    "fs subvolume getpath",
    "fs subvolume info",
    "fs subvolume ls",
    "fs subvolume metadata get",
    "fs subvolume metadata ls",
    "fs subvolume metadata rm",
    "fs subvolume metadata set",
    "fs subvolume resize",
    "fs subvolume rm",
    "fs subvolume snapshot clone",
    "fs subvolume snapshot create",
    "fs subvolume snapshot info",
    "fs subvolume snapshot ls",
    "fs subvolume snapshot metadata get",
    "fs subvolume snapshot metadata ls",
    "fs subvolume snapshot metadata rm",
    "fs subvolume snapshot metadata set",
    "fs subvolume snapshot protect",
    "fs subvolume snapshot rm",
    "fs subvolume snapshot unprotect",
    "fs subvolumegroup create",
    "fs subvolumegroup exist",
    "fs subvolumegroup getpath",
    "fs subvolumegroup ls",
)
"""Commands of the manager's module `volumes` that the driver or this charm calls."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What of one Ceph cluster is in use.

    Attributes:
        pools: RBD pools, sorted.
        file_systems: CephFS file systems, sorted.
    """

    pools: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()

    @classmethod
    def of(cls, pools: Iterable[str], file_systems: Iterable[str]) -> "Usage":
        """Return the usage of these pools and file systems, each once."""
        return cls(tuple(sorted(set(pools))), tuple(sorted(set(file_systems))))


def capabilities(usage: Usage) -> dict[str, str]:
    """Return the capabilities by daemon, in the order mon, mgr, osd, mds; none is empty.

    The monitor's part is there without any pool too, since the charm then still asks for the
    cluster's identity, its monitors and its file systems.
    """
    mon = ["profile rbd", 'allow command "fs ls"']
    mgr = [f"profile rbd pool={pool}" for pool in usage.pools]
    osd = [f"profile rbd pool={pool}" for pool in usage.pools]
    mds: list[str] = []
    if usage.file_systems:
        mon.append('allow command "fs dump"')
        mgr.append('allow command "fs volume ls"')
    for name in usage.file_systems:
        mon.append(f"allow r fsname={name}")
        mgr += [f'allow command "{command}" with vol_name={name}' for command in _ON_A_FILE_SYSTEM]
        osd += [f"allow rw tag cephfs {tag}={name}" for tag in ("metadata", "data")]
        mds += [
            f"allow r fsname={name} path=/volumes",
            f"allow rws fsname={name} path=/volumes/{SUBVOLUME_GROUP}",
        ]
    found = {"mon": mon, "mgr": mgr, "osd": osd, "mds": mds}
    return {daemon: ", ".join(parts) for daemon, parts in found.items() if parts}


def as_arguments(caps: dict[str, str]) -> list[str]:
    """Return capabilities as `ceph auth caps` and the broker take them: daemon, text, ..."""
    return [word for pair in caps.items() for word in pair]
