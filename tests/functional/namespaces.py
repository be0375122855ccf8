# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Network namespaces that tests make: the program ip, and the calling thread's own namespace."""

import ctypes
import os
import subprocess
from pathlib import Path

_NEW_NET = 0x40000000
"""CLONE_NEWNET of linux/sched.h."""


def ip(*arguments: str) -> None:
    """Run the program ip.

    Raises:
        CalledProcessError: It refused.
    """
    subprocess.run(["ip", *arguments], check=True)


def enter(path: Path) -> None:
    """Put the calling thread into the namespace that a file stands for.

    Raises:
        OSError: The kernel refused.
    """
    there = os.open(path, os.O_RDONLY)
    try:
        enter_open(there)
    finally:
        os.close(there)


def enter_open(namespace: int) -> None:
    """Put the calling thread into the namespace of an open file.

    Raises:
        OSError: The kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _NEW_NET):
        raise OSError(ctypes.get_errno(), "setns")
