# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The model as `juju status --format json` prints it.

Keys, their order and what is left out when empty are those that a controller of Juju 4.0.15 sent;
the client of 3.6 reads the same.
"""

from datetime import datetime, timezone
from typing import Any

from rehearsal.juju.entities import Application, Charm, Machine, Status, Unit
from rehearsal.juju.model import Model
from rehearsal.juju.names import natural
from rehearsal.juju.relations import endpoints_of
from rehearsal.juju.worlds import World

SEVERITY = {
    "error": 100,
    "blocked": 90,
    "maintenance": 80,
    "waiting": 70,
    "active": 60,
    "terminated": 50,
    "unknown": 40,
}
"""Which unit's status an application shows. Source: juju domain/status/service."""


def status_data(model: Model, world: World) -> dict[str, Any]:
    """Return model, machines and applications; applications and machines in natural order."""
    settings = model.settings
    machines = [
        model.machines[key] for key in sorted(model.machines, key=natural) if "/" not in key
    ]
    return {
        "model": {
            "name": settings.name,
            "type": "iaas",
            "controller": settings.controller,
            "cloud": settings.cloud,
            "region": settings.region,
            "version": settings.version,
            "model-status": {"current": "available", "since": stamp(settings.since)},
        },
        "machines": {machine.id: _machine(model, world, machine) for machine in machines},
        "applications": {
            name: _application(model, world, model.applications[name])
            for name in sorted(model.applications)
            if not model.applications[name].saas
        },
        **_saas(model),
        "storage": {},
        "controller": {"timestamp": f"{_moment(settings.now):%H:%M:%SZ}"},
    }


def stamp(moment: float) -> str:
    """Return a time as status prints it, such as `30 Nov 2026 05:09:10Z`."""
    return f"{_moment(moment):%d %b %Y %H:%M:%SZ}"


def workload_of(unit: Unit) -> Status:
    """Return what status shows for a unit's workload: a failed hook hides what the charm said."""
    if unit.failure is None:
        return unit.workload
    event = unit.failure.event
    endpoint = event.get("endpoint")
    hook = f"{endpoint}-{event['name']}" if endpoint else event["name"]
    remote = event.get("remote_unit") or event.get("remote_app") or ""
    where = f" for {remote}" if endpoint and remote else ""
    return Status("error", f'hook failed: "{hook}"{where}', unit.agent.since)


def application_status(model: Model, application: Application) -> Status:
    """Return what an application shows: what its leader set, else the gravest of its units."""
    if application.status is not None:
        return application.status
    statuses = [workload_of(unit) for unit in model.units_of(application.name)]
    if not statuses:
        current = "unknown" if application.charm.subordinate else "waiting"
        message = "" if application.charm.subordinate else "waiting for machine"
        return Status(current, message, application.since)
    return max(statuses, key=lambda status: SEVERITY.get(status.current, 0))


def _moment(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, tz=timezone.utc)


def _status(status: Status, **more: Any) -> dict[str, Any]:
    """Return one status; an empty message is left out."""
    data: dict[str, Any] = {"current": status.current}
    if status.message:
        data["message"] = status.message
    data["since"] = stamp(status.since)
    return {**data, **more}


def _base(base: str) -> dict[str, str]:
    name, _, channel = base.partition("@")
    return {"name": name, "channel": channel.removesuffix("/stable")}


def _machine(model: Model, world: World, machine: Machine) -> dict[str, Any]:
    """Return one machine with its containers; without power its agent is down."""
    up = _is_up(world, machine.id)
    agent = Status("started" if up else "down", "" if up else "agent is not communicating")
    agent.since = machine.since
    data = {
        "juju-status": _status(agent, life=machine.life),
        "hostname": machine.hostname,
        "dns-name": machine.address,
        "ip-addresses": [machine.address],
        "instance-id": machine.instance,
        "machine-status": {
            "current": "running",
            "message": "Deployed" if model.settings.cloud == "maas" else "Running",
            "life": machine.life,
        },
        "modification-status": {},
        "base": _base(machine.base),
        "network-interfaces": {
            "eth0": {
                "ip-addresses": [f"{machine.address}/24"],
                "mac-address": _mac(machine.address),
                "gateway": f"{machine.address.rpartition('.')[0]}.1",
                "space": "alpha",
                "is-up": True,
            }
        },
        "constraints": machine.constraints,
        "hardware": machine.hardware,
    }
    inside = [key for key in model.machines if key.startswith(f"{machine.id}/")]
    containers = {
        key: _machine(model, world, model.machines[key])
        for key in sorted(inside, key=natural)
        if key.count("/") == machine.id.count("/") + 2
    }
    return {**data, "containers": containers} if containers else data


