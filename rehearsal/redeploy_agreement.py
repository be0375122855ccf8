# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How far `deploy` onto a model that holds something agrees with what a real controller did.

``python3 -m rehearsal.redeploy_agreement FOLDER``: the folder holds ``redeploy.jsonl`` (files,
command, exit status and output in each row), ``charms/`` and ``base/``. A row needs the model that
earlier rows left; what the records leave out of a model's making is written down in `STARTS`.
"""

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from charmkit.errors import CharmkitError
from rehearsal import bundle
from rehearsal.bundle.agreement import lay_out
from rehearsal.cli import deploying
from rehearsal.cli.flags import Misuse
from rehearsal.cli.grammar import Grammar
from rehearsal.errors import RehearsalError
from rehearsal.site import Site

Row = Mapping[str, Any]
_MACHINES = 40
_FAULT = ("etcd:db", "etcd:dbs")
"""The endpoint that the first deploy of a family misspelt, so that it stopped half-way."""


@dataclass(frozen=True, slots=True)
class Reenacted:
    """One row and what `deploy` did; `same_text` when it printed the same changes."""

    id: str
    what: str
    wanted: int
    status: int
    same_text: bool
    fails_later: bool
    began: bool
    said: str

    @property
    def agrees(self) -> bool:
        """Whether both accepted with the same changes, or both refused.

        A dry run whose deploy fails half-way may be refused, too: that is what the check is for.
        """
        if self.status:
            return self.wanted != 0 or self.fails_later
        return self.wanted == 0 and self.same_text


def read_rows(folder: Path) -> list[Row]:
    """Return the recorded rows."""
    lines = (folder / "redeploy.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def reenact(rows: Sequence[Row], folder: Path) -> Iterator[Reenacted]:
    """Yield what `deploy` does for each row, on a model made as the row's was."""
    family = ""
    with contextlib.ExitStack() as stack:
        place = Path()
        for row in rows:
            if family != _family(row):
                family = _family(row)
                place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                _inventory(place)
                _play(STARTS.get(family, []), row, folder, place)
            for before, steps in LATER.items():
                if before == row["id"] and not (place / before).exists():
                    (place / before).touch()
                    _play(steps, row, folder, place)
            done = _row(row, folder, place, fails_later=_fails_later(row, rows))
            if done.status and not done.began and "--dry-run" not in row["argv"]:
                _deploy(row, folder, place, [name for name in row["files"] if name in row["argv"]])
            yield done


def _fails_later(row: Row, rows: Sequence[Row]) -> bool:
    """Return whether the same bundle was refused when it was deployed after a dry run."""
    return any(
        other["rc"] and other["id"] == row["id"] and other["files"] == row["files"]
        for other in rows
    )


def _family(row: Row) -> str:
    """Return which rows share a model: the letters of the id and what stands in brackets."""
    letters = row["id"].partition("-")[0]
    shared = "ra" if letters in ("rb", "rc") else letters
    if letters == "rm" and "rm-map" not in row["id"]:
        return "rm"
    if letters in ("rp", "rq"):
        retry = "retry" if "retry" in row["id"] or "fail" in row["id"] else "again"
        return f"{letters} {retry} {row['id'].partition('(')[2].rstrip(')')}".strip()
    return shared


Step = Callable[[Row, Path, Path], None]


def _whole(row: Row, folder: Path, place: Path) -> None:
    """Deploy the correct bundle with its overlays."""
    files = {
        name: (folder / "base" / name).read_text()
        for name in ("bundle.yaml", "overlays/gpu-norel.yaml", "overlays/identity.yaml")
    }
    _deploy({**row, "files": files}, folder, place, list(files)[1:])


def _own(row: Row, folder: Path, place: Path) -> None:
    """Deploy what the row itself deploys."""
    _deploy(row, folder, place, [name for name in row["files"] if name != "bundle.yaml"])


def _base_only(row: Row, folder: Path, place: Path) -> None:
    """Deploy the row's bundle without its overlays, exposed to all."""
    _deploy(row, folder, place, [])


def _annotated(row: Row, folder: Path, place: Path) -> None:
    """Set the annotations that the row's bundle has."""
    del folder
    with Site(place / "home") as site:
        for name, body in yaml.safe_load(row["files"]["bundle.yaml"])["applications"].items():
            if "annotations" in body:
                site.ledger.annotate("applications", name, body["annotations"])


def _half(row: Row, folder: Path, place: Path) -> None:
    """Deploy the row's bundle with a misspelt endpoint: it stops before any unit is made."""
    files = {"bundle.yaml": row["files"]["bundle.yaml"].replace(*_FAULT, 1)}
    _deploy({**row, "files": files}, folder, place, [])


def _two_machines(row: Row, folder: Path, place: Path) -> None:
    """Add two machines without a unit."""
    files = {
        "bundle.yaml": "default-base: ubuntu@24.04\napplications:\n  filler:"
        " {charm: ./charms/amb-a.charm, num_units: 2}\n"
    }
    _deploy({**row, "files": files}, folder, place, [])
    with Site(place / "home") as site:
        site.juju.remove_application("filler", force=True)


