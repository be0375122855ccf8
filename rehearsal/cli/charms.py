# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`deploy` of one charm: a packed file, a folder, or a name of Charmhub that facts are known of.

Checks and sentences come in the order of Juju 4.0.15: what the client sees first, then the charm
is located (and uploaded), then what the controller refuses as `cannot deploy`.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rehearsal import charm_files
from rehearsal.bundle.names import find_base
from rehearsal.cli import charmwords, goyaml, literals
from rehearsal.cli.assigning import pairs
from rehearsal.cli.exposing import SPACES
from rehearsal.cli.growing import directives, note
from rehearsal.cli.progress import Progress
from rehearsal.errors import (
    CharmError,
    ExistsError,
    NotFoundError,
    RehearsalError,
    UsageError,
)
from rehearsal.facts import find_facts
from rehearsal.juju import storages
from rehearsal.juju.applications import Deployment, parse_options
from rehearsal.juju.entities import Charm
from rehearsal.juju.placement import Placer
from rehearsal.juju.relations import endpoints_of
from rehearsal.maas import constraints as constraint
from rehearsal.maas.constraints import ConstraintError
from rehearsal.maas.inventory import read_inventory
from rehearsal.site import Site, charmhub


def is_charm(word: str) -> bool:
    """Return whether a word of `deploy` means a charm and no bundle."""
    path = Path(word)
    if not word.startswith((".", "/")):
        known = find_facts(word.removeprefix("ch:")) is not None
        return known or word.endswith(".charm") or not path.exists()
    if not path.exists():
        return path.suffix not in (".yaml", ".yml")
    if path.is_dir():
        return any((path / name).exists() for name in ("charmcraft.yaml", "metadata.yaml"))
    return path.suffix == ".charm"


def deploy(arguments: argparse.Namespace, words: Mapping[str, Any]) -> int:
    """Deploy one charm and wait until nothing moves.

    Args:
        arguments: Words and options of the command.
        words: Options by their written name, such as `--to`, each a list of values.
    """
    charmwords.check_charm(arguments, words)
    try:
        constraint.parse(" ".join(words.get("--constraints") or []))
    except ConstraintError as error:
        raise UsageError(str(error)) from error
    with Site(arguments.home) as site:
        if arguments.inventory:
            read_inventory(arguments.inventory)
            site.use_inventory(arguments.inventory)
        if arguments.juju == "4.0":
            site.juju.set_model_config({"agent-version": "4.0.15"})
        charm, located = _locate(site, arguments.bundle, words)
        with Progress(site, "deploy"):
            _deploy(site, charm, located, arguments, words)
            site.juju.settle()
    return 0


def last(words: Mapping[str, Any], *names: str) -> str:
    """Return the value of an option that was given last, empty if none was."""
    return next((str(words[name][-1]) for name in names if words.get(name)), "")


def _locate(site: Site, word: str, words: Mapping[str, Any]) -> tuple[Charm, str]:
    """Return the charm and how the progress calls it."""
    path = Path(word)
    if not word.startswith((".", "/")):
        channel = last(words, "--channel") or "latest/stable"
        revision = literals.integer(last(words, "--revision") or "0")
        charm = site.juju.find_standin(
            word.removeprefix("ch:"), channel=channel, revision=revision
        ) or charmhub(word, channel, revision or None)
        where = f"revision {charm.revision} in channel {channel}"
        return charm, f'charm "{charm.name}" in charm-hub, {where}'
    if path.is_dir() and site.is_juju_4:
        raise UsageError(f'attempting to deploy "{word}": deploying from directory not supported')
    charm = _read(word, site.home / "charms")
    asked = last(words, "--base")
    wanted = find_base(asked) if asked else None
    if asked and wanted is None:
        raise UsageError(f'invalid base "{asked}"')
    if wanted is not None and charm.bases and wanted.short not in charm.bases:
        listed = ", ".join(charm.bases)
        raise UsageError(f'base "{wanted}" is not supported, supported bases are: {listed}')
    revision = site.juju.model.settings.revisions.get(charm.name, -1) + 1
    return charm, f'local charm "{charm.name}", revision {revision}'


def _read(word: str, unpacked: Path) -> Charm:
    """Return a packed charm, and refuse what is none in the words that its path was given in."""
    try:
        return charm_files.read_charm(Path(word), unpacked)
    except NotFoundError as error:
        raise NotFoundError(f'no charm was found at "{word}"') from error
    except CharmError as error:
        raise UsageError(f'invalid charm or bundle provided at "{word}"') from error


