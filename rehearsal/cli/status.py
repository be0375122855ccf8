# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The text of `status`, from the same data that `--format json` prints. Pure.

Columns and order are those of Juju 4.0.15, as recorded; empty tables are left out. That of SAAS is
nowhere recorded. Source: juju cmd/juju/status/output_tabular.go, printRemoteApplications.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rehearsal.cli import table
from rehearsal.cli.offerurl import parse
from rehearsal.errors import UsageError

Data = dict[str, Any]


def render(status: Data, relations: Sequence[Sequence[str]] = ()) -> str:
    """Return juju's status tables of a model.

    Args:
        status: What `status --format json` prints.
        relations: Rows of the table of relations: provider, requirer, interface, type.
    """
    parts = [_model(status)]
    if status.get("application-endpoints"):
        parts.append(_saas(status["application-endpoints"]))
    applications: Data = status.get("applications", {})
    if applications:
        parts.append(_applications(applications))
    units = list(_units(applications))
    if units:
        header = ("Unit", "Workload", "Agent", "Machine", "Public address", "Ports", "Message")
        parts.append(table.render(header, units))
    if status.get("machines"):
        parts.append(machines(status["machines"]))
    if relations:
        header = ("Integration provider", "Requirer", "Interface", "Type", "Message")
        parts.append(table.render(header, relations))
    return "\n\n".join(parts)


def lines(status: Data) -> str:
    """Return a line for each unit: address, agent and workload."""
    found: list[str] = []
    for _, app in sorted(status["applications"].items()):
        for name, unit in sorted(_own_units(app).items(), key=lambda item: _number(item[0])):
            found.append(_line(name, unit, ""))
            below: Data = unit.get("subordinates") or {}
            found += [_line(child, data, "  ") for child, data in sorted(below.items())]
    return "\n".join(found)


def _line(name: str, unit: Data, indent: str) -> str:
    ports = ", ".join(unit.get("open-ports") or [])
    state = (
        f"agent:{unit['juju-status']['current']}, workload:{unit['workload-status']['current']}"
    )
    return f"{indent}- {name}: {unit.get('public-address', '')} ({state})" + (
        f" {ports}" if ports else ""
    )


def summary(status: Data) -> str:
    """Return how many machines, units and applications there are, by state."""
    applications: Data = status["applications"]
    units = [unit for app in applications.values() for unit in _own_units(app).values()]
    counts = [
        ("Machines", [item["juju-status"]["current"] for item in status["machines"].values()]),
        ("Units", [unit["workload-status"]["current"] for unit in units]),
        ("Applications", [app["application-status"]["current"] for app in applications.values()]),
    ]
    found: list[str] = []
    for title, states in counts:
        found.append(f"# {title}: ({len(states)})")
        found += [f"  {state}: {states.count(state)}" for state in sorted(set(states))]
    return "\n".join(found)


def _model(status: Data) -> str:
    model: Data = status["model"]
    region = f"{model['cloud']}/{model['region']}" if model.get("region") else model["cloud"]
    time = status.get("controller", {}).get("timestamp", "")
    header = ("Model", "Controller", "Cloud/Region", "Version", "Timestamp")
    row = (model["name"], model["controller"], region, model["version"], time)
    return table.render(header, [row])


def _saas(consumed: Data) -> str:
    rows = [
        (name, far["application-status"]["current"], *_store(far["url"]))
        for name, far in consumed.items()
    ]
    return table.render(("SAAS", "Status", "Store", "URL"), rows)


def _store(url: str) -> tuple[str, str]:
    """Return an offer's controller, `local` where none is named, and the rest of its URL."""
    try:
        source = parse(url).source
    except UsageError:
        return "unknown", url
    return source or "local", url.removeprefix(f"{source}:")


def _applications(applications: Data) -> str:
    header = ("App", "Version", "Status", "Scale", "Charm", "Channel", "Rev", "Exposed", "Message")
    subordinates = _subordinate_counts(applications)
    rows: list[tuple[str, ...]] = []
    for name, app in sorted(applications.items()):
        state: Data = app["application-status"]
        scale = subordinates.get(name, 0) if app.get("subordinate-to") else len(_own_units(app))
        exposed = "yes" if app.get("exposed") else "no"
        rows.append(
            (
                name,
                app.get("version", ""),
                state["current"],
                str(scale),
                app["charm-name"],
                app.get("charm-channel", ""),
                str(app.get("charm-rev", "")),
                exposed,
                state.get("message", ""),
            )
        )
    return table.render(header, rows, right=(3, 6))


def _own_units(app: Data) -> Data:
    units: Data = app.get("units") or {}
    return units


def _subordinate_counts(applications: Data) -> dict[str, int]:
    counts: dict[str, int] = {}
    for app in applications.values():
        for unit in _own_units(app).values():
            for name in unit.get("subordinates") or {}:
                application = name.partition("/")[0]
                counts[application] = counts.get(application, 0) + 1
    return counts


def _units(applications: Data) -> Iterator[tuple[str, ...]]:
    for _, app in sorted(applications.items()):
        for name, unit in sorted(_own_units(app).items(), key=lambda item: _number(item[0])):
            yield _unit(name, unit, "")
            below: Data = unit.get("subordinates") or {}
            for child, data in sorted(below.items(), key=lambda item: item[0]):
                yield _unit(child, data, "  ")


def _number(unit: str) -> int:
    return int(unit.rpartition("/")[2])


def _unit(name: str, unit: Data, indent: str) -> tuple[str, ...]:
    mark = "*" if unit.get("leader") else ""
    workload: Data = unit["workload-status"]
    message = workload.get("message", "")
    ports = ",".join(unit.get("open-ports") or [])
    return (
        f"{indent}{name}{mark}",
        workload["current"],
        unit["juju-status"]["current"],
        unit.get("machine", ""),
        unit.get("public-address", ""),
        ports,
        message,
    )


def machines(machines: Data) -> str:
    """Return the table of machines, of none its header alone."""
    header = ("Machine", "State", "Address", "Inst id", "Base", "AZ", "Message")
    rows: list[tuple[str, ...]] = []
    for name, machine in _with_containers(machines):
        base = f"{machine['base']['name']}@{machine['base']['channel']}"
        zone = _zone(machine.get("hardware", ""))
        rows.append(
            (
                name,
                machine["juju-status"]["current"],
                machine.get("dns-name", ""),
                machine.get("instance-id", ""),
                base,
                zone,
                machine["machine-status"].get("message", ""),
            )
        )
    return table.render(header, rows)


def _with_containers(machines: Data) -> Iterator[tuple[str, Data]]:
    for name, machine in sorted(machines.items(), key=lambda item: int(item[0].split("/")[0])):
        yield name, machine
        containers: Data = machine.get("containers") or {}
        yield from sorted(containers.items())


def _zone(hardware: str) -> str:
    words = dict(word.split("=", 1) for word in hardware.split() if "=" in word)
    return words.get("availability-zone", "")
