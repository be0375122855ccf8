# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What holds GPUs and computes nothing: out of the way for a MIG mode change, then back.

Before Hopper the driver resets a GPU to change its mode, and any open handle is in the way, also
that of a service that is in no process list, or of a kernel module. The fabric manager stays: when
it stops, it ends the CUDA jobs of all GPUs (ABORT_CUDA_JOBS_ON_FM_EXIT in its manual).
"""

import json
import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress

from charmkit.commands import CommandError
from charmkit.errors import CharmkitError
from charmkit.host import Host
from reset import DEVICE_FILES, HOLDING_SERVICES

SERVICES = (
    "nvidia-persistenced.service",
    "nvidia-dcgm.service",
    "dcgm-exporter.service",
    "nvsm.service",
    "snap.dcgm.dcgm-exporter.service",
    "snap.dcgm.nv-hostengine.service",
)
"""What may be stopped without harm to a job. Source: NVIDIA's MIG guide (DGX: stop nvsm and dcgm),
mig-parted 0.15 clients.yaml, NVIDIA/gpu-operator#118 (persistence daemon); snap `dcgm`."""

MONITORS = SERVICES[1:]
"""Those that watch GPUs. The persistence daemon only keeps the driver awake, and holds nothing."""

DISPLAYS = ("nvidia_drm", "nvidia_modeset")
"""Kernel modules for displays, in the order in which they go. While the first is loaded no GPU can
be reset, whether anybody uses it or not. Source: mig-parted#181 (unloaded for the change, loaded
again after it), ComputeCanada/puppet-magic_castle#387."""

_STOPPED = "/run/gpu-worker-stopped.json"
"""Which services were stopped. It is gone after a reboot, which starts them anyway."""

_UNLOADED = "/run/gpu-worker-unloaded.json"
"""Which modules were loaded, likewise."""

_RMMOD = "/usr/sbin/rmmod"
"""It takes a module away and nothing else; modprobe would take what only that one needs, too, and
be it the driver."""

_logger = logging.getLogger(__name__)


@contextmanager
def paused_clients(
    host: Host, services: Sequence[str] = SERVICES, modules: Sequence[str] = ()
) -> Generator[None]:
    """Stop the services that run, and start them again whatever happened in between.

    Args:
        host: The machine.
        services: Which of them.
        modules: Kernel modules that are unloaded where nobody uses them, and loaded again.

    Raises:
        InterventionError: A service does not stop, or does not start again.
    """
    resume_clients(host)
    running = find_running(host, services)
    host.files.ensure_text(_STOPPED, json.dumps(running))
    try:
        for name in running:
            host.systemd.ensure_stopped(name)
        _unload_idle(host, modules)
        yield
    finally:
        resume_clients(host)


def may_stop_monitors(host: Host, processes: Mapping[str, Sequence[str]]) -> bool:
    """Say whether stopping the services that watch may let a GPU go: nobody else is in the way.

    A process that has a GPU open, and that computes on none, is taken to be in the way itself.

    Args:
        host: The machine.
        processes: Names of the processes that compute, by device.
    """
    if not find_running(host, MONITORS):
        return False
    computing = {name.partition(" (")[0] for names in processes.values() for name in names}
    return not any(
        f"pid {holder.pid}" not in computing and not holder.command.startswith(HOLDING_SERVICES)
        for holder in host.device_holders(DEVICE_FILES)
    )


def find_running(host: Host, services: Sequence[str] = SERVICES) -> list[str]:
    """Return the services that run."""
    return [name for name in services if host.systemd.is_active(name)]


def resume_clients(host: Host) -> None:
    """Start and load what a change stopped, also one that was killed before it could.

    A module that does not load is left: displays are not what the machine is for.

    Raises:
        InterventionError: A service does not start.
    """
    for name in json.loads(host.files.find_text(_STOPPED) or "[]"):
        host.systemd.ensure_started(name)
    host.files.ensure_absent(_STOPPED)
    for name in json.loads(host.files.find_text(_UNLOADED) or "[]"):
        _load_back(host, name)
    host.files.ensure_absent(_UNLOADED)


def _load_back(host: Host, name: str) -> None:
    try:
        host.load_module(name)
    except CharmkitError as error:
        _logger.warning("unloaded for a change of GPUs, and left so: %s", error)


def _unload_idle(host: Host, modules: Sequence[str]) -> None:
    """Unload modules, as far as nobody uses them; what was loaded is written down before."""
    loaded = host.modules()
    there = [name for name in modules if name in loaded]
    if any(loaded[name] == 0 for name in there):
        host.files.ensure_text(_UNLOADED, json.dumps(there))
        for name in there:
            with suppress(CommandError):  # In use; what it holds is named afterwards.
                host.run([_RMMOD, name])
