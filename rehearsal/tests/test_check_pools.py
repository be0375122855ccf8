# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""metallb's pools held against the networks of MAAS's list of machines."""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rehearsal.bundle import check, exit_status
from rehearsal.bundle.findings import Finding
from rehearsal.bundle.poolgrammar import find_parser
from rehearsal.maas.inventory import default_inventory, read_inventory

ROOT = Path(__file__).resolve().parents[2]
PATH = "applications.metallb.options.address-pools"
INTERFACES = "applications.metallb.options.interfaces"


def link(cidr: object, gateway: object = None, address: object = None, vlan: int = 1) -> Any:
    """A link as ``maas PROFILE machines read`` prints it; an unset address is left out."""
    subnet = {"cidr": cidr, "gateway_ip": gateway, "vlan": {"id": vlan, "space": "alpha"}}
    has = {"ip_address": address} if address else {}
    return {"id": 7, "mode": "static" if address else "auto", "subnet": subnet, **has}


def port(name: str, *links: Any, vlan: int | None = 1) -> Any:
    on = {"id": vlan, "vid": 0, "space": "alpha"} if vlan else None
    return {"name": name, "type": "physical", "vlan": on, "links": [*links], "discovered": None}


def machine(name: str, *ports: Any, tags: tuple[str, ...] = ("k8s",), **more: Any) -> Any:
    return {
        "hostname": name,
        "system_id": name,
        "architecture": "amd64/generic",
        "cpu_count": 8,
        "memory": 65536,
        "storage": 1e6,
        "status_name": "Ready",
        "tag_names": list(tags),
        "ip_addresses": [],
        "interface_set": list(ports),
        **more,
    }


OAM = ("10.20.0.0/24", "10.20.0.1")
SITE = (
    machine("node-1", port("bond0", link(*OAM, "10.20.0.11")), port("eno2", vlan=2)),
    machine(
        "node-2", port("bond0", link(*OAM), link("fd00:20::/64", "fd00:20::1", "fd00:20::12"))
    ),
    machine(
        "store-1",
        port("ens1", link("10.30.0.0/24", "10.30.0.254", "10.30.0.9", vlan=3), vlan=3),
        port("ens2", link("10.40.0.0/24", None, "10.40.0.9", vlan=2), vlan=2),
        tags=("ceph",),
        ip_addresses=["10.20.0.99"],
        status_name="Deployed",
    ),
)
"""Nodes in 10.20.0.0/24, one of them also on the VLAN of 10.40.0.0/24; storage in 10.30.0.0/24."""

BUNDLE = """
default-base: ubuntu@24.04
applications:
  cp:
    charm: kubernetes-control-plane
    channel: 1.35/stable
    num_units: 2
    constraints: tags=k8s
    PLACED
  metallb:
    charm: CHARM
    options: OPTIONS
relations:
- [metallb:host, cp:juju-info]
- [metallb:kube-control, cp:kube-control]
"""


def found(
    folder: Path,
    site: Any,
    charm: Path = ROOT / "charms/metallb",
    placed: str = "",
    **options: Any,
) -> list[Finding]:
    """What is said of pools; `site` is MAAS's list, a text of our own YAML, or None."""
    text = BUNDLE.replace("CHARM", str(charm)).replace("OPTIONS", json.dumps(options))
    (folder / "b.yaml").write_text(text.replace("PLACED", placed))
    inventory = None
    if site is not None:
        (folder / "i").write_text(site if isinstance(site, str) else json.dumps(site))
        inventory = read_inventory(folder / "i")
    findings = check(folder / "b.yaml", inventory=inventory)
    said = [finding for finding in findings if finding.rule == "pools"]
    assert exit_status(said) == 0
    assert exit_status(said, strict=True) == bool(said)
    return said


def pools(text: str, **more: Any) -> dict[str, Any]:
    return {"address-pools": text, **more}


YAML = """
- name: research
  addresses: [10.20.0.0/29, "fd00:20::/126"]
  avoid-buggy: true
"""

FREE = {
    "none": "",
    "one range": "research=10.20.0.200-10.20.0.240",
    "between machines": "a=10.20.0.2-10.20.0.10;b=10.20.0.12-10.20.0.98,10.20.0.100-10.20.0.254",
    "ipv6": "six=fd00:20::100-fd00:20::1ff",
    "last of an ipv6 subnet": "six=fd00:20::ffff:ffff:ffff:fffe-fd00:20::ffff:ffff:ffff:ffff",
    "on the VLAN of a port without address": "a=10.40.0.100-10.40.0.110",
}


