# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb that changes an application's code: refresh.

Source of the sentences: juju cmd/juju/application/refresh.go, refresher and bindings.go.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rehearsal import charm_files
from rehearsal.cli.charmwords import check_spaces
from rehearsal.cli.exposing import SPACES
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.entities import Charm
from rehearsal.juju.relations import endpoints_of
from rehearsal.site import Site, charmhub, current_code

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    refresh = verb("refresh", "let an application run other code")
    refresh.add_argument("application", missing="no application specified")
    refresh.add_argument("--path", default="", help="folder or .charm file")
    refresh.add_argument("--switch", default="", help="another charm")
    for option in ("--channel", "--base"):
        refresh.add_argument(option, default="")
    refresh.add_argument("--revision", type=int, default=-1)
    for option in ("--config", "--resource", "--storage", "--bind"):
        refresh.add_argument(option, action="append", help="accepted; --config is ignored by 4.0")
    for option in ("--force", "--force-base", "--force-units", "--trust"):
        refresh.add_argument(option, action="store_true")
    refresh.set_defaults(run=_refresh)


def _refresh(arguments: argparse.Namespace) -> int:
    name = arguments.application
    _check(arguments)
    with Site(arguments.home) as site, Progress(site, "refresh"):
        found = site.juju.model.applications.get(name)
        if found is None:
            raise NotFoundError(
                f'"{name}" deploy incomplete, please try refresh again in a little bit.'
            )
        check_spaces(arguments.bind, SPACES)
        charm = _charm(site, found.charm, arguments)
        if charm.origin == "local":
            revision = site.juju.model.settings.revisions.get(charm.name, -1) + 1
            _say(f'Added local charm "{charm.name}", revision {revision}, to the model')
        _refuse(site, name, found.charm, charm)
        changes = _changes(found.charm, charm)
        site.juju.refresh(name, charm, force_units=arguments.force_units)
        if arguments.trust:
            site.juju.trust(name)
        for line in changes:
            _say(line)
        site.juju.settle()
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what the client refuses.

    Raises:
        Misuse: A name is none, or two options exclude each other.
    """
    if not is_application(arguments.application):
        raise Misuse(f'invalid application name "{arguments.application}"')
    given = {
        "--switch": bool(arguments.switch),
        "--path": bool(arguments.path),
        "--revision": arguments.revision != -1,
    }
    for one, two in (("--switch", "--revision"), ("--path", "--revision"), ("--switch", "--path")):
        if given[one] and given[two]:
            raise Misuse(f"{one} and {two} are mutually exclusive")


def _charm(site: Site, running: Charm, arguments: argparse.Namespace) -> Charm:
    """Return the charm that the application is to run.

    Raises:
        UsageError: A local charm is not refreshed without a path, nor to another charm.
    """
    path = arguments.path or (
        arguments.switch if arguments.switch.startswith((".", "/", "local:")) else ""
    )
    if path:
        if not Path(path).exists():
            raise NotFoundError(f'no charm found at "{path}"')
        charm = charm_files.read_charm(current_code(Path(path)), site.home / "charms")
        if charm.name != running.name and not arguments.switch:
            raise UsageError(f'cannot refresh "{running.name}" to "{charm.name}"')
        return charm
    if running.origin == "local":
        raise UsageError("refreshing a local charm requires either --path or --switch")
    channel = arguments.channel or running.channel
    revision = arguments.revision if arguments.revision != -1 else running.revision
    return charmhub(running.name, channel, revision)


def _changes(running: Charm, charm: Charm) -> list[str]:
    """Return what is said of endpoints: those that are new, then those that stay."""
    before = {*endpoints_of(running), *running.extra_bindings}
    now = sorted([*endpoints_of(charm), *charm.extra_bindings])
    new = [name for name in now if name not in before]
    said = [f'adding endpoint "{name}" to default space "alpha"' for name in new]
    kept = [name for name in now if name in before]
    if kept:
        plural = "s" if len(kept) > 1 else ""
        said.append(f'no change to endpoint{plural} in space "alpha": {", ".join(kept)}')
    return said


def _refuse(site: Site, name: str, running: Charm, charm: Charm) -> None:
    """Refuse what the controller refuses.

    Raises:
        UsageError: The charm drops an endpoint in use, or is of another kind.
    """
    where = f'setting application "{name}" charm'
    if charm.subordinate != running.subordinate:
        listed = ", ".join(sorted(endpoints_of(charm)))
        raise UsageError(f'{where}: one or more of the provided endpoints "{listed}" do not exist')
    known = endpoints_of(charm)
    for relation in site.juju.model.relations_of(name):
        end = relation.end_of(name)
        if end.endpoint not in known:
            raise UsageError(f'{where}: charm has no corresponding relation "{end.endpoint}"')


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
