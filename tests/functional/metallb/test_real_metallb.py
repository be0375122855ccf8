# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MetalLB 0.15.3 itself, on the objects and the accounts that the charm makes."""

from pathlib import Path

import pytest

from tests.functional.kubernetes.audit import READS
from tests.functional.kubernetes.controlplane import ControlPlane
from tests.functional.kubernetes.running import becomes, eventually, nothing_stays
from tests.functional.metallb.network import WIRE, who_has
from tests.functional.metallb.realsite import HOME, NODE_NAME, RealSite, real_site

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
CURE = "to allow it: run confirm-pool-change"
POOLS = f"/apis/metallb.io/v1beta1/namespaces/{HOME}/ipaddresspools"


def test_a_service_gets_an_address_and_its_node_answers_for_it(site: RealSite) -> None:
    assert site.status == ("active", "l2: vip 0/11 used")
    site.start_speaker()
    address = site.serve("web")
    assert address == "10.99.0.100"
    eventually(lambda: bool(who_has(address)), f"somebody answers for {address}")
    assert who_has("10.99.0.109") == ""
    becomes(lambda: announced(site), [(NODE_NAME, "web")])

    # The label that silences a node is said, and its end too.
    node = f"/api/v1/nodes/{NODE_NAME}"
    site.patch(node, {"metadata": {"labels": {EXCLUDE: ""}}})
    eventually(lambda: not who_has(address, 0.3), "nobody answers")
    assert site.run(site.on.update_status())[1].startswith("no node can announce")
    site.patch(node, {"metadata": {"labels": {EXCLUDE: None}}})
    eventually(lambda: bool(who_has(address)), "somebody answers again")

    # A node that lacks the interface announces no service that comes then (it keeps the others).
    before = site.reloads()
    site.configure(interfaces="bond9")
    eventually(lambda: site.reloads() > before, "the speaker takes it up")
    late = site.serve("late")
    silence = "no node announces it; have all nodes bond9? set interfaces or node-selector"
    said = ("waiting", f"default/late: {silence}")
    assert site.run(site.on.update_status())[0] == "active", "it may be announced in a moment"
    becomes(lambda: site.run(site.on.update_status()), said, 120.0)
    assert who_has(late, 0.3) == ""
    site.configure(interfaces=WIRE)
    eventually(lambda: bool(who_has(late)), "somebody answers for it")
    site.settle()
    site.client.delete("/api/v1/namespaces/default/services/late").raise_for_status()

    # A pin outside of all pools is told, as MetalLB tells it in an event alone.
    head = {"name": "pinned", "annotations": {"metallb.io/loadBalancerIPs": "10.98.0.1"}}
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    pinned = {"apiVersion": "v1", "kind": "Service", "metadata": head, "spec": spec}
    site.post("/api/v1/namespaces/default/services", pinned)
    reason = "default/pinned without address: asks for 10.98.0.1, which no pool has"
    site.settle()
    assert site.status == ("active", f"l2: vip 1/11 used; {reason}")

    # A shrink below the service is refused; confirmed, it is taken up.
    shrunk = "vip=10.99.0.105-10.99.0.110"
    assert site.configure(address_pools=shrunk) == (
        "blocked",
        f"address-pools: would take 10.99.0.100 from default/web; {CURE}",
    )
    assert site.address("web") == address
    site.state = site.context.run(site.on.action("confirm-pool-change"), site.state)
    eventually(lambda: site.address("web") == "10.99.0.105", "web has another address")
    eventually(lambda: bool(who_has("10.99.0.105")), "somebody answers for it")
    site.settle()
    becomes(lambda: verdicts(site), {"controller": "Valid", f"speaker-{NODE_NAME}": "Valid"})


def announced(site: RealSite) -> list[tuple[str, str]]:
    """Return node and service of each announcement, as the speaker writes them after it began."""
    found = site.items(f"/apis/metallb.io/v1beta1/namespaces/{HOME}/servicel2statuses")
    stated = [one.get("status", {}) for one in found]
    return [(status.get("node", ""), status.get("serviceName", "")) for status in stated]


