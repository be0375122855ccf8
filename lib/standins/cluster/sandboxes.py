# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What stands between a pod on a machine and its containers: mounts, runtime, init containers.

Read-only: it looks at the pod and at files of the machine and gives the kubelet's words.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from charmkit.files import Files

CONTAINERD = "/etc/containerd/config.toml"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
_DEFAULT = re.compile(r'^\s*default_runtime_name\s*=\s*"([^"]+)"', re.MULTILINE)
_RUNTIME = re.compile(r"runtimes\.\"?([\w-]+)\"?(?:\.options)?\]([^\[]*)")
_BINARY = re.compile(r'BinaryName\s*=\s*"([^"]+)"')


def file_stamp(path: Path | str) -> tuple[int, ...]:
    """Return a value that differs when a file was written or replaced; empty without a file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked of every machine after every hook
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a pod's containers do not run yet.

    Attributes:
        reason: As a container's state shows it: ContainerCreating, PodInitializing.
        message: The kubelet's or containerd's sentence.
        path: File of the machine whose coming changes it; empty when none would.
    """

    reason: str
    message: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Runtimes:
    """What containerd's configuration offers: handlers with their binaries, and the default."""

    default: str
    binaries: Mapping[str, str]

    @classmethod
    def read(cls, files: Files) -> "Runtimes":
        """Return what the configuration on a machine says; without one it is plain runc."""
        text = files.find_text(CONTAINERD) or ""
        match = _DEFAULT.search(text)
        binaries: dict[str, str] = {"runc": ""}
        for name, body in _RUNTIME.findall(text):
            found = _BINARY.search(body)
            binaries[name] = found.group(1) if found else binaries.get(name, "")
        return cls(match.group(1) if match else "runc", binaries)

    def is_nvidia(self, handler: str) -> bool:
        """Return whether containers of a handler can see the driver's libraries."""
        return "nvidia" in self.binaries.get(handler or self.default, "")


def find_obstacle(
    pod: Mapping[str, Any], files: Files, runtimes: Runtimes, handler: str
) -> Obstacle | None:
    """Return what keeps the containers of an admitted pod from starting, None when nothing does.

    Args:
        pod: The pod.
        files: The machine's files.
        runtimes: What containerd offers there.
        handler: Handler of the pod's RuntimeClass; empty for the default runtime.

    Source: a pod on Charmed Kubernetes cannot start while the binary of the default runtime is
    missing (facts of charm-containerd); init containers run before the others, one by one.
    """
    missing = _missing_mount(pod, files)
    if missing:
        kind, path = missing
        text = f"hostPath type check failed: {path} is not a {kind.lower()}"
        return Obstacle("ContainerCreating", text, path)
    chosen = handler or runtimes.default
    if chosen not in runtimes.binaries:
        return Obstacle(
            "ContainerCreating",
            f'Failed to create pod sandbox: no runtime for "{chosen}" is configured',
        )
    binary = runtimes.binaries[chosen]
    if binary and not files.exists(binary):
        return Obstacle(
            "ContainerCreating",
            f'Failed to create pod sandbox: exec: "{binary}": no such file or directory',
            binary,
        )
    boot = _boot_id(files) if BOOT_ID in _init_text(pod) else ""
    awaited = next((path for path in awaited_files(pod) if not _holds(files, path, boot)), "")
    if awaited:
        return Obstacle("PodInitializing", f"init container waits for {awaited}", awaited)
    return None


def awaited_files(pod: Mapping[str, Any]) -> list[str]:
    """Return the paths on the machine that a pod's init containers wait for.

    An init container that names, in its command or arguments, a path below one of its hostPath
    mounts is taken to loop until that file is there; one that names the kernel's boot id, until
    the file holds the id of this boot.
    """
    found: list[str] = []
    for container in pod.get("spec", {}).get("initContainers") or ():
        text = _command(container)
        for mount, source in _host_mounts(pod, container):
            inside = re.findall(rf"{re.escape(mount)}/[\w./-]*[\w-]", text)
            found += [source + path.removeprefix(mount) for path in inside]
    return list(dict.fromkeys(found))


def _command(container: Mapping[str, Any]) -> str:
    """Return command and arguments of a container as one text."""
    return " ".join([*(container.get("command") or ()), *(container.get("args") or ())])


def _init_text(pod: Mapping[str, Any]) -> str:
    """Return the commands of all init containers."""
    return " ".join(map(_command, pod.get("spec", {}).get("initContainers") or ()))


def _holds(files: Files, path: str, text: str) -> bool:
    """Return whether a file is there and has a text in it; the empty text is in every file."""
    found = files.find_text(path)
    return found is not None and text in found


def _boot_id(files: Files) -> str:
    """Return what identifies this boot."""
    return (files.find_text(BOOT_ID) or "").strip()


def _host_mounts(
    pod: Mapping[str, Any], container: Mapping[str, Any]
) -> Iterable[tuple[str, str]]:
    """Yield mount path and path on the machine of a container's hostPath mounts."""
    sources = {
        volume["name"]: volume["hostPath"]["path"]
        for volume in pod.get("spec", {}).get("volumes") or ()
        if "hostPath" in volume
    }
    for mount in container.get("volumeMounts") or ():
        if mount["name"] in sources:
            source = PurePosixPath(sources[mount["name"]]) / mount.get("subPath", "")
            yield mount["mountPath"].rstrip("/"), str(source).rstrip("/")


def _missing_mount(pod: Mapping[str, Any], files: Files) -> tuple[str, str] | None:
    """Return type and path of the first hostPath that must be there and is not."""
    for volume in pod.get("spec", {}).get("volumes") or ():
        source = volume.get("hostPath", {})
        wanted = source.get("type") or ""
        if wanted in ("Directory", "File", "Socket") and not _is_there(files, source["path"]):
            return wanted, source["path"]
    return None


def _is_there(files: Files, path: str) -> bool:
    """Return whether a path exists; the kubelet's own folders always do."""
    return path.startswith("/var/lib/kubelet") or files.exists(path)
