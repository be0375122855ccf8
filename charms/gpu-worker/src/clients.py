# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services that hold GPUs and compute nothing: out of the way for a MIG mode change, then back.

Before Hopper the driver resets a GPU to change its mode, and any open handle is in the way, also
that of a service that is in no process list. The fabric manager stays: when it stops, it ends the
CUDA jobs of all GPUs (ABORT_CUDA_JOBS_ON_FM_EXIT in its manual).
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

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

_STOPPED = "/run/gpu-worker-stopped.json"
"""Which services were stopped. It is gone after a reboot, which starts them anyway."""


@contextmanager
def paused_clients(host: Host, services: Sequence[str] = SERVICES) -> Generator[None]:
    """Stop the services that run, and start them again whatever happened in between.

    Args:
        host: The machine.
        services: Which of them.

    Raises:
        InterventionError: A service does not stop, or does not start again.
    """
    resume_clients(host)
    running = find_running(host, services)
    host.files.ensure_text(_STOPPED, json.dumps(running))
    try:
        for name in running:
            host.systemd.ensure_stopped(name)
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
    """Start what a change stopped, also one that was killed before it could.

    Raises:
        InterventionError: A service does not start.
    """
    text = host.files.find_text(_STOPPED)
    if text is None:
        return
    for name in json.loads(text):
        host.systemd.ensure_started(name)
    host.files.ensure_absent(_STOPPED)
