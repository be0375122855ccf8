# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How far the command agrees with what a real controller's client said, row by row.

``python3 -m rehearsal.cli.agreement FOLDER``: the folder holds ``cli.jsonl`` (argv, exit status,
output and error output in each row) and ``test-charms/`` (metadata of the charms that the rows
name). Rows are played in order, each on the model that it names; `scenes` says what the records
leave out of a model's making. Compared are the exit status, the error sentence, and of JSON the
keys, of text the words: names, addresses, times and counters that a site gives are left out.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.cli import homes, parser, scenes
from rehearsal.cli import main as command
from rehearsal.site import Site

Row = Mapping[str, Any]
SENSELESS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\b\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d\d \w{3} \d{4} \d\d:\d\d:\d\dZ|\b\d\d:\d\d:\d\d\b"
    r"|secret:\w{20}|\b[a-z0-9]{20}\b|(?<=revision )\d+|(?<=operation )\d+|(?<=task )\d+"
    r"|(?<=id )\d+|(?<=id \")\d+|(?<=Operation )\d+|(?<=Task )\d+|(?<=show-task )\d+"
    r"|(?<=show-operation )\d+|/\S*(?=/\w+: no such file)"
)
"""What differs between two controllers: uuids, addresses, times, ids, revisions, folders."""


THING = re.compile(r'\b(cannot set machine |removing machine: machine |checking unit )"[^"]*"')
"""What a controller names by uuid, and the rehearsal by its name."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row: whether the verb is covered, whether it agrees, and what differs in one line."""

    id: str
    verb: str
    covered: bool
    agrees: bool
    reason: str = ""


