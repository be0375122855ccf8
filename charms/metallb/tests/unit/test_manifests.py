# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The objects that are rendered, against the kinds that they bring and what a cluster demands."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bgp import parse_communities, parse_peers
from config import DEFAULTS, EXCLUDED_INTERFACES, MetallbOptions
from kinds import ALL, DEFINITIONS
from objects import GPU_TAINTS, render_all
from pools import parse_pools
from release import RELEASES
from rights import CONTROLLER, SPEAKER, grant_of

ROOT = Path(__file__).parents[4]
FULL = """
- name: a
  addresses: [10.0.0.0/24, "10.0.1.7-10.0.1.9"]
  auto-assign: false
  avoid-buggy: true
  priority: 3
  namespaces: [team-a]
  services: [{app: web}]
- name: b
  addresses: ["10.0.2.0/24"]
"""
PEER = """
- name: tor
  peer-address: 10.20.0.1
  peer-asn: 64513
  my-asn: 64512
  hold-time: 90s
  router-id: 10.0.0.1
  source-address: 10.20.0.3
  password-secret: tor
  node-selector: {rack: a}
"""


def options(**fields: Any) -> MetallbOptions:
    base: dict[str, Any] = {
        "address_pools": parse_pools(FULL),
        "bgp_peers": parse_peers(PEER),
        "communities": parse_communities('{campus: "64512:100"}'),
        "interfaces": ("bond0",),
        "node_selector": {"zone": "dmz"},
        "load_balancer_class": "example.edu/campus",
    }
    return DEFAULTS.model_copy(update={**base, **fields})


VARIANTS = [(mode, release) for mode in ("l2", "bgp") for release in RELEASES]


