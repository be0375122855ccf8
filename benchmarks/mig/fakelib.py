# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A libnvidia-ml.so.1 in C, for programs that are not Python and for pynvml as it loads one.

It is built with gcc from the sources beside this file, for the boards of `standins.nvidia.boards`,
into a cache folder. The state of a machine is a mapped file, so processes share it; every call
goes to a log. `standins.nvidia.nvml` is the same in Python and passes the same contract tests.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
from ctypes import c_char, c_int, c_uint32
from pathlib import Path
from typing import Any

import pynvml

from standins.nvidia import mig
from standins.nvidia.boards import Board, BoardProfile, board_names, find_board
from standins.nvidia.gpustate import GpuState, Traits
from standins.nvidia.nvml_devices import _ARCHITECTURES as ARCHITECTURES

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache" / "fake-nvml"
SOURCES = ("session.c", "devices.c", "instances.c")
SONAME = "libnvidia-ml.so.1"
FLAGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")

_MEDIA = {"share": 0, "one": 1, "all": 2, "none": 3}
_UUID = 48


class _Part(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("used", "id", "query", "slices", "start", "slot")),
        ("uuid", c_char * _UUID),
    ]


class _Instance(ctypes.Structure):
    _fields_ = [
        *((name, c_uint32) for name in ("used", "id", "profile", "start", "size")),
        ("part", _Part * 8),
    ]


class _Process(ctypes.Structure):
    _fields_ = [("pid", c_uint32), ("device", c_char * _UUID)]


class _Gpu(ctypes.Structure):
    _fields_ = [
        *(
            (name, c_uint32)
            for name in ("board", "current", "pending", "lost", "held", "created", "resets")
        ),
        ("uuid", c_char * _UUID),
        ("serial", c_char * 16),
        ("instance", _Instance * 8),
        ("process", _Process * 16),
    ]


class _Session(ctypes.Structure):
    _fields_ = [("pid", c_uint32), ("starts", c_uint32)]


class _Fault(ctypes.Structure):
    _fields_ = [
        ("call", c_char * 64),
        ("code", c_uint32),
        ("nth", c_uint32),
        ("seen", c_uint32),
        ("gpu", c_int),
    ]


class _State(ctypes.Structure):
    """The mirror of `struct state` in fake.h."""

    _fields_ = [
        *((name, c_uint32) for name in ("magic", "gpus", "cuda", "hidden", "virtual_machine")),
        ("loaded", c_char * 32),
        ("library", c_char * 32),
        ("gpu", _Gpu * 8),
        ("session", _Session * 16),
        ("fault", _Fault * 8),
    ]


def can_build() -> bool:
    """Tell whether there is a C compiler."""
    return shutil.which("gcc") is not None


def build(cache: Path = CACHE) -> Path:
    """Return the library, built where sources or boards have changed since.

    Raises:
        subprocess.CalledProcessError: gcc refuses the sources.
    """
    header = boards_header()
    texts = [(HERE / name).read_text() for name in ("fake.h", *SOURCES)]
    digest = hashlib.sha256("".join([header, *texts, *FLAGS]).encode()).hexdigest()[:16]
    made = cache / digest / SONAME
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        (made.parent / "boards.c").write_text(header)
        fresh = made.with_suffix(f".{os.getpid()}")
        sources = [str(HERE / name) for name in SOURCES] + [str(made.parent / "boards.c")]
        command = ["gcc", *FLAGS, f"-Wl,-soname,{SONAME}", f"-I{HERE}", "-o", str(fresh), *sources]
        subprocess.run(command, check=True)
        fresh.replace(made)
    return made


def boards_header() -> str:
    """Return the C text of all boards: profiles, places, and the driver's order of places."""
    boards = [find_board(name) for name in board_names()]
    lines = ['#include "fake.h"']
    for number, board in enumerate(boards):
        rows = ",\n    ".join(_profile_row(board, profile) for profile in board.profiles)
        lines.append(
            f"static const struct profile profiles_{number}[] = {{\n    {rows or '{0}'}}};"
        )
    rows = ",\n    ".join(_board_row(number, board) for number, board in enumerate(boards))
    lines.append(f"const struct board boards[] = {{\n    {rows}}};")
    lines.append(f"const u32 board_count = {len(boards)};\n")
    return "\n".join(lines)


def _board_row(number: int, board: Board) -> str:
    major, minor = board.compute_capability
    numbers = (
        board.device_id,
        board.units,
        ARCHITECTURES[board.architecture],
        major,
        minor,
        int(board.resetless),
        len(board.profiles),
        board.memory_mib,
    )
    words = ", ".join(map(str, numbers))
    return f'{{"{board.key}", "{board.product}", {words}, profiles_{number}}}'


def _profile_row(board: Board, profile: BoardProfile) -> str:
    numbers = (
        profile.enum,
        profile.id,
        profile.slices,
        profile.maximum,
        profile.memory_mib,
        profile.multiprocessors,
        *profile.engines,
        profile.size,
        len(profile.starts),
    )
    empty = GpuState(0, "GPU-0", serial="", pci="", board=board.key, mig_current=True)
    places = ", ".join(map(str, profile.starts))
    preferred = ", ".join(map(str, mig.possible_starts(empty, profile)))
    media = _MEDIA[mig.media(profile)]
    words = ", ".join(map(str, numbers))
    return f'{{{words}, {{{places}}}, {{{preferred}}}, {media}, "{profile.name}"}}'


