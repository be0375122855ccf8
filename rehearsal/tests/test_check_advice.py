# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What facts say of a charm beyond its metadata: what only blocks it, what does not go with it."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.bundle import Finding, check
from rehearsal.facts import find_facts, known_names

ROOT = Path(__file__).resolve().parents[2]
RULES = ("assumes", "beside", "pools", "retired")
OURS = {path.name for path in (ROOT / "charms").iterdir()}
SITE: dict[str, Any] = {
    "default-base": "ubuntu@24.04",
    "applications": {
        "cp": {"charm": "kubernetes-control-plane", "num_units": 1, "options": {}},
        "cpu": {"charm": "kubernetes-worker", "num_units": 1, "options": {}},
        "gpu": {"charm": "kubernetes-worker", "num_units": 1, "options": {}},
        "calico": {"charm": "calico", "options": {}},
        "containerd": {"charm": "containerd", "options": {"gpu_driver": "none"}},
        "containerd-gpu": {"charm": "containerd", "options": {"gpu_driver": "none"}},
        "ceph-mon": {"charm": "ceph-mon", "num_units": 3},
        "keystone": {"charm": "keystone", "num_units": 1},
        "openstack": {"charm": "openstack-integrator", "num_units": 1},
        **{
            name: {"charm": str(ROOT / "charms" / name), "options": {}}
            for name in ("nvidia-driver", "gpu-worker", "metallb", "ceph-csi")
        },
    },
    "relations": [
        ["cp:kube-control", "cpu:kube-control"],
        ["cp:kube-control", "gpu:kube-control"],
        ["calico:cni", "cp:cni"],
        ["calico:cni", "gpu:cni"],
        ["containerd:containerd", "cp:container-runtime"],
        ["containerd:containerd", "cpu:container-runtime"],
        ["containerd-gpu:containerd", "gpu:container-runtime"],
        ["nvidia-driver:host", "gpu:juju-info"],
        ["gpu-worker:host", "gpu:juju-info"],
        ["gpu-worker:kube-control", "cp:kube-control"],
        ["metallb:host", "cp:juju-info"],
        ["ceph-csi:host", "cp:juju-info"],
        ["ceph-csi:ceph-client", "ceph-mon:client"],
    ],
}


def found(
    folder: Path,
    options: dict[str, dict[str, Any]] | None = None,
    relations: list[list[str]] | None = None,
    without: tuple[str, ...] = (),
    **sections: Any,
) -> list[Finding]:
    """What the rules on facts say of a site with options and relations more.

    Args:
        folder: Where the bundle is written.
        options: By application.
        relations: What is added.
        without: Relations that are left out, by their first end.
        sections: Other sections of the bundle.
    """
    applications = {
        name: {**body, "options": {**body.get("options", {}), **(options or {}).get(name, {})}}
        for name, body in SITE["applications"].items()
    }
    kept = [ends for ends in SITE["relations"] if ends[0] not in without]
    data = {**SITE, "applications": applications, "relations": kept + (relations or [])}
    return said(folder, {**data, **sections})


def said(folder: Path, bundle: dict[str, Any]) -> list[Finding]:
    path = folder / "b.yaml"
    path.write_text(yaml.safe_dump(bundle, sort_keys=False))
    return [finding for finding in check(path) if finding.rule in RULES]


@pytest.mark.parametrize("name", known_names())
def test_facts_give_advice_on_what_the_charm_has(name: str):
    charm = find_facts(name)
    assert charm is not None
    advice = charm.advice
    assert advice.retired_endpoints.keys() <= charm.endpoints.keys()
    assert not advice.retired_endpoints.keys() & charm.needs.keys()
    assert all(charm.options[option].default for option in advice.retired_options)
    for doubt in advice.unsuited:
        assert doubt.option in charm.options
        assert bool(doubt.values) != bool(doubt.holds)
        assert {value.lower() for value in doubt.values} == set(doubt.values)
        assert doubt.beside
        assert set(doubt.beside) <= OURS
        assert doubt.same in ("cluster", "machine")
        assert "" not in (doubt.why, doubt.write)
    for network in advice.networks:
        assert {network.option, *network.unless} <= charm.options.keys()


