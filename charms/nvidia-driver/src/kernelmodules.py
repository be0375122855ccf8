# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Load and unload the driver, and run the services that belong to a loaded one."""

import logging

from charmkit.commands import CommandError
from charmkit.errors import InterventionError, NotReadyError
from charmkit.host import Host
from hostfiles import SWITCHES, list_files, render_device_links, render_persistence
from observed import FABRIC_MANAGER, PERSISTENCED, Observed, describe_holders, read_holders

_logger = logging.getLogger(__name__)

_NOUVEAU = "nouveau"
_UPDATE_INITRAMFS = ("/usr/sbin/update-initramfs", "-u")
"""The next boot reads what is blacklisted from the initramfs, not from /etc."""

LOADED = ("nvidia", "nvidia-uvm")
"""What CUDA needs. nvidia-modeset and nvidia-drm are for displays, and would hold a GPU that is to
be reset (mig-parted 181)."""

UNLOADED = (
    "nvidia_drm",
    "nvidia_modeset",
    "nvidia_uvm",
    "nvidia_peermem",
    "nvidia_fs",
    "nvidia_vgpu_vfio",
    "gdrdrv",
    "nvidia",
)
"""Modules that use the driver before the driver itself. Source: NVIDIA's k8s-driver-manager, which
unloads in this order; nvidia_drm uses nvidia_modeset."""


_AT_ONCE = {
    render_device_links().path: (
        "/usr/bin/nvidia-ctk",
        "system",
        "create-dev-char-symlinks",
        "--create-all",
    ),
    render_persistence().path: ("/usr/bin/nvidia-smi", "-pm", "1"),
}
"""What does to a loaded driver what a file does to one that is loaded later. The daemon is not
started anew for it: systemd would have to reload, and the mode would be off for a while."""


class KernelModules:
    """The driver in the kernel of one machine."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def ensure_files(self, observed: Observed) -> None:
        """Write what keeps a driver as it is, and do at once what a loaded one gets by it.

        udev and systemd do that when the driver is loaded, which was earlier on a machine that had
        it before the charm. What cannot be done now is done at the next boot.
        """
        for file in list_files(nvlink5=observed.hardware.has_nvlink5):
            command = _AT_ONCE.get(file.path)
            if command and observed.is_loaded and not self._host.files.exists(file.path):
                try:
                    self._host.run(command, timeout=300)
                except (CommandError, NotReadyError) as error:
                    _logger.warning("%s is followed at the next boot: %s", file.path, error)
            self._host.files.ensure_text(file.path, file.text)

    def load(self) -> str | None:
        """Load the driver. Return why only a reboot can do that, None when it is loaded.

        Raises:
            InterventionError: The kernel refuses the module; the message is its reason.
        """
        if _NOUVEAU in self._host.modules():
            self._host.run(_UPDATE_INITRAMFS, timeout=600)
            try:
                self._host.unload_module(_NOUVEAU)
            except InterventionError:
                return "nouveau is in use"
        for name in LOADED:
            self._host.load_module(name)
        return None

    def reload(self) -> str | None:
        """Put the installed driver in the place of the loaded one.

        Returns:
            Why the old one does not go, None when the new one is loaded.

        Raises:
            InterventionError: The kernel refuses the new module.
        """
        holders = read_holders(self._host)
        if holders:
            return f"GPU held by {describe_holders(holders)}"
        for service in (FABRIC_MANAGER, PERSISTENCED):
            self._host.systemd.ensure_stopped(service)
        try:
            for name in UNLOADED:
                self._host.unload_module(name)
        except InterventionError as error:
            return str(error)
        return self.load()

    def ensure_services(self, observed: Observed) -> bool:
        """Run the services of a driver that is loaded; a mismatched one is left alone.

        Returns:
            Whether anything was started.

        Raises:
            InterventionError: A service does not start, or the kernel lacks what it needs.
        """
        driver = observed.driver
        if driver is None or observed.loaded != driver.version:
            return False
        for name in LOADED:  # udev loads the driver alone, or all, as its package has it.
            if name.replace("-", "_") not in observed.modules:
                self._host.load_module(name)
        started = [self._ensure_service(PERSISTENCED)]
        if observed.hardware.has_nvlink5:
            for name in SWITCHES:
                self._host.load_module(name)
        if observed.hardware.has_fabric and observed.fabric_version == driver.version:
            started.append(self._ensure_service(FABRIC_MANAGER))
        return any(started)

    def _ensure_service(self, name: str) -> bool:
        systemd = self._host.systemd
        if not systemd.exists(name):
            return False
        enabled = systemd.ensure_enabled(name)
        return systemd.ensure_started(name) or enabled
