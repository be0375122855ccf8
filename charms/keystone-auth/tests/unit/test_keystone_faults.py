# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Keystone that fails at any request of a run: one status, no access lost, the same end."""

import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from controlplane import ENDPOINT, Deployment
from ops import testing

from campus import PASSWORD, SERVICE, Campus
from charmkit.errors import NotReadyError
from keystone import Access, Keystone

ACTIVE = ("active", f"2 projects, webhook on {ENDPOINT}")
ACCESS = Access(
    "http://keystone.example.org:5000/v3", SERVICE, PASSWORD, "service_domain", "", "keystone"
)
FAULTS: dict[str, dict[str, Any]] = {
    "hanging": {"hang": True},
    **{str(code): {"status": code} for code in (204, 401, 403, 404, 500)},
    **{kind: {"lie": kind} for kind in ("cut", "other")},
}
KINDS = ("Namespace", "RoleBinding", "ResourceQuota", "LimitRange", "ClusterRole")


def inventory(deployment: Deployment) -> str:
    found = {kind: deployment.objects(kind) for kind in KINDS}
    return json.dumps(
        {
            kind: {name: one.get("spec") or one.get("subjects") for name, one in items.items()}
            for kind, items in found.items()
        },
        sort_keys=True,
    )


def requests_of(campus: Campus, deployment: Deployment) -> int:
    before = len(campus.keystone.calls)
    assert deployment.sweep() == ACTIVE
    return len(campus.keystone.calls) - before


@pytest.mark.parametrize("name", FAULTS)
def test_a_run_that_fails_at_any_request_takes_nothing_away_and_the_next_ends_as_before(
    deployment: Deployment, campus: Campus, name: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    total, before = requests_of(campus, deployment), inventory(deployment)
    for number in range(total):
        faults = campus.keystone.faults
        faults.clear()
        faults.after, faults.count = number, 1
        for key, value in FAULTS[name].items():
            setattr(faults, key, value)
        status, message = deployment.sweep()
        faults.clear()
        assert status in ("active", "waiting", "blocked"), (number, message)
        assert "\n" not in message
        assert inventory(deployment) == before, (number, message)
    assert deployment.sweep() == ACTIVE
    assert inventory(deployment) == before


class Strange(httpx2.BaseTransport):
    """Keystone, but lists of a kind hold something else."""

    def __init__(self, inner: httpx2.BaseTransport, kind: str, rows: object) -> None:
        self._inner, self._kind, self._rows = inner, kind, rows

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self._inner.handle_request(request)
        if request.method == "GET" and request.url.path == f"/v3/{self._kind}":
            return httpx2.Response(200, json={self._kind: self._rows})
        return answer


@pytest.mark.parametrize("kind", ["projects", "domains", "roles", "services"])
@pytest.mark.parametrize(
    "rows", [None, {}, "x", [None], [{}], [[]], [{"id": None}], [3]], ids=json.dumps
)
def test_rows_that_keystone_never_writes_are_waited_out(
    campus: Campus, kind: str, rows: object
) -> None:
    campus.allow()
    transport = Strange(campus.transport, kind, rows)
    keystone = Keystone(ACCESS, transport)
    keystone.log_in()
    with pytest.raises(NotReadyError, match="not Keystone's"):
        _ = keystone.list_roles() if kind == "roles" else keystone.list_projects({})


@pytest.mark.parametrize("number", range(10))
def test_a_first_run_that_is_cut_off_is_finished_by_the_next(
    deployment: Deployment, campus: Campus, number: int
) -> None:
    campus.allow()
    faults = campus.keystone.faults
    faults.after, faults.status = number, 500
    deployment.run(deployment.on.config_changed())
    faults.clear()
    assert deployment.run(deployment.on.config_changed()) == ACTIVE


BAGS: list[tuple[dict[str, str], str, str]] = [
    ({"credentials_host": "a b"}, "blocked", "keystone: the relation names no address"),
    ({"credentials_host": "x\r\nEvil: 1"}, "blocked", "keystone: the relation names no address"),
    ({"credentials_port": "many"}, "blocked", "keystone: the relation names no address"),
    ({"credentials_port": "99999"}, "blocked", "keystone: the relation names no address"),
    ({"credentials_protocol": "file"}, "blocked", "keystone: the relation names no address"),
    ({"credentials_password": ""}, "waiting", "keystone: waiting for credentials"),
    ({"credentials_username": ""}, "waiting", "keystone: waiting for username"),
    ({"credentials_password": "\x00\U0001f600"}, "blocked", "keystone: Keystone refuses user"),
    ({"credentials_user_domain_name": "nowhere"}, "blocked", "keystone: Keystone refuses user"),
]


@pytest.mark.parametrize(("bag", "status", "message"), BAGS, ids=range(len(BAGS)))
def test_nonsense_of_the_relation_is_named_and_the_service_goes_on(
    deployment: Deployment, campus: Campus, bag: dict[str, str], status: str, message: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    before = inventory(deployment)
    data = {**deployment.credentials, **bag}
    deployment.put(replace(deployment.relation("keystone"), remote_units_data={0: data}))
    found = deployment.run(deployment.on.config_changed())
    assert found[0] == status
    assert found[1].startswith(message)
    assert inventory(deployment) == before
    assert deployment.host.systemd.is_active("keystone-auth-webhook.service")


def test_of_two_units_of_keystone_the_one_that_has_written_counts(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    both: dict[int, Any] = {0: {}, 1: deployment.credentials}
    deployment.put(replace(deployment.relation("keystone"), remote_units_data=both))
    assert deployment.run(deployment.on.config_changed()) == ACTIVE


def answer_of(deployment: Deployment, name: str, params: dict[str, Any]) -> str:
    try:
        return json.dumps(deployment.act(name, **params))
    except testing.ActionFailed as failure:
        return failure.message


@pytest.mark.parametrize("fault", ["", "401", "html", "refuse"])
def test_no_action_status_log_or_bag_says_a_secret_whatever_fails(
    deployment: Deployment, campus: Campus, fault: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    faults = campus.keystone.faults
    faults.status, faults.refuse = (401 if fault == "401" else 0), fault == "refuse"
    faults.lie = "html" if fault == "html" else ""
    said: list[str] = []
    for name, params in (
        ("check", {}),
        ("sync", {"force": False}),
        ("kubeconfig", {"project": "gpu-lab"}),
        ("break-glass", {}),
        ("prepare-removal", {}),
    ):
        said.append(answer_of(deployment, name, params))
    said.append(str(deployment.sweep()))
    said += [line.message for line in deployment.context.juju_log]
    said += [str(one.local_unit_data) for one in deployment.state.relations]
    private = deployment.host.files.find_text("/var/lib/keystone-auth/access.json") or ""
    account = str(json.loads(private)["data"]["token"]) if '"data"' in private else PASSWORD
    for secret in (PASSWORD, account, "gAAAA", "PRIVATE KEY"):
        assert secret not in "\n".join(said)