@pytest.mark.parametrize(
    "overlays",
    [
        (),
        ("site-example", "ceph-in-model"),
        ("site-example", "metallb-bgp", "ceph-external"),
        ("ceph-external-options", "keystone-external-options"),
        ("keystone-external",),
    ],
    ids="+".join,
)
def test_the_reference_bundle_has_nothing_of_it(overlays: tuple[str, ...]):
    paths = [ROOT / "overlays" / f"{name}.yaml" for name in overlays]
    findings = check(ROOT / "bundles/charmed-kubernetes.yaml", paths)
    assert [finding for finding in findings if finding.rule in RULES] == []
    assert [f for f in check(ROOT / "bundles/lab.yaml") if f.rule in RULES] == []


def test_the_site_of_these_tests_has_nothing_of_it(tmp_path: Path):
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("ends", "endpoint", "instead"),
    [
        (["cp:ceph-client", "ceph-mon:client"], "ceph-client", "ceph-csi:ceph-client"),
        (["ceph-mon:client", "cp:ceph-client"], "ceph-client", "ceph-csi:ceph-client"),
        (["cp", "ceph-mon:client"], "ceph-client", "ceph-csi:ceph-client"),
        (["cp:ceph-client", "elsewhere:client"], "ceph-client", "ceph-csi:ceph-client"),
        (
            ["cp:keystone-credentials", "keystone:identity-credentials"],
            "keystone-credentials",
            "keystone-auth:keystone",
        ),
        (["cp:openstack", "openstack:clients"], "openstack", "openstack-cloud-controller:openst"),
    ],
    ids=["beside the new one", "the other way round", "one end", "of an offer", "keystone",
         "openstack"],
)  # fmt: skip
def test_c12_an_old_relation_is_flagged_with_the_new_way(
    ends: list[str], endpoint: str, instead: str, tmp_path: Path
):
    saas = {"elsewhere": {"url": "admin/ceph.ceph-mon"}}
    (finding,) = found(tmp_path, relations=[ends], saas=saas)
    assert finding.severity == "warning"
    assert (finding.rule, finding.path) == ("retired", f"relations.{len(SITE['relations'])}")
    assert finding.message.startswith(f"cp keeps {endpoint} for upgrades alone")
    assert finding.remedy.startswith("delete the line; ")
    assert instead in finding.remedy


def test_c12_two_clusters_are_no_old_way(tmp_path: Path):
    more = {**SITE["applications"], "mon2": {"charm": "ceph-mon", "num_units": 1}}
    relations = [*SITE["relations"], ["ceph-csi:ceph-client", "mon2:client"]]
    assert said(tmp_path, {**SITE, "applications": more, "relations": relations}) == []


def test_a_misspelt_end_is_never_sent_to_an_old_one(tmp_path: Path):
    path = tmp_path / "b.yaml"
    relations = [*SITE["relations"], ["cp:ceph-clients", "ceph-mon:client"]]
    path.write_text(yaml.safe_dump({**SITE, "relations": relations}))
    (finding,) = [finding for finding in check(path) if finding.rule == "V15"]
    assert "ceph-client" not in finding.remedy


@pytest.mark.parametrize(("value", "is_good"), [("true", False), ("auto", False), ("False", True)])
def test_an_option_that_is_kept_for_upgrades_has_one_good_value(
    value: str, is_good: bool, tmp_path: Path
):
    findings = found(tmp_path, {"cp": {"enable-nvidia-plugin": value}})
    if is_good:
        assert findings == []
        return
    (finding,) = findings
    assert finding.path == "applications.cp.options.enable-nvidia-plugin"
    assert (finding.rule, finding.severity) == ("retired", "warning")
    assert finding.message.endswith("it stays blocked until that is false")


