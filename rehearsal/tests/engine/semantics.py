# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Juju does with events, sentence by sentence, and which test holds each one.

`python -m rehearsal.tests.engine.semantics` prints the table. A sentence without a test says why.
Sentences come from Juju's code (3.6) and from a controller of 4.0.15; `semantics.yaml` has them.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        part: `order`, `startup`, `relations`, `commit`, `failure`, `others`, `seen on 4.0`.
        juju: `3.6`, `4.0` or `both`.
        tests: Tests that fail when it does not hold, as `file::test`, and recorded experiments.
        why: Why there is none.
    """

    part: str
    juju: str
    text: str
    tests: tuple[str, ...]
    why: str

    @property
    def is_covered(self) -> bool:
        """Whether a test holds it."""
        return bool(self.tests)


def read() -> list[Sentence]:
    """Return every sentence in the order of the table."""
    data = yaml.safe_load((FOLDER / "semantics.yaml").read_text())
    return [
        Sentence(part, str(juju), text, tuple(_tests(held)), _why(held))
        for part, rows in data.items()
        for juju, text, held in rows
    ]


def _tests(held: object) -> list[str]:
    return [str(item) for item in held] if isinstance(held, list) else []


def _why(held: object) -> str:
    return "" if isinstance(held, list) else str(held)


def known_tests() -> set[str]:
    """Return every test of this folder as `file::test`, and every recorded experiment."""
    found = {path.stem for path in (FOLDER / "recorded").glob("*.txt")}
    for path in FOLDER.glob("test_*.py"):
        names = re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
        found |= {
            f"{path.stem.removeprefix('test_')}::{name.removeprefix('test_')}" for name in names
        }
    return found


def main() -> None:
    """Print the table and how many sentences a test holds."""
    sentences = read()
    part = ""
    for sentence in sentences:
        if sentence.part != part:
            part = sentence.part
            sys.stdout.write(f"\n{part}\n")
        held = ", ".join(sentence.tests) or f"not covered: {sentence.why}"
        sys.stdout.write(f"  [{sentence.juju:4}] {sentence.text}\n         {held}\n")
    covered = sum(sentence.is_covered for sentence in sentences)
    sys.stdout.write(f"\n{covered} of {len(sentences)} sentences are covered\n")


if __name__ == "__main__":
    main()