@pytest.mark.parametrize("text", FREE.values(), ids=FREE)
def test_pools_on_free_addresses_of_the_nodes_subnets_are_right(text: str, tmp_path: Path):
    assert found(tmp_path, SITE, **pools(text)) == []


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (
            "a=10.20.0.1-10.20.0.9",
            "pool a holds an address that is taken: 10.20.0.1 (gateway of 10.20.0.0/24)",
            "leave it out: nothing that MAAS knows is in 10.20.0.2-10.20.0.9",
        ),
        ("a=10.20.0.11/32", "an address that is taken: 10.20.0.11 (node-1)", "other addresses"),
        ("a=10.20.0.90-10.20.0.99", "10.20.0.99 (store-1)", "10.20.0.90-10.20.0.98"),
        ("a=10.20.0.254-10.20.0.255", "broadcast address of 10.20.0.0/24", "10.20.0.254/32"),
        ("a=10.20.0.0/32", "(network address of 10.20.0.0/24)", "name other addresses"),
        ("a=fd00:20::/127", "fd00:20::1 (gateway of fd00:20::/64), fd00:20:: (routers'", "other"),
        ("a=fd00:20::10-fd00:20::1f", "fd00:20::12 (node-2)", "fd00:20::13-fd00:20::1f"),
        (
            "a=10.20.0.0/24",
            "10.20.0.1 (gateway of 10.20.0.0/24), 10.20.0.11 (node-1), 10.20.0.99 (store-1), ",
            "leave them out: nothing that MAAS knows is in 10.20.0.100-10.20.0.254",
        ),
        (YAML, "10.20.0.1 (gateway of 10.20.0.0/24), fd00:20::1 (gateway", "10.20.0.2-10.20.0.7"),
    ],
    ids=["gateway", "machine", "of all a machine", "broadcast", "network", "anycast", "ipv6",
         "the whole subnet", "yaml without buggy ones"],
)  # fmt: skip
def test_a_pool_that_holds_what_is_taken_says_whose_it_is_and_what_is_free(
    text: str, message: str, remedy: str, tmp_path: Path
):
    (finding,) = found(tmp_path, SITE, **pools(text))
    assert (finding.severity, finding.path) == ("warning", PATH)
    assert message in finding.message
    assert remedy in finding.remedy
    assert "10.20.0.0 (" not in finding.message or "avoid-buggy" not in text


def test_each_pool_is_a_finding_of_its_own(tmp_path: Path):
    text = "a=10.20.0.1/32;b=10.20.0.30-10.20.0.40;c=10.20.0.11/32,10.20.0.50/32;d=10.99.0.0/28"
    messages = [finding.message for finding in found(tmp_path, SITE, **pools(text))]
    assert [message.partition(" holds")[0].partition(":")[0] for message in messages] == [
        "pool a",
        "pool c",
        "pool d",
    ]


@pytest.mark.parametrize(
    ("text", "part", "remedy"),
    [
        ("a=10.99.0.0/28", "10.99.0.0/28 is", "10.20.0.0/24, fd00:20::/64, 10.40.0.0/24"),
        ("a=10.30.0.100-10.30.0.110", "10.30.0.100-10.30.0.110 is", "set mode: bgp"),
        ("a=10.20.0.250-10.20.1.9", "10.20.1.0-10.20.1.9 is", "10.20.0.0/24"),
        ("a=10.19.255.9-10.20.1.9", "10.19.255.9-10.19.255.255, 10.20.1.0-10.20.1.9 are", "bgp"),
        ("a=10.20.0.60/32,10.1.0.0/30,10.1.1.0/30", "10.1.0.0/30, 10.1.1.0/30 are", "10.20.0.0"),
        ("a=fd00:99::/120", "fd00:99::/120 is", "take addresses of fd00:20::/64"),
    ],
    ids=["nowhere", "of others", "over the end", "over both", "several", "ipv6"],
)
def test_a_range_that_no_node_reaches_in_layer_2_is_named(
    text: str, part: str, remedy: str, tmp_path: Path
):
    said = found(tmp_path, SITE, **pools(text))
    finding = next(one for one in said if "in no subnet" in one.message)
    assert f"pool a: {part} in no subnet of the machines that nodes can be on" in finding.message
    assert len(said) == 1 or "gateway" in said[0].message
    family = "fd00" if "fd00" in text else "10."
    shown = [part for part in remedy.split(", ") if part.startswith(family) or "/" not in part]
    assert all(part in finding.remedy for part in shown)
    assert ("bgp" in finding.remedy) == (family == "10.")


