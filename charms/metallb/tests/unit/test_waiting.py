# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Why a service has no address, or an address that no node answers for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lbsite import HOME, Deployment
from test_status import matches, rows

from charmkit.watcher import Waits
from facts import Service, parse_service
from pools import Pool, parse_pools
from waiting import explain_waiting, find_full

PIN, POOL = "metallb.io/loadBalancerIPs", "metallb.io/address-pool"
OLD_PIN, OLD_POOL = (name.replace("metallb.io", "metallb.universe.tf") for name in (PIN, POOL))
POOLS = """
- {name: a, addresses: 10.20.1.0/31}
- {name: dmz, addresses: [10.20.2.0/28], auto-assign: false}
- {name: lab, addresses: [10.20.3.0/28], auto-assign: false, namespaces: [lab]}
- {name: buggy, addresses: [10.20.4.0/31], auto-assign: false, avoid-buggy: true}
"""


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    unit = Deployment(tmp_path, address_pools=POOLS)
    unit.settle()
    return unit


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "pinned outside": ({PIN: "10.9.9.9"}, "asks for 10.9.9.9, which no pool has"),
    "pinned as before": ({OLD_PIN: "10.9.9.9"}, "asks for 10.9.9.9, which no pool has"),
    "pinned to no address": (
        {PIN: "web.lan"},
        "asks for 'web.lan', which is no address",
    ),
    "pinned where another is": ({PIN: "10.20.1.0"}, "asks for 10.20.1.0, which team-a/first has"),
    "pinned in a pool of others": (
        {PIN: "10.20.3.4"},
        "asks for 10.20.3.4 of pool lab, which is not for it",
    ),
    "pinned to what is left out": ({PIN: "10.20.4.0"}, "asks for 10.20.4.0, which no pool has"),
    "pinned beside its pool": (
        {PIN: "10.20.2.4", POOL: "a"},
        "asks for 10.20.2.4 and for pool a, keep one",
    ),
    "no such pool": ({POOL: "dnz"}, "asks for pool dnz, there is no such"),
    "no such pool, as before": ({OLD_POOL: "dnz"}, "asks for pool dnz, there is no such"),
    "a pool of others": ({POOL: "lab"}, "asks for pool lab, which is not for it"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_service_without_address_is_told_why(unit: Deployment, name: str) -> None:
    annotations, reason = CASES[name]
    assert unit.serve("first") == "10.20.1.0"
    assert unit.serve("web", annotations=annotations) == ""
    status = unit.run(unit.on.update_status())
    assert f"team-a/web without address: {reason}"[:110] in status[1] or status[1].endswith("…")
    assert any(matches(row, status) for row in rows()), status
    said = unit.act("show-pools")["without-address"]
    assert said.startswith(f"team-a/web: {reason}")


@pytest.mark.parametrize("name", [PIN, POOL])
@pytest.mark.parametrize(
    "text", ["\x1b[2Jdmz\nx", "{0} %s", "a" * 5000], ids=["codes", "format", "long"]
)
def test_what_an_owner_wrote_is_one_printable_line(unit: Deployment, name: str, text: str) -> None:
    unit.serve("web", annotations={name: text})
    message, said = unit.run(unit.on.update_status())[1], unit.act("show-pools")["without-address"]
    assert message.isprintable()
    assert said.isprintable()
    assert max(len(message), len(said)) <= 120


def test_a_pin_is_compared_as_an_address(tmp_path: Path) -> None:
    pools = parse_pools("a=fd00:9::/126")
    first = replace(service(), addresses=("fd00:9::1",))
    one = service(annotations={PIN: "fd00:9:0::1"})
    assert "which team-a/web has" in explain(one, pools, first)


def test_a_pin_that_mends_itself_is_no_note(unit: Deployment) -> None:
    assert unit.serve("web", annotations={OLD_PIN: "10.20.2.4"}) == "10.20.2.4"
    assert unit.serve("api", loadBalancerIP="10.20.2.5") == "10.20.2.5"
    assert "without address" not in unit.run(unit.on.update_status())[1]


def explain(one: Service, pools: tuple[Pool, ...], *others: Service) -> str:
    services = (one, *others)
    return explain_waiting(one, pools, services, find_full(pools, services))


def service(**parts: Any) -> Any:
    head = {"name": "web", "namespace": "team-a", "annotations": parts.pop("annotations", {})}
    return parse_service({"metadata": head, "spec": {"type": "LoadBalancer", **parts}})


@pytest.mark.parametrize(
    ("parts", "text", "reason"),
    [
        (
            {"annotations": {PIN: "10.20.1.0"}, "loadBalancerIP": "10.20.1.1"},
            "a=10.20.1.0/31",
            "asks by annotation and by loadBalancerIP, keep one",
        ),
        ({"clusterIPs": ["fd00::1"]}, "a=10.20.1.0/31", "wants IPv6, which no pool has"),
        ({"clusterIPs": ["10.1.0.1"]}, "a=fd00:9::/126", "wants IPv4, which no pool has"),
        ({"clusterIPs": ["10.1.0.1", "fd00::1"]}, "a=10.20.1.0/31", ""),
        (
            {},
            "- {name: a, addresses: [10.20.1.0/31], auto-assign: false}",
            "no pool gives it one by itself",
        ),
        (
            {},
            "- {name: a, addresses: [10.20.1.0/31], services: {app: x}}",
            "no pool gives it one by itself",
        ),
        ({}, "a=10.20.1.0/31", ""),
    ],
    ids=["twice", "IPv6", "IPv4", "both", "none by itself", "none for it", "nothing to see"],
)
def test_what_a_service_asks_for_is_compared_with_what_there_is(
    parts: dict[str, Any], text: str, reason: str
) -> None:
    one = service(**parts)
    assert explain(one, parse_pools(text), one) == reason


FOUR, SIX = {"clusterIPs": ["10.1.0.1"]}, {"clusterIPs": ["fd00::1"]}
BOTH = {"clusterIPs": ["10.1.0.1", "fd00::1"], "ipFamilyPolicy": "RequireDualStack"}
MIXED = "a=10.20.1.0/32,fd00:9::/126;b=10.20.2.0/31"


@pytest.mark.parametrize(
    ("parts", "annotations", "reason"),
    [
        (FOUR, {PIN: "fd00:9::1"}, "asks for fd00:9::1, its cluster IPs are IPv4"),
        (SIX, {PIN: "10.20.2.0"}, "asks for 10.20.2.0, its cluster IPs are IPv6"),
        (BOTH, {PIN: "10.20.2.0"}, "asks for 10.20.2.0, its cluster IPs are IPv4 and IPv6"),
        (BOTH, {PIN: "10.20.2.0,fd00:9::1"}, "asks for 10.20.2.0 and fd00:9::1 of two pools, ask"),
        (FOUR, {PIN: "10.20.2.0, 10.20.2.1"}, "asks for two addresses of IPv4, keep one"),
        (FOUR, {PIN: "10.20.2.0,"}, "asks for '', which is no address"),
        (FOUR, {PIN: "::ffff:10.20.1.0"}, "asks for ::ffff:10.20.1.0, which team-a/first has"),
        (FOUR, {PIN: "10.20.1.0", POOL: "b"}, "asks for 10.20.1.0, which team-a/first has"),
        ({**FOUR, "loadBalancerIP": "10.20.2.0,10.20.2.1"}, {}, "asks for '10.20.2.0,10.20.2.1'"),
        (FOUR, {POOL: "a"}, "pool a has no IPv4 left"),
        (FOUR, {POOL: "", OLD_POOL: "nowhere"}, ""),
        (BOTH, {POOL: "a"}, "pool a has no IPv4 left"),
        (BOTH, {POOL: "b"}, "wants IPv4 and IPv6 of one pool, which no pool has"),
        ({**BOTH, "ipFamilyPolicy": "PreferDualStack"}, {POOL: "a"}, ""),
    ],
)
def test_families_and_pins_are_told_as_metallb_judges_them(
    parts: dict[str, Any], annotations: dict[str, str], reason: str
) -> None:
    """Each reason but the empty ones is that of an event of MetalLB 0.15.3's own controller."""
    first = replace(service(**FOUR), name="team-a/first", addresses=("10.20.1.0",))
    found = explain(service(**parts, annotations=annotations), parse_pools(MIXED), first)
    assert found.startswith(reason) if reason else not found


def test_an_address_that_a_pool_leaves_out_makes_it_no_fuller() -> None:
    pools = parse_pools("- {name: a, addresses: 10.20.1.0-10.20.1.1, avoid-buggy: true}")
    former = replace(service(**FOUR), addresses=("10.20.1.0",))
    assert explain(service(**FOUR), pools, former) == ""
    taken = replace(former, addresses=("10.20.1.1",))
    assert explain(service(**FOUR), pools, taken) == "pool a is full"


def test_pools_that_are_full_are_named_together(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, address_pools="a=10.20.1.0/32;b=10.20.2.0/32")
    unit.settle()
    for name in ("one", "two", "three", "four"):
        unit.serve(name)
    text = "l2: a 1/1, b 1/1 used; team-a/four and 1 more without address: pools a, b are full"
    assert unit.run(unit.on.update_status()) == ("active", text)
    said = unit.act("show-pools")["without-address"]
    assert said == "team-a/four: pools a, b are full; team-a/three: pools a, b are full"


def report_mute(unit: Deployment) -> tuple[str, str]:
    """Look at a moment at which no speaker announces anything, as where none has the interface."""
    kind = unit.world.api.resource("servicel2statuses.metallb.io")
    for status in unit.world.api.scan("servicel2statuses.metallb.io", HOME):
        unit.world.api.store.remove(kind, HOME, status["metadata"]["name"])
    unit.state = unit.context.run(unit.on.update_status(), unit.state)
    return unit.status


def give_pods(unit: Deployment, name: str, **conditions: bool) -> None:
    """Let a service have a pod in a condition."""
    head = {
        "name": f"{name}-1",
        "namespace": "team-a",
        "labels": {"kubernetes.io/service-name": name},
    }
    endpoint = {"addresses": ["10.1.0.7"], "conditions": conditions}
    unit.world.api.put(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": head,
            "addressType": "IPv4",
            "endpoints": [endpoint],
        }
    )


