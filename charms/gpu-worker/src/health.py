# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a GPU's driver says of its health, in words that say what to do. Pure.

Nothing is counted here. How many errors a GPU had says little: rows of memory that were remapped
are as good as new, and an XID of a program that failed says nothing of the GPU. What counts is
whether the driver can still repair the memory, and which step it asks for; that goes when the
step was done, so what is said of a GPU goes by itself too.

Source: NVIDIA's "GPU Memory Error Management", "XID errors" and nvml.h; leptonai/gpud
`remapped-rows`.
"""

from collections.abc import Mapping
from types import MappingProxyType

REMAP_PENDING, REMAP_FAILED, RECOVERY = 144, 145, 230
"""NVML fields: NVML_FI_DEV_REMAPPED_PENDING, _FAILURE, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION."""

FIELDS = (REMAP_PENDING, REMAP_FAILED, RECOVERY)
"""Fields that tell of health; a driver or a board that lacks one says so, and is not unwell."""

_RESET = "the driver asks for a reset of it: drain the node, then reboot the machine"
_REBOOT = "the driver asks for a reboot: drain the node, then reboot the machine"

_STEPS: Mapping[int, str] = MappingProxyType(
    {
        1: _RESET,
        2: _REBOOT,
        3: "the driver asks that work over NVLink with other GPUs ends: drain the node",
        4: _RESET,
        6: _RESET,
        7: _REBOOT,
    }
)
"""Words for NVML_GPU_RECOVERY_ACTION_*. IMEX domains (5) belong to machines with Grace."""


def describe_ailment(answers: Mapping[int, int]) -> str:
    """Return what is wrong with a GPU and what to do; empty where nothing is.

    Args:
        answers: Value by field, without those that the driver does not have.
    """
    if answers.get(REMAP_FAILED):
        return "its memory can be repaired no more (row remapping failed): have it replaced"
    step = _STEPS.get(answers.get(RECOVERY, 0), "")
    if not step and answers.get(REMAP_PENDING):
        return "memory rows wait to be remapped: drain the node, then reboot the machine"
    return step