def test_ipv6_pools_on_a_site_without_ipv6_say_what_is_missing(tmp_path: Path):
    (finding,) = found(tmp_path, SITE[:1], **pools("six=fd00::/120"))
    assert finding.remedy == "give the machines a subnet of IPv6 in MAAS, or leave the range out"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=10.99.0.0/24", []),
        ("a=10.20.0.0/32,10.20.0.255/32", []),
        ("a=10.20.0.0-10.20.0.1", ["10.20.0.1 (gateway of 10.20.0.0/24)"]),
        ("a=10.30.0.9/32", ["10.30.0.9 (store-1)"]),
    ],
    ids=["of no subnet", "edges", "gateway", "machine"],
)
@pytest.mark.parametrize("mode", ["bgp", "layer2"])
def test_outside_of_mode_l2_only_what_is_taken_counts(
    text: str, said: list[str], mode: str, tmp_path: Path
):
    findings = found(tmp_path, SITE, mode=mode, interfaces="none0", **pools(text))
    assert [finding.message.partition("taken: ")[2] for finding in findings] == said


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("bond0,eno2", "", ""),
        ("br-bond0, b-bond0", "", ""),
        ("", "", ""),
        ("bond0,bond1", "interface bond1", "did you mean bond0?"),
        ("ens1", "interface ens1", "there are: bond0, eno2"),
        ("wlan0,bond0,usb0", "interface wlan0, usb0", "there are: bond0, eno2"),
    ],
)
def test_interfaces_that_no_node_has_are_named(
    text: str, message: str, remedy: str, tmp_path: Path
):
    findings = found(tmp_path, SITE, interfaces=text, **pools("a=10.20.0.200/32"))
    assert [(one.path, one.message[-len(message) :], one.remedy) for one in findings] == (
        [(INTERFACES, message, remedy)] if message else []
    )


def test_of_nodes_in_containers_the_interfaces_are_not_known(tmp_path: Path):
    charmed = pools("a=10.20.0.200/32", interfaces="eth0")
    for inside in ("to: [lxd:new, lxd:new]", "to: [lxd:zz]"):
        assert found(tmp_path, SITE, placed=inside, **charmed) == []
    assert len(found(tmp_path, SITE, **charmed)) == 1


@pytest.mark.parametrize(
    "site",
    [
        None,
        "machines: [{name: a, tags: [k8s]}, {name: b, tags: [k8s]}]",
        [machine("a"), machine("b")],
        [machine("a", port("bond0")), machine("b", port("bond0", {"mode": "link_up"}))],
    ],
    ids=["no inventory", "our yaml", "no interfaces", "no links"],
)
def test_where_nothing_is_known_of_networks_nothing_is_said(site: Any, tmp_path: Path):
    assert found(tmp_path, site, interfaces="bond0", **pools("a=10.20.0.0/24")) == []


def test_of_our_own_inventory_the_addresses_of_machines_count(tmp_path: Path):
    site = "machines: [{name: a, tags: [k8s], address: 10.1.0.7}, {name: b, tags: [k8s]}]"
    (finding,) = found(tmp_path, site, **pools("a=10.1.0.0/28"))
    assert finding.message.endswith("10.1.0.7 (a)")


@pytest.mark.parametrize(
    ("key", "value"),
    [("tag_names", []), ("tag_names", ["ceph"]), ("status_name", "Deployed")],
)
def test_machines_that_cannot_be_nodes_reach_nothing_for_them(
    key: str, value: Any, tmp_path: Path
):
    lone = machine("lone", port("eth9", link("10.50.0.0/24", None, None, 5), vlan=5))
    site = [*SITE[:2], {**lone, key: value}]
    said = found(tmp_path, site, interfaces="eth9", **pools("a=10.50.0.9/32"))
    expected = [] if key == "status_name" else [INTERFACES, PATH]
    assert sorted(finding.path for finding in said) == sorted(expected)


