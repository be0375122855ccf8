# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A merged bundle as values. Pure."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from rehearsal.bundle.findings import NOWHERE, Path, Position
from rehearsal.bundle.merge import Merged
from rehearsal.bundle.names import Base, find_base


@dataclass(frozen=True, slots=True)
class Exposed:
    """From where one endpoint may be reached; the empty endpoint name means all."""

    spaces: tuple[str, ...] = ()
    cidrs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """Endpoints that other models may use, and who may."""

    endpoints: tuple[str, ...]
    acl: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Application:
    """An application of a merged bundle; texts as the files have them, includes resolved."""

    name: str
    charm: str
    folder: FilePath
    """Folder of the file that declared ``charm``."""
    channel: str
    revision: int | None
    base: str
    num_units: int
    to: tuple[str, ...]
    options: Mapping[str, Any]
    constraints: str
    expose: bool
    exposed: Mapping[str, Exposed]
    annotations: Mapping[str, str]
    resources: Mapping[str, Any]
    storage: Mapping[str, str]
    devices: Mapping[str, str]
    bindings: Mapping[str, str]
    offers: Mapping[str, Offer]
    trust: bool

    @property
    def is_local(self) -> bool:
        """Whether the charm is a file: the value begins with a dot or is absolute."""
        return self.charm.startswith((".", "/"))

    @property
    def charm_path(self) -> FilePath | None:
        """The charm file, resolved against the declaring file's folder; None for Charmhub."""
        return self.folder / self.charm if self.is_local else None


@dataclass(frozen=True, slots=True)
class DeclaredMachine:
    """An entry of ``machines:``."""

    id: str
    constraints: str
    base: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A merged bundle.

    ``relations`` keeps the raw ends in merged order; ``undefined`` names applications without a
    body; ``faulty`` the paths whose values could not be decoded.
    """

    kind: str
    default_base: str
    applications: Mapping[str, Application]
    machines: Mapping[str, DeclaredMachine]
    relations: tuple[tuple[str, ...], ...]
    saas: Mapping[str, str | None]
    undefined: tuple[str, ...]
    folder: FilePath
    """Folder of the base file: local resources are relative to it."""
    positions: Mapping[Path, Position] = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    """The merged data as decoded."""
    faulty: frozenset[Path] = frozenset()
    removed: Mapping[str, Position] = field(default_factory=lambda: dict[str, Position]())
    """Applications that an overlay took out, and where; a later one may have put some back."""

    def at(self, path: Path) -> Position:
        """Return where a value stands, or the nearest value around it."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, NOWHERE)

    def base_of(self, application: Application) -> Base | None:
        """Return the base that the application or the bundle asks for, None when neither does."""
        return find_base(application.base or self.default_base)


def build(merged: Merged, folder: FilePath) -> Bundle:
    """Return the values of merged data."""
    data = copy.deepcopy(merged.data)
    applications: dict[str, Any] = data.get("applications") or {}
    machines: dict[str, Any] = data.get("machines") or {}
    saas: dict[str, Any] = data.get("saas") or {}
    return Bundle(
        kind=data.get("bundle") or "",
        default_base=data.get("default-base") or "",
        applications={
            name: _application(name, body, merged, folder)
            for name, body in applications.items()
            if body is not None
        },
        machines={name: _machine(name, body or {}) for name, body in machines.items()},
        relations=tuple(tuple(ends or ()) for ends in data.get("relations") or []),
        saas={
            name: None if body is None else body.get("url") or "" for name, body in saas.items()
        },
        undefined=tuple(name for name, body in applications.items() if body is None),
        folder=folder,
        positions=dict(merged.positions.known),
        data=data,
        faulty=frozenset(merged.faulty),
        removed=dict(merged.removed),
    )


def _application(name: str, body: dict[str, Any], merged: Merged, folder: FilePath) -> Application:
    to = tuple(body.get("to") or ())
    units = body.get("num_units") or 0
    if ("applications", name, "num_units") in merged.faulty and not units:
        units = len(to)
    return Application(
        name=name,
        charm=body.get("charm") or "",
        folder=merged.folders.get(name, folder),
        channel=body.get("channel") or "",
        revision=body.get("revision"),
        base=body.get("base") or "",
        num_units=units,
        to=to,
        options=body.get("options") or {},
        constraints=body.get("constraints") or "",
        expose=bool(body.get("expose")),
        exposed=_exposed(body.get("exposed-endpoints") or {}),
        annotations=body.get("annotations") or {},
        resources=body.get("resources") or {},
        storage=body.get("storage") or {},
        devices=body.get("devices") or {},
        bindings=body.get("bindings") or {},
        offers=_offers(body.get("offers") or {}),
        trust=bool(body.get("trust")),
    )


def _exposed(entries: dict[str, Any]) -> dict[str, Exposed]:
    return {
        name: Exposed(
            tuple(body.get("expose-to-spaces") or ()), tuple(body.get("expose-to-cidrs") or ())
        )
        for name, body in entries.items()
    }


def _offers(entries: dict[str, Any]) -> dict[str, Offer]:
    return {
        name: Offer(tuple(body.get("endpoints") or ()), body.get("acl") or {})
        for name, body in entries.items()
        if body is not None
    }


def _machine(name: str, body: dict[str, Any]) -> DeclaredMachine:
    return DeclaredMachine(
        name, body.get("constraints") or "", body.get("base") or "", body.get("annotations") or {}
    )
