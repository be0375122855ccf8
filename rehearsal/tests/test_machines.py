# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Machines of a site, and which of them MAAS gives."""

import json
import time
from pathlib import Path

import pytest

from rehearsal.bundle import check
from rehearsal.maas.constraints import parse
from rehearsal.maas.inventory import default_inventory, read_inventory
from rehearsal.maas.machines import (
    InventoryError,
    NoMachineError,
    SiteMachine,
    assign,
    choose,
    find_refusal,
)


def machine(name: str, cores: int = 8, tags: tuple[str, ...] = (), **more: object) -> SiteMachine:
    return SiteMachine(name, cores=cores, mem=1024 * cores, disk=9999, tags=tags, **more)  # type: ignore[arg-type]


SITE = (
    machine("big", 64, ("gpu",)),
    machine("small", 4),
    machine("middle", 8, ("gpu",), zone="b"),
    machine("arm", 2, arch="arm64"),
    machine("used", 1, status="Deployed"),
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("arch=amd64", "small"),
        ("", "arm"),
        ("tags=gpu", "middle"),
        ("tags=gpu zones=default", "big"),
        ("tags=^gpu arch=amd64", "small"),
        ("cores=16", "big"),
        ("mem=7G", "middle"),
    ],
)
def test_the_cheapest_machine_that_fits_is_taken(text: str, name: str):
    assert choose(parse(text), SITE).name == name
    assert choose(parse(text), reversed(SITE)).name == name


def test_every_candidate_says_why_it_was_not_taken():
    with pytest.raises(NoMachineError, match="no machine fits tags=gpu cores=128") as caught:
        choose(parse("tags=gpu cores=128"), SITE)
    assert caught.value.reasons["big"] == "has cores 64 of 128"
    assert caught.value.reasons["small"] == "has cores 4 of 128, lacks tag gpu"
    assert "is Deployed, not Ready" in caught.value.reasons["used"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("arch=arm64", "is amd64"),
        ("zones=a", "is in zone default"),
        ("spaces=oam", "is not in space oam"),
        ("spaces=^alpha", "is in space alpha"),
        ("root-disk=1T", "has disk 9999 MiB of 1048576 MiB"),
        ("tags=^gpu", "has tag gpu"),
    ],
)
def test_a_refusal_names_what_does_not_fit(text: str, reason: str):
    assert find_refusal(parse(text), SITE[0]) == reason


def test_an_early_taker_makes_room_for_a_choosy_one():
    given = assign([("any", parse("arch=amd64")), ("gpu", parse("tags=gpu"))], SITE[:1])
    assert len(given) == 1
    given = assign([("any", parse("cores=8")), ("zoned", parse("zones=b"))], SITE)
    assert {name: found.name for name, found in given.items()} == {"any": "big", "zoned": "middle"}


def test_more_wanted_than_there_are_leaves_the_rest_without():
    site = [machine(f"m{n}") for n in range(1500)]
    assert len(assign([(f"w{n}", parse("cores=4")) for n in range(1502)], site)) == 1500


def test_the_default_inventory_has_spare_machines_for_every_pool():
    site = default_inventory()
    counts = {
        tag: sum(tag in found.tags for found in site.machines)
        for tag in ("k8s-control", "k8s-cpu", "dgx", "dgx-mig")
    }
    assert counts == {"k8s-control": 3, "k8s-cpu": 3, "dgx": 4, "dgx-mig": 2}
    assert {found.hardware for found in site.machines if "dgx" in found.tags} == {"dgx-a100-40"}
    assert len({found.address for found in site.machines}) == len(site.machines)


MAAS = {
    "system_id": "abc123",
    "hostname": "dgx-1",
    "architecture": "amd64/generic",
    "cpu_count": 256,
    "memory": 1048576,
    "storage": 1920000.0,
    "tag_names": ["dgx", "gpu"],
    "zone": {"name": "hall-1"},
    "status_name": "Ready",
    "ip_addresses": ["10.0.0.7"],
    "hardware_info": {"system_product": "DGX A100"},
    "interface_set": [{"links": [{"subnet": {"vlan": {"space": "oam"}}}, {}]}],
}


