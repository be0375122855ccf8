# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Read a file of MIG layouts: the mig-parted v1 format, strictly. The typed border of `layout`.

::

    version: v1
    mig-configs:
      team-a:
        - devices: [0, 1]
          mig-enabled: true
          mig-devices: {1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}
        - devices: [2, 3]
          mig-enabled: false

Every mistake is one line that names the layout and the key. Source of the format: mig-parted 0.15,
api/spec/v1.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Any, cast

import yaml

from charmkit.document import LONGEST, StrictLoader
from layout import Entry, Layout
from profiles import ProfileName

NAME_LIMIT = 63
"""Longest name of a layout: it is also the value of a node label (63 characters)."""

MOST_ENTRIES, MOST_WITHIN = 2048, 64
"""Entries of a file, GPUs or profiles of an entry: more than any machine has. A few lines with
aliases of YAML would make millions of either."""

_ENTRY_KEYS = ("devices", "mig-enabled", "mig-devices", "device-filter")
_FILTER = re.compile(r"0[xX]([0-9A-Fa-f]{8})(?::0[xX]([0-9A-Fa-f]{8}))?")
_NAME_LINE = re.compile(r"^ +([^\s:#-][^\s:]*):\s*$", re.MULTILINE)
_JOINED = re.compile(r"^version:[ ]*\S+([ ]+|\\n)[ ]*mig-configs:", re.MULTILINE)
"""Lines of a bundle that were folded into one (`>`, quotes), or whose ends stayed a word."""

_FILE_NAME = re.compile(r"@?\S+\.ya?ml")


def parse_layouts(text: str) -> dict[str, Layout]:
    """Return the layouts of a file by name; an empty text has none.

    Raises:
        ValueError: The file breaks the format; one line that says where and how.
    """
    if not text.strip():
        return {}
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    _check_is_file(text.strip())
    data = _mapping(_load(text), "the file must have version and mig-configs")
    if "kind" in data:
        raise ValueError(f"give what is inside of the {str(data['kind'])[:40]!a}, not all of it")
    _check_keys(data, ("version", "mig-configs"), ("version", "mig-configs"), "")
    if data["version"] != "v1":
        raise ValueError(f"version must be v1, not '{data['version']}'")
    layouts = _mapping(data["mig-configs"], "mig-configs must name at least one layout")
    lists = [cast("list[object]", raw) for raw in layouts.values() if isinstance(raw, list)]
    if sum(map(len, lists)) > MOST_ENTRIES:
        raise ValueError(f"mig-configs has more than {MOST_ENTRIES} entries")
    return {_name(name): _parse_layout(_name(name), raw) for name, raw in layouts.items()}


def _check_is_file(text: str) -> None:
    """Refuse what came of a file on its way into the option, which no line of it explains."""
    if _JOINED.search(text):
        raise ValueError("its lines were joined into one; in a bundle write 'mig-layouts: |'")
    if _FILE_NAME.fullmatch(text):
        raise ValueError(f"{text!a} is a name; for the file write mig-layouts=@{text.strip('@')}")


def _name(name: object) -> str:
    if name is None or isinstance(name, bool):
        raise ValueError(f"a layout named {str(name).lower()} must be quoted")
    text = str(name)
    if not text.isprintable() or len(text) > NAME_LIMIT:
        raise ValueError(f"{text[:NAME_LIMIT]!a} is no name of a layout")
    return text


