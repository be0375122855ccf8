# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every status with its text, the README's table of them, and options that are refused."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lbsite import HOME, META, ROOT, Deployment

from charmkit.errors import MESSAGE_LIMIT
from config import MetallbOptions

Arrange = Callable[[Deployment], Any]
EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
PEER = "- {name: tor, peer-address: 10.20.0.1, peer-asn: 64513, my-asn: 64512}"


def rows() -> list[tuple[str, str]]:
    """Return status and message of each row of the README's table."""
    text = (ROOT / "README.md").read_text()
    return re.findall(r"^\| (active|blocked|waiting) \| `([^`]+)` \|", text, re.MULTILINE)


def matches(row: tuple[str, str], status: tuple[str, str]) -> bool:
    pattern = ".+".join(map(re.escape, row[1].split("…")))
    return row[0] == status[0] and re.fullmatch(pattern, status[1], re.DOTALL) is not None


def configure(**options: Any) -> Arrange:
    return lambda unit: unit.configure(**options)


def put(kind: str, name: str, **parts: Any) -> Arrange:
    """Let somebody else make an object; `api` is its version, `home` its namespace."""
    api, home = parts.pop("api"), parts.pop("home", "")
    head = {"name": name, **({"namespace": home} if home else {}), **parts.pop("head", {})}
    obj = {"apiVersion": api, "kind": kind, "metadata": head, **parts}
    return lambda unit: unit.world.api.put(obj)


def label_nodes(unit: Deployment) -> None:
    def change(node: Any) -> None:
        node["metadata"]["labels"][EXCLUDE] = ""

    for node in unit.world.api.scan("nodes"):
        unit.world.api.edit("nodes", node["metadata"]["name"], "", change)


def label_node(unit: Deployment, name: str, **labels: str) -> None:
    unit.world.api.edit("nodes", name, "", lambda node: node["metadata"]["labels"].update(labels))


def taint_nodes(unit: Deployment) -> None:
    """Taint every node, one of them in a way that every DaemonSet tolerates too."""

    def change(node: Any) -> None:
        passing = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        lasting = {"key": "lab/own", "value": "a", "effect": "NoSchedule"}
        node["spec"]["taints"] = [passing, lasting]

    for node in unit.world.api.scan("nodes"):
        unit.world.api.edit("nodes", node["metadata"]["name"], "", change)


def ipvs(unit: Deployment) -> None:
    """Let kube-proxy of the machine run in IPVS mode."""
    unit.machine.host.files.ensure_text("/sys/class/net/kube-ipvs0/operstate", "down\n")
    unit.machine.host.files.ensure_text("/proc/sys/net/ipv4/conf/all/arp_ignore", "0\n")


def strict_ipvs(unit: Deployment) -> None:
    ipvs(unit)
    unit.machine.host.files.ensure_text("/proc/sys/net/ipv4/conf/all/arp_ignore", "1\n")


def invalid(unit: Deployment) -> None:
    def change(state: Any) -> None:
        state["status"] = {"result": "Invalid", "errorSummary": "peer x:\n no address"}

    unit.world.api.edit("configurationstates.metallb.io", "speaker-node-1", HOME, change)


def twice(unit: Deployment) -> None:
    unit.serve("web")
    status = {"node": "node-9", "serviceName": "web", "serviceNamespace": "team-a"}
    kind = {"apiVersion": "metallb.io/v1beta1", "kind": "ServiceL2Status"}
    head = {"name": "l2-other", "namespace": HOME}
    unit.world.api.put({**kind, "metadata": head, "status": status})


def stop_speaker(unit: Deployment) -> None:
    """Let a node go, and mark its pods as the node controller does."""
    unit.world.stop_kubelet("1")

    def change(pod: Any) -> None:
        for condition in pod["status"]["conditions"]:
            condition["status"] = "False"

    for pod in unit.world.api.scan("pods", HOME):
        if pod["spec"]["nodeName"] == "node-1":
            unit.world.api.edit("pods", pod["metadata"]["name"], HOME, change)
    unit.world.settle()


def full(unit: Deployment) -> None:
    unit.configure(address_pools="a=10.20.1.0/31")
    unit.run(unit.on.config_changed())
    for name in ("one", "two", "three"):
        unit.serve(name)


def define(unit: Deployment, kind: str, group: str, version: str) -> None:
    """Let somebody else bring a kind of the whole cluster."""
    plural = f"{kind.lower()}s"
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": version, "served": True, "storage": True, "schema": schema}]
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": versions}
    api = "apiextensions.k8s.io/v1"
    put("CustomResourceDefinition", f"{plural}.{group}", api=api, spec=spec)(unit)


