# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service that runs once at boot, before the kubelet, without Juju: make the recorded layout.

MIG instances do not survive a reboot. Pods with devices do not either: the kubelet refuses those
that are bound to the node in its first second (1.35.4), before any plugin can have registered. So
that their successors find the node as it was, what was recorded is made again and, when the
read-back equals the record, the gate is opened, also where a change had begun: the charm goes on
with it when it comes. A node that was closed for too long by then is put back (decision 15).
Anything else (a mode that was changed, another GPU, instances that nobody recorded, a driver that
is being changed) leaves the gate closed for the charm.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from charmkit.errors import CharmkitError, NotReadyError, UnsupportedError
from charmkit.host import Host
from gate import Record, Store
from gateways import Gateways
from gpu import Cut, Gpu, Placement
from hardware import MachineGpus
from numbering import Known
from observed import fingerprint_devices
from plan import Change

MODULE = "boot"
"""How `charmkit.services` finds this module."""

KUBELETS = ("snap.kubelet.daemon.service", "snap.k8s.kubelet.service")
"""The kubelet's unit on Charmed Kubernetes and on Canonical Kubernetes."""

DRIVERS = ("nvidia-persistenced.service", "nvidia-fabricmanager.service")
"""What keeps the driver awake, and what has to know the GPUs of a board with NVSwitches before one
of them is cut. Source: mig-parted 0.15, nvidia-mig-manager.service."""

_PATIENCE_SECONDS = 120
"""How long the driver may take to load; then the kubelet starts behind the closed gate."""

_PAUSE_SECONDS = 2.0

_CLOSED_SECONDS = 600
"""For how long a change may have closed the node before it is put back here: the usual
`drain-timeout`. Until then the charm goes on with it, on a machine that is idle."""

_ROUNDS = 3
"""Mode, instances, read-back: what a GPU needs at most."""

_logger = logging.getLogger(__name__)


def main(gateways: Gateways, application: str, unit: str) -> None:
    """Make the recorded layout again and open the gate, or say in the log why not."""
    host = gateways.host()
    store = Store(host.files, application)
    try:
        record, progress = store.find_record(), store.read_progress()
        if record is None or progress.granted:
            _logger.info("%s: nothing was recorded, or the driver changes", unit)
            return
        gpus = restore(record, host, store.find_known())
        store.open(replace(record, boot=host.boot_id(), devices=fingerprint_devices(gpus)))
        if progress.is_overdue(host.now(), _CLOSED_SECONDS):
            # No other boot waits for the cluster's client to load, half a second.
            from putback import put_back

            put_back(record, gateways, host, application)
    except CharmkitError as error:
        _logger.warning("%s: offers nothing until the charm runs: %s", unit, error)


def restore(record: Record, host: Host, known: Sequence[Known] = ()) -> tuple[Gpu, ...]:
    """Make the GPUs what was recorded and return them as they were read back.

    Args:
        record: What was recorded, by UUID.
        host: The machine.
        known: GPUs that were there, so that messages have the numbers of the charm.

    Raises:
        UnsupportedError: They cannot be made so by adding alone.
        CharmkitError: NVML refuses.
    """
    machine = MachineGpus(host, usable=True, known=known)
    gpus = _read_patiently(machine, host)
    for _ in range(_ROUNDS):
        changes = plan_restore(record, gpus)
        if not changes:
            return gpus
        machine.apply(*changes)
        gpus = machine.look().gpus
    raise NotReadyError("the GPUs did not become what was recorded")


def plan_restore(record: Record, gpus: Sequence[Gpu]) -> tuple[Change, ...]:
    """Return what has to be added so that the GPUs are what was recorded; nothing is destroyed.

    A recorded GPU that is lost keeps no other from it.

    Raises:
        UnsupportedError: Other GPUs, another mode that needs a reset, or other instances.
    """
    recorded = {entry["uuid"]: entry for entry in record.gpus}
    if not {gpu.uuid for gpu in gpus} <= set(recorded):
        raise UnsupportedError("other GPUs than recorded")
    changes = (_plan_gpu(recorded[gpu.uuid], gpu) for gpu in gpus)
    return tuple(change for change in changes if not change.is_empty)


def _plan_gpu(entry: dict[str, Any], gpu: Gpu) -> Change:
    if gpu.mig != entry["mig"]:
        if gpu.mig or not gpu.resetless:
            raise UnsupportedError(f"GPU {gpu.index}: another MIG mode than recorded")
        return Change(gpu, mode=True)
    wanted = {_place(item) for item in entry["instances"]}
    present = {(each.profile.id, each.placement) for each in gpu.instances}
    if present - wanted or not all(each.is_whole for each in gpu.instances):
        raise UnsupportedError(f"GPU {gpu.index}: other instances than recorded")
    profiles = {profile.id: profile for profile in gpu.profiles}
    missing = sorted(wanted - present, key=lambda place: place[1])
    if any(identifier not in profiles for identifier, _ in missing):
        raise UnsupportedError(f"GPU {gpu.index}: a recorded profile is gone")
    return Change(gpu, create=tuple(Cut(profiles[each], place) for each, place in missing))


def _place(item: dict[str, int]) -> tuple[int, Placement]:
    return item["profile"], Placement(item["start"], item["size"])


def _read_patiently(machine: MachineGpus, host: Host) -> tuple[Gpu, ...]:
    end = host.now() + _PATIENCE_SECONDS
    while True:
        try:
            return machine.look().gpus
        except NotReadyError:
            if host.now() >= end:
                raise
        host.sleep(_PAUSE_SECONDS)
