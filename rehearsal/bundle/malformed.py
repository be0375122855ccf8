# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a text that is no YAML, where, and what to do. Pure."""

import re

import yaml

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class DocumentError(Exception):
    """The text is not YAML that Juju can read; `line` counts from 1, 0 when unknown."""

    def __init__(self, message: str, line: int = 0, remedy: str = "mend the YAML") -> None:
        super().__init__(message)
        self.line = line
        self.remedy = remedy


def malformed(error: yaml.MarkedYAMLError, data: bytes) -> DocumentError:
    """Return what is wrong with a text that YAML's grammar does not take."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    message = error.problem or error.context or "malformed"
    if error.problem and error.context and error.context_mark:
        message = f"{error.context} (line {error.context_mark.line + 1}): {message}"
    lines = data.splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else b""
    if b"\t" in text[: len(text) - len(text.lstrip())]:
        return DocumentError("a tab cannot indent a line", line, "indent with blanks")
    return DocumentError(message, line, _slip(message, lines, line))


_STRANGE = {"\u00a0": "a no-break space", "\u200b": "a zero-width space",
            "\u2028": "a line separator", "\ufeff": "a byte order mark",
            "\u201c": "a typographic quote", "\u201d": "a typographic quote"}  # fmt: skip
"""Characters that come with a text from a web page or a word processor."""
_GLUED = re.compile(r"\s*(?:- )?([\w-]+):([^\s:/].*)")


def _slip(message: str, lines: list[bytes], line: int) -> str:
    """Return what to do about the slip that is most likely, seen in the line or the one before."""
    for number in (line, line - 1):
        text = lines[number - 1].decode(errors="replace") if 0 < number <= len(lines) else ""
        for character, name in _STRANGE.items():
            if character in text:
                where = f"U+{ord(character):04X} in line {number}"
                return f"there is {name} ({where}): type it anew with plain characters"
        glued = _GLUED.fullmatch(text)
        if glued and "mapping values" in message:
            return f"put a blank after the colon in line {number}: {glued[1]}: {glued[2][:40]}"
    return "mend the YAML"


def unreadable(error: Exception, data: bytes) -> DocumentError:
    """Return what is wrong with a text that holds no characters of YAML."""
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError as wrong:
        line = data[: wrong.start].count(b"\n") + 1
        message = f"byte 0x{data[wrong.start]:02x} is no UTF-{16 if wide else 8}"
        return DocumentError(message, line, "save the file as UTF-8")
    match = None if wide else _CONTROL.search(data)
    line = data[: match.start()].count(b"\n") + 1 if match else 0
    message = f"control character 0x{ord(match[0]):02x}" if match else str(error).split("\n")[0]
    return DocumentError(message, line, "delete the character")