IPVS = "{mode: ipvs}"
STRICT = "{mode: ipvs, ipvs: {strictARP: true}}"


@pytest.mark.parametrize(
    ("application", "option", "value", "beside", "write"),
    [
        ("cp", "allow-privileged", "false", "ceph-csi, gpu-worker", 'allow-privileged: "true"'),
        ("cp", "allow-privileged", "False", "ceph-csi, gpu-worker", 'allow-privileged: "true"'),
        ("cp", "proxy-extra-config", IPVS, "metallb", "strictARP: true"),
        ("cpu", "proxy-extra-config", IPVS, "metallb", "strictARP: true"),
        ("gpu", "proxy-extra-config", '{"mode": "ipvs", "ipvs": {"strictARP": false}}', "metallb",
         "strictARP: true"),
        ("gpu", "proxy-extra-config", "mode: ipvs\nipvs:\n  scheduler: rr\n", "metallb",
         "strictARP: true"),
        ("containerd-gpu", "gpu_driver", "auto", "nvidia-driver", "gpu_driver: none"),
        ("containerd-gpu", "gpu_driver", "nvidia", "nvidia-driver", "gpu_driver: none"),
        ("containerd-gpu", "gpu_driver", None, "nvidia-driver", "gpu_driver: none"),
    ],
)  # fmt: skip
def test_an_option_under_which_a_neighbour_cannot_work_is_told(
    application: str, option: str, value: str | None, beside: str, write: str, tmp_path: Path
):
    (finding,) = found(tmp_path, {application: {option: value}})
    assert finding.path == f"applications.{application}.options.{option}"
    assert (finding.rule, finding.severity) == ("beside", "warning")
    assert f" beside {beside}: " in finding.message
    assert write in finding.remedy


def test_a_default_says_that_it_is_one(tmp_path: Path):
    (finding,) = found(tmp_path, {"containerd-gpu": {"gpu_driver": None}})
    assert finding.message.startswith("gpu_driver, not set, is auto beside nvidia-driver")


@pytest.mark.parametrize(
    ("options", "without"),
    [
        ({"cp": {"allow-privileged": "auto"}}, ()),
        ({"cp": {"allow-privileged": "false"}},
         ("ceph-csi:host", "gpu-worker:host", "gpu-worker:kube-control")),
        ({"cp": {"proxy-extra-config": STRICT}, "gpu": {"proxy-extra-config": STRICT}}, ()),
        ({"cp": {"proxy-extra-config": "{mode: nftables}"}}, ()),
        ({"cp": {"proxy-extra-config": "ipvs: {strictARP: false}"}}, ()),
        ({"cp": {"proxy-extra-config": "mode: [ipvs"}}, ()),
        ({"cp": {"proxy-extra-config": IPVS}}, ("metallb:host",)),
        ({"cp": {"proxy-extra-config": IPVS}, "metallb": {"mode": "bgp"}}, ()),
        ({"containerd": {"gpu_driver": "auto"}}, ()),
        ({"containerd-gpu": {"gpu_driver": "nvidia"}}, ("nvidia-driver:host",)),
    ],
    ids=["calico makes it true", "nobody needs it", "strict", "another mode", "not in use",
         "no YAML", "no metallb there", "mode bgp", "no GPU machine", "no driver of ours"],
)  # fmt: skip
def test_an_option_that_harms_nobody_is_left_alone(
    options: dict[str, dict[str, Any]], without: tuple[str, ...], tmp_path: Path
):
    assert found(tmp_path, options, without=without) == []


def test_a_cluster_does_not_answer_for_another_one(tmp_path: Path):
    more = {
        **SITE["applications"],
        "cp2": {
            "charm": "kubernetes-control-plane",
            "num_units": 1,
            "options": {"allow-privileged": "false", "proxy-extra-config": IPVS},
        },
        "calico2": {"charm": "calico", "options": {"cidr": "10.9.0.0/16"}},
        "metallb": {
            **SITE["applications"]["metallb"],
            "options": {"address-pools": "a=10.9.0.0/28"},
        },
    }
    relations = [*SITE["relations"], ["calico2:cni", "cp2:cni"]]
    assert said(tmp_path, {**SITE, "applications": more, "relations": relations}) == []


