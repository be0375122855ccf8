# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on secrets of users: add-secret, show-secret, grant-secret and the others.

Source of the sentences: juju cmd/juju/secrets, each verb's own file.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from rehearsal.cli import output, table
from rehearsal.cli.contents import read_content
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import check_owner
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.holdings import MODEL_OWNER, Secret
from rehearsal.juju.model import Model
from rehearsal.juju.user_secrets import UserSecrets
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("yaml", "json")
IDENTIFIER = re.compile(r"(?:secret:)?[0-9a-v]{20}")
"""What names a secret by its id; everything else is a name. Source: core/secrets/secret.go."""


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    for name, run, missing in (
        ("add-secret", _add, "secret name needs to be supplied as the first argument"),
        ("update-secret", _update, "missing secret URI"),
    ):
        write = verb(name, f"{name.replace('-', ' ')}: NAME KEY=VALUE...")
        write.add_argument("name", missing=missing)
        write.add_argument("values", nargs="*")
        write.add_argument("--info", default="", help="description")
        write.add_argument("--file", default="", help="YAML: key to value")
        if name == "update-secret":
            write.add_argument("--name", default="", dest="new_name")
            write.add_argument("--auto-prune", action="store_true")
        write.set_defaults(run=run)
    for name in ("grant-secret", "revoke-secret"):
        grant = verb(name, f"{name.replace('-', ' ')}: NAME APPLICATION,...")
        grant.add_argument("words", nargs="*")
        grant.set_defaults(run=_grant)
    shown = verb("show-secret", "show a secret")
    shown.add_argument("name", missing="secret ID is required")
    shown.add_argument("--reveal", action="store_true", help="with its content")
    shown.add_argument("-r", "--revision", type=int, default=0)
    shown.add_argument("--revisions", action="store_true", help="with its revisions")
    shown.add_argument("--format", choices=FORMATS, default="yaml")
    shown.set_defaults(run=_show)
    listed = verb("secrets", "list secrets")
    listed.add_argument("--owner", default="")
    listed.add_argument("--format", choices=("tabular", *FORMATS), default="tabular")
    listed.set_defaults(run=_list)
    gone = verb("remove-secret", "remove a secret, or one revision of it")
    gone.add_argument("name", missing="missing secret URI")
    gone.add_argument("--revision", type=int)
    gone.set_defaults(run=_remove)


def _secrets(site: Site) -> UserSecrets:
    """Return the verbs on secrets of users."""
    return site.juju.secrets


def _add(arguments: argparse.Namespace) -> int:
    if "=" in arguments.name:
        raise Misuse("secret name needs to be supplied as the first argument")
    content = read_content(arguments.values, arguments.file)
    if not content:
        raise Misuse("missing secret value or filename")
    with Site(arguments.home) as site:
        uri = _secrets(site).add(arguments.name, content, info=arguments.info)
        site.juju.settle()
    print(uri)
    return 0


def _update(arguments: argparse.Namespace) -> int:
    content = read_content(arguments.values, arguments.file)
    asked = (content, arguments.info, arguments.new_name, "auto_prune" in arguments.given)
    if not any(asked):
        raise UsageError("at least one attribute to update must be specified")
    with Site(arguments.home) as site, Progress(site, "update-secret"):
        _found(site, arguments.name, "updating")
        _secrets(site).update(
            arguments.name,
            content or None,
            new_name=arguments.new_name,
            info=arguments.info,
            auto_prune=True if arguments.auto_prune else None,
        )
        site.juju.settle()
    return 0


def _found(site: Site, name: str, doing: str = "") -> Secret:
    """Return a secret of a user.

    Raises:
        NotFoundError: In the words of the verb.
    """
    try:
        return _secrets(site).find(name)
    except NotFoundError as error:
        if not doing:
            raise
        if IDENTIFIER.fullmatch(name):
            raise
        end = " (secret not found)" if doing == "granting" else ""
        where = f'getting user secret for label "{name}"'
        raise NotFoundError(f'{where}: secret with label "{name}" not found{end}') from error


