# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`rehearse openstack ...`: what an administrator of Keystone does, in the client's own words.

Only what a site's administrator needs beside the charms: make a user, give and take a role, tag a
project, see people and projects. Where the model has no Keystone, it is one outside.

Source: python-openstackclient 7, help and error sentences.
"""

import argparse
from collections.abc import Callable, Sequence

from rehearsal.cli import table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError
from rehearsal.site import Site
from standins.keystone import campus
from standins.keystone.api import KeystoneServer
from standins.keystone.state import Record

Verb = Callable[[str, str], Grammar]
Command = Callable[[KeystoneServer, argparse.Namespace], str]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        """Refuse words as the rehearsal does.

        Raises:
            Misuse: Always.
        """
        raise Misuse(f"openstack: {message}")


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    grammar = verb("openstack", f"act as Keystone's administrator: {', '.join(COMMANDS)}")
    grammar.set_defaults(run=_openstack)


def run(keystone: KeystoneServer, words: Sequence[str]) -> str:
    """Carry one command out; return what it prints.

    Raises:
        Misuse: There is no such command, or its words are wrong.
        NotFoundError: It names what Keystone does not have.
    """
    name, rest = " ".join(words[:2]), words[2:]
    if name not in COMMANDS:
        raise Misuse(f"openstack: '{name}' is not one of: {', '.join(COMMANDS)}")
    parser, command = COMMANDS[name]
    return command(keystone, parser(rest))


def _openstack(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "openstack"):
        if not any(one.charm.name == "keystone" for one in site.juju.model.applications.values()):
            campus.furnish(site.world.keystone)
        printed = run(site.world.keystone, arguments.words)
        site.world.save()
        site.juju.settle()
    print(printed, end="")
    return 0


def _role_words(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="openstack role", add_help=False)
    scope = parser.add_mutually_exclusive_group(required=True)
    scope.add_argument("--system", choices=["all"])
    scope.add_argument("--project")
    scope.add_argument("--domain")
    actor = parser.add_mutually_exclusive_group(required=True)
    actor.add_argument("--user")
    actor.add_argument("--group")
    parser.add_argument("role")
    return parser.parse_args(words)


def _project_words(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="openstack project set", add_help=False)
    parser.add_argument("--tag", action="append", default=[])
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--enable", dest="enabled", action="store_true", default=None)
    state.add_argument("--disable", dest="enabled", action="store_false")
    parser.add_argument("project")
    return parser.parse_args(words)


def _user_words(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="openstack user create", add_help=False)
    parser.add_argument("--domain", default="Default")
    parser.add_argument("--password", required=True)
    parser.add_argument("name")
    return parser.parse_args(words)


def _no_words(words: Sequence[str]) -> argparse.Namespace:
    return _Parser(prog="openstack", add_help=False).parse_args(words)


def _role_add(keystone: KeystoneServer, words: argparse.Namespace) -> str:
    keystone.grant(*_grant(keystone, words))
    return ""


def _role_remove(keystone: KeystoneServer, words: argparse.Namespace) -> str:
    keystone.ungrant(*_grant(keystone, words))
    return ""


def _project_set(keystone: KeystoneServer, words: argparse.Namespace) -> str:
    project = _find(keystone, "projects", words.project)
    project["tags"] = sorted({*project["tags"], *words.tag})
    if words.enabled is not None:
        project["enabled"] = words.enabled
    return ""


def _user_create(keystone: KeystoneServer, words: argparse.Namespace) -> str:
    domain = _find(keystone, "domains", words.domain)["id"]
    return f"{keystone.add_user(words.name, words.password, domain)}\n"


def _project_list(keystone: KeystoneServer, words: argparse.Namespace) -> str:
    del words
    rows = [
        (one["id"], one["name"], _domain(keystone, one), ",".join(one.get("tags", ())) or "-")
        for one in keystone.state.all("projects")
    ]
    return _table(("ID", "Name", "Domain", "Tags"), rows)


def _user_list(keystone: KeystoneServer, words: argparse.Namespace) -> str:
    del words
    rows = [
        (one["id"], one["name"], _domain(keystone, one)) for one in keystone.state.all("users")
    ]
    return _table(("ID", "Name", "Domain"), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table.render(header, rows) + "\n"


def _domain(keystone: KeystoneServer, record: Record) -> str:
    domain = keystone.state.records["domains"].get(record["domain_id"], {})
    return str(domain.get("name", record["domain_id"]))


def _grant(keystone: KeystoneServer, words: argparse.Namespace) -> tuple[str, str, str]:
    """Return role, actor and target of a grant."""
    kind = "users" if words.user else "groups"
    actor = _find(keystone, kind, words.user or words.group)["id"]
    role = _find(keystone, "roles", words.role)["name"]
    if words.system:
        return role, actor, "all"
    place = "projects" if words.project else "domains"
    return role, actor, _find(keystone, place, words.project or words.domain)["id"]


def _find(keystone: KeystoneServer, kind: str, word: str) -> Record:
    """Return a record by id, else by name.

    Raises:
        NotFoundError: There is none, in the client's words.
    """
    found = keystone.state.records[kind].get(word) or keystone.state.find(kind, word)
    if found is None:
        raise NotFoundError(f"No {kind[:-1]} with a name or ID of '{word}' exists.")
    return found


COMMANDS: dict[str, tuple[Callable[[Sequence[str]], argparse.Namespace], Command]] = {
    "role add": (_role_words, _role_add),
    "role remove": (_role_words, _role_remove),
    "project set": (_project_words, _project_set),
    "project list": (_no_words, _project_list),
    "user create": (_user_words, _user_create),
    "user list": (_no_words, _user_list),
}
