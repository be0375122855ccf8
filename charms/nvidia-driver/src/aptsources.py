# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The package source of the option `repository`, beside those that the machine has already.

apt refuses every command on a machine of which two files give one source different keys
("Conflicting values set for option Signed-By"), and NVIDIA's own instructions, an image or
cloud-init may have written such a file. So a source that the machine knows is not written again.
Source: apt 2.7, sources.list(5), and NVIDIA/ansible-role-nvidia-driver#59.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from charmkit.errors import ConfigError
from charmkit.host import Host

NAME = "nvidia-driver-charm"
"""Name of the charm's own files below /etc/apt."""

_OURS = f"/etc/apt/sources.list.d/{NAME}.list"
_PLACES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list")
_PLACES_822 = "/etc/apt/sources.list.d/*.sources"

_LINE = re.compile(r"deb\s+(\[[^\]]*\]\s+)?([a-z][a-z0-9+.-]*:/\S+)\s+(\S+)((?:\s+[^\s#]+)*)")
_ARCHITECTURE = "$(ARCH)"

_OFF = ("no", "false", "without", "off", "disable", "0")
"""What turns a source of the deb822 form off. Source: apt 2.7, StringToBool."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of binary packages.

    Attributes:
        place: Address and suite: what apt takes for one and the same.
        components: What of it; none for a suite that is a folder.
        signed: Its file names the key.
    """

    place: tuple[str, str]
    components: frozenset[str]
    signed: bool


def check_line(line: str) -> None:
    """Refuse a line that apt would stumble over, with every other command after it.

    Raises:
        ValueError: It names no address, no suite, or no component where the suite needs one.
    """
    found = _LINE.fullmatch(line)
    if found is None or "\n" in line:
        raise ValueError("write one line that begins with deb, as in sources.list")
    exact, components = found[3].endswith("/"), found[4].split()
    if exact == bool(components):
        need = "takes no component" if exact else "needs a component, such as main"
        raise ValueError(f"suite {found[3]} {need}")


def ensure_source(host: Host, line: str, key: str) -> bool:
    """Make a source known to a machine, once; return whether its lists have to be fetched.

    Args:
        host: The machine.
        line: One-line form; empty where the machine knows its sources.
        key: Armoured public key; empty where the machine trusts the source already.

    Raises:
        ConfigError: The machine knows a part of it, and apt would not take two keys for it.
    """
    for wanted in parse_lines(line):
        same = [one for one in _read_others(host) if one.place == wanted.place]
        missing = wanted.components.difference(*(one.components for one in same))
        if not same or (missing and not _is_signed(wanted, same, key)):
            return host.packages.ensure_repository(NAME, line, key)
        if missing:
            host.files.ensure_absent(_OURS)
            names = " ".join(sorted(missing))
            where = f"another file of /etc/apt has suite {wanted.place[1]}"
            raise ConfigError("repository", f"{where}, add {names} there")
    return host.files.ensure_absent(_OURS)


def parse_lines(text: str) -> Iterator[Source]:
    """Yield the sources of binary packages in a file of the one-line form."""
    for raw in text.splitlines():
        found = _LINE.match(raw.strip())
        if found:
            signed = "signed-by" in (found[1] or "").lower()
            yield _source(found[2], found[3], found[4].split(), signed=signed)


def parse_stanzas(text: str) -> Iterator[Source]:
    """Yield the sources of binary packages in a file of the deb822 form."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", lines):
        fields = dict(re.findall(r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE))
        said = {name.lower(): value.split() for name, value in fields.items()}
        is_on = "".join(said.get("enabled", ())).lower() not in _OFF
        if "deb" in said.get("types", ()) and is_on:
            yield from _combine(said)


def _is_signed(wanted: Source, same: Iterable[Source], key: str) -> bool:
    return bool(key) or any(one.signed for one in (wanted, *same))


def _read_others(host: Host) -> Iterator[Source]:
    for pattern in _PLACES:
        for path in host.files.glob(pattern):
            if path != _OURS:
                yield from parse_lines(host.files.find_text(path) or "")
    for path in host.files.glob(_PLACES_822):
        yield from parse_stanzas(host.files.find_text(path) or "")


def _combine(said: Mapping[str, Sequence[str]]) -> Iterator[Source]:
    signed, components = "signed-by" in said, said.get("components", ())
    for address in said.get("uris", ()):
        for suite in said.get("suites", ()):
            yield _source(address, suite, components, signed=signed)


def _source(address: str, suite: str, components: Iterable[str], *, signed: bool) -> Source:
    """Return a source as apt compares it; this charm runs on amd64 alone."""
    place = (address.replace(_ARCHITECTURE, "amd64").rstrip("/"), suite)
    return Source(place, frozenset(components), signed)
