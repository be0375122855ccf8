# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The file behind the GPUs of a machine: JSON, a lock, atomic renames, a cache.

Three files lie beside each other: the state, its lock (`.lock`), and the open NVML sessions
(`.sessions`), which are kept apart so that reading GPUs is no change of them.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from standins.nvidia.gpustate import (
    ComputeState,
    Driver,
    Fault,
    GpuState,
    Holder,
    InstanceState,
    MachineGpus,
    ProcessState,
    Traits,
)

SCHEMA = 1


class GpuFile:
    """Read and change the state of one machine's GPUs, together with other processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._state: MachineGpus | None = None

    def create(self, machine: MachineGpus) -> None:
        """Write the first state, whatever was there."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            self._write(machine)
        self.forget_sessions()

    def read(self) -> MachineGpus:
        """Return the state; parsed again only when the file is another one.

        Raises:
            FileNotFoundError: The machine has no GPUs.
        """
        stamp = _stamp(self._path)
        if self._state is None or stamp != self._stamp:
            self._state = _parse(json.loads(self._path.read_text("utf-8")))
            self._stamp = stamp
        return self._state

    def edit(self, change: Callable[[MachineGpus], MachineGpus]) -> MachineGpus:
        """Apply a pure change under the lock; an exception of it leaves the file as it is."""
        with self._locked():
            old = self.read()
            new = change(old)
            if new != old:
                new = replace(new, revision=old.revision + 1)
                self._write(new)
            return new

    def _write(self, machine: MachineGpus) -> None:
        _replace_text(self._path, _dump(machine), mark=machine.revision)
        self._state, self._stamp = machine, _stamp(self._path)

    @contextmanager
    def _locked(self) -> Generator[None]:
        with self._beside(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    # Sessions.

    def sessions(self) -> list[str]:
        """Return the names of open NVML sessions whose process is alive."""
        return [entry["name"] for entry in self._sessions() if _is_alive(entry)]

    def open_session(self, name: str) -> None:
        """Add a session of this process."""
        entry = {"name": name, "pid": os.getpid(), "started": _started(os.getpid())}
        self._write_sessions(lambda entries: [*entries, entry])

    def close_session(self, name: str) -> None:
        """Remove a session, if it is there."""
        self._write_sessions(lambda entries: [e for e in entries if e["name"] != name])

    def forget_sessions(self) -> None:
        """Remove all sessions: the machine started anew."""
        self._write_sessions(lambda _: [])

    def _sessions(self) -> list[dict[str, Any]]:
        path = self._beside(".sessions")
        return json.loads(path.read_text("utf-8")) if path.exists() else []

    def _write_sessions(
        self, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
    ) -> None:
        with self._locked():
            alive = [entry for entry in self._sessions() if _is_alive(entry)]
            _replace_text(self._beside(".sessions"), json.dumps(change(alive)))


def _is_alive(entry: dict[str, Any]) -> bool:
    return _started(entry["pid"]) == entry["started"]


def _started(pid: int) -> int:
    """Return when a process started, in ticks since boot; -1 when it is gone. Source: proc(5)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except FileNotFoundError:
        return -1
    return int(fields.rpartition(")")[2].split()[19])


def _stamp(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, once a call
    return status.st_ino, status.st_mtime_ns, status.st_size


def _replace_text(path: Path, text: str, *, mark: int = 0) -> None:
    """Replace a file atomically.

    The last six digits of the time of modification are the mark: clocks of file systems tick in
    milliseconds and inodes are used again, so two quick changes could look the same otherwise.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(text, "utf-8")
    now = time.time_ns() // 1_000_000 * 1_000_000 + mark % 1_000_000
    os.utime(scratch, ns=(now, now))
    scratch.replace(path)


def _dump(machine: MachineGpus) -> str:
    """Return the file's text: one line for each GPU, so that people can read it."""
    fields = {
        key: value for key, value in asdict(replace(machine, gpus=())).items() if key != "gpus"
    }
    rest = json.dumps({"schema": SCHEMA, **fields})
    lines = ",\n  ".join(_dump_gpu(gpu) for gpu in machine.gpus)
    return f'{rest[:-1]}, "gpus": [\n  {lines}\n]}}\n'


@lru_cache(maxsize=1024)
def _dump_gpu(gpu: GpuState) -> str:
    return json.dumps(asdict(gpu))


def _parse(data: dict[str, Any]) -> MachineGpus:
    if data["schema"] != SCHEMA:
        raise ValueError(f"GPU state has schema {data['schema']}, this program knows {SCHEMA}")
    return MachineGpus(
        driver=Driver(**data["driver"]),
        traits=Traits(**data["traits"]),
        gpus=tuple(_parse_gpu(raw) for raw in data["gpus"]),
        holders=tuple(
            Holder(raw["name"], tuple(raw["gpus"]), raw.get("instances", False))
            for raw in data["holders"]
        ),
        faults=tuple(Fault(**raw) for raw in data["faults"]),
        latencies=tuple((call, milliseconds) for call, milliseconds in data["latencies"]),
        revision=data["revision"],
    )


def _parse_gpu(raw: dict[str, Any]) -> GpuState:
    parts: dict[str, Any] = {
        "instances": tuple(_parse_instance(each) for each in raw["instances"]),
        "processes": tuple(ProcessState(**each) for each in raw["processes"]),
    }
    return GpuState(**{**raw, **parts})


def _parse_instance(raw: dict[str, Any]) -> InstanceState:
    compute: dict[str, Any] = {"compute": tuple(ComputeState(**part) for part in raw["compute"])}
    return InstanceState(**{**raw, **compute})
