# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Ways into a cluster: kube-control by each platform's habits, kubeconfigs, secrets."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ops
import pytest
import yaml
from ops import testing

from charmkit import access
from charmkit.credentials import Credentials, parse_kubeconfig, parse_secret
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    NotReadyError,
    RelationIncompleteError,
    RelationMissingError,
)
from charmkit.files import Files

CA = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
META = {
    "name": "dgx",
    "requires": {"kube-control": {"interface": "kube-control", "limit": 1}},
}


class Charm(ops.CharmBase):
    """Asks for a way in at every event and keeps what came of it."""

    files = Files()
    secret_id = ""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.found: tuple[Credentials, ...] = ()
        self.problem: CharmkitError | None = None
        self.changed = False
        framework.observe(self.on.update_status, self._on_update_status)

    def _on_update_status(self, event: ops.EventBase) -> None:
        relation = self.model.get_relation("kube-control")
        if relation is not None:
            self.changed = access.request_access(relation, self.unit)
        secret = self.model.get_secret(id=self.secret_id) if self.secret_id else None
        try:
            self.found = access.find_credentials(
                self, self.files, endpoint="kube-control", secret=secret
            )
        except CharmkitError as error:
            self.problem = error


@dataclass(frozen=True, slots=True)
class Result:
    found: tuple[Credentials, ...]
    problem: CharmkitError | None
    changed: bool
    bag: Mapping[str, str]


def creds(token: str, **more: str) -> dict[str, str]:
    return {
        "client_token": token,
        "kubelet_token": "",
        "proxy_token": "",
        "scope": "dgx/0",
        **more,
    }


def bag(*servers: str, users: Mapping[str, Any] | None = None, **more: str) -> dict[str, str]:
    """A unit's bag as Charmed Kubernetes writes it; without users that of a unit not leading."""
    return {
        "api-endpoints": json.dumps([f"https://{server}:6443" for server in servers]),
        "cluster-tag": "kubernetes-x",
        "creds": json.dumps(users) if users is not None else "",
        "default-cni": '""',
        "domain": "cluster.local",
        "enable-kube-dns": "True",
        "has-xcp": "false",
        "port": "53",
        "registry-location": "rocks.canonical.com/cdk",
        **more,
    }


@pytest.fixture
def machine(tmp_path: Path) -> Files:
    """A worker of Charmed Kubernetes without a kubeconfig yet."""
    files = Files(tmp_path)
    files.ensure_text("/root/cdk/ca.crt", CA)
    return files


def run(
    files: Files,
    bags: Mapping[int, Mapping[str, str]] | None,
    *,
    secrets: tuple[testing.Secret, ...] = (),
    secret_id: str = "",
    asked: Mapping[str, str] | None = None,
) -> Result:
    charm = type("Charm", (Charm,), {"files": files, "secret_id": secret_id})
    relations = []
    if bags is not None:
        relations = [
            testing.Relation(
                "kube-control",
                remote_app_name="kcp",
                remote_units_data={number: dict(data) for number, data in bags.items()},
                local_unit_data=dict(asked or {}),
            )
        ]
    context = testing.Context(charm, meta=META)
    state = testing.State(relations=relations, secrets=secrets)
    with context(context.on.update_status(), state) as manager:
        out = manager.run()
        own = manager.charm
        local = next(iter(out.relations)).local_unit_data if relations else {}
        return Result(own.found, own.problem, own.changed, local)


# kube-control


def test_we_ask_in_the_name_of_the_unit_for_both_schemas(machine: Files) -> None:
    result = run(machine, {0: {}})
    wanted = {"kubelet_user": "dgx/0", "auth_group": "system:masters", "schema_vers": "[0, 1]"}
    assert wanted.items() <= result.bag.items()
    assert result.changed
    assert not run(machine, {0: {}}, asked=wanted).changed


def test_charmed_kubernetes_sends_the_token_in_the_bag_and_no_ca(machine: Files) -> None:
    result = run(machine, {0: bag("10.0.0.1", users={"dgx/0": creds("admin::t")})})
    assert result.found == (
        Credentials(("https://10.0.0.1:6443",), "admin::t", CA, "dgx/0", "kube-control"),
    )