def stay_mute(unit: Deployment) -> tuple[str, str]:
    """Look twice, with a while between."""
    report_mute(unit)
    unit.world.advance(30)
    return report_mute(unit)


BOND9 = {"interfaces": "bond9"}
LOCAL = {"externalTrafficPolicy": "Local"}
ASK = "have all nodes bond9? set interfaces or node-selector"
USED = "l2: research 1/41 used; team-a/web: no node announces it"


@pytest.mark.parametrize(
    ("options", "more", "status"),
    [
        (
            BOND9,
            {},
            ("waiting", f"team-a/web: no node announces it; {ASK}"),
        ),
        ({}, {}, ("active", f"{USED}, see its events")),
        (BOND9, LOCAL, ("active", f"{USED}, is a pod of it on a node that may?")),
    ],
    ids=["no such interface", "no reason", "pods elsewhere"],
)
def test_a_served_service_that_nobody_announces_is_named(
    tmp_path: Path, options: dict[str, Any], more: dict[str, Any], status: tuple[str, str]
) -> None:
    unit = Deployment(tmp_path, **options)
    unit.settle()
    assert unit.serve("web", **more) == "10.20.0.200"
    give_pods(unit, "web", ready=True)
    assert stay_mute(unit) == status
    assert any(matches(row, status) for row in rows())
    unit.world.settle()
    assert unit.settle() == ("active", "l2: research 1/41 used")


