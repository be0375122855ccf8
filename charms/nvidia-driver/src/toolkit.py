# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The container toolkit: its packages, its settings, and what containerd makes of it. Pure.

On Charmed Kubernetes the runtime of the toolkit is the default runtime of a GPU node, so no
container starts before its program is there, and every container passes through it: it has to give
a GPU to those alone that were allocated one.
"""

import re
from collections.abc import Mapping

from charmkit.errors import InterventionError
from flavours import parse_version

CONFIG = "/etc/nvidia-container-runtime/config.toml"
CONTAINERD = "/etc/containerd/config.toml"
RUNTIME = "nvidia-container-runtime"
"""Name of the toolkit's runtime program, and of containerd's handler on Charmed Kubernetes."""

_MAIN = "nvidia-container-toolkit"
_PARTS = ("nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")

SETTINGS = {
    "accept-nvidia-visible-devices-envvar-when-unprivileged": "false",
    "accept-nvidia-visible-devices-as-volume-mounts": "true",
}
"""A container may name GPUs by an environment variable, which every image can set, or by volume
mounts, which only the device plugin makes. Source: NVIDIA container toolkit, "Read-only mounts of
device lists" in its design notes; defaults of 1.20 are the opposite."""

_SETTING = re.compile(r"^\s*#?\s*(?P<key>[\w-]+)\s*=")


def list_packages() -> tuple[str, ...]:
    """Return the packages of the toolkit, the one that pulls in the others first."""
    return (_MAIN, *_PARTS)


def plan_packages(installed: Mapping[str, str], candidates: Mapping[str, str]) -> dict[str, str]:
    """Return what to install so that the toolkit is there; nothing when it is.

    Args:
        installed: Package version by name. A toolkit that is there is never changed here.
        candidates: Version that apt would install, by name.

    Raises:
        InterventionError: The apt sources have no toolkit.
    """
    if _MAIN in installed:
        return {}
    if _MAIN not in candidates:
        raise InterventionError(
            "no nvidia-container-toolkit in the apt sources: set repository and repository-key"
        )
    version = parse_version(candidates[_MAIN])
    same = [name for name in _PARTS if parse_version(candidates.get(name, "0")) == version]
    return {name: candidates[name] for name in (_MAIN, *same)}


def render_config(text: str) -> str:
    """Return the toolkit's settings file with our settings; everything else in it stays.

    Args:
        text: The file as it is; empty when there is none yet.
    """
    lines = text.splitlines()
    first = next((row for row, line in enumerate(lines) if line.lstrip().startswith("[")), None)
    head, tail = (lines, []) if first is None else (lines[:first], lines[first:])
    kept = [line for line in head if _find_key(line) not in SETTINGS]
    ours = [f"{key} = {value}" for key, value in SETTINGS.items()]
    return "\n".join([*ours, *kept, *tail]) + "\n"


def find_handler(containerd: str | None) -> str:
    """Return the handler under which containerd runs the toolkit; empty when it does not.

    Args:
        containerd: Content of containerd's configuration; None when there is none yet.
    """
    tables = re.findall(r'runtimes\."?([\w.-]+?)"?(?:\.options)?\]', containerd or "")
    found = [name for name in tables if "nvidia" in name]
    return found[0] if found else ""


def find_containerd_gap(containerd: str | None) -> str | None:
    """Return what containerd's configuration lacks to give containers their GPUs; None if nothing.

    Args:
        containerd: Content of the configuration; None when there is none yet. One that reads
            further files is of Canonical Kubernetes, where no option is to be set.
    """
    if containerd is None or find_handler(containerd) or re.search(r"^imports", containerd, re.M):
        return None
    return f"containerd has no NVIDIA runtime: set runtime={RUNTIME} on its application"


def is_named_by_containerd(containerd: str | None) -> bool:
    """Say whether containerd starts containers through the toolkit, which must then stay."""
    return RUNTIME in (containerd or "")


def _find_key(line: str) -> str | None:
    found = _SETTING.match(line)
    return found["key"] if found else None
