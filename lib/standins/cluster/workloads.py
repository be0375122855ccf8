# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What researchers run: pods and Jobs that ask for GPUs, by hand or from a test."""

from collections.abc import Mapping
from typing import Any

from standins.cluster import pods
from standins.cluster.cluster import Cluster
from standins.kubernetes.api import ApiServer

IMAGE = "registry.example.edu/research/train:1"


class Workloads:
    """Starts and ends the work of users."""

    def __init__(self, api: ApiServer, cluster: Cluster) -> None:
        self._api = api
        self._cluster = cluster

    def run(
        self,
        name: str,
        namespace: str,
        requests: Mapping[str, int],
        *,
        controller: bool,
        idle: bool,
        spec: Mapping[str, Any],
    ) -> str:
        """Create a pod, or a Job that makes it; return `namespace/name` of the pod."""
        if self._api.find("namespaces", namespace) is None:
            metadata = {"name": namespace}
            self._api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        annotations = {pods.IDLE: "true"} if idle else {}
        template = {"metadata": {"annotations": annotations}, "spec": _spec(requests, spec)}
        if controller:
            template["spec"].setdefault("restartPolicy", "OnFailure")
            self._api.put(
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {"name": name, "namespace": namespace},
                    "spec": {"template": template, "backoffLimit": 6},
                }
            )
        else:
            self._api.put(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
                    "spec": template["spec"],
                    "status": {"phase": "Pending"},
                }
            )
        return f"{namespace}/{name}"

    def end(self, name: str, namespace: str, phase: str, now: float) -> None:
        """End the containers of a pod.

        Raises:
            KeyError: There is no such pod.
        """
        pod = self._api.find("pods", name, namespace)
        if pod is None:
            raise KeyError(f"no pod {namespace}/{name}")
        node = pods.node_of(pod)
        for kubelet in self._cluster.kubelets.values():
            if node and kubelet.node == node:
                kubelet.worker.finish(pod, phase, now)
                return
        self._api.delete("pods", name, namespace)


def _spec(requests: Mapping[str, int], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a pod of one container; for devices requests equal limits."""
    amounts = {resource: str(count) for resource, count in requests.items()}
    resources = {"requests": amounts, "limits": amounts} if amounts else {}
    container = {"name": "main", "image": IMAGE, "resources": resources}
    return {"containers": [container], **further}