def canonical(folder: Path, pools: str, **options: Any) -> list[Finding]:
    applications = {
        "k8s": {"charm": "k8s", "num_units": 1, "options": options},
        "metallb": {"charm": str(ROOT / "charms/metallb"), "options": {"address-pools": pools}},
    }
    relations = [["metallb:host", "k8s:juju-info"], ["metallb:kube-control", "k8s:kube-control"]]
    head = {"default-base": "ubuntu@24.04"}
    return said(folder, {**head, "applications": applications, "relations": relations})


@pytest.mark.parametrize("value", [True, "true", False])
def test_the_load_balancer_of_canonical_kubernetes_is_off_beside_metallb(
    value: Any, tmp_path: Path
):
    findings = canonical(tmp_path, "a=10.20.0.0/28", **{"load-balancer-enabled": value})
    wanted = ["applications.k8s.options.load-balancer-enabled"] if value else []
    assert [finding.path for finding in findings] == wanted
    assert all(finding.remedy == "write load-balancer-enabled: false" for finding in findings)


@pytest.mark.parametrize(
    ("pools", "options", "told"),
    [
        ("a=192.168.1.240-192.168.1.250", {},
         "pool a: '192.168.1.240-192.168.1.250' overlaps 192.168.0.0/16, the pod network (cidr"),
        ("a=10.0.0.0/28,192.168.255.0-192.169.0.9", {},
         "pool a: '192.168.255.0-192.169.0.9' overlaps 192.168.0.0/16, the pod network (cidr of"),
        ("a=10.152.183.200-10.152.183.220", {},
         "overlaps 10.152.183.0/24, the service network (service-cidr of cp)"),
        ("a=10.7.0.0/28", {"calico": {"cidr": "fd00:7::/64, 10.7.0.0/16"}},
         "overlaps 10.7.0.0/16, the pod network (cidr of calico)"),
        ("a=fd00:7::10/124", {"calico": {"cidr": "10.7.0.0/16,fd00:7::/64"}},
         "overlaps fd00:7::/64, the pod network (cidr of calico)"),
        ("a=10.8.0.0/28", {"cp": {"service-cidr": "10.8.0.0/20"}},
         "overlaps 10.8.0.0/20, the service network (service-cidr of cp)"),
        ("a=192.168.1.240/29", {"calico": {"cidr": "10.7.0.0/16"}}, ""),
        ("a=192.168.1.240/29", {"calico": {"manage-pools": False}}, ""),
        ("a=192.167.255.0-192.167.255.255,192.169.0.0/28", {}, ""),
    ],
    ids=["Calico's default", "over its edge", "services' default", "own network", "IPv6",
         "own services", "Calico is elsewhere", "Calico makes no pool", "beside it"],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["l2", "bgp"])
def test_a62_pools_in_networks_of_the_cluster_are_told_with_both_ranges(
    pools: str, options: dict[str, dict[str, Any]], told: str, mode: str, tmp_path: Path
):
    findings = found(tmp_path, {"metallb": {"address-pools": pools, "mode": mode}, **options})
    assert len(findings) == bool(told)
    for finding in findings:
        assert finding.path == "applications.metallb.options.address-pools"
        assert (finding.rule, finding.severity) == ("pools", "warning")
        assert told in finding.message
        assert finding.remedy.startswith("leave that out, or give ")


def test_a62_canonical_kubernetes_has_such_networks_too(tmp_path: Path):
    (finding,) = canonical(tmp_path, "a=10.1.5.0/28", **{"bootstrap-pod-cidr": "10.1.0.0/16"})
    assert "overlaps 10.1.0.0/16, the pod network (bootstrap-pod-cidr of k8s)" in finding.message
    assert canonical(tmp_path, "a=192.168.1.0/28") == []


