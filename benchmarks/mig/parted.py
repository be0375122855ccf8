# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Run NVIDIA's nvidia-mig-parted, unmodified, on a machine of `fakelib`.

It wants more of a machine than the library: a loaded module in /proc/modules, the GPUs in sysfs,
and nvidia-smi on the path where it resets. They are bound over the real ones (all of /proc, since
a container may have no such file) in a mount namespace, which takes root and util-linux's unshare.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mig.fakelib import Machine

_BIND = 'mount --bind "$1" /proc && mount --bind "$2" /sys/bus/pci/devices && shift 2 && exec "$@"'
_NVIDIA_SMI = '#!/bin/sh\necho "$@" >> "$FAKE_NVIDIA_SMI_LOG"\n'
_UNSHARE = "/usr/bin/unshare"
SMI_LOG = "surroundings/nvidia-smi.log"
"""Where the stand-in of nvidia-smi writes what it was told, below the machine's folder."""

ADDRESSES = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run of the program ended."""

    code: int
    output: str


def find_refusal(binary: str) -> str:
    """Return why the program cannot run here; empty when it can."""
    if not binary:
        return "MIG_PARTED names no binary"
    if shutil.which(binary) is None:
        return f"{binary} is no program"
    if os.geteuid() or not Path(_UNSHARE).exists():
        return "a mount namespace takes root and unshare"
    tried = subprocess.run([_UNSHARE, "--mount", "true"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "this system allows no mount namespace"


def version(binary: str) -> str:
    """Return what the program says that it is."""
    ended = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
    digest = hashlib.sha256(Path(binary).read_bytes()).hexdigest()[:12]
    return f"{ended.stdout.strip()}, sha256 {digest}"


def apply(binary: str, machine: Machine, layouts: Path, name: str) -> Ended:
    """Let the program apply a layout of a file."""
    words = [binary, "apply", "--config-file", str(layouts), "--selected-config", name]
    return _run(words, machine)


def _run(words: Sequence[str], machine: Machine) -> Ended:
    root = _ensure_surroundings(machine)
    environment = {
        **os.environ,
        **machine.environment,
        "LD_LIBRARY_PATH": str(machine.path.parent),
        "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
        "FAKE_NVIDIA_SMI_LOG": str(machine.folder / SMI_LOG),
    }
    bound = ["sh", "-c", _BIND, "sh", str(root / "proc"), str(root / "pci"), *words]
    ended = subprocess.run(
        [_UNSHARE, "--mount", *bound],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return Ended(ended.returncode, ended.stdout + ended.stderr)


def _ensure_surroundings(machine: Machine) -> Path:
    """Write what the program looks at besides the library, once a machine."""
    root = machine.folder / "surroundings"
    if root.exists():
        return root
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "nvidia-smi").write_text(_NVIDIA_SMI)
    (root / "bin" / "nvidia-smi").chmod(0o755)
    (root / "proc").mkdir()
    (root / "proc" / "modules").write_text("nvidia 1 0 - Live 0x0000000000000000\n")
    for bus in ADDRESSES[: machine.state.gpus]:
        folder = root / "pci" / f"0000:{bus}:00.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x10de\n")
        (folder / "device").write_text(f"0x{machine.board.device_id:04x}\n")
        (folder / "class").write_text("0x030200\n")
        (folder / "subsystem_vendor").write_text("0x10de\n")
        (folder / "subsystem_device").write_text("0x134f\n")
        (folder / "irq").write_text("0\n")
        (folder / "numa_node").write_text("-1\n")
        (folder / "config").write_bytes(b"\0" * 256)
        (folder / "resource").write_text("0x0 0x0 0x0\n" * 13)
    return root
