# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""No way of changing anything takes an address from a running service unasked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lbsite import HOME, Deployment

from charmkit import kinds
from kinds import POOL

A, B = "10.20.1.0/29", "10.20.2.0/29"
BASE = f"a={A};b={B}"
WEB, UI = "10.20.1.0", "10.20.2.7"
LOST_WEB, LOST_UI = f"{WEB} from team-a/web", f"{UI} from team-a/ui"


def yaml_of(name: str = "a", ranges: str = A, **more: str) -> str:
    """Return the two pools as YAML, with something more for the first."""
    words = "".join(f", {key}: {value}" for key, value in more.items())
    return f"- {{name: {name}, addresses: [{ranges}]{words}}}\n- {{name: b, addresses: [{B}]}}"


def configure(**options: str) -> Callable[[Deployment], Any]:
    return lambda unit: unit.configure(**options)


def put(name: str, *ranges: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "namespace": HOME, "labels": labels or {}}
    kind = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool"}
    return {**kind, "metadata": metadata, "spec": {"addresses": list(ranges)}}


def unlabel(unit: Deployment) -> None:
    """Let somebody take our label off a pool, and let the option be smaller."""

    def change(pool: Any) -> None:
        pool["metadata"]["labels"] = {}

    unit.world.api.edit("ipaddresspools.metallb.io", "a", HOME, change)
    unit.configure(address_pools=f"a=10.20.1.4/30;b={B}")


def widen(unit: Deployment) -> None:
    """Let somebody widen a pool by hand, as MetalLB takes it, and a service live from that."""

    def change(pool: Any) -> None:
        pool["spec"]["addresses"] = ["10.20.1.9/28"]

    unit.world.api.edit("ipaddresspools.metallb.io", "a", HOME, change)
    unit.serve("drift", annotations={"metallb.io/loadBalancerIPs": "10.20.1.12"})


def without_controller(unit: Deployment) -> None:
    """Let somebody take the controller away, and the pool get another name."""
    unit.kube().delete(kinds.DEPLOYMENT, "controller", HOME)
    unit.configure(address_pools=f"c={A};b={B}")


TAKING: dict[str, tuple[Callable[[Deployment], Any], str]] = {
    "a pool is removed": (configure(address_pools=f"b={B}"), LOST_WEB),
    "a pool gets another name": (configure(address_pools=f"c={A};b={B}"), LOST_WEB),
    "a pool shrinks": (configure(address_pools=f"a=10.20.1.4/30;b={B}"), LOST_WEB),
    "the pools are swapped": (
        configure(address_pools=f"a={B};b={A}"),
        f"{LOST_UI}, {LOST_WEB}",
    ),
    "a range goes to the other pool": (configure(address_pools=f"b={A},{B}"), LOST_WEB),
    "buggy addresses are avoided": (
        configure(address_pools=yaml_of(**{"avoid-buggy": "true"})),
        LOST_WEB,
    ),
    "another namespace": (configure(address_pools=yaml_of(namespaces="[x]")), LOST_WEB),
    "other labels": (configure(address_pools=yaml_of(services="{app: x}")), LOST_WEB),
    "another class": (
        configure(load_balancer_class="example.edu/lb"),
        f"{LOST_UI}, {LOST_WEB}",
    ),
    "a pool without its label shrinks": (unlabel, LOST_WEB),
    "what somebody widened is mended": (widen, "10.20.1.12 from team-a/drift"),
    "the controller is away": (without_controller, LOST_WEB),
}

KEEPING: dict[str, dict[str, str]] = {
    "nothing changes": {},
    "YAML for the short form": {"address_pools": yaml_of()},
    "not given unasked any more": {"address_pools": yaml_of(**{"auto-assign": "false"})},
    "another priority": {"address_pools": yaml_of(priority="7")},
    "its own namespace": {"address_pools": yaml_of(namespaces="[team-a]")},
    "in pieces": {"address_pools": f"a=10.20.1.4/30,10.20.1.0/30;b={B}"},
    "larger": {"address_pools": f"a=10.20.1.0/24;b={B}"},
    "in another order": {"address_pools": f"b={B};a={A}"},
    "one more": {"address_pools": f"{BASE};c=10.20.3.0/29"},
    "other interfaces": {"interfaces": "bond0"},
    "another release": {"metallb_release": "0.16"},
}

