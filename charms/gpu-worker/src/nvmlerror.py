# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What NVML refuses, in words that a status can carry."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from charmkit.errors import CharmkitError, InterventionError, NotReadyError, UnsupportedError


class InUseError(NotReadyError):
    """A client is in the way, be it in a list of processes or not."""


class MismatchError(InterventionError):
    """The library is not the one of the loaded module; a process keeps the one that it mapped."""


NOT_SUPPORTED = 3
NOT_FOUND = 6
INVALID_ARGUMENT = 2
FUNCTION_NOT_FOUND = 13

LOST = (11, 14, 15, 16, 28)
"""Codes of one GPU that is of no use until somebody sees to it: its interrupt does not arrive, its
InfoROM is corrupt, it left the bus (two), it must be reset. Source: nvml.h."""

SILENT = (*LOST, 999)
"""Codes of one GPU of which the driver gives no handle. The last is what NVML most often says of
one that fell off the bus: "Unable to determine the device handle for GPU ...: Unknown Error"
(open-gpu-kernel-modules#387). Of a handle it can be a moment's, so that it is told from a loss."""

_TEXTS: tuple[tuple[int, type[CharmkitError], str], ...] = (
    (3, UnsupportedError, "the driver does not support this"),
    (4, InterventionError, "no permission; run as root, outside a container"),
    (6, NotReadyError, "changed meanwhile, is read again"),
    (9, NotReadyError, "kernel module nvidia is not loaded"),
    (10, NotReadyError, "the driver does not answer in time"),
    (11, InterventionError, "its interrupt does not arrive; reboot the machine"),
    (12, NotReadyError, "libnvidia-ml.so.1 is not there; the driver is not installed"),
    (13, UnsupportedError, "this driver is too old for it"),
    (14, InterventionError, "its InfoROM is corrupt; have the GPU replaced"),
    (15, InterventionError, "has fallen off the bus; power-cycle the machine"),
    (16, InterventionError, "must be reset before it can be used; reboot the machine"),
    (17, InterventionError, "the operating system refuses; run as root, outside a container"),
    (18, MismatchError, "loaded module and library differ; reload the module or reboot"),
    (19, InUseError, "in use by another client"),
    (20, NotReadyError, "the machine is out of memory"),
    (23, NotReadyError, "no room left for the instance; cut by somebody else"),
    (27, NotReadyError, "not ready yet"),
    (28, InterventionError, "is gone from the bus; power-cycle the machine"),
    (29, NotReadyError, "is in no state for this now"),
)
"""NVML return code, kind of error, reason. Source: nvml.h, nvmlReturn_t."""


@contextmanager
def translated(what: str, *, unsupported: str = "") -> Generator[None]:
    """Let nothing of pynvml's errors through.

    Args:
        what: What the calls within are about; the message begins with it.
        unsupported: The whole message where the driver supports no such call and why is known.

    Raises:
        NotReadyError: It needs time: no driver yet, a client in the way, the driver starting.
        InterventionError: Somebody must act on the machine.
        UnsupportedError: This driver or GPU never can.
    """
    try:
        yield
    except pynvml.NVMLError as error:
        raise translate(error, what, unsupported) from error


def translate(error: Any, what: str, unsupported: str = "") -> CharmkitError:
    """Return our error for one of pynvml's.

    Args:
        error: An NVMLError; its `value` is the return code.
        what: What it is about.
        unsupported: As of `translated`.
    """
    if unsupported and error.value == NOT_SUPPORTED:
        return UnsupportedError(unsupported)
    for code, kind, reason in _TEXTS:
        if code == error.value:
            return kind(f"{what}: {reason}")
    name = type(error).__name__.removeprefix("NVMLError_")
    return InterventionError(f"{what}: NVML answers {name} ({error.value}); reboot if it stays")
