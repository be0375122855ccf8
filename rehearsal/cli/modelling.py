# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on models and on the client: models, add-model, model-config, version, whoami."""

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any

from rehearsal import realapi
from rehearsal.cli import goyaml, homes, literals, output, table
from rehearsal.cli.assigning import pairs, read_file
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.errors import UsageError
from rehearsal.juju import modeloptions
from rehearsal.juju.model import Model
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
USER = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.+-]*[a-zA-Z0-9])?(?:@[a-zA-Z0-9.-]+)?")
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
FORMATS = ("tabular", "yaml", "json")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    models = verb("models", "list the models of the home")
    models.add_argument("--all", action="store_true")
    models.add_argument("--uuid", action="store_true")
    models.add_argument("-c", "--controller", default="")
    models.add_argument("--format", choices=FORMATS, default="tabular")
    models.set_defaults(run=_models)
    shown = verb("show-model", "show a model")
    shown.add_argument("name", nargs="?", default="")
    shown.add_argument("--format", choices=("yaml", "json"), default="yaml")
    shown.set_defaults(run=_show_model)
    new = verb("add-model", "add an empty model to the home")
    new.add_argument("name", nargs="?", default="")
    new.add_argument("cloud", nargs="?", default="")
    new.add_argument("--no-switch", action="store_true")
    new.add_argument("--config", action="append")
    for option in ("--credential", "--owner"):
        new.add_argument(option, default="")
    new.add_argument("-c", "--controller", default="")
    new.set_defaults(run=_add_model)
    gone = verb("destroy-model", "remove a model with all that is in it")
    gone.add_argument("name", missing="no model specified")
    options = ["--no-prompt", "--destroy-storage", "--release-storage", "--force", "--no-wait"]
    for option in options:
        gone.add_argument(option, action="store_true")
    gone.add_argument("-t", "--timeout", type=literals.duration, default=0.0)
    gone.set_defaults(run=_destroy_model)
    switch = verb("switch", "show the current model, or make another one current")
    switch.add_argument("name", nargs="?", default="")
    switch.set_defaults(run=_switch)
    _add_client(verb)


def _add_client(verb: Verb) -> None:
    version = verb("version", "show the version of the Juju that the model behaves like")
    version.add_argument("--all", action="store_true")
    version.add_argument("--format", choices=("smart", "yaml", "json"), default="smart")
    version.set_defaults(run=_version)
    who = verb("whoami", "show controller, model and user")
    who.add_argument("--format", choices=FORMATS, default="tabular")
    who.set_defaults(run=_whoami)
    scale = verb("scale-application", "for models on Kubernetes alone")
    scale.add_argument("words", nargs="*")
    scale.set_defaults(run=_scale)
    export = verb("export-bundle", "not offered by 4.0, nor here")
    export.add_argument("--filename", default="")
    export.set_defaults(run=_export)


def model_data(model: Model, name: str) -> dict[str, Any]:
    """Return a model as `models` and `show-model` begin to print it."""
    settings = model.settings
    return {
        "name": f"admin/{name}",
        "short-name": name,
        "model-uuid": settings.uuid,
        "model-type": "iaas",
        "controller-uuid": settings.uuid,
        "controller-name": settings.controller,
        "is-controller": False,
        "cloud": settings.cloud,
        "region": settings.region,
        "type": settings.cloud,
        "life": "alive",
        "status": {"current": "available", "since": "just now"},
    }


def _models(arguments: argparse.Namespace) -> int:
    found: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = []
    current = homes.current(arguments.root)
    for name in homes.names(arguments.root):
        with Site(homes.folder_of(arguments.root, name)) as site:
            model = site.juju.model
            data = model_data(model, name)
            version = model.settings.version
            seen = {"access": "admin", "last-connection": "just now", "agent-version": version}
            found.append({**data, **seen})
            units = str(len(model.units) or "-")
            star = "*" if name == current else ""
            place = f"{data['cloud']}/{data['region']}"
            machines = str(len(model.machines))
            rows.append(
                (
                    f"{name}{star}",
                    place,
                    data["type"],
                    "available",
                    machines,
                    units,
                    "admin",
                    "just now",
                )
            )
    header = (
        "Model",
        "Cloud/Region",
        "Type",
        "Status",
        "Machines",
        "Units",
        "Access",
        "Last connection",
    )
    whole = {"models": found, "current-model": f"admin/{current}"}
    text = f"Controller: {found[0]['controller-name']}\n\n"
    output.show(whole, arguments.format, lambda: text + table.render(header, rows, (4, 5)))
    return 0


def _show_model(arguments: argparse.Namespace) -> int:
    name = homes.short_name(arguments.name) or homes.current(arguments.root)
    if name not in homes.names(arguments.root):
        raise UsageError(homes.said_of_unknown(arguments.root, arguments.name))
    with Site(homes.folder_of(arguments.root, name)) as site:
        model = site.juju.model
        data = model_data(model, name)
        data["users"] = {
            "admin": {"display-name": "admin", "access": "admin", "last-connection": "just now"}
        }
        machines = {
            number: {"cores": _cores(machine.hardware)}
            for number, machine in model.machines.items()
        }
        data |= {"machines": machines} if machines else {}
        data["secret-backends"] = {
            "internal": {"num-secrets": len(model.secrets), "status": "active"}
        }
        version = model.settings.version
        data["agent-version"] = version
        data["credential"] = {
            "name": "rehearsal", "owner": "admin", "cloud": data["cloud"],
            "validity-check": "valid",
        }  # fmt: skip
        text = "the version of Juju used by the model"
        data["supported-features"] = [{"name": "juju", "description": text, "version": version}]
    output.show({name: data}, arguments.format)
    return 0


