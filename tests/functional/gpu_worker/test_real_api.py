# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""gpu-worker's own code, as in a hook, on a real API server with its controllers and scheduler."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from gpusite import NODE

from tests.functional.gpu_worker.realunit import RealUnit
from tests.functional.kubernetes.audit import READS
from tests.functional.kubernetes.running import becomes, eventually, listing, nothing_stays

BACK_OFF = 11.0
"""More seconds than the scheduler lets a pod rest that it found no place for (podMaxBackoff)."""

SMALL, BIG = "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"


@pytest.fixture
def client(unit: RealUnit) -> Iterator[httpx2.Client]:
    with unit.control.client() as opened:
        yield opened


def leave(unit: RealUnit) -> None:
    unit.state = replace(unit.state, planned_units=0)
    unit.run(unit.on.relation_broken(unit.relation("host")))


def pod_of(client: httpx2.Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/v1/namespaces/team-a/pods/{name}").json()
    return found


def why_not_bound(client: httpx2.Client, name: str) -> str:
    conditions = pod_of(client, name).get("status", {}).get("conditions") or ()
    return " ".join(c.get("message", "") for c in conditions if c["status"] == "False")


def test_a_new_unit_becomes_active_and_the_node_offers_its_slices(unit: RealUnit) -> None:
    unit.settle_active()
    assert unit.status == ("active", "all-1g.6gb: 8 x mig-1g.6gb")
    assert unit.site.allocatable == {SMALL: 8}
    unit.site.assert_in_service()


def test_a_second_reconcile_writes_nothing(unit: RealUnit) -> None:
    unit.settle_active()
    unit.run(unit.on.update_status())
    before = len(unit.requests())
    for event in (unit.on.update_status(), unit.on.config_changed(), unit.on.leader_elected()):
        unit.run(event)
    asked = unit.requests()[before:]
    assert asked
    assert [request for request in asked if request.verb not in READS] == []


def test_removal_leaves_nothing(unit: RealUnit, client: httpx2.Client) -> None:
    before = listing(client)
    unit.settle_active()
    leave(unit)

    def left() -> set[str]:
        unit.site.world.advance(5)  # Garbage is collected by and by; a kubelet ends its pods.
        return listing(client) - before - STAYS

    nothing_stays(left)
    assert listing(client) ^ before == STAYS
    assert not [label for label in unit.site.labels if label.startswith("gpu-pool/")]
    assert unit.site.taints == []


STAYS = {
    "namespaces /gpu-pool",
    "serviceaccounts gpu-pool/default",
    "configmaps gpu-pool/kube-root-ca.crt",
}
"""The pools' namespace with what the cluster itself puts into each: other pools may live there."""


def test_pods_wait_for_slices_and_are_bound_once_the_gpus_are_cut(
    unit: RealUnit, client: httpx2.Client
) -> None:
    unit.settle_active()
    for number in range(2):
        unit.site.world.run_pod(f"big-{number}", "team-a", {BIG: 1})
    for name in ("big-0", "big-1"):

        def why(pod: str = name) -> str:
            return why_not_bound(client, pod)

        eventually(lambda why=why: f"Insufficient {BIG}" in why(), f"{name} waits", saw=why)
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())
    unit.settle_until(lambda: unit.site.allocatable == {BIG: 4}, "four large slices")
    unit.settle_active()
    for name in ("big-0", "big-1"):
        becomes(lambda pod=name: pod_of(client, pod)["spec"].get("nodeName"), NODE)
    unit.site.assert_never_wrong()


def test_affected_pods_are_evicted_as_their_budget_allows(
    unit: RealUnit, client: httpx2.Client
) -> None:
    unit.settle_active()
    unit.site.world.run_pod("train", "team-a", {SMALL: 1}, controller=True)
    pods = "/api/v1/namespaces/team-a/pods"

    def running() -> list[str]:
        unit.site.world.advance(5)
        items = client.get(pods).json()["items"]
        return [i["metadata"]["name"] for i in items if i["status"]["phase"] == "Running"]

    eventually(lambda: len(running()) == 1, "the job runs")
    (first,) = running()
    selector = {"matchLabels": {"batch.kubernetes.io/job-name": "train"}}
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    budgets = "/apis/policy/v1/namespaces/team-a/poddisruptionbudgets"
    assert client.post(budgets, json=budget).status_code == 201
    eventually(
        lambda: client.get(f"{budgets}/b").json()["status"].get("currentHealthy") == 1,
        "the budget counts its pod",
    )
    unit.configure(mig_profile="all-2g.12gb", drain="affected")
    unit.run(unit.on.config_changed())
    unit.settle_until(lambda: "budget" in unit.status[1], "the budget is named")
    assert running() == [first]
    client.delete(f"{budgets}/b")
    unit.settle_until(lambda: unit.site.allocatable.get(BIG, 0) == 4, "four large slices")
    assert first not in running()
    unit.site.assert_never_wrong()


def test_a_role_that_is_taken_away_is_written_again(unit: RealUnit, client: httpx2.Client) -> None:
    unit.settle_active()
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    client.delete(f"{roles}/gpu-worker")
    eventually(
        lambda: (
            client.get("/api/v1/namespaces/gpu-pool/serviceaccounts/gpu-worker").status_code == 404
        ),
        "what the role owned is collected",
    )
    assert unit.run(unit.on.update_status())[0] in ("waiting", "blocked")
    unit.settle_active()
    assert client.get(f"{roles}/gpu-worker").status_code == 200


def test_another_runtime_handler_blocks_in_words_or_is_taken_up(
    unit: RealUnit, client: httpx2.Client
) -> None:
    """A RuntimeClass cannot change its handler: it is the one that was there first."""
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    other = {"metadata": {"name": "nvidia"}, "handler": "another"}
    assert client.post(classes, json=other).status_code == 201
    status = unit.run(unit.on.update_status())
    assert status[0] in ("blocked", "waiting")
    assert "nvidia" in status[1]


def test_a_queue_for_the_old_slices_gets_none_of_those_that_go(
    unit: RealUnit, client: httpx2.Client
) -> None:
    """The real scheduler gives a freed slice to a hold, unless it has just tried that one."""
    unit.settle_active()

    def running(namespace: str, prefix: str) -> list[str]:
        unit.site.world.advance(5)
        items = client.get(f"/api/v1/namespaces/{namespace}/pods").json()["items"]
        found = [i for i in items if i["metadata"]["name"].startswith(prefix)]
        return [i["metadata"]["name"] for i in found if i["status"]["phase"] == "Running"]

    for number in range(8):
        unit.site.world.run_pod(f"old-{number}", "team-a", {SMALL: 1})
    eventually(lambda: len(running("team-a", "old-")) == 8, "eight jobs run")
    for number in range(4):
        unit.site.world.run_pod(f"next-{number}", "team-a", {SMALL: 1})
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())
    assert len(unit.site.holds) == 8
    for number in range(2):
        time.sleep(BACK_OFF)
        unit.site.world.end_pod(f"old-{number}", "team-a")
        eventually(lambda: len(running("gpu-pool", "hold-")) == 1, "a hold has the slice")
        unit.run(unit.on.update_status())
        unit.settle_until(lambda n=7 - number: len(unit.site.holds) == n, "it was cut")
        unit.settle_until(lambda: unit.site.cordon == (False, ""), "the node is open")
    assert running("team-a", "next-") == []
    unit.site.assert_never_wrong()
    leave(unit)
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    assert client.get(f"{classes}/gpu-pool-hold").status_code == 404
