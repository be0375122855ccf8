# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The stand-in of MetalLB shows what a real one was seen to show, and nothing without it."""

from pathlib import Path
from typing import Any

import pytest

from charmkit.kinds import SERVICE
from standins.cluster.addresspools import EXCLUDE, FROM_POOL, WANTED_ADDRESS, WANTED_POOL
from standins.cluster.kubelet import KubeletSettings
from standins.world import World

HOME = "metallb-system"
KINDS = {
    "IPAddressPool": "ipaddresspools",
    "L2Advertisement": "l2advertisements",
    "ConfigurationState": "configurationstates",
    "ServiceL2Status": "servicel2statuses",
}


def definition(kind: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": schema}
    names = {"kind": kind, "plural": KINDS[kind], "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{KINDS[kind]}.metallb.io"},
        "spec": {
            "group": "metallb.io",
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


def workload(kind: str, name: str, *arguments: str) -> dict[str, Any]:
    labels = {"app": "metallb", "component": name}
    image = f"quay.io/metallb/{name}:v0.15.3"
    pod = {"containers": [{"name": name, "image": image, "args": list(arguments)}]}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": HOME},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def custom(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    head = {"name": name, "namespace": HOME}
    return {
        "apiVersion": "metallb.io/v1beta1",
        "kind": kind,
        "metadata": head,
        "spec": spec,
    }


class Site:
    """A cluster of three nodes with MetalLB on it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.world = World(folder)
        self.api = self.world.api
        for number in range(3):
            machine, name = str(number), f"node-{number}"
            self.world.add_machine(machine, "cpu", name, f"10.20.0.{number + 2}")
            self.world.start_kubelet(machine, KubeletSettings(node=name))
        self.api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        for kind in KINDS:
            self.api.put(definition(kind))
        self.api.put(workload("Deployment", "controller", *arguments))
        self.api.put(workload("DaemonSet", "speaker", *arguments))
        self.pool("vip", "10.20.0.200-10.20.0.202")
        self.world.advance(30)

    def pool(self, name: str, *addresses: str, **more: Any) -> None:
        self.api.put(custom("IPAddressPool", name, addresses=list(addresses), **more))
        self.world.settle()

    def serve(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> str:
        head = {"name": name, "namespace": "default", "annotations": annotations or {}}
        full = {"type": "LoadBalancer", "ports": [{"port": 80}], **spec}
        self.api.put({"apiVersion": "v1", "kind": "Service", "metadata": head, "spec": full})
        self.world.settle()
        return self.address(name)

    def address(self, name: str) -> str:
        return next(iter(self.addresses(name)), "")

    def addresses(self, name: str) -> list[str]:
        found = self.api.find(SERVICE, name, "default") or {}
        ingress = found.get("status", {}).get("loadBalancer", {}).get("ingress") or []
        return [str(item["ip"]) for item in ingress]

    def statuses(self) -> list[dict[str, Any]]:
        return [s["status"] for s in self.api.scan("servicel2statuses.metallb.io")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_services_get_the_first_free_address_and_the_pool_is_counted(site: Site) -> None:
    assert [site.serve(name) for name in ("a", "b")] == ["10.20.0.200", "10.20.0.201"]
    found = site.api.find(SERVICE, "a", "default") or {}
    assert found["metadata"]["annotations"][FROM_POOL] == "vip"
    (pool,) = site.api.scan("ipaddresspools.metallb.io")
    assert pool["status"] == {
        "assignedIPv4": 2,
        "availableIPv4": 1,
        "assignedIPv6": 0,
        "availableIPv6": 0,
    }


def test_a_pool_that_is_full_gives_nothing_until_somebody_leaves(site: Site) -> None:
    for name in ("a", "b", "c"):
        site.serve(name)
    assert site.serve("d") == ""
    site.api.delete("services", "a", "default")
    site.world.settle()
    assert site.address("d") == "10.20.0.200"


def test_a_shrink_renumbers_and_a_pinned_service_stays_without(site: Site) -> None:
    site.serve("web")
    site.serve("pinned", {WANTED_ADDRESS: "10.20.0.202"})
    site.pool("vip", "10.20.0.201/32")
    assert site.address("web") == "10.20.0.201"
    assert site.address("pinned") == ""


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, "10.20.0.200"),
        ({WANTED_POOL: "dmz"}, "10.20.1.1"),
        ({WANTED_POOL: "nowhere"}, ""),
        ({WANTED_ADDRESS: "10.20.0.201"}, "10.20.0.201"),
        ({WANTED_ADDRESS: "10.88.0.1"}, ""),
    ],
)
def test_a_service_may_ask(site: Site, annotations: dict[str, str], expected: str) -> None:
    site.pool("dmz", "10.20.1.0/30", autoAssign=False, avoidBuggyIPs=True)
    assert site.serve("web", annotations) == expected


def test_pools_are_asked_by_priority_and_only_for_those_whom_they_take(site: Site) -> None:
    site.pool("first", "10.20.2.0/30", serviceAllocation={"priority": 1})
    site.pool("ours", "10.20.3.0/30", serviceAllocation={"priority": 0, "namespaces": ["x"]})
    assert site.serve("web") == "10.20.2.0"


def test_pools_that_are_limited_to_a_service_are_asked_before_all_others(site: Site) -> None:
    site.pool("zone", "10.20.4.0/30", serviceAllocation={"namespaces": ["default"]})
    assert site.serve("web") == "10.20.4.0"


FOUR, SIX = {"clusterIPs": ["10.1.0.1"]}, {"clusterIPs": ["fd00::1"]}
BOTH = {"clusterIPs": ["10.1.0.1", "fd00::1"], "ipFamilies": ["IPv4", "IPv6"]}
NEEDS = {**BOTH, "ipFamilyPolicy": "RequireDualStack"}
PREFERS = {**BOTH, "ipFamilyPolicy": "PreferDualStack"}
PREFERS_SIX = {**PREFERS, "ipFamilies": ["IPv6", "IPv4"]}
MIXED = ("mixed", "10.20.5.0/32", "fd00:9::/127")


@pytest.mark.parametrize(
    ("spec", "annotations", "expected"),
    [
        (FOUR, {}, ["10.20.5.0"]),
        (SIX, {}, ["fd00:9::"]),
        (NEEDS, {}, ["10.20.5.0", "fd00:9::"]),
        (PREFERS, {}, ["10.20.5.0", "fd00:9::"]),
        (PREFERS, {WANTED_POOL: "six"}, ["fd00:8::"]),
        (NEEDS, {WANTED_POOL: "six"}, []),
        (FOUR, {WANTED_POOL: "six"}, []),
        (FOUR, {WANTED_POOL: "", "metallb.universe.tf/address-pool": "six"}, ["10.20.5.0"]),
        (NEEDS, {WANTED_ADDRESS: "fd00:9::1, 10.20.5.0"}, ["fd00:9::1", "10.20.5.0"]),
        (NEEDS, {WANTED_ADDRESS: "fd00:8::, 10.20.5.0"}, []),
        (NEEDS, {WANTED_ADDRESS: "10.20.5.0"}, []),
        (FOUR, {WANTED_ADDRESS: "fd00:9::1"}, []),
        (FOUR, {WANTED_ADDRESS: "::ffff:10.20.5.0"}, ["10.20.5.0"]),
        ({**FOUR, "loadBalancerIP": "10.20.5.0"}, {WANTED_ADDRESS: "10.20.5.0"}, []),
    ],
)
def test_a_service_gets_addresses_of_the_families_of_its_cluster_ips(
    site: Site, spec: dict[str, Any], annotations: dict[str, str], expected: list[str]
) -> None:
    """As MetalLB 0.15.3's own controller answers for the same objects."""
    site.pool("six", "fd00:8::/126", autoAssign=False)
    name, *ranges = MIXED
    site.pool(name, *ranges, serviceAllocation={"priority": 1})
    site.serve("web", annotations, **spec)
    assert site.addresses("web") == expected


def test_a_service_that_prefers_both_families_gets_the_second_when_it_is_free(site: Site) -> None:
    name, *ranges = MIXED
    site.pool(name, *ranges, serviceAllocation={"priority": 1})
    assert site.serve("first", **FOUR) == "10.20.5.0"
    site.serve("web", **PREFERS_SIX)
    assert site.addresses("web") == ["fd00:9::"]
    site.api.delete("services", "first", "default")
    site.world.settle()
    assert site.addresses("web") == ["fd00:9::", "10.20.5.0"]
    assert site.serve("late", **SIX) == "fd00:9::1"


@pytest.mark.parametrize("text", ["10.20.0.201,10.20.0.202", "x", "10.20.0.201,"])
def test_who_asks_for_what_cannot_be_keeps_what_it_has(site: Site, text: str) -> None:
    assert site.serve("web", **FOUR) == "10.20.0.200"

    def ask(service: Any) -> None:
        service["metadata"]["annotations"][WANTED_ADDRESS] = text

    site.api.edit("services", "web", "default", ask)
    site.world.settle()
    assert site.address("web") == "10.20.0.200"


def test_what_a_pool_leaves_out_is_not_counted_and_what_is_endless_is(site: Site) -> None:
    site.pool("buggy", "10.20.6.255-10.20.8.0", "fd00:7::/64", avoidBuggyIPs=True)
    (pool,) = [
        p for p in site.api.scan("ipaddresspools.metallb.io") if p["metadata"]["name"] == "buggy"
    ]
    assert pool["status"]["availableIPv4"] == 254
    assert pool["status"]["availableIPv6"] == 2**63 - 1


def test_another_class_is_left_alone(tmp_path: Path) -> None:
    site = Site(tmp_path, "--lb-class=example.edu/campus")
    assert site.serve("plain") == ""
    assert site.serve("campus", loadBalancerClass="example.edu/campus") == "10.20.0.200"


def test_one_node_answers_and_another_when_it_may_not(site: Site) -> None:
    site.api.put(custom("L2Advertisement", "all", interfaces=["eth0"]))
    site.serve("web")
    (first,) = site.statuses()
    assert first["interfaces"] == [{"name": "eth0"}]

    def exclude(node: Any) -> None:
        node["metadata"]["labels"][EXCLUDE] = ""

    site.api.edit("nodes", first["node"], "", exclude)
    site.world.settle()
    (second,) = site.statuses()
    assert second["node"] != first["node"]
    for node in site.api.list_objects("nodes"):
        site.api.edit("nodes", node["metadata"]["name"], "", exclude)
    site.world.settle()
    assert site.statuses() == []


def test_without_an_advertisement_nobody_answers(site: Site) -> None:
    assert site.serve("web")
    assert site.statuses() == []


def test_an_advertisement_is_for_its_pools_and_nodes(site: Site) -> None:
    labels = {"kubernetes.io/hostname": "node-2"}
    selectors = [{"matchLabels": labels}]
    site.api.edit("nodes", "node-2", "", lambda node: node["metadata"]["labels"].update(labels))
    spec = {"ipAddressPools": ["vip"], "nodeSelectors": selectors}
    site.api.put(custom("L2Advertisement", "one", **spec))
    site.api.put(custom("L2Advertisement", "other", ipAddressPools=["dmz"]))
    site.serve("web")
    assert [status["node"] for status in site.statuses()] == ["node-2"]


def test_every_process_reports_its_settings(site: Site) -> None:
    states = site.api.scan("configurationstates.metallb.io")
    names = {state["metadata"]["name"]: state["status"]["result"] for state in states}
    speakers = {f"speaker-node-{number}": "Valid" for number in range(3)}
    assert names == {"controller": "Valid", **speakers}


def test_a_world_without_metallb_gives_nobody_an_address(tmp_path: Path) -> None:
    world = World(tmp_path)
    head = {"name": "web", "namespace": "default"}
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    world.api.put({"apiVersion": "v1", "kind": "Service", "metadata": head, "spec": spec})
    assert not world.settle() or world.api.find(SERVICE, "web", "default")
    assert "status" not in (world.api.find(SERVICE, "web", "default") or {})


def test_a_settled_load_balancer_writes_nothing(site: Site) -> None:
    site.api.put(custom("L2Advertisement", "all"))
    site.serve("web")
    before = site.api.revision
    site.world.settle()
    assert site.api.revision == before
