# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Base and overlays to one bundle, by Juju's merge rules. Reads only files that includes name.

A key that an overlay writes counts, whatever its value; lists and scalars replace, maps merge key
by key, relations are appended, ``machines`` replaces the whole map, a null application goes with
its relations. Charm paths and includes are relative to the file that declares them.

Source: facts on bundles: overlay merge rules (Juju 3.6 charm v12 and 4.0 overlay.go), measured on
4.0.15 where the versions differ.
"""

from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from rehearsal.bundle.findings import NOWHERE, Findings, Path, Position
from rehearsal.bundle.includes import resolve_includes
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.positions import Positions
from rehearsal.bundle.schema import Decoded

_MAPS = frozenset(
    [
        "options",
        "annotations",
        "storage",
        "devices",
        "bindings",
        "resources",
        "offers",
        "exposed-endpoints",
    ]
)
_NULL_DELETES = frozenset(("options", "resources", "offers"))
_OVERLAY_ONLY = ("offers", "exposed-endpoints")


@dataclass(slots=True)
class Merged:
    """The merged data, where each value was written last, and which could not be decoded."""

    juju: JujuVersion
    findings: Findings
    data: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())
    positions: Positions = field(default_factory=Positions)
    incoming: Positions = field(default_factory=Positions)
    """Positions of the part that is being merged."""
    faulty: set[Path] = field(default_factory=lambda: set[Path]())
    folders: dict[str, FilePath] = field(default_factory=lambda: dict[str, FilePath]())
    removed: dict[str, Position] = field(default_factory=lambda: dict[str, Position]())
    """Applications that an overlay took out, and where it did."""

    def at(self, path: Path) -> Position:
        """Return where a value stands, or the nearest value around it."""
        return self.positions.at(path)

    def start(self, part: Decoded, folder: FilePath) -> None:
        """Take the base document."""
        self.data, self.faulty = part.data, set(part.faulty)
        self.positions = Positions.of(part.positions)
        for application, body in self._bodies(part.data):
            for key in _OVERLAY_ONLY:
                if body.get(key) is not None:
                    self._overlay_only(application, key)
        self._resolve(part, folder)

    def apply(self, part: Decoded, folder: FilePath) -> None:
        """Merge one overlay document."""
        self.faulty |= part.faulty
        self.incoming = Positions.of(part.positions)
        for section in ("applications", "saas"):
            for name, body in (part.data.get(section) or {}).items():
                self._entry(section, name, body, part)
        if part.data.get("machines") is not None:
            self.positions.drop(("machines",))
            self.data["machines"] = part.data["machines"]
            self.positions.take(self.incoming, ("machines",))
        self._append_relations(part)
        self._top(part)
        self._resolve(part, folder)

    def _bodies(self, data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        applications: dict[str, Any] = data.get("applications") or {}
        return [(name, body) for name, body in applications.items() if body is not None]

    def _overlay_only(self, application: str, key: str) -> None:
        path = ("applications", application, key)
        self.findings.error(
            "merge",
            path,
            f"{key} can only appear in an overlay, or in a second document of the base file",
            f"move {key} of {application} to an overlay",
            self.at(path),
        )

    def _entry(self, section: str, name: str, body: Any, part: Decoded) -> None:
        known: dict[str, Any] = self.data.setdefault(section, {}) or {}
        self.data[section] = known
        path: Path = (section, name)
        if body is None:
            self._remove(known, path, part)
        elif known.get(name) is None:
            known[name] = body
            self.positions.take(self.incoming, path)
        elif section == "saas":
            known[name].update(body)
            self.positions.take(self.incoming, path)
        else:
            self._fields(known[name], path, body, part)

    def _remove(self, known: dict[str, Any], path: Path, part: Decoded) -> None:
        name = str(path[1])
        if known.pop(name, None) is None:
            self._no_effect(path, part)
        elif path[0] == "applications":
            self.removed[name] = part.positions[path]
        self.positions.drop(path)
        kept = [
            (relation, self.positions.known.get(("relations", index)))
            for index, relation in enumerate(self.data.get("relations") or [])
            if len(relation) != 2 or not any(end.partition(":")[0] == name for end in relation)
        ]
        self.positions.drop(("relations",), keep_root=True)
        self.data["relations"] = [relation for relation, _ in kept]
        for index, (_, position) in enumerate(kept):
            self.positions.put(("relations", index), position or NOWHERE)

    def _fields(
        self, known: dict[str, Any], path: Path, body: dict[str, Any], part: Decoded
    ) -> None:
        for key, value in body.items():
            here = (*path, key)
            if key not in _MAPS or value is None:
                known[key] = value
                self.positions.drop(here)
                self.positions.take(self.incoming, here)
            else:
                self._map(known, key, value, here, part)

    def _map(
        self, known: dict[str, Any], key: str, value: dict[str, Any], path: Path, part: Decoded
    ) -> None:
        current: dict[str, Any] = dict(known.get(key) or {})
        for name, item in value.items():
            here = (*path, name)
            if _deletes(key, item):
                if current.pop(name, None) is None:
                    self._no_effect(here, part)
                self.positions.drop(here)
            else:
                current[name] = item
                self.positions.drop(here)
                self.positions.take(self.incoming, here)
        known[key] = current
        if path not in self.positions.known:
            self.positions.put(path, part.positions[path])

    def _no_effect(self, path: Path, part: Decoded) -> None:
        self.findings.warning(
            "merge",
            path,
            "an entry without content removes what an earlier file set, and none set this",
            "delete the line, or mend the name",
            part.positions.get(path, NOWHERE),
        )

    def _append_relations(self, part: Decoded) -> None:
        relations: list[Any] = list(self.data.get("relations") or [])
        for index, relation in enumerate(part.data.get("relations") or []):
            self.positions.put(("relations", len(relations)), part.positions["relations", index])
            relations.append(relation)
        self.data["relations"] = relations

    def _top(self, part: Decoded) -> None:
        base = part.data.get("default-base")
        if base and self.juju == "4.0":
            self.data["default-base"] = base
            self.positions.take(self.incoming, ("default-base",))
        elif base and base != self.data.get("default-base"):
            self._ignored("default-base", part, "Juju 3.6 ignores it in an overlay (juju#19708)")
        if part.data.get("series"):
            self.data["series"] = part.data["series"]
            self.positions.take(self.incoming, ("series",))
        kind = part.data.get("bundle")
        if kind and kind != self.data.get("bundle"):
            self._ignored("bundle", part, "an overlay does not change the type of the bundle")

    def _ignored(self, key: str, part: Decoded, message: str) -> None:
        self.findings.warning(
            "merge", (key,), message, f"put {key} into the base file", part.positions[key,]
        )

    def _resolve(self, part: Decoded, folder: FilePath) -> None:
        for name, body in self._bodies(part.data):
            if "charm" in body:
                self.folders[name] = folder
        resolve_includes(self.data, part, folder, self.findings)


def _deletes(key: str, item: Any) -> bool:
    """Return whether an overlay's entry of a map takes away what earlier files set there.

    Source: overlay.go, mergeStructs: a null does where values are pointers or of any type, an
    entry without content where they are structures, which are exposed endpoints.
    """
    if key == "exposed-endpoints":
        return not any(value is not None for value in (item or {}).values())
    return item is None and key in _NULL_DELETES