class Machine:
    """One machine whose GPUs the C library shows, and what happens to it from outside."""

    def __init__(self, folder: Path, board: str = "a100-40gb", count: int = 8) -> None:
        """Make a new machine; this process and those with `environment` see it from now on."""
        self.folder = folder
        self.path = build()
        self.log = folder / "calls.log"
        folder.mkdir(parents=True, exist_ok=True)
        os.environ.update(self.environment)
        self._library: Any = ctypes.CDLL(str(self.path))
        self._library.fakeMachine.restype = ctypes.POINTER(_State)
        if self._library.fakeCreate(board.encode(), count):
            raise KeyError(f"no machine with {count} of {board}")
        self.board = find_board(board)

    @property
    def environment(self) -> dict[str, str]:
        """What another process needs to see this machine."""
        state = str(self.folder / "gpus.state")
        return {"FAKE_NVML_STATE": state, "FAKE_NVML_LOG": str(self.log)}

    @property
    def state(self) -> Any:
        """The mapped state, as `struct state` of fake.h."""
        return self._library.fakeMachine().contents

    def install(self) -> None:
        """Let pynvml of this process load the library, as it loads NVIDIA's."""
        uninstall()
        pynvml.nvmlLib = self._library

    # What runs, and what breaks. The words are those of standins.nvidia.gpus.GpuModel.

    def add_process(self, device_uuid: str, pid: int) -> None:
        """Let a process compute on a GPU or on a MIG device."""
        for gpu in self._gpus():
            devices = [part.uuid.decode() for part in _parts(gpu)]
            if device_uuid in devices or (device_uuid == gpu.uuid.decode() and not gpu.current):
                free = next(each for each in gpu.process if not each.pid)
                free.pid, free.device = pid, device_uuid.encode()
                return
        raise KeyError(f"no GPU or MIG device {device_uuid} to compute on")

    def open_session(self, name: str) -> None:
        """Let a service or another session hold all GPUs."""
        self._hold(name, 1)

    def close_session(self, name: str) -> None:
        """End its hold."""
        self._hold(name, -1)

    def lose(self, index: int) -> None:
        """Let a GPU fall off the bus."""
        self.state.gpu[index].lost = 1

    def set_driver(self, *, loaded: str | None = None, library: str | None = None) -> None:
        """Load another kernel module or install another library; an empty text removes it."""
        if loaded is not None:
            self.state.loaded = loaded.encode()
        if library is not None:
            self.state.library = library.encode()

    def set_traits(self, traits: Traits) -> None:
        """Change how the machine behaves: whether profiles are hidden, whether it is virtual."""
        self.state.hidden = int(not traits.profiles_visible)
        self.state.virtual_machine = int(traits.virtual)

    def fault(self, call: str, returns: int, *, gpu: int | None = None, nth: int = 0) -> None:
        """Let an NVML function fail: always, or only the nth time from now on."""
        free = next(each for each in self.state.fault if not each.call)
        free.call, free.code, free.nth, free.seen = call.encode(), returns, nth, 0
        free.gpu = -1 if gpu is None else gpu

    def clear_faults(self) -> None:
        """Forget all faults."""
        for each in self.state.fault:
            each.call = b""

    # What became of it.

    def devices(self) -> dict[int, dict[str, str]]:
        """Return the UUID of each MIG device by `profile@start`, by GPU."""
        names = {profile.id: profile.name for profile in self.board.profiles}
        return {
            index: {
                f"{names[each.profile]}@{each.start}": part.uuid.decode()
                for each in gpu.instance
                if each.used
                for part in each.part
                if part.used
            }
            for index, gpu in enumerate(self._gpus())
        }

    def resets(self) -> int:
        """Return how many times a GPU was reset to change its mode."""
        return sum(gpu.resets for gpu in self._gpus())

    def calls(self) -> list[tuple[str, int, int]]:
        """Return the calls since the last time: function, GPU (-1 for none), answer."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        words = [line.split() for line in lines]
        return [(call, int(gpu), int(code)) for _, call, gpu, code in words]

    def silence(self) -> None:
        """Log no more calls of this process."""
        os.environ.pop("FAKE_NVML_LOG", None)

    def _hold(self, name: str, change: int) -> None:
        del name  # the library counts holds, it does not name them
        for gpu in self._gpus():
            gpu.held += change

    def _gpus(self) -> list[Any]:
        return list(self.state.gpu[: self.state.gpus])


def uninstall() -> None:
    """Leave pynvml as it is on a machine without NVIDIA's library."""
    pynvml.nvmlLib = None
    vars(pynvml)["_nvmlGetFunctionPointer_cache"].clear()


def _parts(gpu: Any) -> list[Any]:
    return [part for each in gpu.instance if each.used for part in each.part if part.used]
