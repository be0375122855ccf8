# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How Juju decodes a document of a bundle into typed data. Pure.

A value of the wrong type empties the whole document (in an overlay without a word); an unknown or
a repeated key is taken in silence, and only the dry run says so. A run for 3.6 refuses all of
them nevertheless.

Source: facts on bundles: parsing measured on Juju 4.0.15; the client code of 3.6.11, built and
run, reads alike (charm v12.1.1, parseBundleParts).
"""

from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from rehearsal.bundle.document import (
    Mapping,
    Node,
    Sequence,
    entries,
    faults,
    is_merge,
    is_null,
    key_text,
    merged,
    plain_value,
)
from rehearsal.bundle.findings import Findings, Path, Position
from rehearsal.bundle.keys import BUNDLES, JujuVersion, Kind, ListOf, MapOf, Struct
from rehearsal.bundle.remedies import describe, for_type, for_unknown
from rehearsal.bundle.scalars import Scalar, resolve


@dataclass(slots=True)
class Decoded:
    """One document as typed data, where each value stands, and what could not be decoded."""

    data: dict[str, Any]
    positions: dict[Path, Position]
    faulty: set[Path] = field(default_factory=lambda: set[Path]())


@dataclass(slots=True)
class Decoder:
    """Decodes one document and reports what Juju would refuse or drop."""

    file: str
    juju: JujuVersion
    findings: Findings
    is_base: bool
    positions: dict[Path, Position] = field(default_factory=lambda: dict[Path, Position]())
    faulty: set[Path] = field(default_factory=lambda: set[Path]())

    def decode(self, node: Node) -> Decoded:
        """Return the data of a document; a value of a wrong type is left out or mended."""
        self.positions[()] = Position(self.file, node.line)
        data = self._value(node, BUNDLES[self.juju], ())
        return Decoded(data if isinstance(data, dict) else {}, self.positions, self.faulty)

    def _value(self, node: Node, kind: Kind, path: Path) -> Any:
        if kind == "any" or isinstance(node, Scalar):
            self._unreadable(node, path)
        if kind == "any":
            return plain_value(node)
        if is_null(node):
            return self._null_entry(path) if kind == "string" and _is_entry(path) else None
        if isinstance(kind, str):
            return self._scalar(node, kind, path)
        if isinstance(kind, ListOf):
            return self._list(node, kind, path)
        if isinstance(kind, MapOf):
            return self._map(node, kind, path)
        return self._struct(node, kind, path)

    def _unreadable(self, node: Node, path: Path) -> None:
        """Report scalars whose tag does not fit; nothing is read of a key that is not known."""
        for scalar in faults(node):
            self.faulty.add(path)
            message = f"{scalar.fault}; Juju reads nothing of this file"
            at = Position(self.file, scalar.line)
            self.findings.error("yaml", path, message, "leave out the tag", at, path)

    def _null_entry(self, path: Path) -> str:
        message = 'null is stored as the empty text ""; it removes nothing'
        remedy = 'write "" if that is meant, else delete the line'
        self.findings.warning("merge", path, message, remedy, self.positions[path])
        return ""

    def _scalar(self, node: Node, kind: str, path: Path) -> Any:
        if not isinstance(node, Scalar):
            return self._fault(node, kind, path)
        if kind == "string":
            return node.text
        if node.fault:
            return None
        value = resolve(node)
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind == "int" and _is_number(value):
            return self._cut(node, value, path)
        return self._fault(node, kind, path)

    def _cut(self, node: Scalar, value: float, path: Path) -> int:
        """Return a number as Go puts it into an int: what has no place there becomes the least."""
        whole = int(value) if abs(value) < 2**63 else -(2**63)
        if value != whole:
            message = f"{node.text} is no whole number; Juju takes {whole}"
            remedy = f"write {whole}, or what is meant"
            self.findings.warning("type", path, message, remedy, self.positions[path])
        return whole

    def _list(self, node: Node, kind: ListOf, path: Path) -> Any:
        if not isinstance(node, Sequence):
            return self._fault(node, "list", path)
        values: list[Any] = []
        for index, item in enumerate(node.items):
            here = (*path, index)
            self.positions[here] = Position(self.file, item.line)
            value = self._value(item, kind.item, here)
            if here not in self.faulty:
                values.append(_zero(kind.item) if value is None else value)
        return values

    def _map(self, node: Node, kind: MapOf, path: Path) -> Any:
        if not isinstance(node, Mapping):
            return self._fault(node, "map", path)
        values: dict[str, Any] = {}
        self._duplicates(node, path)
        for key, item in entries(node):
            name, here = self._key(key, path)
            self._word_as_key(key, here)
            value = self._value(item, kind.value, here)
            if here in self.faulty:
                continue
            values[name] = _zero(kind.value) if value is None and not kind.nullable else value
        return values

    def _key(self, key: Node, path: Path) -> tuple[str, Path]:
        """Return a key and its path; one that is a list or a map is of the wrong type."""
        here = (*path, key_text(key))
        self.positions[here] = Position(self.file, key.line)
        if isinstance(key, Scalar):
            self._unreadable(key, here)
        else:
            self._fault(key, "string", here)
        return key_text(key), here

    def _word_as_key(self, key: Node, path: Path) -> None:
        if isinstance(key, Scalar) and isinstance(resolve(key), bool):
            self.findings.warning(
                "names",
                path,
                f"{key.text} is YAML's word for a truth value; Juju takes the text {key.text!r}",
                f'write "{key.text}" in quotes, or choose another name',
                self.positions[path],
            )

    def _struct(self, node: Node, kind: Struct, path: Path) -> Any:
        if not isinstance(node, Mapping):
            return self._fault(node, "map", path)
        values: dict[str, Any] = {}
        self._duplicates(node, path, kind.fields)
        for key, item in entries(node):
            name, here = self._key(key, path)
            if name not in kind.fields:
                self._unknown(name, item, kind, here)
                continue
            value, before = self._value(item, kind.fields[name], here), values.get(name)
            if isinstance(before, dict) and isinstance(value, dict):
                values[name] = {**before, **value}
            elif value is not None or here not in self.faulty:
                values[name] = value
        return values

    def _duplicates(
        self, node: Mapping, path: Path, fields: MappingType[str, Kind] | None = None
    ) -> None:
        """Report keys that are there twice, and those that a merge key below them takes over."""
        seen: set[str] = set()
        for key, value in node.pairs:
            if is_merge(key):
                names = seen & {key_text(other) for other, _ in merged(value)}
                told = "is there already, and << stands below it: what << brings wins"
                remedy = "write << first"
            else:
                names = seen & {key_text(key)}
                told, remedy = "is there twice in one map; " + _later(key, fields), _ONE
                seen.add(key_text(key))
            for name in sorted(names):
                at = Position(self.file, key.line)
                self._silent("duplicate", (*path, name), f"{name!r} {told}", remedy, at)

    def _unknown(self, name: str, item: Node, kind: Struct, path: Path) -> None:
        message = f"{name!r} is no key of {kind.name}; Juju ignores it in silence"
        meant, hint = for_unknown(name, item, kind)
        explains = (*path[:-1], meant) if meant else ()
        self._silent("unknown-key", path, message, hint, self.positions[path], explains)

    def _fault(self, node: Node, wanted: str, path: Path) -> Any:
        self.faulty.add(path)
        at = Position(self.file, node.line)
        got = describe(node)
        if self.is_base:
            message = f"must be {_WANTED[wanted]}, not {got}"
            message += "; Juju says only: at least one application must be specified"
            self.findings.error("type", path, message, for_type(node, path, wanted), at, path)
        else:
            message = f"must be {_WANTED[wanted]}, not {got}; Juju drops this whole document"
            self._silent("type", path, message, for_type(node, path, wanted), at, path)
        return _mended(node, wanted)

    def _silent(
        self,
        rule: str,
        path: Path,
        message: str,
        remedy: str,
        at: Position,
        explains: Path = (),
    ) -> None:
        """Report what Juju takes without a word.

        For the LTS, which a site runs, that is an error, as the facts on it want it: a constraint
        under a misspelt key takes machines that nobody meant. For 4.0 the record decides.
        """
        report = self.findings.error if self.juju == "3.6" else self.findings.warning
        report(rule, path, message, remedy, at, explains)


_ONE = "keep one of the two"
_WANTED = {
    "string": "a text",
    "int": "a whole number",
    "bool": "true or false, unquoted",
    "list": "a list",
    "map": "a map",
}


def _later(key: Node, fields: MappingType[str, Kind] | None) -> str:
    """Return what becomes of a key that is there twice.

    Source: juju/yaml v2, decode.go: a map is decoded into the one that is there, all else anew.
    """
    if isinstance((fields or {}).get(key_text(key)), MapOf):
        return "what stands below both counts, of equal entries the last one"
    return "the last one wins, as a whole"


def _is_entry(path: Path) -> bool:
    return len(path) > 1 and path[-2] in ("storage", "bindings", "annotations", "devices", "acl")


def _zero(kind: Kind) -> Any:
    if isinstance(kind, ListOf):
        return []
    if isinstance(kind, MapOf | Struct):
        return {}
    return {"string": "", "int": 0, "bool": False, "any": None}[kind]


def _is_number(value: object) -> TypeGuard[int | float]:
    """Return whether Juju's reader puts a value into an int: it cuts what follows the point."""
    if isinstance(value, int):
        return not isinstance(value, bool) and value < 2**63
    return isinstance(value, float) and value <= 2.0**63


def _mended(node: Node, wanted: str) -> Any:
    """Return what the author may have meant, so that one fault is not reported as five."""
    if not isinstance(node, Scalar):
        return None
    if wanted == "list":
        return [node.text]
    if wanted == "int" and node.text.isdecimal() and len(node.text) < 9:
        return int(node.text)
    if wanted == "bool":
        return node.text.lower() in ("true", "yes", "on")
    return None
