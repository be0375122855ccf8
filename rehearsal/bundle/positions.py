# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where the values of merged data stand, as a tree: a branch goes or comes as a whole. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.bundle.findings import NOWHERE, Path, Position


@dataclass(slots=True)
class Positions:
    """Positions by path, and which paths lie below which."""

    known: dict[Path, Position] = field(default_factory=lambda: dict[Path, Position]())
    _below: dict[Path, set[str | int]] = field(
        default_factory=lambda: dict[Path, set[str | int]]()
    )

    @classmethod
    def of(cls, known: Mapping[Path, Position]) -> "Positions":
        """Return positions from a plain map."""
        positions = cls()
        for path, position in known.items():
            positions.put(path, position)
        return positions

    def put(self, path: Path, position: Position) -> None:
        """Note where a value stands."""
        self.known[path] = position
        while path:
            siblings = self._below.setdefault(path[:-1], set())
            if path[-1] in siblings:
                break
            siblings.add(path[-1])
            path = path[:-1]

    def at(self, path: Path) -> Position:
        """Return where a value stands, or the nearest value around it."""
        while path and path not in self.known:
            path = path[:-1]
        return self.known.get(path, NOWHERE)

    def drop(self, prefix: Path, *, keep_root: bool = False) -> None:
        """Forget a value and all below it; with `keep_root` only what is below."""
        root = self.known.get(prefix)
        for path in self._branch(prefix):
            self.known.pop(path, None)
            self._below.pop(path, None)
        if prefix:
            self._below.get(prefix[:-1], set()).discard(prefix[-1])
        if keep_root and root is not None:
            self.put(prefix, root)

    def take(self, other: "Positions", prefix: Path) -> None:
        """Take a value and all below it from other positions."""
        for path in other._branch(prefix):
            if path in other.known:
                self.put(path, other.known[path])

    def _branch(self, prefix: Path) -> list[Path]:
        found: list[Path] = []
        pending = [prefix]
        while pending:
            path = pending.pop()
            found.append(path)
            pending.extend((*path, step) for step in self._below.get(path, ()))
        return found