def _grant(arguments: argparse.Namespace) -> int:
    if len(arguments.words) < 2:
        raise Misuse("missing secret URI or application name")
    if len(arguments.words) > 2:
        raise Misuse(f'unrecognized args: ["{arguments.words[2]}"]')
    name, listed = arguments.words
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        _found(site, name, "granting")
        secrets = _secrets(site)
        change = secrets.grant if arguments.verb == "grant-secret" else secrets.revoke
        change(name, [word for word in listed.split(",") if word])
        site.juju.settle()
    return 0


def stamp(moment: float) -> str:
    """Return a time as secrets are printed with it."""
    return f"{datetime.fromtimestamp(moment, tz=timezone.utc):%Y-%m-%dT%H:%M:%S.%f}000Z"


def secret_data(model: Model, secret: Secret) -> dict[str, Any]:
    """Return a secret as `secrets` prints it."""
    data: dict[str, Any] = {
        "revision": secret.revision,
        "rotation": secret.rotate or "never",
        "owner": secret.owner,
    }
    texts = {"description": secret.description, "name": secret.name, "label": secret.label}
    data |= {key: text for key, text in texts.items() if text}
    data |= {"created": stamp(secret.created), "updated": stamp(secret.updated)}
    granted = secret.grants.get("", [])
    if granted:
        scope = f"model-{model.settings.uuid}"
        data["access"] = [
            {"target": f"application-{name}", "scope": scope, "role": "view"} for name in granted
        ]
    return data


def _show(arguments: argparse.Namespace) -> int:
    _check_shown(arguments)
    with Site(arguments.home) as site:
        secret = _found(site, arguments.name)
        data = secret_data(site.juju.model, secret)
    if arguments.revisions:
        data["revisions"] = [
            {
                "revision": int(number),
                "backend": "internal",
                "created": data["created"],
                "updated": data["updated"],
            }
            for number in secret.contents
        ]
    if arguments.reveal:
        data = _revealed(secret, data, arguments)
    output.show({_id(secret): data}, arguments.format)
    return 0


def _revealed(
    secret: Secret, data: dict[str, Any], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return a secret with its content, or why that cannot be read."""
    latest = json.dumps(secret.contents.get(str(secret.revision), {}), sort_keys=True)
    checksum = {"checksum": hashlib.sha256(latest.encode()).hexdigest()}
    data = {"revision": data["revision"], **checksum, **data}
    number = arguments.revision or secret.revision
    content = secret.contents.get(str(number))
    if content is None:
        return {**data, "error": f"secret revision {number} not found"}
    return {**data, "content": {"Data": content} if arguments.format == "json" else content}


def _check_shown(arguments: argparse.Namespace) -> None:
    """Refuse options of `show-secret` that do not go together.

    Raises:
        Misuse: Two of them exclude each other. Source: juju cmd/juju/secrets/show.go, Init.
    """
    if arguments.revisions and arguments.reveal:
        raise Misuse("specify either --revisions or --reveal but not both")
    if arguments.revision < 0:
        raise Misuse("revision must be a positive integer")
    if arguments.revisions and arguments.revision:
        raise Misuse("specify either --revisions or --revision but not both")


def _id(secret: Secret) -> str:
    return secret.id.removeprefix("secret:")


def _list(arguments: argparse.Namespace) -> int:
    wanted = check_owner(arguments.owner) if arguments.owner else ""
    with Site(arguments.home) as site:
        model = site.juju.model
        data = {
            _id(secret): secret_data(model, secret)
            for secret in sorted(model.secrets.values(), key=lambda item: item.id)
            if not wanted or secret.owner == wanted
        }
    header = ("ID", "Name", "Owner", "Rotation", "Revision", "Last updated")
    rows = [
        (
            name,
            item.get("name", "-"),
            item["owner"] if item["owner"] != MODEL_OWNER else MODEL_OWNER,
            item["rotation"],
            str(item["revision"]),
            "just now",
        )
        for name, item in data.items()
    ]
    output.show(data, arguments.format, lambda: table.render(header, rows, (4,)))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "remove-secret"):
        _found(site, arguments.name, "removing")
        _secrets(site).remove(arguments.name, arguments.revision)
        site.juju.settle()
    return 0
