# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Reads the machines of a site: YAML of our own form, or MAAS's JSON.

``maas PROFILE machines read > machines.json`` writes the JSON. Our YAML holds ``machines``: a list
of maps with ``name`` and the fields of `SiteMachine`; ``spaces``, ``users``, ``storage-pools`` are
lists of names.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from rehearsal.maas.machines import Inventory, InventoryError, SiteMachine
from rehearsal.maas.networks import as_list, as_map, read_addresses, read_interfaces

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SIZES = {"M": 1, "G": 1024, "T": 1024**2}
_PRODUCTS = (
    ("DGXA100", "dgx-a100-40"),
    ("DGXH100", "dgx-h100"),
    ("DGXH200", "dgx-h200"),
    ("B200", "hgx-b200"),
)
"""Parts of a system's product name, blanks and dashes removed, and the hardware type they mean."""


def read_inventory(path: Path) -> Inventory:
    """Return the inventory that a file holds: our YAML, or MAAS's JSON.

    Raises:
        InventoryError: The file cannot be read, or an entry is wrong.
    """
    try:
        text = path.read_bytes()
        data = json.loads(text) if text[:64].lstrip()[:1] == b"[" else _yaml(text)
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InventoryError(f"{path.name}: {reason}") from error
    if isinstance(data, list):
        return _from_maas(data)
    if not isinstance(data, dict) or not isinstance(data.get("machines"), list):
        raise InventoryError(f"{path.name}: must hold a list machines:, or MAAS's JSON list")
    return _from_yaml(data)


def default_inventory() -> Inventory:
    """Return the inventory for the reference bundle."""
    return read_inventory(Path(str(resources.files("rehearsal"))) / "data" / "inventory.yaml")


def _yaml(text: bytes) -> Any:
    return yaml.load(text, Loader=_LOADER)  # noqa: S506  (a safe loader)


def _from_yaml(data: Mapping[str, Any]) -> Inventory:
    machines: list[SiteMachine] = []
    for index, entry in enumerate(data["machines"]):
        if not isinstance(entry, dict) or "name" not in entry:
            raise InventoryError(f"machines[{index}]: must be a map with a name")
        unknown = sorted(set(entry) - set(_FIELDS))
        if unknown:
            raise InventoryError(f"machines[{index}]: {unknown[0]} is no field of a machine")
        machines.append(_entry(entry, f"machines[{index}]"))
    _check_names(machines)
    return Inventory(
        tuple(machines),
        _set(data.get("spaces"), "spaces") | {space for m in machines for space in m.spaces},
        _set(data.get("users"), "users") | {"admin"},
        _set(data.get("storage-pools"), "storage-pools"),
    )


_OF_MAAS = ("system_id", "interfaces", "addresses")
_FIELDS = tuple(name for name in SiteMachine.__dataclass_fields__ if name not in _OF_MAAS)


def _entry(entry: Mapping[str, Any], where: str) -> SiteMachine:
    sizes: dict[str, Any] = {
        key: _size(entry.get(key, 0), f"{where}.{key}") for key in ("cores", "mem", "disk")
    }
    texts: dict[str, Any] = {
        key: str(entry[key])
        for key in ("name", "hardware", "address", "arch", "zone", "status")
        if key in entry
    }
    lists: dict[str, Any] = {
        key: tuple(sorted(_set(entry[key], f"{where}.{key}")))
        for key in ("tags", "spaces")
        if key in entry
    }
    return SiteMachine(**texts, **sizes, **lists)


def _size(value: Any, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = str(value)
    if text[-1:] in _SIZES and text[:-1].isdecimal():
        return int(text[:-1]) * _SIZES[text[-1]]
    raise InventoryError(f"{where}: must be a whole number, sizes with M, G or T")


def _set(value: Any, where: str) -> frozenset[str]:
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise InventoryError(f"{where}: must be a list")
    return frozenset(str(item) for item in value)


def _check_names(machines: Sequence[SiteMachine]) -> None:
    """Raise when two machines have one name.

    Raises:
        InventoryError: Naming the machine.
    """
    seen: set[str] = set()
    for machine in machines:
        if machine.name in seen:
            raise InventoryError(f"machine {machine.name} is there twice")
        seen.add(machine.name)


def _from_maas(entries: Sequence[Any]) -> Inventory:
    """Return the machines of MAAS's list, with the spaces that their interfaces are in.

    Raises:
        InventoryError: An entry is no machine, or a name is there twice.
    """
    machines = [_maas_machine(entry) for entry in entries if isinstance(entry, dict)]
    if len(machines) != len(entries):
        raise InventoryError("MAAS's list holds something that is no machine")
    _check_names(machines)
    spaces = frozenset(space for machine in machines for space in machine.spaces)
    return Inventory(tuple(machines), spaces or frozenset(("alpha",)))


def _maas_machine(entry: Mapping[str, Any]) -> SiteMachine:
    addresses = as_list(entry.get("ip_addresses")) or [""]
    zone = entry.get("zone") or {}
    tags = tuple(sorted(str(tag) for tag in as_list(entry.get("tag_names"))))
    return SiteMachine(
        name=str(entry.get("hostname") or entry.get("system_id") or ""),
        hardware=_hardware(entry, tags),
        address=str(addresses[0]),
        arch=str(entry.get("architecture") or "amd64").partition("/")[0],
        cores=_number(entry.get("cpu_count")),
        mem=_number(entry.get("memory")),
        disk=_number(entry.get("storage")) * 1000**2 // 1024**2,
        tags=tags,
        zone=str(zone.get("name", "default") if isinstance(zone, dict) else zone),
        spaces=tuple(sorted(_spaces(entry))),
        system_id=str(entry.get("system_id") or ""),
        status=str(entry.get("status_name") or "Ready"),
        interfaces=read_interfaces(entry),
        addresses=read_addresses(entry),
    )


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**63 else 0


def _hardware(entry: Mapping[str, Any], tags: Sequence[str]) -> str:
    """Return the type that a tag ``hardware-TYPE`` names, else what the product's name means."""
    named = next((tag[9:] for tag in tags if tag.startswith("hardware-")), "")
    info = entry.get("hardware_info") or {}
    product = str(info.get("system_product", "")) if isinstance(info, dict) else ""
    bare = product.upper().replace(" ", "").replace("-", "")
    return named or next((kind for part, kind in _PRODUCTS if part in bare), "cpu")


def _spaces(entry: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for interface in as_list(entry.get("interface_set")):
        for link in as_list(as_map(interface).get("links")):
            subnet = as_map(as_map(link).get("subnet"))
            space = subnet.get("space") or as_map(subnet.get("vlan")).get("space")
            if space and space != "undefined":
                found.add(str(space))
    return found
