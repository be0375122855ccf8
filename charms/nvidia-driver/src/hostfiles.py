# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The files that keep a driver as it is between two runs of the charm. Pure: paths and texts.

Each is written before the package that reads it is installed, so that systemd and udev read it
when they come to that package, and nobody has to reload systemd under running containers.
"""

from dataclasses import dataclass

_HEADER = "# Written by the charm nvidia-driver; changes are overwritten.\n"

SWITCHES = ("mlx5_ib", "ib_umad")
"""Through what the fabric manager of NVLink 5 boards reaches the switches; it ends without them.
Source: NVIDIA's driver container waits for them; seen in gpu-operator#2781."""

_HELD = (
    "nvidia-",
    "libnvidia-",
    "linux-modules-nvidia-",
    "linux-objects-nvidia-",
    "linux-signatures-nvidia-",
    "linux-generic",
    "linux-image-generic",
    "linux-headers-generic",
)


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file: where it is and what it says."""

    path: str
    text: str


def render_no_upgrades() -> HostFile:
    """Return the list of what unattended-upgrades leaves alone, by the beginning of a name.

    A hold keeps apt from it already; this survives somebody's `apt-mark unhold`. New user space
    under a loaded module is the most frequent way to lose a GPU node.
    """
    names = "".join(f'  "{name}";\n' for name in _HELD)
    return HostFile(
        "/etc/apt/apt.conf.d/52nvidia-driver-charm",
        _HEADER.replace("#", "//") + f"Unattended-Upgrade::Package-Blacklist {{\n{names}}};\n",
    )


def render_no_nouveau() -> HostFile:
    """Return what keeps the kernel's own driver off the GPUs."""
    return HostFile(
        "/etc/modprobe.d/nvidia-driver-charm.conf",
        _HEADER + "blacklist nouveau\noptions nouveau modeset=0\n",
    )


def render_persistence() -> HostFile:
    """Return the drop-in that makes the persistence daemon keep the GPUs initialised.

    Ubuntu's unit runs it with the mode off; then each start of a program that uses NVML takes 2 to
    40 seconds on eight GPUs (AgentBaker 2829, mig-parted 357).
    """
    program = "/usr/bin/nvidia-persistenced"
    return HostFile(
        "/etc/systemd/system/nvidia-persistenced.service.d/50-nvidia-driver-charm.conf",
        _HEADER
        + "[Service]\nExecStart=\n"
        + f"ExecStart={program} --user nvidia-persistenced --persistence-mode --verbose\n",
    )


def render_device_links() -> HostFile:
    """Return the rule that makes the links in /dev/char that a systemd reload looks for.

    Without them systemd takes the GPUs away from running containers when it reloads (NVIDIA
    container toolkit 48 and 1227). To be removed when the toolkit's package brings the rule.
    """
    program = "/usr/bin/nvidia-ctk system create-dev-char-symlinks --create-all"
    return HostFile(
        "/etc/udev/rules.d/71-nvidia-driver-charm.rules",
        _HEADER + f'ACTION=="add", DEVPATH=="/bus/pci/drivers/nvidia", RUN+="{program}"\n',
    )


def render_switch_modules() -> HostFile:
    """Return what loads, at boot, the modules through which NVLink 5 is managed."""
    names = "".join(f"{name}\n" for name in SWITCHES)
    return HostFile("/etc/modules-load.d/nvidia-driver-charm.conf", _HEADER + names)


LASTING = (render_no_nouveau(), render_persistence(), render_device_links())
"""What stays when the charm goes, as the driver does: running jobs need it."""


def list_files(*, nvlink5: bool) -> tuple[HostFile, ...]:
    """Return the files of a machine.

    Args:
        nvlink5: It is an HGX board with NVLink 5.
    """
    switches = (render_switch_modules(),) if nvlink5 else ()
    return (render_no_upgrades(), *LASTING, *switches)