def cilium(*blocks: dict[str, str]) -> Arrange:
    """Let Cilium have a pool, and ours be another."""

    def arrange(unit: Deployment) -> None:
        kind = "CiliumLoadBalancerIPPool"
        define(unit, kind, "cilium.io", "v2alpha1")
        put(kind, "blue", api="cilium.io/v2alpha1", spec={"blocks": list(blocks)})(unit)
        unit.configure(address_pools="a=10.20.1.0/28")

    return arrange


def calico(unit: Deployment) -> None:
    group = "crd.projectcalico.org"
    define(unit, "BGPPeer", group, "v1")
    put("BGPPeer", "rack-1", api=f"{group}/v1", spec={"peerIP": "10.20.0.1:179"})(unit)
    unit.configure(mode="bgp", bgp_peers=PEER)


def no_credentials(unit: Deployment) -> None:
    unit.put(replace(unit.cluster, remote_units_data={0: {}}))
    unit.machine.host.files.ensure_absent("/var/lib/metallb/access.json")


def no_cluster(unit: Deployment) -> None:
    unit.state = replace(unit.state, relations=[unit.host])
    unit.machine.host.files.ensure_absent("/var/lib/metallb/access.json")


def other_namespace(unit: Deployment) -> None:
    unit.configure(namespace="lb")
    unit.machine.host.files.ensure_absent("/var/lib/metallb/access.json")


CIDR = {"api": "networking.k8s.io/v1", "spec": {"cidrs": ["10.152.183.0/24"]}}
CLUSTER_IP = {"clusterIP": "10.20.1.9", "ports": [{"port": 443}]}
P = "address-pools: a"
THREE = "node-0 (10.20.0.2), node-1 (10.20.0.3), node-2 (10.20.0.4)"

