# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""``include-file://`` and ``include-base64://`` in options and annotations."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from rehearsal.bundle.findings import NOWHERE, Findings, Path, Position
from rehearsal.bundle.schema import Decoded

_DIRECTIVES = ("include-file://", "include-base64://")
_MISSPELT = re.compile(
    r"\s*include(?:[-_ ]?[a-z0-9]{0,8}\s*:/|[-_ ]?(?:file|base64)\s*:)", re.IGNORECASE
)
MAX_BYTES = 4 * 1024 * 1024
"""Largest file that is included."""


def resolve_includes(
    data: dict[str, Any], part: Decoded, folder: FilePath, findings: Findings
) -> None:
    """Replace the includes that one document declares, in the merged data, by the files' contents.

    Paths are relative to the folder of the declaring file. Only options and annotations of
    applications and annotations of machines are looked at, as Juju does.

    Source: facts on bundles, merge rule 10; the 4.0.15 records in-file, in-ov-own, in-mid.
    """
    for path, text in _values(part.data):
        directive = next((name for name in _DIRECTIVES if text.startswith(name)), "")
        at = part.positions.get(path, NOWHERE)
        if not directive:
            _report_misspelt(path, text, at, findings)
            continue
        named = text.removeprefix(directive)
        try:
            content = _read(folder / named)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            findings.error(
                "include",
                path,
                f"include file {folder / named}: {reason}",
                f"mend the path; it is relative to {folder}, where the declaring file lies",
                at,
                path,
            )
            continue
        encoded = base64.b64encode(content) if directive == _DIRECTIVES[1] else content
        _store(data, path, encoded.decode("utf-8", "replace"))


def _report_misspelt(path: Path, text: str, at: Position, findings: Findings) -> None:
    """Warn of a text that was to be an include and is stored as it stands."""
    if any(name in text for name in _DIRECTIVES):
        message = "an include that is not at the start of the value is stored as it stands"
        remedy = "let the value begin with include-file:// and hold nothing else"
    elif _MISSPELT.match(text):
        message = f"{text[:40]!r} is no include: the text is stored as it stands"
        remedy = "write include-file://PATH or include-base64://PATH"
    else:
        return
    findings.warning("include", path, message, remedy, at)


def _read(path: FilePath) -> bytes:
    if path.is_dir():
        raise IsADirectoryError(21, "is a folder")
    if not path.is_file():
        raise FileNotFoundError(2, "not found")
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    return path.read_bytes()


def _values(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    for section, fields in (
        ("applications", ("options", "annotations")),
        ("machines", ("annotations",)),
    ):
        for name, body in (data.get(section) or {}).items():
            for key in fields:
                for item, value in ((body or {}).get(key) or {}).items():
                    if isinstance(value, str):
                        yield (section, name, key, item), value


def _store(data: dict[str, Any], path: Path, text: str) -> None:
    section, name, key, item = path
    body = (data.get(str(section)) or {}).get(name)
    if body and isinstance(body.get(key), dict) and item in body[key]:
        body[key][item] = text
