# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The source files of a simulated machine as apt reads them, or refuses to.

Source: apt 2.7, sources.list(5); `SourceList` compares the options of entries that have the same
address and suite, and one that it cannot read ends every command.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from charmkit.files import Files
from standins.metal.system import ProgramError

_FOLDER = "/etc/apt/sources.list.d"
_UNREADABLE = "E: The list of sources could not be read.\n"


@dataclass(frozen=True, slots=True)
class Source:
    """One source of binary packages: where it is, and by which key it is trusted."""

    address: str
    suite: str
    signed_by: str = ""


def read_sources(files: Files) -> list[Source]:
    """Return all sources that the files name.

    Raises:
        ProgramError: apt refuses: a line is no source, or two files trust one by different keys.
    """
    found: dict[tuple[str, str], Source] = {}
    for source in _read_all(files):
        first = found.setdefault((source.address, source.suite), source)
        if first.signed_by != source.signed_by:
            raise ProgramError(
                100,
                "E: Conflicting values set for option Signed-By regarding source "
                f"{source.address} {source.suite}: {source.signed_by} != {first.signed_by}\n"
                + _UNREADABLE,
            )
    return list(found.values())


def _read_all(files: Files) -> Iterator[Source]:
    for path in files.glob(f"{_FOLDER}/*.list"):
        for number, line in enumerate((files.find_text(path) or "").splitlines(), start=1):
            if line.startswith("deb "):
                yield _parse_line(line, f"entry {number} in list file {path}")
    for path in files.glob(f"{_FOLDER}/*.sources"):
        for stanza in (files.find_text(path) or "").split("\n\n"):
            yield from _parse_stanza(stanza)


def _parse_line(line: str, where: str) -> Source:
    options, rest = "", line.removeprefix("deb ").strip()
    if rest.startswith("["):
        options, _, rest = rest[1:].partition("]")
    words = rest.split()
    if len(words) < 2:
        raise ProgramError(100, f"E: Malformed {where} (Suite)\n{_UNREADABLE}")
    if words[1].endswith("/") == (len(words) > 2):
        raise ProgramError(100, f"E: Malformed {where} (Component)\n{_UNREADABLE}")
    key = re.search(r"signed-by=(\S+)", options)
    return Source(_expand(words[0]), words[1], key[1] if key else "")


def _parse_stanza(text: str) -> Iterator[Source]:
    fields = dict(re.findall(r"^([\w-]+):\s*(.*)$", text, re.MULTILINE))
    if fields.get("Enabled", "").lower() in ("no", "false", "off", "0"):
        return
    for address in fields.get("URIs", "").split():
        for suite in fields.get("Suites", "").split():
            yield Source(_expand(address), suite, fields.get("Signed-By", ""))


def _expand(address: str) -> str:
    return address.replace("$(ARCH)", "amd64").rstrip("/") + "/"
