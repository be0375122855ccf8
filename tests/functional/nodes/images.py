# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Container images of static programs, made here: there is no registry.

They are archives as `docker save` writes them, which `ctr images import` takes.
Source: Docker Image Specification v1.2, "Combined Image JSON + Filesystem Changeset Format".
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

BUSYBOX = Path("/bin/busybox")
APPLETS = ("sh", "cat", "env", "grep", "ls", "sleep", "true")
SANDBOX = "registry.test/pause:1"
WORK = "registry.test/work:1"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Image:
    """A small image: busybox, perhaps another program, and what it starts.

    Attributes:
        name: With registry and tag, as manifests write it.
        entrypoint: What a container runs that says nothing else.
        programs: Further files by their path in the image.
    """

    name: str
    entrypoint: Sequence[str]
    programs: Mapping[str, Path] = field(default_factory=dict[str, Path])


def write_archive(image: Image, path: Path) -> None:
    """Write the archive of an image."""
    layer = _layer(image)
    config = json.dumps(
        {
            "architecture": _MACHINES[platform.machine()],
            "os": "linux",
            "config": {"Entrypoint": list(image.entrypoint), "Env": ["PATH=/bin"]},
            "rootfs": {
                "type": "layers",
                "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"],
            },
        }
    ).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [image.name], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as archive:
        _add(archive, name, config)
        _add(archive, "layer.tar", layer)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _layer(image: Image) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        _add(archive, "bin/busybox", BUSYBOX.read_bytes())
        for applet in APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for name, program in image.programs.items():
            _add(archive, name.lstrip("/"), program.read_bytes())
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
