# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that only look: status, inventory, gpus, nodes."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rehearsal.cli import foretelling, gpus, homes, literals, output, status, storing, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.progress import Progress
from rehearsal.cli.selecting import select
from rehearsal.errors import UsageError
from rehearsal.juju.model import Model
from rehearsal.juju.names import natural
from rehearsal.site import Site
from standins.metal.machine import Machine
from standins.world import World

Verb = Callable[[str, str], Grammar]
SPEED = "rehearsal-speed"
"""Option of the model: model time is so many times as fast as the wall's while somebody looks."""

LOOK_SECONDS = 60.0
"""Wall time that a look makes up for at most: nothing happens while nobody looks."""


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    shown = verb("status", "show the model, after what time has made due")
    shown.add_argument("selectors", nargs="*")
    for option in ("--relations", "--integrations", "--storage", "--utc", "--color", "--no-color"):
        shown.add_argument(option, action="store_true")
    shown.add_argument("--retry-count", type=int, default=3)
    shown.add_argument("--retry-delay", type=literals.duration, default=0.1)
    shown.add_argument("--speed", type=float, help="model time in wall time, kept; 1 at first")
    forms = ("tabular", "json", "yaml", "line", "oneline", "short", "summary")
    shown.add_argument("--format", choices=forms, default="tabular")
    shown.set_defaults(run=_status)
    verb("inventory", "show the site's machines and who has them").set_defaults(run=_inventory)
    drawn = verb("gpus", "draw every GPU's slices; with --plan, what a layout would change")
    drawn.add_argument("profile", nargs="?", default="")
    drawn.add_argument("--plan", action="store_true", help="foretell a layout, touch nothing")
    drawn.set_defaults(run=_gpus)
    verb("nodes", "show the cluster's nodes and GPU resources").set_defaults(run=_nodes)


def _status(arguments: argparse.Namespace) -> int:
    if arguments.color and arguments.no_color:
        raise Misuse("cannot mix --no-color and --color")
    wanted = arguments.relations or arguments.integrations
    with Site(arguments.home) as site, Progress(site, "status"):
        _catch_up(site, arguments)
        data = site.juju.status_data()
        data["storage"] = data["storage"] or storing.whole_data(site.juju.model)
        related = _relations(site.juju.model) if wanted else []
    if arguments.selectors:
        data = select(data, arguments.selectors)
    related = [row for row in related if _is_shown(row, data["applications"])]
    tabular = arguments.format == "tabular"
    if not tabular:
        _say_ignored(arguments)
    texts: dict[str, Callable[[dict[str, Any]], str]] = {
        "json": output.to_json,
        "yaml": output.to_yaml,
        "summary": status.summary,
        "tabular": lambda value: status.render(value, related),
    }
    print(texts.get(arguments.format, status.lines)(data))
    sections = ("applications", "machines", "application-endpoints")
    if tabular and not any(data.get(section) for section in sections):
        name = data["model"]["name"]
        plural = "s" if len(arguments.selectors) > 1 else ""
        nothing = f"Nothing matched specified filter{plural}." if arguments.selectors else ""
        print(nothing or f'\nModel "{name}" is empty.', file=sys.stderr)
    return 0


def _say_ignored(arguments: argparse.Namespace) -> None:
    """Say which options are always on. Source: juju cmd/juju/status/status.go, Run."""
    asked = [name for name in ("integrations", "relations", "storage") if name in arguments.given]
    if asked:
        options = "options are" if len(asked) > 1 else "option is"
        listed = ", ".join(asked)
        print(
            f"provided {listed} {options} always enabled in non tabular formats", file=sys.stderr
        )


def _relations(model: Model) -> list[tuple[str, str, str, str]]:
    """Return the rows of relations: provider, requirer, interface, type."""
    rows: list[tuple[str, str, str, str]] = []
    for relation in model.relations.values():
        ends = sorted(relation.ends, key=lambda end: end.role != "provider")
        names = [f"{end.application}:{end.endpoint}" for end in ends]
        kind = "subordinate" if relation.scope == "container" else "regular"
        rows.append((names[0], names[-1], relation.interface, "peer" if relation.peer else kind))
    return sorted(rows)


def _is_shown(row: Sequence[str], applications: Mapping[str, Any]) -> bool:
    """Return whether one of a relation's applications is shown."""
    return any(end.partition(":")[0] in applications for end in row[:2])


def _catch_up(site: Site, arguments: argparse.Namespace) -> None:
    """Let the time pass that passed since the last command, and run what that makes due."""
    settings = site.juju.model.settings
    if arguments.speed is not None:
        if arguments.speed < 0:
            raise Misuse(f'invalid value "{arguments.speed}" for option --speed: less than 0')
        site.juju.set_model_config({SPEED: arguments.speed})
    speed = float(settings.config.get(SPEED, 1))
    passed = min(homes.seconds_since(arguments.home), LOOK_SECONDS) * speed
    if passed >= 1:
        site.juju.advance(passed)
    else:
        site.juju.settle()


def _inventory(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        taken = {machine.hostname: machine.id for machine in site.juju.model.machines.values()}
        rows = [
            (
                item.name,
                item.hardware,
                ",".join(item.tags),
                item.zone,
                taken.get(item.name, "free"),
            )
            for item in site.inventory.machines
        ]
    print(table.render(("Name", "Hardware", "Tags", "Zone", "Machine"), rows))
    return 0


def _gpus(arguments: argparse.Namespace) -> int:
    if arguments.plan:
        text, is_possible = foretelling.foretell(arguments.home, arguments.profile or "")
        print(text)
        return 0 if is_possible else 1
    if arguments.profile:
        raise UsageError("a layout is only for --plan")
    with Site(arguments.home) as site:
        print(gpu_picture(site.world))
    return 0


def _nodes(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        print(node_table(site.world))
    return 0


def gpu_picture(world: World, *machines: str) -> str:
    """Return the picture of the GPUs of some machines, or of all that have any."""
    chosen = machines or sorted(world.machines, key=natural)
    parts = [
        gpus.render(f"{name} ({machine.hostname})", machine.gpus.read(), users_of(machine))
        for name, machine in ((name, world.machine(name)) for name in chosen)
        if machine.hardware.gpus
    ]
    return "\n".join(parts)


def users_of(machine: Machine) -> Mapping[str, str]:
    """Return who holds which device of a machine, by UUID."""
    path = machine.folder / "pod-resources.json"
    entries = json.loads(path.read_text()) if path.exists() else []
    return {
        device: f"{entry['namespace']}/{entry['pod']}"
        for entry in entries
        for device in entry["device_ids"]
    }


def node_table(world: World) -> str:
    """Return the table of the cluster's nodes."""
    return gpus.render_nodes(world.api.list_objects("nodes"))