def verdicts(site: RealSite) -> dict[str, str]:
    """Return what each process of MetalLB thinks of the configuration."""
    found = site.items(f"/apis/metallb.io/v1beta1/namespaces/{HOME}/configurationstates")
    return {one["metadata"]["name"]: one.get("status", {}).get("result", "") for one in found}


def test_a_second_reconcile_writes_nothing(site: RealSite) -> None:
    site.run(site.on.update_status())
    before = len(site.requests())
    for event in (site.on.update_status(), site.on.config_changed(), site.on.leader_elected()):
        site.run(event)
    asked = site.requests()[before:]
    assert asked
    assert [request for request in asked if request.verb not in READS] == []
    before = len(site.requests())
    site.run(site.on.config_changed())
    assert len(site.requests()) - before <= 3


def test_pools_may_exchange_ranges_under_the_real_webhook(site: RealSite) -> None:
    first = "a=10.99.0.100-10.99.0.104;b=10.99.0.105-10.99.0.110"
    assert site.configure(address_pools=first)[0] == "active"
    second = "a=10.99.0.104-10.99.0.110;b=10.99.0.100-10.99.0.103"
    assert site.configure(address_pools=second)[0] == "active"
    found = {p["metadata"]["name"]: p["spec"]["addresses"] for p in site.items(POOLS)}
    assert found == {"a": ["10.99.0.104-10.99.0.110"], "b": ["10.99.0.100/30"]}


def offer(site: RealSite, addresses: str) -> tuple[int, tuple[str, str]]:
    """Let somebody make a pool by hand, and the charm want one; return what both say."""
    kind = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool"}
    pool = {**kind, "metadata": {"name": "other"}, "spec": {"addresses": [addresses]}}
    code = site.post(POOLS, pool).status_code
    return code, site.configure(address_pools=f"vip=10.99.0.100-10.99.0.110;other={addresses}")


@pytest.mark.parametrize(
    ("addresses", "code"),
    [
        ("10.99.0.105-10.99.0.120", 403),
        ("10.98.0.7", 403),
        ("10.98.0.9-10.98.0.3", 403),
        ("10.98.0.1-fd00::9", 201),
        ("10.98.0.5/24", 201),
        ("10.99.0.11/32", 201),
    ],
    ids=["overlap", "bare", "reversed", "mixed families", "host bits", "node address"],
)
def test_the_charm_refuses_what_the_webhook_refuses_and_more(
    site: RealSite, addresses: str, code: int
) -> None:
    answer, status = offer(site, addresses)
    assert answer == code
    assert status[0] == "blocked"
    assert status[1].startswith("address-pools: other")


def test_an_installation_keeps_an_address_that_its_pool_holds(
    cluster: ControlPlane, tmp_path: Path, node_space: str
) -> None:
    """A controller that finds no pool would take it away, and give the first of the pool."""

    def prepare(site: RealSite) -> None:
        site.bring("old", "10.99.0.107")

    with real_site(cluster, tmp_path, node_space, prepare) as site:
        assert site.status == ("active", "l2: vip 1/11 used")
        assert site.serve("new") == "10.99.0.100"
        assert site.address("old") == "10.99.0.107"


def test_an_installation_that_would_take_an_address_is_refused(
    cluster: ControlPlane, tmp_path: Path, node_space: str
) -> None:
    site = RealSite(cluster, tmp_path, node_space)
    site.bring("old", "10.97.0.7")
    text = f"address-pools: would take 10.97.0.7 from default/old; {CURE}"
    assert site.run(site.on.config_changed()) == ("blocked", text)
    assert site.address("old") == "10.97.0.7"
    site.close()


def test_removal_leaves_nothing_of_any_kind(site: RealSite) -> None:
    assert len(site.listing() - site.before) > 30
    site.serve("web")
    site.leave()

    def left() -> set[str]:
        site.run_pods()
        return site.listing() - site.before

    nothing_stays(left, 90.0)
    assert site.listing() == site.before
    assert site.address("web") == ""
