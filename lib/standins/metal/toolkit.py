# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""nvidia-ctk of a simulated machine: the links in /dev/char that systemd looks devices up by.

Source: NVIDIA container toolkit, `nvidia-ctk system create-dev-char-symlinks`; the devices' major
number 195 is the kernel's (admin-guide/devices.txt).
"""

from collections.abc import Sequence
from pathlib import PurePath

from standins.metal.system import System, UnknownProgramError

_LINKS = ("system", "create-dev-char-symlinks", "--create-all")
_CONTROL = 255
"""Minor number of /dev/nvidiactl."""


def nvidia_ctk(system: System, argv: Sequence[str]) -> str:
    """Run `nvidia-ctk system create-dev-char-symlinks --create-all`."""
    if tuple(argv[1:]) != _LINKS:
        raise UnknownProgramError(" ".join(argv))
    for path in system.files.glob("/dev/nvidia*"):
        number = PurePath(path).name.removeprefix("nvidia").replace("ctl", str(_CONTROL))
        if number.isdigit():
            system.files.ensure_link(f"/dev/char/195:{number}", f"../{PurePath(path).name}")
    return ""


def follow_rules(system: System) -> None:
    """Do what a rule of udev says for the moment at which the driver is loaded."""
    program = "/usr/bin/nvidia-ctk"
    for path in system.files.glob("/etc/udev/rules.d/*.rules"):
        if f"{program} {' '.join(_LINKS)}" in (system.files.find_text(path) or ""):
            nvidia_ctk(system, [program, *_LINKS])
