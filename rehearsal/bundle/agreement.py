# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How far the check agrees with what a real controller did, as a table by phase.

``python3 -m rehearsal.bundle.agreement FOLDER``: the folder holds ``bundles.jsonl`` (a bundle, its
overlays, the command and the verdict in each row), ``charms/`` and ``base/overlays/``.
"""

import base64
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.bundle.check import check
from rehearsal.bundle.findings import Finding
from rehearsal.bundle.words import check_words, parse_words, with_words


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row and what the check said; `agrees` as the verdict asks."""

    id: str
    phase: str
    verdict: str
    agrees: bool
    findings: tuple[Finding, ...]


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the recorded rows."""
    lines = (folder / "bundles.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def compare(rows: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[Outcome]:
    """Yield an outcome for each row: refused means an error, accepted none.

    Accepted silently means a finding that the correct bundle does not have.
    """
    control: set[tuple[str, str]] = set()
    for row in rows:
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            lay_out(row, folder, place)
            found = run_row(row, place)
        if not control and row["id"] == "ctl-identity":
            control = {(finding.rule, finding.path) for finding in found}
        yield Outcome(
            row["id"], row["phase"], row["verdict"], _agrees(row, found, control), tuple(found)
        )


def lay_out(row: Mapping[str, Any], folder: Path, place: Path) -> None:
    """Write the files of a row as they lay when it was recorded."""
    (place / "charms").symlink_to((folder / "charms").resolve())
    if (folder / "base" / "overlays").is_dir():
        shutil.copytree(folder / "base" / "overlays", place / "overlays")
    for name, text in row["files"].items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, dict):
            path.write_bytes(base64.b64decode(text["base64"]))
        else:
            path.write_text(text.replace("/abs/", f"{place}/"), newline="")


def run_row(row: Mapping[str, Any], place: Path) -> list[Finding]:
    """Return the findings on a row by the words of its own command."""
    words = parse_words(row["argv"][1:])
    overlays = [place / name for name in words.overlays]
    found = check(place / words.bundle, overlays, juju="4.0")
    if not row.get("depends_on_argv"):
        return found
    return [*check_words(words, place), *with_words(found, words)]


def _agrees(
    row: Mapping[str, Any], found: Sequence[Finding], control: set[tuple[str, str]]
) -> bool:
    errors = any(finding.severity == "error" for finding in found)
    if row["verdict"] == "refused":
        return errors
    if row["verdict"] == "accepted":
        return not errors
    return any((finding.rule, finding.path) not in control for finding in found)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the table by phase and verdict, then each disagreement with what was found."""
    total = Counter((outcome.phase, outcome.verdict) for outcome in outcomes)
    agreed = Counter((o.phase, o.verdict) for o in outcomes if o.agrees)
    lines = [f"{'phase':32} {'verdict':18} rows agree"]
    lines += [
        f"{phase:32} {verdict:18} {count:4} {agreed[phase, verdict]:5}"
        for (phase, verdict), count in sorted(total.items())
    ]
    share = 100 * sum(agreed.values()) / max(1, len(outcomes))
    lines.append(f"{'all':51} {len(outcomes):4} {sum(agreed.values()):5} = {share:.1f} %")
    for outcome in outcomes:
        if not outcome.agrees:
            said = "; ".join(f"{f.severity} {f.path}: {f.message}" for f in outcome.findings)
            lines.append(f"{outcome.id}: {outcome.verdict}, but: {said or 'nothing'}")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for a folder of records; 1 below 98 %."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1:
        sys.stderr.write("usage: python3 -m rehearsal.bundle.agreement FOLDER\n")
        return 2
    folder = Path(words[0])
    outcomes = list(compare(read_rows(folder), folder))
    sys.stdout.write(table(outcomes))
    return int(sum(outcome.agrees for outcome in outcomes) < 0.98 * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