def test_maas_json_is_read(tmp_path: Path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps([MAAS, {"hostname": "bare"}]))
    site = read_inventory(path)
    first = site.machines[0]
    assert (first.name, first.hardware, first.cores, first.zone) == (
        "dgx-1",
        "dgx-a100-40",
        256,
        "hall-1",
    )
    assert (first.mem, first.disk, first.spaces) == (1048576, 1831054, ("oam",))
    assert site.spaces == {"oam"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("machines: 7", "must hold a list"),
        ("machines: [7]", "must be a map with a name"),
        ("machines: [{name: a, ram: 1}]", "ram is no field"),
        ("machines: [{name: a, mem: lots}]", "mem: must be a whole number"),
        ("machines: [{name: a}, {name: a}]", "a is there twice"),
        ("machines: [{name: a, tags: x}]", "tags: must be a list"),
        ("machines: [", "expected"),
        ("[{]", "Expecting"),
        ("[1]", "no machine"),
    ],
)
def test_a_wrong_inventory_says_which_entry(text: str, reason: str, tmp_path: Path):
    path = tmp_path / "i.yaml"
    path.write_text(text)
    with pytest.raises(InventoryError, match=reason):
        read_inventory(path)


ODD: list[object] = [None, 7, -1, 1.5, "x", [], ["x"], {}, {"a": 1}, [[1]], [{"links": 7}],
    [{"links": [{"subnet": {"vlan": "x", "space": ["y"]}}]}], True, [{"links": [3]}]]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=str)
def test_an_export_with_odd_values_is_taken_as_far_as_it_goes(value: object, tmp_path: Path):
    path = tmp_path / "m.json"
    for key in [*MAAS, "interface_set", "hardware_info"]:
        path.write_text(json.dumps([{**MAAS, key: value}]))
        (machine,) = read_inventory(path).machines
        assert machine.name
        assert machine.mem >= 0


def test_two_machines_of_one_name_are_refused_in_an_export_too(tmp_path: Path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps([MAAS, MAAS]))
    with pytest.raises(InventoryError, match="dgx-1 is there twice"):
        read_inventory(path)


BUNDLE = """
default-base: ubuntu@24.04
applications:
  worker: {charm: ubuntu, channel: latest/stable, num_units: COUNT, constraints: tags=dgx}
"""


def test_a_bundle_that_does_not_fit_says_which_machine_is_missing(tmp_path: Path):
    path = tmp_path / "b.yaml"
    path.write_text(BUNDLE.replace("COUNT", "5"))
    (finding,) = check(path, inventory=default_inventory())
    assert (finding.severity, finding.rule, finding.path) == (
        "error",
        "maas",
        "applications.worker",
    )
    assert "no machine is left for worker/4 (tags=dgx)" in finding.message
    assert "dgx-1 is needed for others" in finding.message
    path.write_text(BUNDLE.replace("COUNT", "7"))
    (finding,) = check(path, inventory=default_inventory())
    assert "for worker/4 (tags=dgx), nor for 2 more like it:" in finding.message
    path.write_text(BUNDLE.replace("COUNT", "4"))
    assert check(path, inventory=default_inventory()) == []


TWO_ARCHES = """
machines:
- {name: a, cores: 1, arch: arm64}
- {name: b, cores: 8, spaces: [alpha, oam]}
- {name: c, cores: 8}
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("num_units: 2", ""),
        ("num_units: 3", "(arch=amd64): "),
        ("num_units: 1, bindings: {'': oam}", ""),
        ("num_units: 2, bindings: {'': oam}", "(arch=amd64 spaces=oam): b is needed for others"),
        ("num_units: 1, constraints: arch=arm64", "charm amb-a is built for"),
    ],
)
def test_a_machine_suits_the_charms_on_it(body: str, reason: str, tmp_path: Path):
    """Source: apiserver deployApplication; bundle changes fixupConstraintsWithBindings."""
    charm = Path(__file__).parent / "data" / "observed" / "charms" / "amb-a.charm"
    text = f"default-base: ubuntu@24.04\napplications: {{x: {{charm: {charm}, {body}}}}}\n"
    (tmp_path / "b.yaml").write_text(text)
    (tmp_path / "i.yaml").write_text(TWO_ARCHES)
    found = check(tmp_path / "b.yaml", inventory=read_inventory(tmp_path / "i.yaml"))
    assert [bool(finding.message) for finding in found] == ([True] if reason else [])
    assert all(reason.removeprefix("charm ") in finding.message for finding in found)


def test_an_export_of_500_machines_is_checked_within_two_seconds(tmp_path: Path):
    entries = [{**MAAS, "hostname": f"m{n}", "padding": "x" * 8000} for n in range(500)]
    (tmp_path / "m.json").write_text(json.dumps(entries))
    (tmp_path / "b.yaml").write_text(BUNDLE.replace("COUNT", "480"))
    started = time.process_time()
    assert check(tmp_path / "b.yaml", inventory=read_inventory(tmp_path / "m.json")) == []
    assert time.process_time() - started < 2
