# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Deployments of a simulated cluster: pods made, renewed, lost; and pods that wait for claims."""

from pathlib import Path
from typing import Any

import pytest

from standins.cluster import pods
from standins.cluster.claims import find_obstacle
from standins.cluster.kubelet import KubeletSettings
from standins.world import World


class Site:
    """Two nodes, and a Deployment of a user."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.api = self.world.api
        for number in range(2):
            machine, name = str(number), f"node-{number}"
            self.world.add_machine(machine, "cpu", name, f"10.20.0.{number + 2}")
            self.world.start_kubelet(machine, KubeletSettings(node=name))
        self.deploy()

    def deploy(self, image: str = "one", replicas: int = 2, **spec: Any) -> None:
        labels = {"app": "web"}
        containers = [{"name": "main", "image": image}]
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        found = self.api.find("deployments.apps", "web", "default") or {}
        self.api.put(
            {
                **found,
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {**found.get("metadata", {}), "name": "web", "namespace": "default"},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": template,
                    **spec,
                },
            }
        )
        self.world.advance(30)

    @property
    def pods(self) -> list[dict[str, Any]]:
        return [pod for pod in self.api.scan("pods") if not pods.is_leaving(pod)]

    @property
    def status(self) -> dict[str, Any]:
        return self.api.find("deployments.apps", "web", "default")["status"]

    @property
    def sets(self) -> list[dict[str, Any]]:
        return self.api.scan("replicasets.apps")

    def images(self) -> set[str]:
        return {pod["spec"]["containers"][0]["image"] for pod in self.pods}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_as_many_pods_run_as_the_deployment_asks_for(site: Site) -> None:
    assert [pods.phase(pod) for pod in site.pods] == ["Running", "Running"]
    assert {name: site.status[name] for name in ("updatedReplicas", "availableReplicas")} == {
        "updatedReplicas": 2,
        "availableReplicas": 2,
    }
    assert "unavailableReplicas" not in site.status
    assert [one["metadata"]["ownerReferences"][0]["kind"] for one in site.sets] == ["Deployment"]
    assert {pod["metadata"]["ownerReferences"][0]["kind"] for pod in site.pods} == {"ReplicaSet"}


@pytest.mark.parametrize("replicas", [0, 1, 5])
def test_the_number_can_change(site: Site, replicas: int) -> None:
    site.deploy(replicas=replicas)
    site.world.advance(60)
    assert len(site.pods) == replicas
    assert site.status.get("readyReplicas", 0) == replicas


@pytest.mark.parametrize("strategy", ["RollingUpdate", "Recreate"])
def test_another_template_renews_every_pod(site: Site, strategy: str) -> None:
    site.deploy("two", strategy={"type": strategy})
    site.world.advance(120)
    assert site.images() == {"two"}
    assert len(site.pods) == 2
    assert len(site.sets) == 1


def test_a_pod_that_somebody_deletes_is_made_again(site: Site) -> None:
    (lost, kept) = site.pods
    site.api.delete("pods", lost["metadata"]["name"], "default")
    site.world.advance(60)
    names = {pod["metadata"]["name"] for pod in site.pods}
    assert kept["metadata"]["name"] in names
    assert len(names - {lost["metadata"]["name"]}) == 2


def test_pods_go_with_their_deployment(site: Site) -> None:
    site.api.delete("deployments.apps", "web", "default")
    site.world.advance(60)
    assert (site.pods, site.sets) == ([], [])


def test_the_pods_of_a_dead_node_come_up_elsewhere(site: Site) -> None:
    site.world.power_loss("0", off=3600)
    site.world.advance(600)
    running = [pod for pod in site.pods if pods.phase(pod) == "Running"]
    assert {pods.node_of(pod) for pod in running} == {"node-1"}
    assert site.status["availableReplicas"] == 2


def test_a_pod_for_which_there_is_no_node_is_not_available(site: Site) -> None:
    closed = {"taints": [{"key": "closed", "effect": "NoSchedule"}]}
    for number in range(2):
        site.api.edit("nodes", f"node-{number}", "", lambda node: node["spec"].update(closed))
    site.deploy(replicas=3)
    assert (site.status["availableReplicas"], site.status["unavailableReplicas"]) == (2, 1)
    assert site.status["conditions"] == [{"type": "Available", "status": "False"}]


def pod_with(*claims: str) -> dict[str, Any]:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    volumes.append({"name": "scratch", "emptyDir": {}})  # type: ignore[dict-item]
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": {"volumes": volumes}}


CLAIMS: dict[tuple[str, str], dict[str, Any]] = {
    ("default", "bound"): {"status": {"phase": "Bound"}},
    ("default", "pending"): {"status": {"phase": "Pending"}},
    ("default", "new"): {},
    ("other", "elsewhere"): {"status": {"phase": "Bound"}},
}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), ""),
        (("bound",), ""),
        (("bound", "pending"), "pod has unbound immediate PersistentVolumeClaims."),
        (("new",), "pod has unbound immediate PersistentVolumeClaims."),
        (("gone",), 'persistentvolumeclaim "gone" not found.'),
        (("elsewhere",), 'persistentvolumeclaim "elsewhere" not found.'),
    ],
)
def test_a_claim_that_is_not_bound_keeps_a_pod_from_every_node(
    names: tuple[str, ...], words: str
) -> None:
    found = find_obstacle(pod_with(*names), CLAIMS, 3)
    assert words in found
    assert bool(found) is bool(words)
    assert not found or found.startswith("0/3 nodes are available: ")