def _deploy(
    site: Site, charm: Charm, located: str, arguments: argparse.Namespace, words: Mapping[str, Any]
) -> None:
    """Check what needs the charm; create the application and its units."""
    name = arguments.name or charm.name
    base = find_base(last(words, "--base") or "ubuntu@24.04")
    _say(f"Located {located}")
    options, trust = _options(name, words)
    _check_charm(charm, words)
    charmwords.check_spaces(words.get("--bind") or [], SPACES)
    source = located.replace(" in charm-hub,", ", charm-hub,")
    _say(f'Deploying "{name}" from {source} on {base}')
    try:
        _create(site, charm, name, arguments, words, (options, trust or arguments.trust))
    except (RehearsalError, ConstraintError) as error:
        text = str(error)
        if text.startswith("cannot deploy "):
            raise
        raise UsageError(f'cannot deploy "{name}": {text}') from error


def _create(
    site: Site,
    charm: Charm,
    name: str,
    arguments: argparse.Namespace,
    words: Mapping[str, Any],
    settings: tuple[dict[str, Any], bool],
) -> None:
    """Create an application with its units, after everything that can be refused was."""
    options, trust = settings
    try:
        parse_options(charm, options)
    except UsageError as error:
        where = "preparing application args: validating create application args"
        raise UsageError(f"{where}: validating application config: {error}") from error
    storage = dict(_pairs(words.get("--storage")))
    storages.parse_directives(charm, name, storage)
    text = " ".join(words.get("--constraints") or [])
    base = last(words, "--base") or "ubuntu@24.04"
    placer = Placer(site, text, base, note)
    count = charmwords.units_in(words)
    wanted = [] if charm.subordinate else directives(last(words, "--to"), count)
    plans = [placer.plan(directive) for directive in wanted]
    _check_new(site, name)
    _check_bindings(charm, name, words)
    own = constraint.parse(text)
    everywhere = constraint.parse("" if charm.subordinate else "arch=amd64")
    kept = constraint.render(constraint.merge(everywhere, own)) if site.is_juju_4 else text
    deployment = Deployment(
        name=name, config=options, base=base, constraints=kept, trust=trust, storage=storage
    )
    site.ledger.begin(name)
    site.juju.deploy(charm, deployment)
    for make in plans:
        site.juju.add_unit(name, make())


def _options(name: str, words: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the options that words and files give, and whether `trust` is among them."""
    options: dict[str, Any] = {}
    for word in words.get("--config") or []:
        if "=" in word:
            options.update(pairs([word]))
            continue
        try:
            data = goyaml.load(Path(word).read_text()) or {}
        except OSError as error:
            path = Path(word).absolute()
            raise UsageError(f"open {path}: {(error.strerror or '').lower()}") from error
        flat = data.get(name) if isinstance(data.get(name), dict) else data
        options.update(flat)
    trust = str(options.pop("trust", "false")).lower()
    return options, trust in ("1", "t", "true")


def _check_charm(charm: Charm, words: Mapping[str, Any]) -> None:
    """Refuse what the kind of charm does not have."""
    if charm.subordinate:
        if last(words, "--constraints"):
            raise UsageError("cannot use --constraints with subordinate application")
        if last(words, "-n", "--num-units") or last(words, "--to"):
            raise UsageError("cannot use --num-units or --to with subordinate application")
    for name, _ in _pairs(words.get("--resource")):
        if name not in charm.resources:
            raise UsageError(f'unrecognized resource "{name}"')


def _check_new(site: Site, name: str) -> None:
    """Refuse a second application of a name.

    Source: juju domain/application/service and state, IAAS application; 4.0.15 says as much for
    an endpoint that is not there.
    """
    if name not in site.juju.model.applications:
        return
    if not site.is_juju_4:
        raise ExistsError(f'application "{name}" already exists')
    raise ExistsError(
        f'creating application "{name}": creating IAAS application "{name}": '
        f'inserting IAAS application "{name}": checking if application "{name}" exists: '
        "application already exists"
    )


def _check_bindings(charm: Charm, name: str, words: Mapping[str, Any]) -> None:
    known = {*endpoints_of(charm), *charm.extra_bindings}
    bound = [word.partition("=")[0] for item in words.get("--bind") or [] for word in item.split()]
    for word in bound:
        if word not in known and "=" in " ".join(words["--bind"]):
            raise UsageError(
                f'creating application "{name}": creating IAAS application "{name}": '
                f'inserting IAAS application "{name}": inserting exposed endpoints for '
                f'application "{name}": checking charm relation: charm relation(s) or '
                f'extra binding "{word}" not found'
            )


def _pairs(words: list[str] | None) -> list[tuple[str, str]]:
    return [(word.partition("=")[0], word.partition("=")[2]) for word in words or []]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
