# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Charms as files: what metadata says, and the folder that a worker runs.

A charm is a folder with charmcraft.yaml (source) or metadata.yaml, config.yaml and actions.yaml,
or a packed file with the latter, which is unpacked below the model once for each content.
"""

import contextlib
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

import charmkit
from rehearsal.errors import CharmError, NotFoundError
from rehearsal.juju.entities import Charm, Endpoint
from rehearsal.paths import is_there

_ROLES = {"provides": "provider", "requires": "requirer", "peers": "peer"}
_ACTION_KEYS = ("description", "params", "required", "additionalProperties", "parallel")


def read_charm(path: Path, unpacked: Path) -> Charm:
    """Return the charm that a folder or a packed file holds.

    Args:
        path: Folder or `.charm` file.
        unpacked: Folder in which packed files are unpacked.

    Raises:
        NotFoundError: There is nothing.
        CharmError: It is no charm.
    """
    if not is_there(path):
        raise NotFoundError(f'no charm was found at "{path}"')
    folder = path if path.is_dir() else unpack(path, unpacked)
    metadata, options, actions = read_metadata(folder)
    if "name" not in metadata:
        raise CharmError(f"{path} has no metadata of a charm")
    return Charm(
        name=metadata["name"],
        kind="charm",
        source=str(folder.resolve()),
        subordinate=bool(metadata.get("subordinate", False)),
        endpoints=_endpoints(metadata),
        options=options,
        actions=actions,
        extra_bindings=sorted(metadata.get("extra-bindings") or {}),
        storage={name: body or {} for name, body in (metadata.get("storage") or {}).items()},
        resources={name: body or {} for name, body in (metadata.get("resources") or {}).items()},
        bases=read_bases(folder, metadata),
    )


def read_metadata(folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return metadata, options and actions of a charm's folder."""
    craft = _read(folder / "charmcraft.yaml")
    metadata = craft if "name" in craft else _read(folder / "metadata.yaml")
    config = craft.get("config") or _read(folder / "config.yaml")
    actions = craft.get("actions") or _read(folder / "actions.yaml")
    known = {
        name: {key: body[key] for key in _ACTION_KEYS if key in (body or {})}
        for name, body in actions.items()
    }
    return metadata, config.get("options") or {}, known


def read_bases(folder: Path, metadata: dict[str, Any]) -> list[str]:
    """Return the bases that a charm says it is built for, such as `ubuntu@24.04`."""
    listed = _read(folder / "manifest.yaml").get("bases") or metadata.get("bases") or []
    found = [f"{base['name']}@{base['channel']}" for base in listed if "channel" in base]
    for name, body in (metadata.get("platforms") or {}).items():
        for_ = (body or {}).get("build-for") or [name]
        found += [text.rpartition(":")[0] for text in _listed(for_) if text.count("@") == 1]
    if metadata.get("base") and not found:
        found.append(str(metadata["base"]))
    return sorted(set(filter(None, found)))


def _listed(value: Any) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list) else [value])]


def unpack(path: Path, unpacked: Path) -> Path:
    """Return the folder with the content of a packed charm.

    Raises:
        CharmError: It is no zip file.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    folder = unpacked / f"{path.stem}-{digest}"
    if not folder.exists():
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        except zipfile.BadZipFile as error:
            raise CharmError(f"{path} is not a zip file") from error
    return folder


def code_folders(folder: Path) -> list[Path]:
    """Return where a charm's own modules lie; they come before everything else."""
    return [path for path in (folder / "src", folder / "lib") if path.is_dir()]


def packed_dependencies(folder: Path) -> list[Path]:
    """Return where a packed charm's dependencies lie, if they are for this Python.

    They come after everything else: what the rehearsal has itself must be what it was tested with.
    """
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "venv" / "lib" / minor / "site-packages"
    return [packages] if packages.is_dir() else []


def make_root(folder: Path) -> Path:
    """Return a folder that looks like an unpacked charm: files as links, metadata written.

    The worker runs hooks in it, as Juju runs them in the charm's folder. A charm in source form
    gets the shared package below lib, where packing would put it.
    """
    root = Path(tempfile.mkdtemp(prefix="rehearsal-charm-"))
    for item in folder.iterdir():
        if item.name not in ("metadata.yaml", "config.yaml", "actions.yaml", "lib"):
            (root / item.name).symlink_to(item)
    (root / "lib").mkdir()
    shared = Path(str(charmkit.__file__)).parent
    for item in (shared, *(folder / "lib").glob("*")):
        with contextlib.suppress(FileExistsError):
            (root / "lib" / item.name).symlink_to(item)
    metadata, options, actions = read_metadata(folder)
    dropped = ("config", "actions", "parts", "platforms", "charm-libs")
    plain = {key: value for key, value in metadata.items() if key not in dropped}
    (root / "metadata.yaml").write_text(yaml.safe_dump(plain))
    (root / "config.yaml").write_text(yaml.safe_dump({"options": options}))
    (root / "actions.yaml").write_text(yaml.safe_dump(actions))
    return root


def _read(path: Path) -> dict[str, Any]:
    """Return a YAML mapping; a file that is not there is empty."""
    if not path.exists():
        return {}
    try:
        return yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        raise CharmError(f"{path} is not YAML") from error


def _endpoints(metadata: dict[str, Any]) -> dict[str, Endpoint]:
    """Return the endpoints in the order of the metadata."""
    return {
        name: Endpoint(
            name=name,
            role=role,
            interface=body["interface"],
            scope=body.get("scope", "global"),
            limit=int(body.get("limit") or 0),
            optional=bool(body.get("optional", True)),
        )
        for key, role in _ROLES.items()
        for name, body in (metadata.get(key) or {}).items()
    }