REFUSED: dict[str, dict[str, str]] = {
    "emptied": {"address_pools": ""},
    "a pool that is reserved now": {"reserved_ranges": "10.20.1.0"},
    "a pool in the pods' network": {"pod_cidr": "10.20.0.0/14"},
    "another namespace": {"namespace": "lb"},
    "garbage": {"address_pools": "a=10.20.1.0"},
}


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    """Return a cluster in which two services have an address, one of each pool."""
    unit = Deployment(tmp_path, nodes=1, address_pools=BASE)
    unit.settle()
    assert unit.serve("web") == WEB
    assert unit.serve("ui", annotations={"metallb.io/loadBalancerIPs": UI}) == UI
    return unit


def given(unit: Deployment) -> tuple[str, str]:
    return unit.address("web"), unit.address("ui")


@pytest.mark.parametrize("name", TAKING)
def test_a_change_that_takes_addresses_is_refused_with_the_services(
    unit: Deployment, name: str
) -> None:
    change, lost = TAKING[name]
    change(unit)
    status = ("blocked", f"address-pools: would take {lost}; to allow it: run confirm-pool-change")
    unit.run(unit.on.config_changed())
    for event in ("update_status", "upgrade_charm", "leader_elected"):
        assert unit.run(getattr(unit.on, event)()) == status
        assert given(unit) == (WEB, UI)


@pytest.mark.parametrize("name", KEEPING)
def test_a_change_that_keeps_addresses_is_made(unit: Deployment, name: str) -> None:
    unit.configure(**KEEPING[name])
    unit.run(unit.on.config_changed())
    assert unit.settle()[0] == "active"
    assert given(unit) == (WEB, UI)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_leaves_addresses_alone(unit: Deployment, name: str) -> None:
    unit.configure(**REFUSED[name])
    assert unit.run(unit.on.config_changed())[0] == "blocked"
    assert unit.run(unit.on.upgrade_charm())[0] == "blocked"
    assert given(unit) == (WEB, UI)


def test_a_swap_of_pools_without_users_is_made(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools=BASE)
    unit.settle()
    unit.configure(address_pools=f"a={B};b={A}")
    unit.run(unit.on.config_changed())
    assert unit.settle() == ("active", "l2: a 0/8, b 0/8 used")
    found = unit.kube().find(POOL, "a", HOME) or {}
    assert found["spec"]["addresses"] == [B]


@pytest.mark.parametrize(
    ("pools", "status"),
    [
        (BASE, ("active", "l2: a 1/8, b 1/8 used")),
        (
            f"a={A}",
            (
                "blocked",
                f"address-pools: would take {LOST_UI}; to allow it: run confirm-pool-change",
            ),
        ),
    ],
    ids=["as before", "with a pool less"],
)
def test_an_application_that_went_by_force_is_taken_up_again(
    unit: Deployment, pools: str, status: tuple[str, str]
) -> None:
    for name in ("access.json", "record.json"):
        unit.machine.host.files.ensure_absent(f"/var/lib/metallb/{name}")
    unit.configure(address_pools=pools)
    unit.run(unit.on.install())
    assert unit.settle() == status
    assert given(unit) == (WEB, UI)


def test_a_removal_is_foretold_also_for_services_of_pools_of_others(unit: Deployment) -> None:
    unit.world.api.put(put("theirs", "10.30.0.0/29"))
    unit.serve("far", annotations={"metallb.io/loadBalancerIPs": "10.30.0.3"})
    services = unit.act("prepare-removal")["services"]
    assert services == "lose their address: team-a/far, team-a/ui, team-a/web"


def test_a_long_list_of_losses_is_confirmed_and_cut(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools="a=10.20.1.0/26")
    unit.settle()
    unit.serve("first")
    for number in range(51):
        head = {"name": f"web-{number:02}", "namespace": "team-a"}
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": head, "spec": spec}
        unit.world.api.put(service)
    unit.world.settle()
    unit.configure(address_pools="b=10.20.2.0/26")
    assert " and 51 more; to allow it" in unit.run(unit.on.config_changed())[1]
    allowed = unit.act("confirm-pool-change")["allowed"]
    assert allowed.count(" from ") == 50
    assert allowed.endswith("; and 2 more")
    assert unit.settle() == ("active", "l2: b 52/64 used")


