# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that only look: status, show-unit, debug-log, machines, gpus, nodes."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from rehearsal.cli import gpus, status, table
from rehearsal.names import natural
from rehearsal.site import Site
from standins.machine import Machine
from standins.world import World

Verb = Callable[[str, str], argparse.ArgumentParser]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    shown = verb("status", "show the model as juju does")
    shown.add_argument("--format", choices=["tabular", "json", "yaml"], default="tabular")
    shown.set_defaults(run=_status)
    unit = verb("show-unit", "show a unit and its relation data")
    unit.add_argument("units", nargs="+")
    unit.add_argument("--format", choices=["yaml", "json"], default="yaml")
    unit.set_defaults(run=_show_unit)
    log = verb("debug-log", "show what hooks ran and logged")
    log.add_argument("--limit", type=int, default=0, help="the last lines only")
    log.set_defaults(run=_debug_log)
    verb("machines", "show the inventory and who has what").set_defaults(run=_machines)
    verb("gpus", "draw every GPU's slices").set_defaults(run=_gpus)
    verb("nodes", "show the cluster's nodes and GPU resources").set_defaults(run=_nodes)


def _status(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        site.juju.settle()
        data = site.juju.status_data()
    texts: dict[str, Callable[[dict[str, Any]], str]] = {
        "json": json.dumps,
        "yaml": lambda value: yaml.safe_dump(value, sort_keys=False).rstrip(),
        "tabular": status.render,
    }
    print(texts[arguments.format](data))
    return 0


def _show_unit(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        data = site.juju.show_unit_data(*arguments.units)
    print(json.dumps(data) if arguments.format == "json" else yaml.safe_dump(data).rstrip())
    return 0


def _debug_log(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        lines = site.juju.debug_log()
    print("\n".join(lines[-arguments.limit :]))
    return 0


def _machines(arguments: argparse.Namespace) -> int:
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