def test_the_bag_with_our_credentials_is_preferred_whatever_its_number(machine: Files) -> None:
    ours = bag("10.0.0.3", users={"other/0": creds("x"), "dgx/0": creds("ours")})
    bags = {0: bag("10.0.0.1"), 1: bag("10.0.0.2", users={"other/0": creds("x")}), 2: ours}
    (found,) = run(machine, bags).found
    assert found.token == "ours"
    assert found.servers == tuple(f"https://10.0.0.{n}:6443" for n in (3, 1, 2))


def test_one_load_balancer_named_by_all_units_is_one_server(machine: Files) -> None:
    bags = {n: bag("lb", users={"dgx/0": creds("t")} if n == 1 else None) for n in range(3)}
    (found,) = run(machine, bags).found
    assert found.servers == ("https://lb:6443",)


def test_a_stale_leader_is_a_second_way_and_hides_nothing(machine: Files) -> None:
    bags = {
        0: bag("10.0.0.1", users={"dgx/0": creds("stale")}),
        1: bag("10.0.0.2", users={"dgx/0": creds("fresh")}),
    }
    found = run(machine, bags).found
    assert [way.token for way in found] == ["stale", "fresh"]
    assert found[1].servers[0] == "https://10.0.0.2:6443"


def test_canonical_kubernetes_sends_token_and_ca_as_secrets(tmp_path: Path) -> None:
    token = testing.Secret({"client-token": "k8s-token", "endpoint": "kube-control"}, owner=None)
    ca = testing.Secret({"ca-certificate": CA, "endpoint": "kube-control"}, owner=None)
    users = {"dgx/0": creds("", **{"secret-id": token.id})}
    leader = bag("10.0.0.1", users=users, **{"ca-certificate-secret-id": ca.id})
    (found,) = run(Files(tmp_path), {0: leader}, secrets=(token, ca)).found
    assert (found.token, found.ca) == ("k8s-token", CA)


def test_a_secret_that_is_not_granted_yet_means_waiting(machine: Files) -> None:
    users = {"dgx/0": creds("", **{"secret-id": "secret:d3m0"})}
    result = run(machine, {0: bag("10.0.0.1", users=users)})
    assert isinstance(result.problem, NotReadyError)
    assert str(result.problem) == "kube-control: waiting for a secret of the cluster"


@pytest.mark.parametrize(
    ("bags", "missing"),
    [
        ({}, ("api-endpoints", "creds")),
        ({0: {}}, ("api-endpoints", "creds")),
        ({0: bag("10.0.0.1")}, ("creds",)),
        ({0: bag("10.0.0.1", users={})}, ("creds",)),
        ({0: bag("10.0.0.1", users={"other/0": creds("x")})}, ("creds",)),
        ({0: bag(users={"dgx/0": creds("t")})}, ("api-endpoints",)),
        ({0: {**bag("10.0.0.1"), "creds": "{broken"}}, ("creds",)),
        ({0: {**bag("10.0.0.1"), "creds": '{"dgx/0": {"scope": "dgx/0"}}'}}, ("creds",)),
        ({0: {"creds": json.dumps({"dgx/0": creds("t")})}}, ("api-endpoints",)),
    ],
    ids=["no unit", "empty", "not leading", "no user", "other user", "no endpoint", "broken",
         "half an entry", "creds alone"],
)  # fmt: skip
def test_what_is_missing_is_named(
    machine: Files, bags: Mapping[int, Mapping[str, str]], missing: tuple[str, ...]
) -> None:
    problem = run(machine, bags).problem
    assert isinstance(problem, RelationIncompleteError)
    assert (problem.endpoint, problem.missing) == ("kube-control", missing)


def test_a_bag_that_lacks_what_we_do_not_need_is_good_enough(machine: Files) -> None:
    short = {"api-endpoints": '["https://a:6443/"]', "creds": json.dumps({"dgx/0": creds("t")})}
    assert run(machine, {0: short}).found[0].servers == ("https://a:6443",)


def test_without_a_ca_there_is_no_way_in(tmp_path: Path) -> None:
    result = run(Files(tmp_path), {0: bag("10.0.0.1", users={"dgx/0": creds("t")})})
    assert isinstance(result.problem, NotReadyError)
    assert "/root/cdk/ca.crt" in str(result.problem)


def test_no_relation_and_no_kubeconfig_asks_for_the_relation(machine: Files) -> None:
    result = run(machine, None)
    assert isinstance(result.problem, RelationMissingError)
    assert str(result.problem) == "integrate kube-control to continue"