@pytest.mark.parametrize("is_deployed", [False, True])
def test_what_dhcp_gave_a_machine_counts_and_is_said_so(is_deployed: bool, tmp_path: Path):
    given = link("10.60.0.0/24", "10.60.0.1", "10.60.0.77")
    ports = (
        {**port("eno1", vlan=None), "discovered": [given]},
        port("e", {**given, "mode": "dhcp"}),
    )
    seen = ports[is_deployed]
    site = [machine("a", seen, ip_addresses=["10.60.0.77"]), machine("b", seen)]
    assert found(tmp_path, site, **pools("a=10.60.0.100/32")) == []
    (finding,) = found(tmp_path, site, **pools("a=10.60.0.77/32"))
    assert "10.60.0.77 (a, by DHCP)" in finding.message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a=10.20.0.5", "a: '10.20.0.5' is a single address, write 10.20.0.5/32"),
        ("10.0.0.300-10.0.0.310", "'10.0.0.300' is no address"),
        ("a=10.20.0.9-10.20.0.2", "starts after its end, write 10.20.0.2-10.20.0.9"),
        ("a=10.20.0.0/24;b=10.20.0.7/32", "b: '10.20.0.7/32' overlaps '10.20.0.0/24' of pool a"),
        ("- {name: a, address: [10.20.0.0/28]}", "did you mean addresses"),
        ("[1", "line 1 is no YAML"),
        ("a=0.0.0.0/0", "is the whole Internet"),
    ],
)
@pytest.mark.parametrize("site", [None, SITE], ids=["alone", "with an inventory"])
def test_what_metallb_cannot_read_is_said_in_its_own_words(
    text: str, sentence: str, site: Any, tmp_path: Path
):
    (finding,) = found(tmp_path, site, **pools(text))
    assert (finding.path, finding.severity) == (PATH, "warning")
    assert finding.message.startswith("metallb will be blocked: ")
    assert sentence in finding.message


def test_an_overlay_is_named_where_it_wrote_the_pools(tmp_path: Path):
    (tmp_path / "b.yaml").write_text(
        BUNDLE.replace("CHARM", str(ROOT / "charms/metallb"))
        .replace("OPTIONS", "{}")
        .replace("PLACED", "")
    )
    overlay = "applications:\n  metallb:\n    options:\n      address-pools: a=10.20.0.1/32\n"
    (tmp_path / "o.yaml").write_text(overlay)
    (tmp_path / "i").write_text(json.dumps(SITE))
    said = check(
        tmp_path / "b.yaml", [tmp_path / "o.yaml"], inventory=read_inventory(tmp_path / "i")
    )
    (finding,) = (one for one in said if one.rule == "pools")
    assert (finding.position.file, finding.position.line) == (str(tmp_path / "o.yaml"), 4)


CODE = "raise SystemExit('a check runs nobody's code')\n"


def test_of_a_copy_of_the_charm_no_code_is_run(tmp_path: Path):
    copy = tmp_path / "metallb"
    (copy / "src").mkdir(parents=True)
    (copy / "charmcraft.yaml").write_text((ROOT / "charms/metallb/charmcraft.yaml").read_text())
    for name in ("pools", "document", "addresses"):
        (copy / "src" / f"{name}.py").write_text(CODE)
    (finding,) = found(tmp_path, SITE, charm=copy, **pools("a=10.20.0.1/32"))
    assert "gateway" in finding.message


def test_another_charm_of_that_name_is_left_alone(tmp_path: Path):
    other = tmp_path / "metallb"
    other.mkdir()
    text = (ROOT / "charms/metallb/charmcraft.yaml").read_text()
    (other / "charmcraft.yaml").write_text(text.replace("address-pools:", "iprange:"))
    options = {"iprange": "10.20.0.1"}
    assert found(tmp_path, SITE, charm=other, **options, **{"address-pools": 7}) == []


def test_the_charms_modules_are_not_left_among_the_interpreters(tmp_path: Path):
    before = {name: sys.modules.get(name) for name in ("pools", "document", "addresses")}
    find_parser.cache_clear()
    assert found(tmp_path, SITE, **pools("a=10.20.0.200/32")) == []
    assert {name: sys.modules.get(name) for name in before} == before


