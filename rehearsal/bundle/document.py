# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""YAML text to nodes that know their line, by the rules of Juju's own YAML reader. Pure.

The later of two equal keys wins, a plain scalar keeps its text where a string is wanted; what a
scalar's value is, `scalars` says. PyYAML's scalars differ, so only its events are used. Depth and
size are limited, the stack is our own.

Source: facts measured on Juju 4.0.15, 2026-11-30 (parsing).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from rehearsal.bundle.malformed import DocumentError, malformed, unreadable
from rehearsal.bundle.scalars import Scalar, is_null_text, resolve, tagged

MAX_DEPTH = 200
"""Nesting that a bundle may have; a real one has six levels."""
MAX_NODES = 200_000
"""Nodes of one document, with aliases followed."""
_TOO_LARGE = "excessive aliasing, or too large for a bundle"
_SMALLER = f"write a bundle of at most {MAX_NODES} values, what aliases stand for counted"

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
"""Data as Juju holds it in an untyped field."""


@dataclass(slots=True)
class Sequence:
    """A list."""

    line: int
    items: list["Node"] = field(default_factory=lambda: list[Node]())


@dataclass(slots=True)
class Mapping:
    """A map: pairs in file order, duplicates included, merge keys not yet expanded."""

    line: int
    pairs: list[tuple["Node", "Node"]] = field(default_factory=lambda: list[tuple[Node, Node]]())


Node = Scalar | Sequence | Mapping


@dataclass(slots=True)
class _Composer:
    """Builds nodes from events with a stack of its own."""

    anchors: dict[str, Node] = field(default_factory=lambda: dict[str, Node]())
    stack: list[tuple[Sequence | Mapping, list[Node]]] = field(
        default_factory=lambda: list[tuple[Sequence | Mapping, list[Node]]]()
    )
    root: Node | None = None
    count: int = 0

    def add(self, node: Node, anchor: str | None) -> None:
        """Put a node where the document is open."""
        self.count += 1
        if self.count > MAX_NODES:
            raise DocumentError(_TOO_LARGE, remedy=_SMALLER)
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1][1].append(node)
        else:
            self.root = node

    def alias(self, event: yaml.AliasEvent) -> None:
        """Put the node that an alias names."""
        line = _line(event)
        if event.anchor not in self.anchors:
            raise DocumentError(f"unknown anchor {event.anchor!r} referenced", line)
        node = self.anchors[event.anchor]
        if any(open_node is node for open_node, _ in self.stack):
            raise DocumentError(f"anchor {event.anchor!r} value contains itself", line)
        self.add(node, None)

    def start(self, event: yaml.events.CollectionStartEvent) -> None:
        """Open a list or a map."""
        line = _line(event)
        if len(self.stack) >= MAX_DEPTH:
            raise DocumentError(f"nested deeper than {MAX_DEPTH} levels", line)
        node = Mapping(line) if isinstance(event, yaml.MappingStartEvent) else Sequence(line)
        self.add(node, event.anchor)
        self.stack.append((node, []))

    def end(self) -> None:
        """Close what was opened last."""
        node, children = self.stack.pop()
        if isinstance(node, Mapping):
            node.pairs.extend(zip(children[::2], children[1::2], strict=True))
        else:
            node.items.extend(children)

    def feed(self, event: yaml.Event) -> None:
        """Take one event of the parser."""
        if isinstance(event, yaml.ScalarEvent):
            self.add(_scalar(event), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event)
        elif isinstance(event, yaml.events.CollectionStartEvent):
            self.start(event)
        elif isinstance(event, yaml.events.CollectionEndEvent):
            self.end()


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _scalar(event: yaml.ScalarEvent) -> Scalar:
    if event.tag is not None:
        return tagged(event.value, event.tag, _line(event))
    return Scalar(event.value, event.implicit[0] and not event.style, _line(event))


def parse(data: bytes) -> list[Node | None]:
    """Return the documents of a file; None for one that is empty.

    Raises:
        DocumentError: The bytes are no YAML, or nested or aliased beyond the limits.
    """
    documents: list[Node | None] = []
    composer = _Composer()
    try:
        for event in yaml.parse(data, Loader=_LOADER):
            composer.feed(event)
            if isinstance(event, yaml.DocumentEndEvent):
                documents.append(composer.root)
                composer = _Composer()
    except yaml.MarkedYAMLError as error:
        raise malformed(error, data) from error
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise unreadable(error, data) from error
    for document in documents:
        _count(document)
    return [None if _is_null(document) else document for document in documents]


def _count(document: Node | None) -> None:
    pending = [document] if document is not None else []
    seen = 0
    while pending:
        node = pending.pop()
        seen += 1
        if seen > MAX_NODES:
            raise DocumentError(_TOO_LARGE, remedy=_SMALLER)
        if isinstance(node, Sequence):
            pending.extend(node.items)
        elif isinstance(node, Mapping):
            _check_merge(node)
            pending.extend(child for pair in node.pairs for child in pair)


def _check_merge(node: Mapping) -> None:
    """Refuse a merge key with a value that cannot be merged.

    Source: go-yaml v2 decode.go: map merge requires map or sequence of maps as the value.
    """
    for key, value in node.pairs:
        parts = value.items if isinstance(value, Sequence) else [value]
        if is_merge(key) and not all(isinstance(part, Mapping) for part in parts):
            message = "map merge requires map or sequence of maps as the value"
            raise DocumentError(message, value.line, "write <<: *name, where &name marks a map")


def _is_null(node: Node | None) -> bool:
    return node is None or (isinstance(node, Scalar) and is_null(node))


def is_null(node: Node) -> bool:
    """Return whether a node is YAML's null."""
    return isinstance(node, Scalar) and node.plain and is_null_text(node.text)


def faults(node: Node) -> Iterator[Scalar]:
    """Yield the scalars in a node, keys included, of which no value can be made."""
    if isinstance(node, Scalar):
        if node.fault:
            yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from faults(item)
    else:
        for key, value in node.pairs:
            yield from faults(key)
            yield from faults(value)


def entries(mapping: Mapping) -> Iterator[tuple[Node, Node]]:
    """Yield the pairs of a map with merge keys expanded, in file order: the later of two wins.

    Source: juju/yaml v2, decode.go: a merge key is decoded where it stands, so that what it brings
    takes the place of what stands above it.
    """
    for key, value in mapping.pairs:
        if is_merge(key):
            yield from merged(value)
        else:
            yield key, value


def is_merge(key: Node) -> bool:
    """Return whether a key is YAML's merge key."""
    return isinstance(key, Scalar) and key.plain and key.text == "<<"


def merged(value: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the pairs that the value of a merge key brings; of a list, the first map wins."""
    if isinstance(value, Mapping):
        yield from entries(value)
    elif isinstance(value, Sequence):
        for item in reversed(value.items):
            if isinstance(item, Mapping):
                yield from entries(item)


def key_text(key: Node) -> str:
    """Return a key as Juju sees it: the text of a scalar; a null or a collection is empty."""
    return key.text if isinstance(key, Scalar) and not is_null(key) else ""


def plain_value(node: Node) -> Value:
    """Return a node as plain data, types as go-yaml v2 resolves them."""
    if isinstance(node, Scalar):
        return resolve(node)
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    return {key_text(key): plain_value(value) for key, value in entries(node)}