def _cores(hardware: str) -> int:
    found = re.search(r"cores=(\d+)", hardware)
    return int(found[1]) if found else 0


def _add_model(arguments: argparse.Namespace) -> int:
    name = arguments.name
    if not name:
        raise UsageError(
            'juju: no model name was passed. See "juju add-model --help".'
            "\n\nDid you mean:\n\tjuju add-model <model name>"
        )
    if not NAME.fullmatch(name):
        raise Misuse(
            f'"{name}" is not a valid name: model names may only contain '
            "lowercase letters, digits and hyphens"
        )
    if arguments.owner and not USER.fullmatch(arguments.owner):
        raise Misuse(f'"{arguments.owner}" is not a valid user')
    options = modeloptions.checked(_config(arguments.config))
    folder = homes.add(arguments.root, name)
    with Site(folder) as site:
        site.juju.model.settings.name = name
        site.juju.set_model_config(options)
        site.juju.settle()
    if not arguments.no_switch:
        homes.switch(arguments.root, name)
    print(f"Added '{name}' model on maas/default for user 'admin'", file=sys.stderr)
    return 0


def _config(words: list[str]) -> dict[str, str]:
    """Return options of a model: `key=value`, or a file of YAML; words win over files.

    Source: juju cmd/juju/common/flags.go, ConfigFlag.ReadAttrs; cmd/juju/controller/addmodel.go.

    Raises:
        UsageError: A file cannot be read.
    """
    found: dict[str, str] = {}
    for name in (word for word in words if "=" not in word):
        try:
            data = goyaml.load(read_file(name)) or {}
        except UsageError as error:
            raise UsageError(f"unable to parse config: {error}") from error
        found |= {key: output.word(value) for key, value in data.items()}
    return found | pairs([word for word in words if "=" in word])


def _check_destroyed(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together. Source: juju cmd/juju/model/destroy.go, Init.

    Raises:
        Misuse: Naming the two.
        UsageError: Only found when the command runs.
    """
    if arguments.destroy_storage and arguments.release_storage:
        raise Misuse("--destroy-storage and --release-storage cannot both be specified")
    if "timeout" in arguments.given and not arguments.force:
        raise Misuse("--timeout can only be used with --force (dangerous)")
    if arguments.timeout < 0:
        raise Misuse("--timeout must be zero or greater")
    if arguments.no_wait and not arguments.force:
        raise UsageError("--no-wait without --force not valid")


def _destroy_model(arguments: argparse.Namespace) -> int:
    _check_destroyed(arguments)
    name = homes.short_name(arguments.name)
    if name not in homes.names(arguments.root):
        raise UsageError(homes.said_of_unknown(arguments.root, arguments.name))
    if not arguments.no_prompt:
        sys.stderr.write(
            f"WARNING This command will destroy the {name!r} model\n\n"
            "To continue, enter the name of the model to be unregistered: "
        )
        sys.stderr.flush()
        if sys.stdin.readline().strip() != name:
            raise UsageError("model destruction: aborted")
    realapi.stop(homes.folder_of(arguments.root, name))
    homes.remove(arguments.root, name)
    print("Model destroyed.", file=sys.stderr)
    return 0


def _switch(arguments: argparse.Namespace) -> int:
    before = homes.current(arguments.root)
    if not arguments.name:
        print(f"{homes.FIRST}:admin/{before}")
        return 0
    homes.switch(arguments.root, arguments.name)
    after = homes.current(arguments.root)
    arrow = f"{homes.FIRST}:admin/{before} -> {homes.FIRST}:admin/{after}"
    print(arrow if before != after else f"{arrow.partition(' ')[0]} (no change)", file=sys.stderr)
    return 0


def _version(arguments: argparse.Namespace) -> int:
    with Site(homes.folder_of(arguments.root, "")) as site:
        number = f"{site.juju.model.settings.version}-genericlinux-amd64"
    if arguments.all:
        data = {"version": number, "git-commit": "", "git-tree-state": "clean", "compiler": "gc"}
        data |= {"official": False, "go-build-tags": ""}
        output.show(data, "yaml" if arguments.format == "smart" else arguments.format)
    elif arguments.format == "smart":
        print(number)
    else:
        output.show(number, arguments.format)
    return 0


def _whoami(arguments: argparse.Namespace) -> int:
    data = {
        "controller": homes.FIRST,
        "model": homes.current(arguments.root),
        "user": "admin",
    }
    rows = [(f"{key.title()}:", value) for key, value in data.items()]
    output.show(data, arguments.format, lambda: table.render(rows[0], rows[1:]))
    return 0


def _scale(arguments: argparse.Namespace) -> int:
    raise Misuse(f'Juju command "{arguments.verb}" only supported on k8s container models')


def _export(arguments: argparse.Namespace) -> int:
    del arguments
    raise UsageError(
        "\njuju client not compatible with server: Juju 4.0 doesn't support exporting bundles "
        "(not implemented)\nre-install your juju client to match the version running on the "
        "controller"
    )
