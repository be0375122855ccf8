# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Juju's constraints: ``arch=amd64 cores=8 mem=64G tags=gpu,^quarantine``. Pure.

Source: Juju core/constraints (3.6 and 4.0): split on single blanks, white space around each part
goes, ``key=value``, no key twice; sizes are 1024-based with M as default; what MAAS supports:
facts on MAAS.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

ARCHES = ("amd64", "arm64", "armhf", "i386", "ppc64el", "riscv64", "s390x")
_SIZE = re.compile(
    r"\+?([0-9]{1,12}(?:\.[0-9]{0,9})?(?:[eE][+-]?[0-9])?|\.[0-9]{1,9}(?:[eE][+-]?[0-9])?)([MGTP]?)"
)
_FACTORS = MappingProxyType({"": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3})
_SPACE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NOT_ON_MAAS = frozenset(
    ("cpu-power", "instance-type", "instance-role", "root-disk-source", "allocate-public-ip",
     "nested-virtualization")
)  # fmt: skip
"""Constraints that MAAS does not know: Juju logs them as unsupported and goes on."""


class ConstraintError(ValueError):
    """The text is no constraints; the message is Juju's own, `remedy` is what to write."""

    def __init__(
        self, message: str, remedy: str = "write key=value pairs with single blanks between"
    ) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Constraints:
    """Parsed constraints; None means not said. Sizes in MiB; names with ``^`` are in `not_`."""

    arch: str | None = None
    cores: int | None = None
    mem: int | None = None
    root_disk: int | None = None
    tags: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    not_spaces: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    """All keys as written, aliases resolved."""


def parse(text: str) -> Constraints:
    """Return the constraints that a text names; an empty value says that the key is not limited.

    Raises:
        ConstraintError: With Juju's reason.
    """
    values: dict[str, str] = {}
    parsed: dict[str, Any] = {}
    key = ""
    for word in _words(text):
        before = key
        key, equals, value = word.partition("=")
        if not equals:
            message = f'malformed constraint "{word}"'
            raise ConstraintError(message, _for_word(word, before, values.get(before, "")))
        key = "cores" if key == "cpu-cores" else key
        reader = _READERS.get(key)
        if reader is None:
            raise ConstraintError(f'unknown constraint "{key}"', _for_key(key))
        if key in values:
            raise ConstraintError(f'bad "{key}" constraint: already set', f"write {key} once")
        values[key] = value
        if value:
            parsed.update(reader(key, value))
    return Constraints(**parsed, values=values)


def merge(first: Constraints, second: Constraints) -> Constraints:
    """Return constraints where `second` wins key by key, as an application over its model."""
    return parse(_render({**first.values, **second.values}))


def render(constraints: Constraints) -> str:
    """Return constraints as text that `parse` reads back."""
    return _render(constraints.values)


def _render(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value.replace(' ', chr(92) + ' ')}" for key, value in values.items())


def _words(text: str) -> list[str]:
    """Split on blanks; a backslash keeps a blank in its word; white space around a word goes.

    Source: core/constraints ParseWithAliases trims the whole text and then each word, so that the
    line end of a block scalar does no harm, but a tab or a line end between two words joins them.
    """
    parts = re.split(r"(?<!\\) ", text.strip())
    words = (part.replace("\\ ", " ").strip() for part in parts)
    return [word for word in words if word]


_MEANT = MappingProxyType(
    {"cpu": "cores", "cpus": "cores", "core": "cores", "vcpus": "cores", "memory": "mem",
     "ram": "mem", "disk": "root-disk", "root_disk": "root-disk", "tag": "tags",
     "space": "spaces", "zone": "zones", "architecture": "arch", "gpu": "tags", "gpus": "tags",
     "pool": "tags", "pools": "tags", "resource-pool": "tags", "host": "tags",
     "hostname": "tags", "name": "tags", "system-id": "tags"}
)  # fmt: skip
"""What people write, and the constraint that they mean."""
_MACHINES = MappingProxyType({"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64"})


def _for_key(key: str) -> str:
    meant = _MEANT.get(key.lower()) or next(iter(get_close_matches(key, _READERS, 1)), "")
    return f"did you mean {meant}?" if meant else f"there are: {', '.join(sorted(_READERS))}"


