# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the words of ``juju deploy`` do to a bundle: paths, --trust, options that are ignored.

Source: command lines tried on Juju 4.0.15, 2026-11-30; cmd/juju/application/deployer,
CharmOnlyFlags.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rehearsal.bundle.findings import Finding
from rehearsal.paths import is_there

_REFUSED = (
    "--base", "--config", "--constraints", "--num-units", "-n", "--to", "--bind", "--resource",
    "--attach-storage",
)  # fmt: skip
_IGNORED = ("--channel", "--revision")
_OF_ONE = ("--storage", "--device")
"""Options that reach an application of a bundle where they begin with its name and a colon."""
_SWITCHES = ("--trust", "--force", "--dry-run", "--no-browser-login", "-B", "--debug", "--verbose",
             "-v", "--quiet", "-q", "--show-log")  # fmt: skip
_VALUED = (*_REFUSED, *_IGNORED, *_OF_ONE, "--overlay", "--map-machines", "--model", "-m",
           "--logging-config")  # fmt: skip
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")


@dataclass(slots=True)
class DeployWords:
    """The words of one command line, after ``deploy``."""

    bundle: str = ""
    name: str = ""
    overlays: list[str] = field(default_factory=lambda: list[str]())
    options: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    wrong: list[str] = field(default_factory=lambda: list[str]())
    """What is no word of ``juju deploy``, in Juju's words."""

    def has(self, name: str) -> bool:
        """Return whether an option was given."""
        return name in self.options


def parse_words(words: Sequence[str]) -> DeployWords:
    """Return the parts of a command line; what Juju cannot read of it is in ``wrong``."""
    parsed, rest = DeployWords(), list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            _option(parsed, word, rest)
        elif not parsed.bundle:
            parsed.bundle = word
        elif not parsed.name:
            parsed.name = word
        else:
            parsed.wrong.append(f'unrecognized args: ["{word}"]')
    return parsed


def _option(parsed: DeployWords, word: str, rest: list[str]) -> None:
    key, equals, value = word.partition("=")
    if key in _SWITCHES:
        if equals and value not in (*_TRUE, *_FALSE):
            parsed.wrong.append(f'invalid value "{value}" for option {key}')
        elif value not in _FALSE:
            parsed.options[key] = ""
        return
    if key not in _VALUED:
        parsed.wrong.append(f"option provided but not defined: {key}")
        rest.clear()
        return
    if not equals and not rest:
        parsed.wrong.append(f"option needs an argument: {key}")
        return
    value = value if equals else rest.pop(0)
    if key == "--overlay":
        parsed.overlays.append(value)
    else:
        parsed.options[key] = value


def check_words(words: DeployWords, folder: Path, machines: Sequence[str] = ()) -> list[Finding]:
    """Return what is wrong with the words; `machines` are the ids that the model has already."""
    found = [_error(message, "see juju help deploy") for message in words.wrong]
    path = folder / words.bundle
    if not words.bundle.startswith((".", "/")) and is_there(path):
        found.append(_error(f'"{words.bundle}" is ambiguous', f"write ./{words.bundle}"))
    elif not is_there(path):
        found.append(_error(f'no charm was found at "{words.bundle}"', "name a file that exists"))
    if words.name:
        found.append(_warning(f"the name {words.name} is ignored for a bundle", "leave it out"))
    for key, value in words.options.items():
        if key in _REFUSED:
            message = f"{key} is not supported when deploying a bundle"
            found.append(_error(message, "write it into an overlay"))
        elif key in _IGNORED or (key in _OF_ONE and ":" not in value.partition("=")[0]):
            found.append(_warning(f"{key} is ignored for a bundle", "write it into an overlay"))
    found += _map_machines(words.options.get("--map-machines", ""), machines)
    return found


def _map_machines(text: str, machines: Sequence[str]) -> list[Finding]:
    named = [part.strip() for part in text.split(",")]
    parts = [part.partition("=") for part in named if part and part != "existing"]
    malformed = [
        _error(f"--map-machines {ours}: neither existing nor ours=theirs", "write 3=4")
        for ours, equals, theirs in parts
        if not (equals and ours.isdecimal() and theirs.isdecimal())
    ]
    return malformed or [
        _warning(
            f"--map-machines {ours}={theirs}: the model has no machine {theirs}: one is made",
            "name a machine of the model",
        )
        for ours, _, theirs in parts
        if theirs not in machines
    ]


def with_words(findings: Sequence[Finding], words: DeployWords) -> list[Finding]:
    """Return findings as the command makes of them: without --trust, trust is refused."""
    changed: list[Finding] = []
    for finding in findings:
        if finding.rule != "trust" or finding.severity == "error":
            changed.append(finding)
        elif words.has("--force") and not words.has("--trust"):
            message = f"{finding.message}; with --force it is deployed without trust"
            changed.append(replace(finding, message=message))
        elif not words.has("--trust"):
            changed.append(replace(finding, severity="error"))
    return changed


def _error(message: str, remedy: str) -> Finding:
    return Finding("error", "words", "", message, remedy)


def _warning(message: str, remedy: str) -> Finding:
    return Finding("warning", "words", "", message, remedy)