# kubeconfigs


def kubeconfig(**user: str) -> dict[str, Any]:
    cluster = {
        "server": "https://10.0.0.9:6443",
        "certificate-authority-data": base64.b64encode(CA.encode()).decode(),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "juju-context",
        "clusters": [{"name": "juju-cluster", "cluster": cluster}],
        "contexts": [
            {"name": "other", "context": {"cluster": "none", "user": "none"}},
            {"name": "juju-context", "context": {"cluster": "juju-cluster", "user": "admin"}},
        ],
        "users": [{"name": "admin", "user": user or {"token": "worker-token"}}],
    }


def test_the_workers_kubeconfig_is_the_way_where_the_relation_is_not(machine: Files) -> None:
    machine.ensure_text("/root/.kube/config", yaml.safe_dump(kubeconfig()))
    for bags in (None, {}, {0: bag("10.0.0.1")}):
        (found,) = run(machine, bags).found
        assert (found.token, found.source) == ("worker-token", "/root/.kube/config")
        assert found.ca == CA


def test_the_workers_kubeconfig_stands_behind_the_relation(machine: Files) -> None:
    machine.ensure_text("/root/.kube/config", yaml.safe_dump(kubeconfig()))
    found = run(machine, {0: bag("10.0.0.1", users={"dgx/0": creds("t")})}).found
    assert [way.source for way in found] == ["kube-control", "/root/.kube/config"]


def test_a_kubeconfig_of_the_worker_that_is_of_no_use_is_passed_over(machine: Files) -> None:
    machine.ensure_text("/root/.kube/config", "not: [a kubeconfig")
    assert isinstance(run(machine, None).problem, RelationMissingError)


def test_a_ca_by_path_is_read_from_the_machine(machine: Files) -> None:
    config = kubeconfig()
    config["clusters"][0]["cluster"] = {
        "server": "https://a:6443",
        "certificate-authority": "/root/cdk/ca.crt",
    }
    assert parse_kubeconfig(yaml.safe_dump(config), source="x", files=machine).ca == CA


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"current-context": "none"}, "no current context"),
        ({"clusters": []}, "no current context"),
        ({"users": [{"name": "admin", "user": {"client-key": "k"}}]}, "client certificates"),
        (
            {"clusters": [{"name": "juju-cluster", "cluster": {"server": "https://a"}}]},
            "no ce",
        ),
    ],
    ids=["context", "cluster", "certificates", "ca"],
)
def test_a_kubeconfig_that_is_of_no_use_says_why(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_kubeconfig(yaml.safe_dump({**kubeconfig(), **change}), source="x")


def test_a_broken_kubeconfig_is_not_quoted() -> None:
    with pytest.raises(ValueError, match="it is not YAML") as refusal:
        parse_kubeconfig('users: [{token: "s3cret', source="x")
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__


# Juju secrets


FIELDS = {"server": "https://a:6443, https://b:6443/", "token": "t\n", "ca": CA}


def test_a_secret_with_fields_opens_any_cluster(machine: Files) -> None:
    secret = testing.Secret(FIELDS, owner=None)
    (found,) = run(machine, {0: {}}, secrets=(secret,), secret_id=secret.id).found
    assert found.servers == ("https://a:6443", "https://b:6443")
    assert (found.token, found.source) == ("t", "cluster-secret")


def test_a_secret_may_hold_a_kubeconfig() -> None:
    found = parse_secret({"kubeconfig": yaml.safe_dump(kubeconfig())}, source="cluster-secret")
    assert found.servers == ("https://10.0.0.9:6443",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "it lacks server, token, ca"),
        ({"server": "https://a", "token": "t"}, "it lacks ca"),
        ({**FIELDS, "server": "http://a"}, "must be a URL that begins with https://"),
        ({**FIELDS, "server": "a:6443"}, "must be a URL that begins with https://"),
        ({"kubeconfig": "x"}, "kubeconfig: no current context"),
    ],
    ids=["empty", "no ca", "no tls", "no url", "no kubeconfig"],
)
def test_a_secret_that_opens_nothing_names_the_option(
    content: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as refusal:
        parse_secret(content, source="cluster-secret")
    assert refusal.value.option == "cluster-secret"