def read_rows(folder: Path) -> list[Row]:
    """Return the recorded rows."""
    lines = (folder / "cli.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def play(rows: Sequence[Row], folder: Path) -> Iterator[Outcome]:
    """Yield an outcome for each row, played in a place of its own."""
    known = {*parser.verbs(), *parser.ALIASES}
    with tempfile.TemporaryDirectory() as name, _inside(Path(name)):
        place = Path(name)
        scenes.lay_out(folder / "test-charms", place)
        for words in scenes.START:
            run(place, words)
        for row in rows:
            if row["id"] in scenes.NEXT_TASK:
                _count_from(place, *scenes.NEXT_TASK[row["id"]])
            for words in scenes.BEFORE.get(row["id"], ()):
                run(place, words)
            yield _compare(row, place, known)


def _count_from(place: Path, model: str, number: int) -> None:
    """Let the tasks of a model count from a number."""
    with Site(homes.folder_of(place / "home", model)) as site:
        site.juju.model.settings.next_task = number
        site.juju.model.touch("settings")


@contextlib.contextmanager
def _inside(place: Path) -> Iterator[None]:
    """Work in a folder, as the recorded commands did."""
    before = Path.cwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


def run(place: Path, words: Sequence[str]) -> tuple[int, str, str]:
    """Run one command on the models of a place; return status, output and error output."""
    out, err = io.StringIO(), io.StringIO()
    argv = [words[0], "--home", str(place / "home"), *words[1:]]
    stdin, sys.stdin = sys.stdin, io.StringIO("")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = command(argv if words[0] != "--version" else ["version", *argv[1:]])
    finally:
        sys.stdin = stdin
    return status, out.getvalue(), err.getvalue()


def _compare(row: Row, place: Path, known: set[str]) -> Outcome:
    verb = row["argv"][0]
    if verb not in known and "is not a juju command" not in row["stderr"]:
        return Outcome(row["id"], verb, False, False, "no such verb here")
    status, out, err = run(place, row["argv"])
    reason = difference(row, status, out, err)
    return Outcome(row["id"], verb, True, not reason, reason)


def difference(row: Row, status: int, out: str, err: str) -> str:
    """Return in one line what differs, empty if nothing does."""
    if status != row["rc"]:
        said = _sentence(err) or _sentence(row["stderr"]) or "no error"
        return f"status {status}, not {row['rc']}: {said}"
    ours, theirs = _sentence(err), _sentence(row["stderr"])
    if ours != theirs:
        return f"says {ours or 'nothing'!r}, not {theirs or 'nothing'!r}"
    return _output(row["stdout"], out)


def _sentence(err: str) -> str:
    """Return what an error output says from its first ERROR on, without what a site gives."""
    _, found, rest = err.partition("ERROR ")
    return normal(rest) if found else ""


def normal(text: str) -> str:
    """Return text without what differs between two controllers; ambiguities in order."""
    text = SENSELESS.sub("_", text.replace("rehearsal:", "lab:"))
    text = THING.sub(r"\1_", text)
    head, marker, listed = text.partition("could refer to ")
    if marker:
        text = head + marker + "; ".join(sorted(listed.strip().split("; ")))
    return " ".join(text.split())


def _output(theirs: str, ours: str) -> str:
    """Return in one line how outputs differ: keys of JSON, else the words of the first line."""
    if theirs.startswith(("{", "[")):
        if not ours.startswith(("{", "[")):
            return "prints no JSON"
        return _keys(json.loads(theirs), json.loads(ours))
    if bool(theirs.strip()) != bool(ours.strip()):
        return f"prints {ours.strip()[:60]!r}, not {theirs.strip()[:60]!r}"
    first = [normal(text.strip().partition("\n")[0]) for text in (theirs, ours)]
    one_line = "\n" not in theirs.strip()
    if one_line and first[0] != first[1] and not _is_number(first):
        return f"prints {first[1][:60]!r}, not {first[0][:60]!r}"
    heads = [_heads(text) for text in (theirs, ours)]
    if heads[0] != heads[1]:
        return f"has tables {heads[1]}, not {heads[0]}"
    words = [set(re.findall(r"^ *-? *([a-z-]+):", text, re.MULTILINE)) for text in (theirs, ours)]
    lacking = sorted(words[0] - words[1] - OF_A_SITE)
    return f"lacks {', '.join(lacking)}" if lacking else ""


def _heads(text: str) -> list[str]:
    """Return the titles of tables: first lines of blocks, two blanks between capitals."""
    blocks = [block.lstrip().partition("\n")[0] for block in text.split("\n\n")]
    return [
        " ".join(line.split()) for line in blocks if re.match(r"[A-Z]\S*(  +[A-Z]|\s*$)", line)
    ]


def _is_number(words: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[\d._-]+[\w-]*", word) for word in words)


OF_A_SITE = frozenset(("gateway", "message", "since", "region", "leader", "ports", "open-ports"))
"""Keys that are there or not by what the site or the moment is like."""


def _keys(theirs: Any, ours: Any) -> str:
    lacking = sorted(_paths(theirs) - _paths(ours))
    extra = sorted(_paths(ours) - _paths(theirs))
    words = [f"lacks {', '.join(lacking[:4])}"] if lacking else []
    words += [f"has {', '.join(extra[:4])} besides"] if extra else []
    return "; ".join(words)


def _paths(data: Any, path: str = "") -> set[str]:
    """Return the paths of keys; names of things (units, machines, secrets ...) are one star."""
    if isinstance(data, list):
        return set().union(*(_paths(item, f"{path}[]") for item in data)) if data else set()
    if not isinstance(data, dict):
        return set()
    found: set[str] = set()
    for key, value in data.items():
        if key in OF_A_SITE:
            continue
        is_word = re.fullmatch(r"[A-Za-z][a-zA-Z-]*|", key)
        part = key if is_word and path.rpartition(".")[2] not in NAMES else "*"
        found.add(f"{path}.{part}")
        found |= _paths(value, f"{path}.{part}")
    return found


NAMES = frozenset(
    (
        "machines", "applications", "units", "subordinates", "relations", "endpoint-bindings",
        "network-interfaces", "settings", "results", "parameters", "tasks", "endpoints", "users",
        "data", "related-units", "storage", "filesystems", "constraints", "containers",
        "application-data", "Data",
    )
)  # fmt: skip
"""Keys whose values are maps of names that a user or a site gave."""


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the table by verb, then each disagreement and each row that is not covered."""
    total = Counter(outcome.verb for outcome in outcomes)
    covered = Counter(outcome.verb for outcome in outcomes if outcome.covered)
    agreed = Counter(outcome.verb for outcome in outcomes if outcome.agrees)
    lines = [f"{'verb':24} rows covered agree"]
    lines += [
        f"{verb:24} {count:4} {covered[verb]:7} {agreed[verb]:5}"
        for verb, count in sorted(total.items())
    ]
    sums = [sum(counter.values()) for counter in (total, covered, agreed)]
    share = 100 * sums[2] / max(1, sums[1])
    lines.append(f"{'all':24} {sums[0]:4} {sums[1]:7} {sums[2]:5} = {share:.1f} % of the covered")
    for outcome in outcomes:
        if not outcome.agrees:
            kind = "disagrees" if outcome.covered else "not covered"
            lines.append(f"{outcome.id}: {kind}: {outcome.reason}")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for a folder of records; 1 below 90 %."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1:
        sys.stderr.write("usage: python3 -m rehearsal.cli.agreement FOLDER\n")
        return 2
    folder = Path(words[0]).resolve()
    outcomes = list(play(read_rows(folder), folder))
    sys.stdout.write(table(outcomes))
    covered = [outcome for outcome in outcomes if outcome.covered]
    return int(sum(outcome.agrees for outcome in covered) < 0.9 * len(covered))


if __name__ == "__main__":
    sys.exit(main())