def _load(text: str) -> object:
    try:
        return yaml.load(_without_tabs(text), Loader=StrictLoader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        before = text if mark is None else text[: mark.index or 0]
        names = _NAME_LINE.findall(before)
        where = f"{names[-1]}: " if names else ""
        line = 0 if mark is None else mark.line + 1
        raise ValueError(f"{where}line {line} is no YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply to be a layout file") from error


def _without_tabs(text: str) -> str:
    """Return a text with a space for each tab that is no indentation.

    YAML takes such a tab for a space, and JSON everywhere; PyYAML refuses both.
    """
    if text.lstrip().startswith("{"):
        return text.replace("\t", " ")
    lines = text.split("\n")
    starts = [len(line) - len(line.lstrip()) for line in lines]
    pairs = zip(lines, starts, strict=True)
    return "\n".join(line[:start] + line[start:].replace("\t", " ") for line, start in pairs)


def _mapping(value: object, otherwise: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError(otherwise)
    return cast("dict[str, Any]", value)


def _check_keys(
    data: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...], where: str
) -> None:
    for key in data:
        if key not in known:
            alike = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {alike[0]}" if alike else f"known: {', '.join(known)}"
            raise ValueError(f"{where}unknown key '{key}', {hint}")
    for key in needed:
        if key not in data:
            raise ValueError(f"{where}{key} is missing")


def _parse_layout(name: str, raw: object) -> Layout:
    if not isinstance(raw, list) or not raw:
        raise ValueError(f"{name}: must be a list of entries, each beginning with '-'")
    entries = cast("list[object]", raw)
    return Layout(name, tuple(_parse_entry(f"{name}: ", entry) for entry in entries))


def _parse_entry(where: str, raw: object) -> Entry:
    data = _mapping(raw, f"{where}an entry must have {', '.join(_ENTRY_KEYS[:3])}")
    _check_keys(data, _ENTRY_KEYS, _ENTRY_KEYS[:2], where)
    enabled = data["mig-enabled"]
    if not isinstance(enabled, bool):
        raise ValueError(f"{where}mig-enabled must be true or false, not {enabled!r}")
    if enabled and data.get("mig-devices") is None:
        raise ValueError(f"{where}mig-devices is missing; write {{}} for no instance")
    counts = _parse_counts(where, data.get("mig-devices"))
    if counts and not enabled:
        raise ValueError(f"{where}mig-devices must be empty where mig-enabled is false")
    return Entry(
        devices=_parse_devices(where, data["devices"]),
        enabled=enabled,
        counts=counts,
        filters=_parse_filters(where, data.get("device-filter", [])),
    )


def _parse_devices(where: str, raw: object) -> tuple[int, ...] | None:
    if raw == "all":
        return None
    if not isinstance(raw, list) or not raw:
        raise ValueError(f"{where}devices must be a list or 'all', not {raw!r}")
    listed = cast("list[object]", raw)
    if len(listed) > MOST_WITHIN:
        raise ValueError(f"{where}devices names more than {MOST_WITHIN} GPUs")
    for index in listed:
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise ValueError(f"{where}devices must be numbers from 0, not {index!r}")
    indices = cast("list[int]", listed)
    if len(set(indices)) < len(indices):
        raise ValueError(f"{where}devices names a GPU twice")
    return tuple(sorted(indices))


def _parse_counts(where: str, raw: object) -> tuple[tuple[ProfileName, int], ...]:
    if raw is None or raw == {}:
        return ()
    if not isinstance(raw, dict):
        raise ValueError(f"{where}mig-devices must map profiles to counts, as in {{1g.10gb: 2}}")
    counts = cast("dict[object, object]", raw)
    if len(counts) > MOST_WITHIN:
        raise ValueError(f"{where}mig-devices names more than {MOST_WITHIN} profiles")
    return tuple(_parse_count(where, str(name), count) for name, count in counts.items())


def _parse_count(where: str, text: str, count: object) -> tuple[ProfileName, int]:
    try:
        name = ProfileName.parse(text)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
    if name.is_split:
        raise ValueError(f"{where}{text}: compute instance profiles not supported")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{where}'{text}' needs a count of 1 or more, as in {text}: 2")
    return name, count


def _parse_filters(where: str, raw: object) -> tuple[tuple[int, int | None], ...]:
    listed = cast("list[object]", raw) if isinstance(raw, list) else [raw]
    return tuple(_parse_filter(where, each) for each in listed)


def _parse_filter(where: str, raw: object) -> tuple[int, int | None]:
    match = _FILTER.fullmatch(raw) if isinstance(raw, str) else None
    if match is None:
        raise ValueError(f"{where}device-filter must be like '0x20B010DE' (quoted), not {raw!r}")
    device, subsystem = match.groups()
    return int(device, 16), int(subsystem, 16) if subsystem else None
