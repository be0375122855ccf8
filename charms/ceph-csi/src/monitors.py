# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Addresses of Ceph monitors: what people and charms write, what each mounter needs. Pure.

A monitor listens with two protocols, v1 (6789) and v2 (3300), and is written in many ways:
`10.0.0.1`, `10.0.0.1:6789`, `fd00::1`, `[fd00::1]:3300`, `v2:10.0.0.1:3300/0`,
`[v2:10.0.0.1:3300/0,v1:10.0.0.1:6789/0]`. The kernel speaks v1 unless it is told otherwise with
the mount option ms_mode (Linux 5.11), and then finds v2 only at the v2 port.

Source: docs.ceph.com "Messenger v2", "Address formats"; mount.ceph(8) and rbd(8), ms_mode.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

V1_PORT, V2_PORT = 6789, 3300
LEGACY = "legacy"
MODES = (LEGACY, "crc", "secure", "prefer-crc", "prefer-secure")
"""Values of ms_mode; all but the first speak v2."""

_PREFIXED = re.compile(r"(v1|v2|any):(.+?)(?:/\d+)?")
_ADDRESS = re.compile(r"\[([^\]]*)\](?::(\d{1,5}))?|([^:]*):(\d{1,5})")
_SEPARATORS = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True, order=True)
class Monitor:
    """One monitor.

    Attributes:
        address: IP address without brackets.
        v1: Port of protocol v1; 0 where it is known to have none.
        v2: Port of protocol v2; 0 where it is known to have none.
    """

    address: str
    v1: int = V1_PORT
    v2: int = V2_PORT

    def port(self, mode: str) -> int:
        """Return the port that a mode of ms_mode needs, 0 when the monitor has none for it."""
        return self.v1 if mode == LEGACY else self.v2

    def text(self, mode: str) -> str:
        """Return the monitor as the driver's configuration has it: `10.0.0.1:6789`."""
        return f"{_bracketed(self.address)}:{self.port(mode)}"

    def vector(self) -> str:
        """Return every address of the monitor as ceph.conf has it: `[v2:...,v1:...]`."""
        ports = (("v2", self.v2), ("v1", self.v1))
        texts = [f"{name}:{_bracketed(self.address)}:{port}" for name, port in ports if port]
        return f"[{','.join(texts)}]"


def parse_monitors(text: str) -> tuple[Monitor, ...]:
    """Return the monitors of a text, by address, each once.

    Args:
        text: Addresses in any form above, separated by commas or blanks.

    Raises:
        ValueError: One is no address; the reason quotes it.
    """
    found: dict[str, Monitor] = {}
    for part in _split(text):
        monitor = _parse(part)
        known = found.get(monitor.address)
        found[monitor.address] = _merged(known, monitor) if known else monitor
    return tuple(sorted(found.values()))


def merge(lists: Iterable[Iterable[Monitor]]) -> tuple[Monitor, ...]:
    """Return the monitors of several lists, by address, each once; the first wins."""
    found: dict[str, Monitor] = {}
    for monitors in lists:
        for monitor in monitors:
            found.setdefault(monitor.address, monitor)
    return tuple(sorted(found.values()))


def _split(text: str) -> list[str]:
    """Return the parts of a list; commas within brackets belong to a part."""
    parts: list[str] = []
    depth, current = 0, ""
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if depth <= 0 and _SEPARATORS.fullmatch(letter):
            parts.append(current)
            current = ""
        else:
            current += letter
    return [part for part in [*parts, current] if part]


def _parse(part: str) -> Monitor:
    inner = part[1:-1] if part.startswith("[v") and part.endswith("]") else part
    if _PREFIXED.fullmatch(inner.split(",")[0].strip()):
        return _parse_vector(inner, part)
    address, port = _parse_address(part)
    if port in (0, None):
        return Monitor(address)
    return Monitor(address, v1=0, v2=port) if port == V2_PORT else Monitor(address, v1=port, v2=0)


def _parse_vector(inner: str, part: str) -> Monitor:
    ports = {"v1": 0, "v2": 0}
    addresses: set[str] = set()
    for item in filter(None, (item.strip() for item in inner.split(","))):
        match = _PREFIXED.fullmatch(item)
        if match is None:
            raise ValueError(f"'{_short(part)}' is no address of a monitor")
        address, port = _parse_address(match[2])
        addresses.add(address)
        defaults = {"v1": V1_PORT, "v2": V2_PORT}
        names = ("v1", "v2") if match[1] == "any" else (match[1],)
        ports.update({name: port or defaults[name] for name in names})
    if len(addresses) != 1:
        raise ValueError(f"'{_short(part)}' names several machines as one monitor")
    return Monitor(addresses.pop(), **ports)


def _parse_address(text: str) -> tuple[str, int | None]:
    """Return address and port; None when no port is named."""
    match = _ADDRESS.fullmatch(text)
    host, port = (match[1] or match[3], match[2] or match[4]) if match else (text, None)
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise ValueError(f"'{_short(text)}' is no IP address of a monitor") from error
    if port is not None and int(port) > 65535:
        raise ValueError(f"'{_short(text)}' has no port from 1 to 65535")
    return str(address), int(port) if port is not None else None


def _merged(known: Monitor, other: Monitor) -> Monitor:
    """Return one monitor that was named twice, as by its v1 and by its v2 address."""
    return Monitor(known.address, known.v1 or other.v1, known.v2 or other.v2)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