def test_a_service_of_somebody_hides_none_that_the_option_silences(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, **BOND9)
    unit.settle()
    for name, more in (("api", LOCAL), ("web", {})):
        unit.serve(name, **more)
        give_pods(unit, name, ready=True)
    assert stay_mute(unit)[1].startswith("team-a/web: no node announces it; have all")


def test_what_is_silent_for_a_moment_is_looked_at_again_and_not_said(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, **BOND9)
    unit.settle()
    unit.serve("web")
    give_pods(unit, "web", ready=True)
    assert report_mute(unit) == ("active", "l2: research 1/41 used")
    waits = Waits(unit.machine.host.files, "metallb")
    assert waits.read() is not None
    unit.settle()
    assert waits.read() is None
    unit.world.advance(60)
    assert report_mute(unit)[0] == "active", "a silence that ended counts from its next beginning"


@pytest.mark.parametrize("conditions", [None, {"ready": False}], ids=["no pod", "none ready"])
def test_a_service_without_a_ready_pod_is_rightly_silent(
    tmp_path: Path, conditions: dict[str, bool] | None
) -> None:
    unit = Deployment(tmp_path, interfaces="bond9")
    unit.settle()
    unit.serve("web")
    if conditions:
        give_pods(unit, "web", **conditions)
    assert stay_mute(unit) == ("active", "l2: research 1/41 used")


def test_what_everybody_hears_costs_no_read(tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    unit.serve("web")
    unit.calls()
    unit.run(unit.on.update_status())
    assert not [call for call in unit.calls() if "endpointslices" in call]
