# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Charmed Kubernetes' containerd as other charms see it: its configuration and what it installs.

Source of every rule: charm-containerd 82d0953 (2025-04-21), `src/reactive/containerd.py` and
`src/templates/config_v2.toml`.
"""

import json

from standins.charms.toml import render
from standins.cluster.sandboxes import CONTAINERD
from standins.metal.machine import Machine
from standins.units import Event, UnitView
from standins.world import World

NVIDIA_VENDOR = "10de"
NVIDIA_RUNTIME = "nvidia-container-runtime"
SOURCES = "/etc/apt/sources.list.d/nvidia.list"
SOCKET = "unix:///var/run/containerd/containerd.sock"
UNKNOWN_VERSION = "0-1"
"""Version of packages that the archive stand-in lacks, such as `cuda-drivers`; they are bare."""


class Charm:
    """A unit of containerd, subordinate of a worker or a control plane."""

    def handle(self, event: Event, unit: UnitView, world: World) -> None:
        """Render the configuration, install drivers when asked to, publish the socket."""
        if event.name in ("stop", "remove"):
            return
        machine = world.machines[unit.machine]
        mode = str(unit.config.get("gpu_driver", "auto"))
        if mode not in ("auto", "nvidia", "none"):
            unit.status = ("blocked", f"{mode} is an invalid option for gpu_driver")
            return
        with_driver = mode == "nvidia" or (mode == "auto" and _has_nvidia(machine))
        problem = _install(unit, machine) if with_driver else _purge(machine)
        if problem:
            unit.status = ("blocked", problem)
            return
        runtime = _runtime(unit, with_driver=with_driver)
        machine.host.files.ensure_text(CONTAINERD, render(runtime))
        _publish(unit, runtime, with_driver=with_driver)
        unit.workload_version = "1.7.28"
        unit.status = ("active", "Container runtime available")


def _has_nvidia(machine: Machine) -> bool:
    """Return whether `lspci -nnk` names NVIDIA (line 594 of its code)."""
    return any(device.vendor == NVIDIA_VENDOR for device in machine.host.pci_devices())


def _runtime(unit: UnitView, *, with_driver: bool) -> str:
    """Return the default runtime: the option's, NVIDIA's with a driver, else plain runc."""
    asked = str(unit.config.get("runtime", "auto"))
    if asked != "auto":
        return asked
    return NVIDIA_RUNTIME if with_driver else "runc"


def _install(unit: UnitView, machine: Machine) -> str:
    """Install the driver packages and hold them; return what a status says when it cannot.

    Packages that are installed already are purged first, with everything that begins with
    `nvidia-` (lines 628 to 646): that is what another charm's driver must be kept from.
    """
    names = str(unit.config.get("nvidia_apt_packages", f"cuda-drivers {NVIDIA_RUNTIME}")).split()
    if not names:
        return "No NVIDIA packages selected to install."
    files, packages = machine.host.files, machine.host.packages
    if files.exists(SOURCES) and set(names) <= set(packages.installed()):
        return ""
    _remove_nvidia(machine)
    files.ensure_text(SOURCES, f"{unit.config.get('nvidia_apt_sources', '')}\n")
    candidates = packages.candidates(names)
    packages.install(candidates)
    rest = {name: UNKNOWN_VERSION for name in names if name not in candidates}
    machine.host.set_packages(rest)
    if NVIDIA_RUNTIME in rest:
        files.ensure_text(f"/usr/bin/{NVIDIA_RUNTIME}", "")
    packages.ensure_held(names)
    return ""


def _purge(machine: Machine) -> str:
    """Purge what an earlier `auto` or `nvidia` installed; nothing happens without it."""
    if machine.host.files.exists(SOURCES):
        _remove_nvidia(machine)
        machine.host.files.ensure_absent(SOURCES)
    return ""


def _remove_nvidia(machine: Machine) -> None:
    """Purge every package whose name begins with `nvidia-` or `cuda-drivers`."""
    packages = machine.host.packages
    doomed = [n for n in packages.installed() if n.startswith(("nvidia-", "cuda-drivers"))]
    if doomed:
        packages.ensure_unheld(doomed)
        packages.install({}, remove=sorted(doomed))


def _publish(unit: UnitView, runtime: str, *, with_driver: bool) -> None:
    """Tell the principal socket and runtime; the reactive side writes JSON values."""
    for relation in unit.related("containerd"):
        relation.local_unit |= {
            "socket": json.dumps(SOCKET),
            "runtime": json.dumps(runtime if runtime != "runc" else ""),
            "nvidia_enabled": json.dumps(with_driver),
        }
