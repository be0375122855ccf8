# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The narrow account: made by an administrator's hand, used from then on, renewed, removed."""

from pathlib import Path

import httpx2
import pytest

from charmkit.account import (
    Grant,
    Rule,
    ensure_account,
    find_account,
    forget_account,
    remove_account,
)
from charmkit.credentials import Credentials
from charmkit.errors import ForbiddenError, NotReadyError
from charmkit.files import Files
from charmkit.host import Host
from charmkit.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    NAMESPACE,
    NODE,
    ROLE,
    ROLE_BINDING,
    SERVICE_ACCOUNT,
)
from charmkit.kube import Kube
from charmkit.refusals import UnauthorizedError
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.transport import ApiTransport

CA = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
GRANT = Grant(
    cluster=(Rule(("nodes",), ("get", "list", "patch")),),
    namespaced=(Rule(("configmaps",), ("get", "list", "create", "patch")),),
)
HOURS = 3600.0


class ClockedHost(Host):
    """A machine in a folder, whose clock the test sets."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.files = Files(folder)
        self.clock = 1_796_000_000.0

    def now(self) -> float:
        return self.clock


class LateRoles(httpx2.BaseTransport):
    """An API server that hears of new roles a few requests late."""

    def __init__(self, api: ApiServer, late: int) -> None:
        self._inner = ApiTransport(api)
        self._late = late

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if ADMIN_TOKEN in request.headers["authorization"] or not self._late:
            return self._inner.handle_request(request)
        self._late -= 1
        status = {"kind": "Status", "message": 'User "x" cannot get resource "clusterroles"'}
        return httpx2.Response(403, json=status)


class Site:
    """A cluster and a unit that enters it."""

    def __init__(self, folder: Path) -> None:
        self.host = ClockedHost(folder)
        self.api = ApiServer(lambda: self.host.clock)
        self.ways: tuple[Credentials, ...] = (self.way(ADMIN_TOKEN),)
        self.transport: httpx2.BaseTransport | None = None

    @staticmethod
    def way(token: str, ca: str = CA, *servers: str) -> Credentials:
        return Credentials(servers or ("https://k",), token, ca, "dgx/0", "kube-control")

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        transport = self.transport or ApiTransport(self.api)
        return Kube(credentials, manager=manager, transport=transport, read_seconds=0)

    def enter(self, grant: Grant = GRANT) -> Credentials:
        return ensure_account(
            self.host,
            "dgx",
            grant,
            namespace="gpu-pool",
            ways=self.ways,
            make_kube=self.kube,
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_account_may_do_what_is_granted_and_nothing_else(site: Site) -> None:
    own = site.enter()
    kube = site.kube(own, "dgx")
    kube.list(NODE)
    kube.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "m", "namespace": "gpu-pool"},
        }
    )
    with pytest.raises(ForbiddenError, match="not allowed to delete nodes; role dgx lacks it"):
        kube.delete(NODE, "n")
    with pytest.raises(ForbiddenError, match="not allowed to list configmaps"):
        kube.list(CONFIG_MAP, namespace="default")


def test_credentials_of_the_account_are_no_administrators(site: Site) -> None:
    own = site.enter()
    assert own.token != ADMIN_TOKEN
    assert (own.user, own.source) == ("system:serviceaccount:gpu-pool:dgx", "account")
    assert own.ca == CA


def test_the_administrators_token_is_in_no_file(site: Site, tmp_path: Path) -> None:
    site.enter()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["access.json"]
    assert ADMIN_TOKEN not in files[0].read_text()
    assert files[0].stat().st_mode & 0o777 == 0o600


def test_a_second_hook_asks_the_api_nothing(site: Site) -> None:
    first = site.enter()
    asked = len(site.api.audit)
    assert site.enter() == first
    assert len(site.api.audit) == asked


def test_an_account_that_is_there_is_made_again_without_a_change(site: Site) -> None:
    site.enter()
    revision = site.api.revision
    forget_account(site.host, "dgx")
    site.enter()
    assert site.api.revision == revision


@pytest.mark.parametrize(("hours", "renewed"), [(11.9, False), (12.1, True), (23.9, True)])
def test_a_token_is_renewed_in_the_second_half_of_its_life(
    site: Site, hours: float, renewed: bool
) -> None:
    first = site.enter()
    site.host.clock += hours * HOURS
    second = site.enter()
    assert (second.token != first.token) is renewed
    site.kube(second, "dgx").list(NODE)


def test_a_token_that_cannot_be_renewed_is_used_until_it_ends(site: Site) -> None:
    first = site.enter()
    site.ways = ()
    site.host.clock += 20 * HOURS
    assert site.enter().token == first.token
    site.host.clock += 5 * HOURS
    with pytest.raises(NotReadyError, match="no way into the cluster yet"):
        site.enter()


def test_other_rules_make_the_account_again(site: Site) -> None:
    site.enter()
    wider = Grant((*GRANT.cluster, Rule(("pods",), ("list",))), GRANT.namespaced)
    kube = site.kube(site.enter(wider), "dgx")
    kube.find(NODE, "n")
    role = site.api.find(CLUSTER_ROLE, "dgx")
    assert role is not None
    assert [rule["resources"] for rule in role["rules"]] == [["nodes"], ["pods"], ["clusterroles"]]


def test_another_cluster_makes_another_account(site: Site) -> None:
    first = site.enter()
    site.api = ApiServer(lambda: site.host.clock, key="another")
    site.ways = (site.way(ADMIN_TOKEN, CA + CA),)
    second = site.enter()
    assert second.token != first.token
    site.kube(second, "dgx").list(NODE)


def test_servers_that_move_are_followed_without_a_new_account(site: Site) -> None:
    first = site.enter()
    site.ways = (site.way(ADMIN_TOKEN, CA.replace("\n", "\r\n"), "https://new", "https://newer"),)
    second = site.enter()
    assert second.token == first.token
    assert second.servers == ("https://new", "https://newer")


def test_the_token_of_a_stale_leader_is_passed_over(site: Site) -> None:
    site.ways = (site.way("stale"), site.way(ADMIN_TOKEN))
    site.kube(site.enter(), "dgx").list(NODE)


def test_stale_tokens_alone_are_said_to_be_so(site: Site) -> None:
    site.ways = (site.way("stale"),)
    with pytest.raises(UnauthorizedError, match="does not accept the token of kube-control"):
        site.enter()
    assert find_account(site.host, "dgx") is None


def test_a_deleted_account_comes_back_after_it_was_forgotten(site: Site) -> None:
    own = site.enter()
    site.api.remove(CLUSTER_ROLE, "dgx")
    with pytest.raises(UnauthorizedError):
        site.kube(own, "dgx").list(NODE)
    forget_account(site.host, "dgx")
    site.kube(site.enter(), "dgx").list(NODE)


def test_a_role_that_somebody_narrowed_comes_back_after_it_was_forgotten(site: Site) -> None:
    own = site.enter()
    site.api.edit(CLUSTER_ROLE, "dgx", "", lambda role: role.update(rules=[]))
    with pytest.raises(ForbiddenError):
        site.kube(own, "dgx").list(NODE)
    forget_account(site.host, "dgx")
    site.kube(site.enter(), "dgx").list(NODE)


def test_the_account_can_remove_itself_with_everything_that_belongs_to_it(site: Site) -> None:
    site.enter()
    own = find_account(site.host, "dgx")
    assert own is not None
    assert remove_account(site.kube(own, "dgx"), site.host, "dgx")
    for kind in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING, SERVICE_ACCOUNT):
        assert site.api.list_objects(kind) == []
    assert site.api.find(NAMESPACE, "gpu-pool") is not None
    assert find_account(site.host, "dgx") is None


def test_a_namespace_that_others_keep_is_left_as_it_is(site: Site) -> None:
    label = {"pod-security.kubernetes.io/enforce": "privileged"}
    metadata = {"name": "gpu-pool", "labels": label}
    site.api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    site.enter()
    found = site.api.find(NAMESPACE, "gpu-pool")
    assert found is not None
    assert label.items() <= found["metadata"]["labels"].items()


def test_two_applications_have_accounts_of_their_own(site: Site) -> None:
    site.enter()
    other = ensure_account(
        site.host, "dgx-mig", GRANT, namespace="gpu-pool", ways=site.ways, make_kube=site.kube
    )
    remove_account(site.kube(other, "dgx-mig"), site.host, "dgx-mig")
    site.kube(site.enter(), "dgx").list(NODE)


def test_no_token_is_in_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    first = site.enter()
    site.ways = (site.way("stale-token"),)
    site.host.clock += 20 * HOURS
    with caplog.at_level("DEBUG"):
        site.enter()
    assert "could not be renewed yet" in caplog.text
    assert first.token not in caplog.text
    assert "stale-token" not in caplog.text


def test_roles_that_are_heard_of_late_are_waited_for(site: Site) -> None:
    site.transport = LateRoles(site.api, 2)
    site.kube(site.enter(), "dgx").list(NODE)


def test_an_account_asks_for_nothing_but_its_own_roles(site: Site) -> None:
    site.enter()
    lines = [line for line in site.api.audit if line.user.endswith(":dgx")]
    assert {(line.verb, line.resource, line.name) for line in lines} == {
        ("get", "clusterroles.rbac.authorization.k8s.io", "dgx")
    }
