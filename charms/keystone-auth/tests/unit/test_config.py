# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Options: the same set in model and charmcraft.yaml; a bad one is named, and changes nothing."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from controlplane import META, Deployment

from campus import Campus
from config import DEFAULTS, AuthOptions, check_pem, check_url
from relations import find_cluster_ways, load_options

BAD = [
    ("keystone-url", "keystone", "is no URL"),
    ("keystone-url", "ftp://keystone.example.org", "is no URL"),
    ("keystone-url", "https://user:pw@keystone.example.org", "is no URL"),
    ("keystone-url", "https://keystone.example.org/v3?x=1", "is no URL"),
    ("keystone-url", "https://keystone.example.org/v2.0", "v2.0 URL"),
    ("keystone-url", "https://keystone.example.org\r\nX: y", "is no URL"),
    ("keystone-url", "https://keystone.example.org/v3/auth/tokens", "goes on behind the API"),
    ("keystone-url", "https://keystone.example.org//v3", "goes on behind the API"),
    ("role-map", "member=Member", "member: write member, not Member: names are exact"),
    ("keystone-ca", "ca.crt", "is no certificate in PEM"),
    ("project-selector", "k8s", "chooses no projects"),
    ("exclude-projects", "gpu-lab", "is no id but a name"),
    ("namespace-template", "{name}", "needs {id8} or {id}"),
    ("role-map", "member=cluster-admin", "is for administrators"),
    ("user-prefix", "", "is no prefix"),
    ("user-prefix", "system:", "Kubernetes' own"),
    ("group-prefix", "kubeadm:", "Kubernetes' own"),
    ("gpu-quota", "soft", "must be hard or none"),
    ("role-map", "member=member reader=reader", "is several pairs, put commas between them"),
    ("default-quota", "gpus=4", "counts nothing called 'gpus'"),
    ("default-quota", "gpu=1 mig-1g.10gb=2", "is several pairs, put commas between them"),
    ("default-quota", "nvidia.com/mig-9g.99gb=1", "no resource of a GPU"),
    ("container-defaults", "cpu=1 memory=4Gi", "is several pairs, put commas between them"),
    ("container-defaults", "gpu=1", "only cpu and memory have a default"),
    ("network-policy", "deny", "must be none or isolate"),
    ("pod-security", "strict", "must be privileged, baseline or restricted"),
    ("webhook-port", 5000, "not 5000"),
    ("webhook-port", 443, "from 1024"),
    ("cache-ttl", 0, "must be from 1 to 300"),
    ("stale-grace", 86400, "must be from 0 to 3600"),
    ("negative-ttl", 600, "must be from 1 to 60"),
    ("keystone-timeout", 10, "must be from 1 to 8"),
]


def test_options_and_fields_are_the_same_set_in_the_same_order() -> None:
    options = [name.replace("-", "_") for name in META["config"]["options"]]
    assert options == list(AuthOptions.model_fields)


def test_the_defaults_are_those_of_charmcraft(tmp_path: Path) -> None:
    raw = {
        name.replace("-", "_"): option["default"]
        for name, option in META["config"]["options"].items()
        if "default" in option
    }
    assert AuthOptions.model_validate(raw) == DEFAULTS


@pytest.mark.parametrize(("option", "value", "message"), BAD, ids=range(len(BAD)))
def test_a_bad_value_blocks_by_its_name_and_what_worked_goes_on(
    deployment: Deployment, campus: Campus, option: str, value: object, message: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    deployment.take_accesses()
    settings = deployment.host.files.find_text("/etc/keystone-auth/webhook.json")
    status, text = deployment.configure(**{option: value})
    assert status == "blocked"
    assert text.startswith(f"{option}: ")
    assert message in text
    assert len(text) <= 120
    assert deployment.take_accesses() == []
    assert deployment.host.files.find_text("/etc/keystone-auth/webhook.json") == settings
    assert deployment.host.systemd.is_active("keystone-auth-webhook.service")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("https://k.example.org:5000/v3", "https://k.example.org:5000/v3"),
        ("https://k.example.org:5000/", "https://k.example.org:5000/v3"),
        ("http://[2001:db8::5]:5000", "http://[2001:db8::5]:5000/v3"),
        ("https://k.example.org/identity", "https://k.example.org/identity/v3"),
    ],
)
def test_a_url_gets_its_version(text: str, expected: str) -> None:
    assert check_url(text) == expected


@pytest.mark.parametrize("width", [0, 64])
def test_a_certificate_in_base64_is_taken_as_the_one_in_it(width: int) -> None:
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    text = base64.b64encode(pem.encode()).decode()
    lines = [text[at : at + width] for at in range(0, len(text), width)] if width else [text]
    assert check_pem("\n".join(lines)) == pem


@pytest.mark.parametrize(
    "text", ["aGVsbG8=", "////", "/etc/ssl/ca.pem", "bm90LWEtY2VydA", "Zertifikat für"]
)
def test_other_text_in_base64_is_no_certificate(text: str) -> None:
    with pytest.raises(ValueError, match="is no certificate in PEM"):
        check_pem(text)


def test_a_chain_of_certificates_is_taken_as_it_is() -> None:
    one = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    assert check_pem(one + one) == one + one


def test_a_text_that_only_looks_like_a_certificate_never_reaches_the_service(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    settings = deployment.host.files.find_text("/etc/keystone-auth/webhook.json")
    looks = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    status = deployment.configure(keystone_ca=looks)
    assert status == ("blocked", "keystone-ca: is no certificate in PEM")
    assert deployment.host.files.find_text("/etc/keystone-auth/keystone-ca.crt") is None
    assert deployment.host.files.find_text("/etc/keystone-auth/webhook.json") == settings


def test_actions_beside_a_refused_option_work_on_the_same_cluster(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, Campus())
    closed = "secret:d1b3kqf26bo00000000g"
    config = {"cluster-secret": closed, "webhook-port": 1}
    state = replace(deployment.state, config=config)
    with deployment.context(deployment.on.update_status(), state) as manager:
        options, refused = load_options(manager.charm)
        ways, no_way = find_cluster_ways(manager.charm, options, deployment.host.files)
    assert str(refused).startswith("webhook-port: ")
    assert (ways, str(no_way).partition(":")[0]) == ((), "cluster-secret")
