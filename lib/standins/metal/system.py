# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the programs of a simulated machine act on: its files, its state, its GPUs.

State that is no file of the machine is one JSON object (`host.json`): packages, holds, services,
loaded modules, faults, wakes. Programs are functions `(system, argv) -> str`; a `ProgramError` is
their failure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from charmkit.files import Files
from standins.metal.archive import NOW, UBUNTU, Package, find_package
from standins.nvidia.gpus import GpuModel
from standins.store import JsonStore

State = dict[str, Any]


class ProgramError(Exception):
    """A program fails as the real one does: exit status and texts."""

    def __init__(self, returncode: int, stderr: str = "", stdout: str = "") -> None:
        super().__init__(stderr or stdout)
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr


class UnknownProgramError(Exception):
    """A charm runs something that no stand-in knows: write the stand-in, or do not run it."""


@dataclass
class System:
    """One simulated machine as its programs see it.

    Attributes:
        folder: Where `root/`, `host.json` and `gpus.json` are.
        now: Clock of the world.
    """

    folder: Path
    now: Callable[[], float] = field(default=lambda: 0.0)

    @cached_property
    def files(self) -> Files:
        """The machine's files; a loss of the last writes with the laptop would do no harm."""
        return Files(self.folder / "root", durable=False)

    @cached_property
    def store(self) -> JsonStore:
        """The machine's state."""
        return JsonStore(self.folder / "host.json")

    @cached_property
    def gpus(self) -> GpuModel | None:
        """The machine's GPUs, None when it has none."""
        path = self.folder / "gpus.json"
        return GpuModel(path) if path.exists() else None

    @property
    def release(self) -> str:
        """Release of the operating system."""
        return self.store.read()["release"]

    @property
    def kernel(self) -> str:
        """Release of the running kernel."""
        return self.files.read_text("/proc/sys/kernel/osrelease").strip()

    def installed(self, state: State | None = None) -> dict[str, Package]:
        """Return the packages that are unpacked, half configured ones included."""
        state = state if state is not None else self.store.read()
        return {
            name: find_package(state["release"], state["step"], name, version)
            for name, (version, _) in state["packages"].items()
        }


def new_state(release: str, *, step: int = NOW, secure_boot: bool = False) -> State:
    """Return the state of a machine on which nothing was installed yet.

    Args:
        release: Release of the operating system.
        step: Moment in the life of the archive, see `standins.metal.archive`.
        secure_boot: The firmware accepts signed modules only.
    """
    return {
        "schema": 1,
        "release": release,
        "step": step,
        "sources": [UBUNTU],
        "packages": {},
        "held": [],
        "services": {},
        "enabled": [],
        "masked": [],
        "started": [],
        "modules": [],
        "initramfs": [],
        "nouveau": False,
        "boots": 0,
        "secure_boot": secure_boot,
        "faults": {},
        "wakes": [],
    }


def fault_of(state: State, kind: str, name: str = "") -> str:
    """Return the text of a fault that was injected, empty when there is none."""
    return state["faults"].get(f"{kind}:{name}" if name else kind, "")
