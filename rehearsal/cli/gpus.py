# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A picture of every GPU's slices, and the table of nodes with what they advertise. Pure.

One row is one GPU, one cell of the grid one memory slice; `#` marks an instance that is in use.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rehearsal.cli import table
from standins.nvidia.gpustate import GpuState

GRID = 72
"""Width of the picture in characters, divided among the memory slices of the board."""


def render(machine: str, gpus: Sequence[GpuState], users: Mapping[str, str]) -> str:
    """Return the picture of one machine's GPUs.

    Args:
        machine: What to call the machine.
        gpus: Its GPUs by index.
        users: Who holds a device, by UUID of GPU or instance.
    """
    products = sorted({gpu.product for gpu in gpus})
    lines = [f"{machine}: {len(gpus)} x {' and '.join(products)}"]
    for gpu in gpus:
        held = [uuid for uuid in (gpu.uuid, *(i.uuid for i in gpu.instances)) if uuid in users]
        note = f"  {', '.join(sorted({users[uuid] for uuid in held}))}" if held else ""
        lines.append(f"  GPU {gpu.index} |{_row(gpu, users)}|{note}")
    return "\n".join(lines)


def _row(gpu: GpuState, users: Mapping[str, str]) -> str:
    if gpu.lost:
        return "fell off the bus".center(GRID)
    if not gpu.mig_current:
        word = "whole GPU" + (", MIG from the next reset on" if gpu.mig_pending else "")
        return _cell(word, GRID, gpu.uuid in users)
    width = GRID // gpu.model.units
    row, position = "", 0
    for instance in sorted(gpu.instances, key=lambda item: item.start):
        row += " " * ((instance.start - position) * width)
        row += _cell(instance.profile, instance.size * width, instance.uuid in users)
        position = instance.start + instance.size
    return row.ljust(GRID)


def _cell(word: str, width: int, busy: bool) -> str:
    inside = width - 2
    return f"[{word[:inside].center(inside, '#' if busy else ' ')}]"


def render_nodes(nodes: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of nodes: ready or not, cordoned, taints, and GPU resources."""
    rows = [
        (
            node["metadata"]["name"],
            _state(node),
            ",".join(taint["key"] for taint in node.get("spec", {}).get("taints", [])) or "-",
            _resources(node.get("status", {})) or "-",
        )
        for node in nodes
    ]
    return table.render(("Node", "State", "Taints", "Allocatable GPUs"), sorted(rows))


def _state(node: Mapping[str, Any]) -> str:
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    cordoned = node.get("spec", {}).get("unschedulable", False)
    return ("Ready" if ready else "NotReady") + (",cordoned" if cordoned else "")


def _resources(status: Mapping[str, Any]) -> str:
    allocatable: Mapping[str, str] = status.get("allocatable", {})
    capacity: Mapping[str, str] = status.get("capacity", {})
    names = [name for name in capacity if name.startswith("nvidia.com/")]
    return "  ".join(f"{name} {allocatable.get(name, 0)}" for name in sorted(names))
