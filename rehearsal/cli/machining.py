# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on the model's machines: machines, show-machine, add-machine.

Source of the sentences: juju cmd/juju/machine/add.go.
"""

import argparse
import sys
from collections.abc import Callable

from rehearsal.bundle.names import find_base
from rehearsal.cli import output, status
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.growing import note
from rehearsal.cli.naming import is_machine
from rehearsal.cli.progress import Progress
from rehearsal.errors import UsageError
from rehearsal.juju.placement import Placer
from rehearsal.maas import constraints as constraint
from rehearsal.maas.constraints import ConstraintError
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    listed = verb("machines", "show the model's machines; the site's are in `inventory`")
    for option in ("--utc", "--color", "--no-color"):
        listed.add_argument(option, action="store_true")
    listed.add_argument("--format", choices=("tabular", "json", "yaml"), default="tabular")
    listed.set_defaults(run=_machines)
    shown = verb("show-machine", "show machines")
    shown.add_argument("machines", nargs="*")
    for option in ("--utc", "--color", "--no-color"):
        shown.add_argument(option, action="store_true")
    shown.add_argument("--format", choices=("tabular", "json", "yaml"), default="yaml")
    shown.set_defaults(run=_machines)
    more = verb("add-machine", "add machines, or a container: lxd:MACHINE")
    more.add_argument("placement", nargs="?", default="")
    more.add_argument("-n", type=int, default=1, dest="count")
    for option in ("--private-key", "--public-key"):
        more.add_argument(option, default="", help="not modelled")
    more.add_argument("--base", default="ubuntu@24.04")
    more.add_argument("--constraints", action="append")
    more.add_argument("--disks", action="append", help="not modelled")
    more.set_defaults(run=_add)


def _machines(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        data = site.juju.status_data()
    wanted = getattr(arguments, "machines", [])
    known = data["machines"]
    chosen = {name: item for name, item in known.items() if not wanted or name in wanted}
    if arguments.format == "yaml":
        for item in chosen.values():
            item.pop("modification-status", None)
    whole = {"model": data["model"]["name"], "machines": chosen}
    output.show(whole, arguments.format, lambda: status.machines(chosen))
    return 0


RELEASES = ("ubuntu@22.04", "ubuntu@24.04")
"""Bases that machines of the rehearsal can have."""


def _check_base(text: str) -> None:
    """Refuse a base that no machine here can have.

    Raises:
        UsageError: It is no base, or one that is not rehearsed.
    """
    base = find_base(text)
    if base is None:
        raise UsageError(f'invalid base "{text}"')
    if base.short not in RELEASES:
        known = ", ".join(RELEASES)
        raise UsageError(f'base "{base}" is not supported, supported bases are: {known}')


def _add(arguments: argparse.Namespace) -> int:
    if arguments.count > 1 and arguments.placement:
        raise Misuse("cannot use -n when specifying a placement directive")
    if is_machine(arguments.placement):
        raise UsageError("machine-id cannot be specified when adding machines")
    _check_base(arguments.base)
    text = " ".join(arguments.constraints)
    try:
        constraint.parse(text)
    except ConstraintError as error:
        raise UsageError(str(error)) from error
    with Site(arguments.home) as site, Progress(site, "add-machine"):
        placer = Placer(site, text, arguments.base, note)
        for make in [placer.plan(arguments.placement) for _ in range(arguments.count)]:
            number = make()
            kind = "container" if "/" in number else "machine"
            print(f"created {kind} {number}", file=sys.stderr)
        site.juju.settle()
    return 0