# What others gave.


def test_an_installation_keeps_addresses_that_its_pools_hold(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools=BASE)
    unit.give("web", WEB)
    unit.webhook.silent = True
    unit.run(unit.on.config_changed())
    unit.world.advance(60)
    assert unit.address("web") == WEB
    unit.webhook.silent = False
    assert unit.settle() == ("active", "l2: a 1/8, b 0/8 used")
    assert unit.address("web") == WEB
    unit.calls()
    unit.run(unit.on.update_status())
    assert unit.writes() == []


def test_an_installation_that_would_take_addresses_is_refused_until_confirmed(
    tmp_path: Path,
) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools=BASE)
    unit.give("web", "10.40.0.9")
    text = "address-pools: would take 10.40.0.9 from team-a/web; to allow it: run confirm-"
    assert unit.settle() == ("blocked", f"{text}pool-change")
    assert unit.address("web") == "10.40.0.9"
    assert unit.act("confirm-pool-change") == {"allowed": "10.40.0.9 from team-a/web"}
    assert unit.settle()[0] == "active"
    assert unit.address("web") == WEB


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_address_of_another_load_balancer_in_a_pool_is_named(tmp_path: Path, when: str) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools=BASE)
    if when == "after":
        unit.settle()
    unit.give("web", "10.20.1.3", loadBalancerClass="example.edu/other")
    assert unit.settle() == (
        "blocked",
        "address-pools: a holds address of foreign service team-a/web (10.20.1.3), leave it out",
    )
    unit.configure(address_pools=f"a=10.20.1.4/30;b={B}")
    assert unit.settle() == ("active", "l2: a 0/4, b 0/8 used")


def test_external_ips_in_a_pool_are_named(unit: Deployment) -> None:
    spec = {"ports": [{"port": 80}], "externalIPs": ["10.20.1.5", "10.99.0.1"]}
    head = {"name": "nfs", "namespace": "team-a"}
    unit.world.api.put({"apiVersion": "v1", "kind": "Service", "metadata": head, "spec": spec})
    text = "address-pools: a holds external IP of service team-a/nfs (10.20.1.5), leave it out"
    assert unit.run(unit.on.update_status()) == ("blocked", text)
    assert given(unit) == (WEB, UI)
    assert unit.act("check-address", address="10.20.1.5")["used-by"] == "service team-a/nfs"


def test_an_external_ip_that_metallb_gave_the_same_service_is_no_fault(unit: Deployment) -> None:
    def change(service: Any) -> None:
        service["spec"]["externalIPs"] = [WEB]

    unit.world.api.edit("services", "web", "team-a", change)
    assert unit.run(unit.on.update_status()) == ("active", "l2: a 1/8, b 1/8 used")


def test_a_pool_of_somebody_else_that_overlaps_is_named(unit: Deployment) -> None:
    unit.world.api.put(put("theirs", "10.30.0.0/29"))
    unit.configure(address_pools=f"{BASE};c=10.30.0.0/24")
    overlap = "'10.30.0.0/24' overlaps 10.30.0.0/29, pool theirs of somebody else"
    assert unit.run(unit.on.config_changed()) == (
        "blocked",
        f"address-pools: c: {overlap}, leave that out",
    )


def test_a_class_that_changed_leaves_no_address_that_two_could_get(unit: Deployment) -> None:
    unit.configure(load_balancer_class="example.edu/lb")
    unit.run(unit.on.config_changed())
    assert unit.act("confirm-pool-change")["allowed"] == f"{LOST_UI}; {LOST_WEB}"
    status = unit.run(unit.on.update_status())
    text = f"address-pools: a holds address of foreign service team-a/web ({WEB}), leave it out"
    assert status == ("blocked", text)
    for name in ("web", "ui"):
        unit.kube().delete(kinds.SERVICE, name, "team-a")
    assert unit.settle() == ("active", "l2: a 0/8, b 0/8 used")