METALLB = {"charm": "metallb", "options": {"iprange": "10.0.0.0/28", "namespace": "lb"}}


def test_charmhubs_metallb_is_right_in_a_bundle_for_kubernetes(tmp_path: Path):
    path = tmp_path / "b.yaml"
    body = {**METALLB, "scale": 1, "trust": True}
    head = {"bundle": "kubernetes", "default-base": "ubuntu@22.04"}
    path.write_text(yaml.safe_dump({**head, "applications": {"metallb": body}}))
    assert [finding.rule for finding in check(path)] == ["trust"]


def test_charmhubs_metallb_is_no_charm_for_machines(tmp_path: Path):
    path = tmp_path / "b.yaml"
    body = {**METALLB, "num_units": 1, "trust": True}
    path.write_text(
        yaml.safe_dump({"default-base": "ubuntu@24.04", "applications": {"metallb": body}})
    )
    (finding,) = [finding for finding in check(path) if finding.rule != "trust"]
    assert (finding.rule, finding.severity) == ("assumes", "error")
    assert finding.path == "applications.metallb.charm"
    assert "Kubernetes model" in finding.message
    assert "bundle: kubernetes" in finding.remedy
    assert "./metallb_ubuntu-24.04-amd64.charm" in finding.remedy


@pytest.mark.parametrize(
    ("assumes", "is_told"),
    [
        (["juju >= 3.1", "k8s-api"], True),
        (["k8s-api >= 1.30"], True),
        ([{"any-of": ["juju >= 3.1", "k8s-api"]}], False),
        (["juju >= 3.1"], False),
        ("k8s-api", False),
        ([7, ""], False),
    ],
    ids=["feature", "version", "alternative", "juju", "no list", "odd"],
)
def test_a_charm_file_says_so_itself(assumes: Any, is_told: bool, tmp_path: Path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "metadata.yaml").write_text(
        yaml.safe_dump({"name": "x", "assumes": assumes})
    )
    applications = {"x": {"charm": "./x", "num_units": 1}}
    findings = said(tmp_path, {"default-base": "ubuntu@24.04", "applications": applications})
    assert [finding.rule for finding in findings] == ["assumes"] * is_told


def test_facts_without_options_do_not_say_that_there_are_none(tmp_path: Path):
    path = tmp_path / "b.yaml"
    body = {"charm": "openstack-integrator", "num_units": 1, "options": {"auth-url": "x"}}
    path.write_text(yaml.safe_dump({"default-base": "ubuntu@22.04", "applications": {"o": body}}))
    (finding,) = check(path)
    assert finding.severity == "warning"
    assert finding.remedy == "look it up: juju info openstack-integrator"


def test_thousands_of_applications_are_answered_in_seconds(tmp_path: Path):
    many = 1500
    control = {
        "charm": "kubernetes-control-plane",
        "num_units": 1,
        "options": {"allow-privileged": "false", "proxy-extra-config": IPVS + "#" * 500},
    }
    metallb = {
        "charm": str(ROOT / "charms/metallb"),
        "options": {"address-pools": "a=10.0.0.0/28"},
    }
    applications = {
        **{f"cp{number}": control for number in range(many)},
        **{f"m{number}": metallb for number in range(many)},
        **{f"c{number}": {"charm": "calico"} for number in range(many)},
    }
    relations = [
        *([f"m{number}:host", f"cp{number % 7}:juju-info"] for number in range(many)),
        *([f"c{number}:cni", f"cp{number % 3}:cni"] for number in range(many)),
        *(["m0:host", f"cp{number}:juju-info"] for number in range(8, many)),
    ]
    text = {"default-base": "ubuntu@24.04", "applications": applications, "relations": relations}
    (tmp_path / "b.yaml").write_text(yaml.dump(text, Dumper=yaml.CSafeDumper))
    begun = time.process_time()
    check(tmp_path / "b.yaml")
    assert time.process_time() - begun < 10
