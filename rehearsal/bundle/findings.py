# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the check has to say: findings with a severity, a rule, a path and a remedy. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rehearsal.counted import counted

Severity = Literal["error", "warning"]
Path = tuple[str | int, ...]
"""Where in the bundle: ``("applications", "etcd", "options", "channel")``."""


@dataclass(frozen=True, slots=True)
class Position:
    """A line of a file; lines count from 1, 0 means the file as a whole."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


NOWHERE = Position("", 0)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a bundle.

    An *error* means that the deploy would be refused, stop half-way or never settle. A *warning*
    means that Juju takes it in silence and the site is not what the author meant.
    """

    severity: Severity
    rule: str
    path: str
    message: str
    remedy: str
    position: Position = field(default=NOWHERE, compare=False)
    explains: str = field(default="", compare=False, repr=False)
    """Path at which other findings are but consequences of this one."""


def dotted(path: Path) -> str:
    """Return a path as text: ``applications.etcd.options.channel``, ``relations.3``."""
    return ".".join(str(step) for step in path)


@dataclass(slots=True)
class Findings:
    """Collects findings while a bundle is read and verified."""

    found: list[Finding] = field(default_factory=list)

    def error(
        self,
        rule: str,
        path: Path,
        message: str,
        remedy: str,
        at: Position = NOWHERE,
        explains: Path = (),
    ) -> None:
        """Add an error; other findings at the path that it explains are left out."""
        self._add("error", rule, path, message, remedy, at, explains)

    def warning(
        self,
        rule: str,
        path: Path,
        message: str,
        remedy: str,
        at: Position = NOWHERE,
        explains: Path = (),
    ) -> None:
        """Add a warning; other warnings at the path that it explains are left out."""
        self._add("warning", rule, path, message, remedy, at, explains)

    def _add(
        self,
        severity: Severity,
        rule: str,
        path: Path,
        message: str,
        remedy: str,
        at: Position,
        explains: Path,
    ) -> None:
        where = dotted(explains)
        self.found.append(Finding(severity, rule, dotted(path), message, remedy, at, where))

    def has_errors(self) -> bool:
        """Return whether an error was found so far."""
        return any(finding.severity == "error" for finding in self.found)


_UNREADABLE = ("file", "yaml")
"""Rules on files that cannot be read."""


def in_file_order(findings: Iterable[Finding], files: Sequence[str]) -> list[Finding]:
    """Return findings in the order of the files, then of the lines, each once.

    Files that cannot be read come first: of what they hold, nothing is known.
    """
    order = {name: index for index, name in enumerate(files)}
    return sorted(
        dict.fromkeys(findings),
        key=lambda finding: (
            finding.rule not in _UNREADABLE,
            order.get(finding.position.file, len(order)),
            finding.position.line,
            finding.path,
            finding.rule,
            finding.message,
        ),
    )


def exit_status(findings: Sequence[Finding], *, strict: bool = False) -> int:
    """Return 1 when there is an error, or with `strict` a warning; else 0."""
    return int(any(strict or finding.severity == "error" for finding in findings))


def render_text(findings: Sequence[Finding]) -> str:
    """Return findings for a terminal: what is wrong, below it the remedy; a last line counts."""
    lines: list[str] = []
    for finding in findings:
        where = f"{finding.position}: " if finding.position != NOWHERE else ""
        what = f"{finding.rule} {finding.path}".rstrip()
        lines.append(f"{where}{finding.severity} {what}: {finding.message}")
        if finding.remedy:
            lines.append(f"    {finding.remedy}")
    lines = [_printable(line) for line in lines]
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = counted(len(findings) - errors, "warning")
    lines.append(f"{counted(errors, 'error')}, {warnings}")
    return "\n".join(lines) + "\n"


def render_json(findings: Sequence[Finding]) -> str:
    """Return findings as a JSON list of objects; `position` is ``file:line``."""
    return (
        json.dumps(
            [
                {
                    "severity": finding.severity,
                    "rule": finding.rule,
                    "path": finding.path,
                    "message": finding.message,
                    "remedy": finding.remedy,
                    "position": _printable(str(finding.position)),
                }
                for finding in findings
            ],
            indent=2,
        )
        + "\n"
    )


def escaped(finding: Finding) -> Finding:
    """Return a finding without control characters, so that a terminal shows it as it is."""
    return replace(
        finding,
        path=_printable(finding.path),
        message=_printable(finding.message),
        remedy=_printable(finding.remedy),
    )


def _printable(text: str) -> str:
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text.encode("utf-8", "replace").decode("utf-8")
    )