def _for_word(word: str, key: str, value: str) -> str:
    """Return what to write for a word without ``=`` that stands after `key` and its `value`."""
    if key in ("tags", "spaces", "zones") and value:
        names = f"{value.rstrip(',')},{word.lstrip(',')}"
        return f"write {key}={names}: commas join names, without blanks"
    if word.startswith("include-"):
        return "write it out: only options and annotations include files"
    return f"write {word}=VALUE, without a blank before or after ="


def _for_number(key: str, value: str, example: str) -> str:
    if "," in value:
        return "put one blank between constraints, not a comma"
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([MGTP])i?B?", value, re.IGNORECASE)
    if match and example.endswith("G"):
        return f"write {key}={match[1]}{match[2].upper()}"
    return f"write a number: {key}={example}"


def _any(key: str, value: str) -> dict[str, Any]:
    del key, value
    return {}


def _arch(key: str, value: str) -> dict[str, Any]:
    if value not in ARCHES:
        meant = _MACHINES.get(value.lower())
        remedy = f"write arch={meant}" if meant else f"write one of {', '.join(ARCHES)}"
        raise ConstraintError(f'bad "{key}" constraint: "{value}" not recognized', remedy)
    return {"arch": value}


def _count(name: str | None) -> Callable[[str, str], dict[str, Any]]:
    def _read(key: str, value: str) -> dict[str, Any]:
        if not re.fullmatch(r"[0-9]{1,20}", value) or int(value) >= 2**64:
            reason = f'bad "{key}" constraint: must be a non-negative integer'
            raise ConstraintError(reason, _for_number(key, value, "8"))
        return {name: int(value)} if name else {}

    return _read


def _size(name: str) -> Callable[[str, str], dict[str, Any]]:
    def _read(key: str, value: str) -> dict[str, Any]:
        match = _SIZE.fullmatch(value)
        if match is None:
            reason = "must be a non-negative float with optional M/G/T/P suffix"
            raise ConstraintError(
                f'bad "{key}" constraint: {reason}', _for_number(key, value, "64G")
            )
        return {name: -int(-float(match[1]) * _FACTORS[match[2]] // 1)}

    return _read


def _names(name: str, *, spaces: bool = False) -> Callable[[str, str], dict[str, Any]]:
    def _read(key: str, value: str) -> dict[str, Any]:
        names = value.split(",")
        for item in names:
            bare = item.removeprefix("^")
            if spaces and not _SPACE.fullmatch(bare):
                raise ConstraintError(
                    f'bad "{key}" constraint: "{bare}" is not a valid space name'
                )
        wanted = tuple(item for item in names if not item.startswith("^"))
        refused = tuple(item[1:] for item in names if item.startswith("^"))
        return {name: wanted, f"not_{name}": refused}

    return _read


def _zones(key: str, value: str) -> dict[str, Any]:
    del key
    return {"zones": tuple(value.split(","))}


def _bool(key: str, value: str) -> dict[str, Any]:
    if value not in (
        "1",
        "t",
        "T",
        "true",
        "TRUE",
        "True",
        "0",
        "f",
        "F",
        "false",
        "FALSE",
        "False",
    ):
        raise ConstraintError(f"bad \"{key}\" constraint: must be 'true' or 'false'")
    return {}


def _container(key: str, value: str) -> dict[str, Any]:
    if value not in ("none", "lxd", "kvm"):
        raise ConstraintError(f'bad "{key}" constraint: invalid container type "{value}"')
    return {}


_READERS: Mapping[str, Callable[[str, str], dict[str, Any]]] = MappingProxyType(
    {
        "arch": _arch,
        "container": _container,
        "cores": _count("cores"),
        "cpu-power": _count(None),
        "nested-virtualization": _bool,
        "mem": _size("mem"),
        "root-disk": _size("root_disk"),
        "root-disk-source": _any,
        "tags": _names("tags"),
        "instance-role": _any,
        "instance-type": _any,
        "spaces": _names("spaces", spaces=True),
        "virt-type": _any,
        "zones": _zones,
        "allocate-public-ip": _bool,
        "image-id": _any,
    }
)
