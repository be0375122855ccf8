# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What researchers and administrators do in the cluster: pods, deployments, budgets, cordons."""

import json
from typing import Any

import httpx2

from tests.functional.kubernetes.running import eventually, nothing_stays
from tests.functional.nodes.images import WORK

SPACE = "team-a"
MERGE = {"Content-Type": "application/merge-patch+json"}
LISTS = "ls /var/run/nvidia-container-devices; "
_PODS = f"/api/v1/namespaces/{SPACE}/pods"
_DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
_REPLICA_SETS = f"/apis/apps/v1/namespaces/{SPACE}/replicasets"
_BUDGETS = f"/apis/policy/v1/namespaces/{SPACE}/poddisruptionbudgets"
Object = dict[str, Any]


class Work:
    """One namespace, as its people see it."""

    def __init__(self, client: httpx2.Client) -> None:
        self.client = client
        client.post("/api/v1/namespaces", json={"metadata": {"name": SPACE}})
        account = f"/api/v1/namespaces/{SPACE}/serviceaccounts/default"
        eventually(lambda: client.get(account).status_code == 200, "pods have an account")

    def run_pod(self, name: str, node: str, resource: str = "", count: int = 1) -> None:
        """Run a bare pod that lists its devices and then works for an hour."""
        metadata = {"name": name, "labels": {"app": name}}
        self._create(_PODS, {"metadata": metadata, "spec": _spec(node, resource, count)})

    def deploy(self, name: str, node: str, resource: str = "") -> None:
        """Keep one such pod there."""
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": _spec(node, resource, 1)}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        self._create(_DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})

    def protect(self, name: str) -> None:
        """Let a disruption budget keep the pod of a deployment, and wait until it counts it."""
        selector = {"matchLabels": {"app": name}}
        spec = {"minAvailable": 1, "selector": selector}
        self._create(_BUDGETS, {"metadata": {"name": name}, "spec": spec})

        def healthy() -> int:
            found = self.client.get(f"{_BUDGETS}/{name}").json()
            return int(found.get("status", {}).get("currentHealthy", 0))

        eventually(lambda: healthy() == 1, f"the budget of {name} counts its pod")

    def unprotect(self, name: str) -> None:
        """Take the budget away."""
        self.client.delete(f"{_BUDGETS}/{name}")

    def pods(self, name: str) -> list[Object]:
        """Return the pods of a name that are not over."""
        items = self.client.get(_PODS, params={"labelSelector": f"app={name}"}).json()["items"]
        return [
            item for item in items if item["status"].get("phase") not in ("Failed", "Succeeded")
        ]

    def running(self, name: str) -> list[str]:
        """Return the identities of the pods of a name that run."""
        return [
            item["metadata"]["uid"]
            for item in self.pods(name)
            if item["status"].get("phase") == "Running"
            and not item["metadata"].get("deletionTimestamp")
        ]

    def wait_running(self, name: str) -> str:
        """Wait until a pod of a name runs; return its identity."""
        eventually(lambda: bool(self.running(name)), f"{name} runs", 60.0)
        return self.running(name)[0]

    def why_waiting(self, name: str) -> str:
        """Return what the scheduler says of a pod that it has not bound."""
        conditions = [c for item in self.pods(name) for c in item["status"].get("conditions", ())]
        return " ".join(c.get("message", "") for c in conditions if c["status"] == "False")

    def why_ended(self, identity: str) -> str:
        """Return the reason with which a pod ended; empty while it has not."""
        items = self.client.get(_PODS).json()["items"]
        found = [item["status"] for item in items if item["metadata"]["uid"] == identity]
        return str(found[0].get("reason", "")) if found else ""

    def devices_seen_by(self, name: str) -> list[str]:
        """Return the names of the devices that are mounted into a pod, by its own log."""
        pod = self.pods(name)[0]["metadata"]["name"]
        return self.client.get(f"{_PODS}/{pod}/log").text.split()

    def end(self, name: str) -> None:
        """Delete a bare pod and wait until it is gone."""
        self.client.delete(f"{_PODS}/{name}")
        eventually(lambda: not self.pods(name), f"{name} is gone")

    def clear(self) -> None:
        """End everything that was made here.

        A ReplicaSet goes after its Deployment, and makes pods until then: it is looked at first.
        """
        for path in (_BUDGETS, _DEPLOYMENTS, _PODS):
            self.client.delete(path)
        nothing_stays(lambda: [*self._names(_REPLICA_SETS), *self._names(_PODS)])

    def cordon(self, node: str, *, closed: bool) -> None:
        """Close or open a node, as kubectl does."""
        body = json.dumps({"spec": {"unschedulable": closed or None}}).encode()
        answer = self.client.patch(f"/api/v1/nodes/{node}", content=body, headers=MERGE)
        assert answer.status_code == 200, answer.text

    def _names(self, path: str) -> list[str]:
        items = self.client.get(path).json()["items"]
        return [f"{path.rpartition('/')[2]} {item['metadata']['name']}" for item in items]

    def _create(self, path: str, body: Object) -> None:
        answer = self.client.post(path, json=body)
        assert answer.status_code == 201, answer.text


def _spec(node: str, resource: str, count: int) -> Object:
    """Return a pod of one container that ends at once when it is asked to."""
    container: Object = {
        "name": "work",
        "image": WORK,
        "command": [
            "/bin/sh",
            "-c",
            f"{LISTS if resource else ''}trap 'exit 0' TERM; sleep 3600 & wait",
        ],
    }
    if resource:
        container["resources"] = {"limits": {resource: count}}
    return {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 2,
        "containers": [container],
    }