def _constrained(row: Row, folder: Path, place: Path) -> None:
    """Set the model's constraints."""
    del row, folder
    with Site(place / "home") as site:
        site.juju.set_model_config({"agent-version": "4.0.15"})
        site.set_model_constraints("arch=amd64")


STARTS: Mapping[str, Sequence[Step]] = {
    "rd": [_whole],
    "ra": [_own],
    "rm": [_two_machines],
    "rp retry": [_half],
    "rq again model constraint arch=amd64": [_constrained, _own],
    "rq retry model constraint arch=amd64, and in the bundle": [_constrained, _half],
}
"""What was done to a model before its first row; nothing for those that are not here."""

LATER: Mapping[str, Sequence[Step]] = {"rb-opt": [_base_only], "rc-more5": [_annotated]}
"""What was done between rows and left out of the records: the base was deployed alone, which
exposes the load balancer to all; the annotation was changed back."""


def _play(steps: Sequence[Step], row: Row, folder: Path, place: Path) -> None:
    for step in steps:
        step(row, folder, place)


def _inventory(place: Path) -> None:
    machines = [
        {"name": f"m{n:02}", "cores": 8, "mem": "16G", "disk": "99G", "address": f"10.1.0.{n + 1}"}
        for n in range(_MACHINES)
    ]
    (place / "inventory.yaml").write_text(yaml.safe_dump({"machines": machines}))


def _deploy(row: Row, folder: Path, place: Path, overlays: Sequence[str]) -> None:
    """Deploy without the check: what a real client lets through goes as far as it can."""
    with tempfile.TemporaryDirectory() as name:
        files = Path(name)
        lay_out(row, folder, files)
        loaded = bundle.load(
            files / "bundle.yaml", [files / overlay for overlay in overlays], juju="4.0"
        )
        if loaded.bundle is None:
            return
        with Site(place / "home") as site:
            site.use_inventory(place / "inventory.yaml")
            site.juju.set_model_config({"agent-version": "4.0.15"})
            plan = bundle.plan(loaded.bundle, existing=site.existing())
            with contextlib.suppress(RehearsalError):
                site.deploy(loaded.bundle, plan, lambda line: None)


def _row(row: Row, folder: Path, place: Path, *, fails_later: bool) -> Reenacted:
    with tempfile.TemporaryDirectory() as name:
        files = Path(name)
        lay_out(row, folder, files)
        words = [str(files / word) if word.endswith(".yaml") else word for word in row["argv"][1:]]
        words += ["--juju", "4.0", "--inventory", str(place / "inventory.yaml")]
        status, out, said = _command(["deploy", *words, "--home", str(place / "home")])
        charms = str((folder / "charms").resolve())
        text = out.replace(charms, "<dir>/charms").replace(str(files), "<dir>")
    same = text.split() == str(row.get("stdout", "")).split()
    began = text.startswith("Executing")
    return Reenacted(
        row["id"], row["what"], row["rc"], status, same, fails_later, began, said or text
    )


def _command(words: Sequence[str]) -> tuple[int, str, str]:
    """Run one command; return its exit status, output and last line of error output."""
    grammar = Grammar("deploy", "deploy a bundle")
    grammar.add_argument("--home", type=Path)

    def _verb(name: str, text: str) -> Grammar:
        del name, text
        return grammar

    deploying.add(_verb)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            arguments = grammar.parse(list(words[1:]))
            status: int = arguments.run(arguments)
        except Misuse as error:
            err.write(f"ERROR {error}\n")
            status = 2
        except (RehearsalError, CharmkitError) as error:
            err.write(f"ERROR {error}\n")
            status = 1
    lines = err.getvalue().strip().splitlines()
    errors = [line for line in lines if " error " in line]
    return status, out.getvalue(), "; ".join([*errors, *lines[-1:]])


def table(found: Sequence[Reenacted]) -> str:
    """Return the counts, then each disagreement with what was said."""
    lines = ["recorded      rows  same"]
    for title, rows in (
        ("accepted", [row for row in found if row.wanted == 0]),
        ("refused", [row for row in found if row.wanted]),
        ("all", list(found)),
    ):
        agreed = sum(row.agrees for row in rows)
        share = 100 * agreed / max(1, len(rows))
        lines.append(f"{title:12} {len(rows):5} {agreed:5} = {share:.1f} %")
    for row in found:
        if not row.agrees:
            verdict = "refused" if row.wanted else "accepted"
            lines.append(f"{row.id} ({row.what}): {verdict}, but {row.status}: {row.said[:300]}")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for a folder of records; 1 below 98 %."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1:
        sys.stderr.write("usage: python3 -m rehearsal.redeploy_agreement FOLDER\n")
        return 2
    folder = Path(words[0])
    found = list(reenact(read_rows(folder), folder))
    sys.stdout.write(table(found))
    return int(sum(row.agrees for row in found) < 0.98 * len(found))


if __name__ == "__main__":
    sys.exit(main())
