# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services that hold GPUs and compute nothing: out of the way for a MIG mode change, then back.

Before Hopper the driver resets a GPU to change its mode, and any open handle is in the way, also
that of a service that is in no process list. The fabric manager stays: when it stops, it ends the
CUDA jobs of all GPUs (ABORT_CUDA_JOBS_ON_FM_EXIT in its manual).
"""

import json
from collections.abc import Generator
from contextlib import contextmanager

from charmkit.host import Host

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

_STOPPED = "/run/gpu-worker-stopped.json"
"""Which services were stopped. It is gone after a reboot, which starts them anyway."""


@contextmanager
def paused_clients(host: Host) -> Generator[None]:
    """Stop the services that run, and start them again whatever happened in between.

    Raises:
        InterventionError: A service does not stop, or does not start again.
    """
    resume_clients(host)
    running = [name for name in SERVICES if host.systemd.is_active(name)]
    host.files.ensure_text(_STOPPED, json.dumps(running))
    try:
        for name in running:
            host.systemd.ensure_stopped(name)
        yield
    finally:
        resume_clients(host)


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