def find(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def container_of(objects: list[dict[str, Any]], process: str) -> dict[str, Any]:
    kind = "DaemonSet" if process == "speaker" else "Deployment"
    (container,) = find(objects, kind, process)["spec"]["template"]["spec"]["containers"]
    return dict(container)


def strict(schema: Any) -> Any:
    """Return a schema that takes no field which it does not name."""
    if isinstance(schema, dict):
        kept = {key: strict(value) for key, value in schema.items()}
        if "properties" in schema and "additionalProperties" not in schema:
            kept["additionalProperties"] = False
        return kept
    return [strict(item) for item in schema] if isinstance(schema, list) else schema


def schemas(definition: dict[str, Any]) -> dict[str, Any]:
    group = definition["spec"]["group"]
    return {
        f"{group}/{version['name']}": version["schema"]["openAPIV3Schema"]
        for version in definition["spec"]["versions"]
    }


def check(resource: dict[str, Any], schema: dict[str, Any]) -> None:
    jsonschema.validate({"spec": resource["spec"]}, strict({**schema, "required": []}))


@pytest.mark.parametrize(("mode", "release"), VARIANTS)
def test_what_is_written_fits_the_kinds_that_are_brought(mode: str, release: str) -> None:
    objects = render_all("metallb", options(mode=mode, metallb_release=release))
    brought = {
        o["spec"]["names"]["kind"]: schemas(o)
        for o in objects
        if o["kind"] == "CustomResourceDefinition"
    }
    custom = [o for o in objects if o["apiVersion"].startswith("metallb.io/")]
    assert custom
    for resource in custom:
        check(resource, brought[resource["kind"]][resource["apiVersion"]])


@pytest.mark.parametrize("name", ["on", "null", "true", "123", "1e5", "0x1f", "2026-01-01", "1-2"])
def test_names_that_yaml_reads_as_something_else_stay_names(name: str) -> None:
    peers = parse_peers(PEER.replace("name: tor", f"name: '{name}'"))
    fields = {"address_pools": parse_pools(f"{name}=10.0.0.0/24"), "bgp_peers": peers}
    objects = render_all(name, options(**fields, mode="bgp", namespace=name))
    (pool,) = [o for o in objects if o["kind"] == "IPAddressPool"]
    (router,) = [o for o in objects if o["kind"] == "BGPPeer"]
    (announced,) = [o for o in objects if o["kind"] == "BGPAdvertisement"]
    assert pool["metadata"]["name"] == router["metadata"]["name"] == name
    assert announced["metadata"]["name"] == name
    assert announced["spec"]["ipAddressPools"] == [name]
    homes = {o["metadata"].get("namespace", name) for o in objects}
    assert homes == {name}


CRDS = next(
    (p / "data/crds" for p in (ROOT.parent / "shared", ROOT / "shared") if p.is_dir()), None
)


@pytest.mark.skipif(CRDS is None, reason="MetalLB's own definitions are not at hand")
@pytest.mark.parametrize("mode", ["l2", "bgp"])
def test_what_is_written_fits_metallbs_own_definitions(mode: str) -> None:
    assert CRDS is not None
    for resource in render_all("metallb", options(mode=mode)):
        if not resource["apiVersion"].startswith("metallb.io/"):
            continue
        plural = next(kind.plural for kind in ALL if kind.kind == resource["kind"])
        definition = yaml.safe_load((CRDS / f"metallb.io_{plural}.yaml").read_text())
        check(resource, schemas(definition)[resource["apiVersion"]])


def fields(schema: dict[str, Any], path: str = "") -> set[str]:
    found: set[str] = set()
    for name, part in schema.get("properties", {}).items():
        found |= {f"{path}.{name}"} | fields(part, f"{path}.{name}")
    return found | (fields(schema["items"], path) if "items" in schema else set())


@pytest.mark.skipif(CRDS is None, reason="MetalLB's own definitions are not at hand")
@pytest.mark.parametrize("plural", [kind.plural for kind in ALL])
def test_the_kinds_that_are_brought_have_no_field_of_their_own(plural: str) -> None:
    assert CRDS is not None
    ours = find(
        render_all("metallb", options()), "CustomResourceDefinition", f"{plural}.metallb.io"
    )
    theirs = yaml.safe_load((CRDS / f"metallb.io_{plural}.yaml").read_text())
    assert ours["spec"]["names"] == theirs["spec"]["names"]
    assert ours["spec"]["scope"] == theirs["spec"]["scope"]
    for version, schema in schemas(ours).items():
        assert fields(schema) <= fields(schemas(theirs)[version])
    served = [{v["name"]: v["storage"] for v in d["spec"]["versions"]} for d in (ours, theirs)]
    assert served[0] == served[1]


def test_definitions_come_first_and_pools_after_the_webhook() -> None:
    kinds = [o["kind"] for o in render_all("metallb", options())]
    assert kinds[0] == "Namespace"
    assert kinds.count("CustomResourceDefinition") == len(DEFINITIONS)
    assert kinds.index("IPAddressPool") > kinds.index("ValidatingWebhookConfiguration")


def test_what_the_controller_fills_in_is_left_out() -> None:
    objects = render_all("metallb", options())
    hooks = find(objects, "ValidatingWebhookConfiguration", "metallb-webhook-configuration")
    peers = find(objects, "CustomResourceDefinition", "bgppeers.metallb.io")
    assert "data" not in find(objects, "Secret", "metallb-webhook-cert")
    assert all("caBundle" not in hook["clientConfig"] for hook in hooks["webhooks"])
    assert "caBundle" not in peers["spec"]["conversion"]["webhook"]["clientConfig"]
    assert [o for o in objects if o["metadata"]["name"] == "memberlist"] == []


def test_speakers_run_on_gpu_nodes_and_control_planes() -> None:
    spec = find(render_all("metallb", options()), "DaemonSet", "speaker")["spec"]["template"]
    keys = {item["key"] for item in spec["spec"]["tolerations"]}
    assert {"node-role.kubernetes.io/control-plane", *GPU_TAINTS} <= keys
    worker = (ROOT / "charms/gpu-worker/src/node.py").read_text()
    assert set(re.findall(r'_TAINT = "([^"]+)"', worker)) <= keys


def test_the_speaker_may_send_raw_packets_and_nothing_else() -> None:
    objects = render_all("metallb", options())
    for kind, name, added in (
        ("DaemonSet", "speaker", ["NET_RAW"]),
        ("Deployment", "controller", []),
    ):
        (container,) = find(objects, kind, name)["spec"]["template"]["spec"]["containers"]
        security = container["securityContext"]
        assert security["capabilities"].get("add", []) == added
        assert security["capabilities"]["drop"] == ["ALL"]
        assert not security["allowPrivilegeEscalation"]
        assert security["readOnlyRootFilesystem"]


def test_both_processes_look_after_the_class_that_is_asked_for() -> None:
    objects = render_all("metallb", options())
    for process in ("speaker", "controller"):
        container = container_of(objects, process)
        assert "--lb-class=example.edu/campus" in container["args"]
    without = render_all("metallb", options(load_balancer_class=""))
    assert "lb-class" not in str(find(without, "Deployment", "controller"))


@pytest.mark.parametrize(
    ("release", "image", "port", "path"),
    [
        ("0.15", "quay.io/metallb/speaker:v0.15.3", 7472, "/metrics"),
        ("0.16", "quay.io/metallb/speaker:v0.16.2", 9120, "/healthz"),
    ],
)
def test_releases_differ_as_their_table_says(
    release: str, image: str, port: int, path: str
) -> None:
    objects = render_all("metallb", options(metallb_release=release))
    container = container_of(objects, "speaker")
    assert container["image"] == image
    assert f"--port={port}" in container["args"]
    assert container["livenessProbe"]["httpGet"]["path"] == path
    assert {"name": "METALLB_BGP_TYPE", "value": "native"} in container["env"]


def test_a_mirror_has_the_images_under_their_names() -> None:
    objects = render_all("metallb", options(image_registry="mirror.example.edu/lb"))
    (container,) = find(objects, "Deployment", "controller")["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["image"] == "mirror.example.edu/lb/metallb/controller:v0.15.3"


def test_interfaces_of_containers_are_excluded_as_expressions() -> None:
    config = find(render_all("metallb", options()), "ConfigMap", "metallb-excludel2")
    patterns = yaml.safe_load(config["data"]["excludel2.yaml"])["announcedInterfacesToExclude"]
    for name in (*EXCLUDED_INTERFACES, "lo", "veth12ab", "cali0a1b"):
        assert any(re.search(pattern, name) for pattern in patterns)
    for name in ("bond0", "eno1", "enp1s0f0", "br-lan", "local0"):
        assert not any(re.search(pattern, name) for pattern in patterns)


def held(rule: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    names = rule.get("resourceNames") or ["*"]
    return {
        (group, resource, verb, name)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in names
    }


def covers(have: set[tuple[str, str, str, str]], one: tuple[str, str, str, str]) -> bool:
    return one in have or (*one[:3], "*") in have


@pytest.mark.parametrize("grant", [CONTROLLER, SPEAKER], ids=["controller", "speaker"])
def test_the_account_holds_what_it_grants(grant: Any) -> None:
    own = grant_of("metallb-system")
    cluster = {one for rule in own.cluster for one in held(rule.manifest())}
    within = cluster | {one for rule in own.namespaced for one in held(rule.manifest())}
    for rules, have in ((grant.cluster, cluster), (grant.namespaced, within)):
        for rule in rules:
            assert all(covers(have, one) for one in held(rule.manifest()))


def test_nobody_gets_a_wildcard_or_all_secrets() -> None:
    for grant in (grant_of("metallb-system"), CONTROLLER, SPEAKER):
        rules = [rule.manifest() for rule in (*grant.cluster, *grant.namespaced)]
        assert all("*" not in rule["verbs"] and "*" not in rule["resources"] for rule in rules)
        everywhere = {r for rule in grant.cluster for r in rule.resources}
        assert not everywhere & {"secrets", "configmaps", "pods", "serviceaccounts"}