def _is_up(world: World, machine: str) -> bool:
    """Return whether the agents of a machine, or of the host of a container, run."""
    host = machine.partition("/")[0]
    return host not in world.machines or world.agent_up(host)


def _mac(address: str) -> str:
    """Return a locally administered MAC address made of an IPv4 address."""
    parts = [int(part) for part in address.split(".") if part.isdigit()][-4:]
    return ":".join(["02", "00", *(f"{part:02x}" for part in parts)])


def _application(model: Model, world: World, application: Application) -> dict[str, Any]:
    """Return one application; a subordinate's units are shown with their principals."""
    charm = application.charm
    data: dict[str, Any] = {
        "charm": charm.url,
        "base": _base(application.base),
        "charm-origin": charm.origin,
        "charm-name": charm.name,
        "charm-rev": charm.revision,
        "exposed": application.exposed,
        "life": application.life,
        "application-status": _status(application_status(model, application)),
    }
    if charm.channel:
        data["charm-channel"] = charm.channel
    relations = _relations(model, application.name)
    if relations:
        data["relations"] = relations
    if charm.subordinate:
        principals = _principals(model, application.name)
        data.update({"subordinate-to": principals} if principals else {})
    else:
        units = {u.name: _unit(model, world, u) for u in model.units_of(application.name)}
        data.update({"units": units} if units else {})
    if application.workload_version:
        data["version"] = application.workload_version
    data["endpoint-bindings"] = _bindings(charm)
    return data


def _saas(model: Model) -> dict[str, Any]:
    """Return what stands for offers of other models; nothing when nothing does."""
    consumed = {
        name: {
            "url": application.saas,
            "endpoints": {
                endpoint.name: {"interface": endpoint.interface, "role": endpoint.role}
                for endpoint in endpoints_of(application.charm).values()
                if endpoint.role != "peer"
            },
            "life": application.life,
            "application-status": _status(application_status(model, application)),
            **_related(model, name),
        }
        for name, application in sorted(model.applications.items())
        if application.saas and not application.saas.startswith("remote:")
    }
    return {"application-endpoints": consumed} if consumed else {}


def _related(model: Model, name: str) -> dict[str, Any]:
    """Return the applications that relate to a consumed one, by its endpoint."""
    found = {
        endpoint: [item["related-application"] for item in items]
        for endpoint, items in _relations(model, name).items()
    }
    return {"relations": found} if found else {}


def _bindings(charm: Charm) -> dict[str, str]:
    """Return every endpoint in the one space that there is."""
    return dict.fromkeys(sorted(["", *endpoints_of(charm), *charm.extra_bindings]), "alpha")


def _relations(model: Model, name: str) -> dict[str, Any]:
    """Return the far ends of an application's relations by endpoint."""
    found: dict[str, list[dict[str, str]]] = {}
    for relation in model.relations_of(name):
        far = relation.other_end(name)
        entry = {
            "related-application": far.application,
            "interface": relation.interface,
            "scope": relation.scope,
        }
        found.setdefault(relation.end_of(name).endpoint, []).append(entry)
    return dict(sorted(found.items()))


def _principals(model: Model, name: str) -> list[str]:
    """Return the applications that a subordinate lives with."""
    return sorted(
        relation.other_end(name).application
        for relation in model.relations_of(name)
        if relation.scope == "container" and not relation.peer
    )


def _unit(model: Model, world: World, unit: Unit) -> dict[str, Any]:
    """Return one unit with its subordinates below it."""
    up = _is_up(world, unit.machine)
    agent = unit.agent if up else Status("lost", "agent is not communicating with the server")
    agent.since = agent.since or unit.agent.since
    workload = workload_of(unit) if up else Status("unknown", "agent lost", unit.agent.since)
    data: dict[str, Any] = {
        "workload-status": _status(workload),
        "juju-status": _status(agent, version=model.settings.version),
    }
    if model.applications[unit.application].leader == unit.name:
        data["leader"] = True
    if not unit.principal:
        data["machine"] = unit.machine
    if unit.ports:
        data["open-ports"] = sorted(unit.ports, key=natural)
    data["public-address"] = model.address_of(unit)
    subordinates = model.subordinates_of(unit.name)
    if subordinates:
        data["subordinates"] = {other.name: _unit(model, world, other) for other in subordinates}
    return data