CASES: dict[str, tuple[Arrange, str, str]] = {
    "in service": (configure(), "active", "l2: research 0/41 used"),
    "full": (full, "active", "l2: a 2/2 used; team-a/three without address: pool a is full"),
    "no pool": (
        configure(address_pools=""),
        "blocked",
        "address-pools: is empty, name a pool, as in research=10.20.0.200-10.20.0.240",
    ),
    "node": (
        configure(address_pools="a=10.20.0.0/29"),
        "blocked",
        f"{P} holds nodes {THREE}, leave them out",
    ),
    "API server": (
        configure(address_pools="a=10.20.0.8/29"),
        "blocked",
        f"{P} holds the API server of this cluster (10.20.0.9), leave it out",
    ),
    "cluster IP": (
        lambda unit: (
            put("Service", "api", api="v1", home="default", spec=CLUSTER_IP)(unit),
            unit.configure(address_pools="a=10.20.1.0/28"),
        ),
        "blocked",
        f"{P} holds cluster IP of service default/api (10.20.1.9), leave it out",
    ),
    "service network": (
        lambda unit: (
            put("ServiceCIDR", "kubernetes", **CIDR)(unit),
            unit.configure(address_pools="a=10.152.183.64/28"),
        ),
        "blocked",
        f"{P}: '10.152.183.64/28' overlaps 10.152.183.0/24, the service network, leave that out",
    ),
    "pod network": (
        configure(address_pools="a=192.168.7.0/24", pod_cidr="192.168.0.0/16"),
        "blocked",
        f"{P}: '192.168.7.0/24' overlaps 192.168.0.0/16, the pod-cidr, leave that out",
    ),
    "Cilium's block": (
        cilium({"cidr": "10.30.0.0/24"}, {"start": "10.20.1.9"}),
        "blocked",
        f"{P}: '10.20.1.0/28' overlaps 10.20.1.9/32, Cilium's pool blue, leave that out",
    ),
    "Cilium's range": (
        cilium({"start": "10.20.1.14", "stop": "10.20.1.20"}),
        "blocked",
        f"{P}: '10.20.1.0/28' overlaps 10.20.1.14-10.20.1.20, Cilium's pool blue, leave that out",
    ),
    "Cilium's pool elsewhere": (
        cilium({"cidr": "10.30.0.0/24"}),
        "active",
        "l2: a 0/16 used",
    ),
    "reserved": (
        configure(address_pools="a=10.20.1.0/24", reserved_ranges="10.20.1.1, 10.30.0.0/16"),
        "blocked",
        f"{P}: '10.20.1.0/24' overlaps 10.20.1.1/32, of reserved-ranges, leave that out",
    ),
    "bad mode": (configure(mode="layer2"), "blocked", "mode: must be l2 or bgp, not 'layer2'"),
    "no router": (
        configure(mode="bgp"),
        "blocked",
        "bgp-peers: is empty, name a router, or set mode l2: nothing would announce",
    ),
    "router is a node": (
        configure(mode="bgp", bgp_peers=PEER.replace("10.20.0.1", "10.20.0.3")),
        "blocked",
        "bgp-peers: tor: 10.20.0.3 is node node-1, name a router",
    ),
    "Calico has the router": (
        calico,
        "blocked",
        "bgp-peers: tor: Calico has port 179 to 10.20.0.1 (rack-1), use another",
    ),
    "no such node": (
        configure(node_selector="zone=dmz"),
        "blocked",
        "node-selector: no node has zone=dmz, label one or change it",
    ),
    "another namespace": (
        configure(namespace="lb"),
        "blocked",
        "namespace: MetalLB is in metallb-system, set it back to that",
    ),
    "another namespace without account": (
        other_namespace,
        "blocked",
        "namespace: MetalLB is in metallb-system, set it back to that",
    ),
    "no node may announce": (
        label_nodes,
        "blocked",
        f"no node can announce: remove label {EXCLUDE} from one of 3",
    ),
    "no speaker": (
        taint_nodes,
        "blocked",
        (
            "no node can announce: no speaker runs on node-0, which has taint lab/own:NoSchedule, "
            "remove it"
        ),
    ),
    "IPVS": (
        ipvs,
        "blocked",
        (
            "kube-proxy: every node answers in IPVS mode, set ipvs: {strictARP: true} in "
            "proxy-extra-config"
        ),
    ),
    "strict IPVS": (strict_ipvs, "active", "l2: research 0/41 used"),
    "peer and selector share no node": (
        lambda unit: (
            label_node(unit, "node-0", zone="a"),
            label_node(unit, "node-1", zone="b"),
            unit.configure(
                mode="bgp",
                node_selector="zone=a",
                bgp_peers=PEER.replace("}", ", node-selector: {zone: b}}"),
            ),
        ),
        "blocked",
        "bgp-peers: tor: no node has the labels of its node-selector, label one",
    ),
    "invalid": (
        invalid,
        "blocked",
        "MetalLB speaker-node-1 refuses its settings: peer x: no address",
    ),
    "speaker down": (
        stop_speaker,
        "waiting",
        "speaker: 2 of 3 ready, look at its pods if it lasts",
    ),
    "no credentials": (
        no_credentials,
        "waiting",
        "kube-control: waiting for api-endpoints, creds",
    ),
    "no cluster": (no_cluster, "blocked", "integrate kube-control to continue"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_status_says_what_is_wrong_and_stands_in_the_readme(name: str, tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    CASES[name][0](unit)
    status = unit.run(unit.on.update_status())
    assert status == CASES[name][1:]
    assert any(matches(row, status) for row in rows()), status
    assert len(status[1]) <= MESSAGE_LIMIT


def test_two_nodes_that_answer_for_one_address_are_named(tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    twice(unit)
    kind = "servicel2statuses.metallb.io"
    (ours,) = [s for s in unit.world.api.scan(kind) if s["metadata"]["name"] != "l2-other"]
    twice_again = unit.world.api.find(kind, "l2-other", HOME)
    if twice_again is None:  # The stand-in tidies up what no speaker of its own said.
        status = {**ours["status"], "node": "node-9"}
        head = {**ours["metadata"], "name": "l2-other"}
        resource = unit.world.api.resource(kind)
        unit.world.api.store.write(resource, {**ours, "metadata": head, "status": status})
    status = unit.run(unit.on.update_status())
    assert status[0] == "blocked"
    assert status[1].endswith("both announce it, open port 7946 between nodes")
    assert any(matches(row, status) for row in rows())


FOREIGN = {
    "Helm": {"app.kubernetes.io/managed-by": "Helm"},
    "metallb-b": {"app.kubernetes.io/part-of": "metallb-b"},
    "nobody's label": {},
}


@pytest.mark.parametrize("whose", FOREIGN)
def test_a_metallb_of_somebody_else_blocks_in_words_and_nothing_is_written(
    tmp_path: Path, whose: str
) -> None:
    unit = Deployment(tmp_path)
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ipaddresspools.metallb.io", "labels": FOREIGN[whose]},
        "spec": {"group": "metallb.io", "scope": "Namespaced", "versions": [], "names": NAMES},
    }
    unit.world.api.put(definition)
    unit.calls()
    status = unit.run(unit.on.config_changed())
    assert status == (
        "blocked",
        f"another MetalLB is here (ipaddresspools.metallb.io, {whose}): keep one; {OFF}",
    )
    assert any(matches(row, status) for row in rows())
    assert unit.writes() == []


NAMES = {"kind": "IPAddressPool", "plural": "ipaddresspools", "singular": "ipaddresspool"}
OFF = "on k8s: load-balancer-enabled=false"


def test_a_namespace_that_is_there_is_not_taken(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, namespace="network")
    metadata = {"name": "network"}
    unit.world.api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    assert unit.run(unit.on.config_changed()) == (
        "blocked",
        "namespace: 'network' is there and not ours, name another",
    )
    assert unit.writes() == []


REFUSED = {
    "mode": "L2",
    "interfaces": "bond 0",
    "node_selector": "zone!=dmz",
    "bgp_peers": "- tor",
    "communities": "{a: 64512:10}",
    "reserved_ranges": "10.20.0.9-10.20.0.1",
    "pod_cidr": "192.168.0.1/16",
    "load_balancer_class": "a b",
    "metallb_release": "0.14",
    "image_registry": "https://mirror.example.edu",
    "namespace": "kube-system",
    "address_pools": "a",
}


@pytest.mark.parametrize("option", REFUSED)
def test_a_bad_value_of_each_option_is_named_and_reaches_nothing(
    tmp_path: Path, option: str
) -> None:
    unit = Deployment(tmp_path, **{option: REFUSED[option]})
    status = unit.run(unit.on.config_changed())
    assert status[0] == "blocked"
    assert status[1].startswith(f"{option.replace('_', '-')}: ")
    assert len(status[1]) <= MESSAGE_LIMIT
    assert unit.calls() == []
    assert any(matches(row, status) for row in [*rows(), ("blocked", "…: …")])


MORE_REFUSED = [
    ("interfaces", "eth0,eth0", "'eth0' is there twice"),
    ("interfaces", "lo", "'lo' is one that MetalLB does not announce on"),
    ("interfaces", "cali0a1", "'cali0a1' is one that MetalLB does not announce on"),
    ("interfaces", "an-interface-too-long", "is no name of an interface"),
    ("interfaces", "eth0,", "'' is no name of an interface"),
    ("node_selector", "zone", "'zone' is no label, write name=value"),
    ("node_selector", "zone==dmz", "'zone==dmz' is no label"),
    ("node_selector", "zone in (a, b)", "'zone in (a' is no label"),
    ("node_selector", "a=b,a=c", "'a' cannot be b and c at once"),
    ("node_selector", "a b=c", "'a b' is no label name"),
    ("pod_cidr", "192.168.0.0-192.168.255.255", "must be a network as in 192.168.0.0/16"),
    ("namespace", "", "the namespace has no name"),
    ("namespace", "Lb", "'Lb' is no name"),
]


@pytest.mark.parametrize(("option", "value", "reason"), MORE_REFUSED)
def test_what_is_refused_says_why(option: str, value: str, reason: str, tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, **{option: value})
    status = unit.run(unit.on.config_changed())
    assert status[0] == "blocked"
    assert reason in status[1]


def test_options_and_their_model_are_the_same_set() -> None:
    options = META["config"]["options"]
    assert [name.replace("-", "_") for name in options] == list(MetallbOptions.model_fields)


def test_actions_are_strict() -> None:
    assert all(action["additionalProperties"] is False for action in META["actions"].values())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[1][:40])
def test_every_row_of_the_readme_fits_on_one_line(row: tuple[str, str]) -> None:
    assert len(row[1]) <= MESSAGE_LIMIT


def test_results_of_actions_are_plain(tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    unit.serve("web")
    pools = unit.act("show-pools")
    assert pools["research"] == {
        "addresses": "10.20.0.200-10.20.0.240",
        "total": 41,
        "used": 1,
        "free": 40,
        "by": "10.20.0.200 team-a/web",
    }
    assert pools["without-address"] == "nobody"
    json.dumps(pools)
    used = unit.act("check-address", address="10.20.0.200")
    assert (used["pool"], used["used-by"]) == ("research", "team-a/web")
    assert used["announced-by"].startswith("node-")
    assert unit.act("check-address", address="10.20.0.3")["used-by"] == "node node-1"
    assert unit.act("check-address", address="10.20.0.9")["used-by"] == "the API server"
    assert unit.act("check-address", address="10.20.0.201")["used-by"] == "free"
    assert unit.act("check-address", address="10.99.0.1")["used-by"] == "in no pool"
    with pytest.raises(Exception, match=r"'10\.20\.0\.300' is no address"):
        unit.act("check-address", address="10.20.0.300")


def test_actions_work_while_an_option_is_refused(tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    unit.configure(address_pools="a=10.20.0.2")
    status = unit.run(unit.on.config_changed())
    assert unit.act("show-pools")["research"]["total"] == 41
    assert unit.act("prepare-removal")["pools"] == "research"
    assert unit.status == status
