# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a layout means for the GPUs of a machine, as the options of its pool have it. Pure."""

from collections.abc import Sequence

from builtin import find_layout
from config import WorkerOptions
from gpu import Gpu
from layout import Goal, check_strategy, resolve
from observed import Observed


def resolve_for(name: str, seen: Observed, options: WorkerOptions) -> tuple[Goal, ...]:
    """Return what a layout means for the GPUs that were read; those that are lost may be named.

    Raises:
        CharmkitError: As `resolve_layout`.
    """
    return resolve_layout(name, seen.gpus, options, [fault.index for fault in seen.faults])


def resolve_layout(
    name: str, gpus: tuple[Gpu, ...], options: WorkerOptions, lost: Sequence[int] = ()
) -> tuple[Goal, ...]:
    """Return what a layout means for the GPUs of a machine.

    Raises:
        UnsupportedError: There is no such layout, or these GPUs cannot have it.
        ConfigError: The strategy cannot serve it.
    """
    layout = find_layout(name, gpus, options.mig_layouts)
    goals = resolve(layout, gpus, options.unlisted_gpus, lost)
    check_strategy(goals, gpus, options.strategy)
    return goals


def find_left_alone(goals: Sequence[Goal], gpus: Sequence[Gpu]) -> frozenset[int]:
    """Return the GPUs that can do MIG and of which a layout says nothing, by index."""
    alone = {goal.gpu for goal in goals if goal.mig is None}
    return frozenset(gpu.index for gpu in gpus if gpu.mig_capable and gpu.index in alone)