ODD: list[Any] = [None, 7, True, 1.5, "", "x", "10.0.0.0/99", "fe80::1%eth0", "1" * 9000, [], {},
    ["10.20.0.0/24"], {"id": []}, "10.20.0.0/24\n", "\x1b[31m", "0.0.0.0/0", 2**200]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:12])
def test_odd_values_of_an_export_are_passed_over(value: Any, tmp_path: Path):
    odd = [
        port(value, link(*OAM, "10.20.0.11")),
        port("bond0", link(value, value, value), link(*OAM, value), value),
        {**port("bond0"), "links": value, "discovered": value, "vlan": value},
        {"links": [{"subnet": value, "ip_address": value}], "discovered": [value]},
        value,
    ]
    site = [machine("a", item, ip_addresses=value) for item in odd[:1]] + [
        machine(f"m{number}", item, ip_addresses=[value]) for number, item in enumerate(odd)
    ]
    said = found(tmp_path, site, **pools("a=10.20.0.0/24;b=fd00::/120", interfaces="bond0"))
    assert any("10.20.0.1 (gateway of 10.20.0.0/24)" in one.message for one in said)
    assert all(one.message.isprintable() and len(one.message) < 900 for one in said)


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:12])
def test_odd_values_of_options_never_raise(value: Any, tmp_path: Path):
    options = {"address-pools": "a=10.20.0.1/32", "mode": "l2", "interfaces": "bond0"}
    for key in options:
        found(tmp_path, SITE, **{**options, key: value})


def test_random_pools_are_told_from_free_ones_as_one_by_one(tmp_path: Path):
    """An oracle that looks at each address by itself."""
    chance = random.Random(7)
    taken = {"10.20.0.0", "10.20.0.1", "10.20.0.11", "10.20.0.99", "10.20.0.255"}
    parse = find_parser()
    assert parse is not None
    for _ in range(25):
        first = chance.randrange(0, 250)
        last = min(255, first + chance.randrange(0, 60))
        (said, *more) = [
            *found(tmp_path, SITE, **pools(f"a=10.20.0.{first}-10.20.0.{last}")),
            None,
        ]
        held = [n for n in range(first, last + 1) if f"10.20.0.{n}" in taken]
        assert (said is not None) == bool(held)
        assert len(more) == bool(held)
        if said is not None and " is in " in said.remedy:
            (pool,) = parse(f"free={said.remedy.rpartition(' ')[2]}")
            (span,) = pool.spans
            free = {f"10.20.0.{number & 255}" for number in range(span.first, span.last + 1)}
            assert not free & taken


RANGES = [f"10.{n // 250}.{n % 250}.1/32" for n in range(1500)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"a={','.join(RANGES)}", 1),
        (";".join(f"p{number}=9{one}" for number, one in enumerate(RANGES)), 1500),
    ],
    ids=["gateways in one pool", "pools of no subnet"],
)
def test_many_pools_and_many_subnets_are_judged_within_seconds(
    text: str, count: int, tmp_path: Path
):
    site = [
        machine(
            f"m{n}", *(port(f"e{p}", link(f"10.{n}.{p}.0/24", f"10.{n}.{p}.1")) for p in range(9))
        )
        for n in range(250)
    ]
    started = time.process_time()
    said = found(tmp_path, site, **pools(text.replace("=910.", "=91.")))
    assert time.process_time() - started < 3
    assert len({finding.message for finding in said}) == len(said) >= count


def test_more_pools_than_one_option_holds_are_left_to_the_charm(tmp_path: Path):
    """Many applications of one charm with long options would take minutes."""
    text = f"a=10.20.0.1/32;{'x' * 40000}=1"
    body = f"{{charm: {ROOT / 'charms/metallb'}, options: {{address-pools: '{text}'}}}}"
    lines = [f"  m{number}: {body}" for number in range(20)]
    (tmp_path / "b.yaml").write_text("\n".join(["applications:", *lines]))
    said = [finding for finding in check(tmp_path / "b.yaml") if finding.rule == "pools"]
    assert [finding.path for finding in said] == ["applications.m0.options.address-pools"]


def test_the_reference_bundle_fits_its_own_inventory():
    bundle, overlay = ROOT / "bundles/charmed-kubernetes.yaml", ROOT / "overlays/site-example.yaml"
    said = check(bundle, [overlay], inventory=default_inventory())
    assert [finding for finding in said if finding.rule == "pools"] == []
