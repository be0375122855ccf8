# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb that changes an application's code: refresh."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rehearsal import charm_files
from rehearsal.cli.grammar import Grammar, Misuse
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
    for option in ("--channel", "--revision", "--base"):
        refresh.add_argument(option, default="")
    for option in ("--config", "--resource", "--storage", "--bind"):
        refresh.add_argument(option, action="append", help="accepted; --config is ignored by 4.0")
    for option in ("--force", "--force-base", "--force-units", "--trust"):
        refresh.add_argument(option, action="store_true")
    refresh.set_defaults(run=_refresh)


def _refresh(arguments: argparse.Namespace) -> int:
    name = arguments.application
    if arguments.path and (arguments.switch or arguments.revision):
        other = "switch" if arguments.switch else "revision"
        raise Misuse(f"--{other} and --path are mutually exclusive")
    with Site(arguments.home) as site, Progress(site, "refresh"):
        found = site.juju.model.applications.get(name)
        if found is None:
            raise NotFoundError(
                f'"{name}" deploy incomplete, please try refresh again in a little bit.'
            )
        charm = _charm(site, found.charm, arguments)
        if charm.origin == "local":
            revision = site.juju.model.settings.revisions.get(charm.name, -1) + 1
            _say(f'Added local charm "{charm.name}", revision {revision}, to the model')
        _refuse(site, name, found.charm, charm)
        spaces = ", ".join(sorted([*endpoints_of(charm), *charm.extra_bindings]))
        site.juju.refresh(name, charm)
        if arguments.trust:
            site.juju.trust(name)
        _say(f'no change to endpoints in space "alpha": {spaces}')
        site.juju.settle()
    return 0


def _charm(site: Site, running: Charm, arguments: argparse.Namespace) -> Charm:
    """Return the charm that the application is to run.

    Raises:
        UsageError: A local charm is not refreshed without a path.
    """
    if arguments.path:
        return charm_files.read_charm(current_code(Path(arguments.path)), site.home / "charms")
    if running.origin == "local":
        raise UsageError(
            f'refreshing "{arguments.application}" needs --path: its charm is a local one'
        )
    channel = arguments.channel or running.channel
    return charmhub(running.name, channel, int(arguments.revision or running.revision))


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
