# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a node: the state file of the simulated NVML library in C, seen from outside.

The charm opens the library in its own process on the node; the device plugin reads the file.
"""

import contextlib
import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mig import fakelib
from standins.cluster.deviceplugin import resource
from standins.nvidia.boards import board_names, find_board

BOARD, COUNT = "a100-40gb", 2
FULL = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Device:
    """One thing that a container can be given.

    Attributes:
        uuid: Its UUID.
        resource: What the node offers it as.
        gpu: Number of its GPU.
        start: First memory slice of its instance, 0 for a whole GPU.
    """

    uuid: str
    resource: str
    gpu: int
    start: int = 0


class NodeGpus:
    """Two A100 with 40 GB, MIG off at first."""

    def __init__(self, folder: Path) -> None:
        """Make them, and beside them the names of profiles, which the file has as numbers."""
        machine = fakelib.Machine(folder, BOARD, COUNT)
        machine.silence()
        environment = machine.environment
        self._path = Path(environment["FAKE_NVML_STATE"])
        self._kind: Any = type(machine.state)
        self.environment = {
            "LD_LIBRARY_PATH": str(machine.path.parent),
            "FAKE_NVML_STATE": environment["FAKE_NVML_STATE"],
        }
        """What a process on the node needs to open the library as NVIDIA's."""
        names = {
            number: {profile.id: profile.name for profile in find_board(name).profiles}
            for number, name in enumerate(board_names())
        }
        self._names = {str(key): value for key, value in names.items()}
        (folder / "profiles.json").write_text(json.dumps(names))
        os.environ.pop("FAKE_NVML_STATE", None)

    def offers(self) -> dict[str, int]:
        """Return how many devices of each resource there are."""
        return dict(Counter(each.resource for each in self.devices()))

    def devices(self) -> list[Device]:
        """Return what a container can be given, GPU by GPU."""
        state = self._kind.from_buffer_copy(self._path.read_bytes())
        found: list[Device] = []
        for index, gpu in enumerate(state.gpu[: state.gpus]):
            if gpu.lost:
                continue
            if not gpu.current:
                found.append(Device(gpu.uuid.decode(), FULL, index))
            for each in gpu.instance:
                name = self._names[str(gpu.board)].get(each.profile, "")
                parts = [part for part in each.part if each.used and part.used]
                offered, start = resource(name), int(each.start)
                found += [Device(part.uuid.decode(), offered, index, start) for part in parts]
        return found

    def lose_power(self) -> None:
        """Forget what does not survive: instances, processes and sessions; modes are kept."""
        with self._edit() as state:
            for gpu in state.gpu:
                for instance in gpu.instance:
                    instance.used = 0
                    for part in instance.part:
                        part.used = 0
                for process in gpu.process:
                    process.pid = 0
            for session in state.session:
                session.starts = 0

    def set_lost(self, index: int, *, lost: bool) -> None:
        """Let a GPU fall off the bus, or be there again."""
        with self._edit() as state:
            state.gpu[index].lost = int(lost)

    @contextlib.contextmanager
    def _edit(self) -> Iterator[Any]:
        """Give the state to be changed, under the lock that the library takes for each call."""
        with self._path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            state = self._kind.from_buffer_copy(file.read())
            yield state
            file.seek(0)
            file.write(bytes(state))
