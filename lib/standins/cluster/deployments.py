# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The controller of Deployments, with the ReplicaSets between them and their pods.

Of a rolling update two moments are modelled, not the steps of maxSurge and maxUnavailable: all new
pods at once beside the old ones, and the old ones gone when as many new ones are ready. No history
is kept. Source: Kubernetes documentation, "Deployments" and "ReplicaSet" (1.35).
"""

import hashlib
import json
from typing import Any

from standins.cluster import pods
from standins.cluster.controllers import is_ready, made_from, set_status
from standins.kubernetes.api import ApiServer

Object = dict[str, Any]

HASH = "pod-template-hash"
_SETS = "replicasets.apps"


class Deployments:
    """Keeps as many pods of each Deployment as it asks for."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def run(self) -> None:
        """Make what is missing, delete what is too many, renew what is outdated."""
        deployments = self._api.scan("deployments.apps")
        if not deployments:
            return
        every_set, every_pod = self._api.scan(_SETS), self._api.scan("pods")
        for deployment in deployments:
            uid = deployment["metadata"]["uid"]
            sets = [one for one in every_set if pods.owner(one) == uid]
            owners = {one["metadata"]["uid"] for one in sets}
            own = [pod for pod in every_pod if pods.owner(pod) in owners]
            self._reconcile(deployment, sets, own)

    def _reconcile(self, owner: Object, sets: list[Object], own: list[Object]) -> None:
        """Reconcile one Deployment with its sets and their pods."""
        replicas = int(owner["spec"].get("replicas", 1))
        current = self._ensure_set(owner, sets, replicas)
        uid = current["metadata"]["uid"]
        alive = [pod for pod in own if not pods.is_finished(pod) and not pods.is_leaving(pod)]
        new = [pod for pod in alive if pods.owner(pod) == uid]
        old = [pod for pod in alive if pods.owner(pod) != uid]
        for pod in own:
            if pods.is_finished(pod):
                self._delete(pod)
        recreates = (owner["spec"].get("strategy") or {}).get("type") == "Recreate"
        if old and (recreates or sum(map(is_ready, new)) >= replicas):
            for pod in old:
                self._delete(pod)
            self._drop_sets(sets, uid)
        if not (old and recreates):
            self._scale(current, new, replicas)
        self._report(owner, new, old, replicas)

    def _ensure_set(self, owner: Object, sets: list[Object], replicas: int) -> Object:
        """Return the set of the Deployment's template, made when it is not there."""
        template = owner["spec"]["template"]
        digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
        name = f"{owner['metadata']['name']}-{digest}"
        for one in sets:
            if one["metadata"]["name"] == name:
                return one
        made = made_from(owner, template, {HASH: digest})
        labels = made["metadata"]["labels"]
        metadata = {**made["metadata"], "name": name}
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                **template,
                "metadata": {**template.get("metadata", {}), "labels": labels},
            },
        }
        head = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        return self._api.put({**head, "metadata": metadata, "spec": spec})

    def _scale(self, current: Object, new: list[Object], replicas: int) -> None:
        """Make or delete pods of the current set; those that are not ready go first."""
        if current["spec"].get("replicas") != replicas:
            spec = {**current["spec"], "replicas": replicas}
            current = self._api.put({**current, "spec": spec})
        for pod in sorted(new, key=is_ready)[: max(len(new) - replicas, 0)]:
            self._delete(pod)
        for number in range(len(new), replicas):
            pod = made_from(current, current["spec"]["template"], {})
            seed = f"{current['metadata']['uid']}/{self._api.revision}/{number}"
            suffix = hashlib.sha256(seed.encode()).hexdigest()[:5]
            pod["metadata"]["name"] = f"{current['metadata']['name']}-{suffix}"
            self._api.put(pod)

    def _drop_sets(self, sets: list[Object], current: str) -> None:
        for one in sets:
            if one["metadata"]["uid"] != current:
                metadata = one["metadata"]
                self._api.delete(_SETS, metadata["name"], metadata["namespace"])

    def _delete(self, pod: Object) -> None:
        if not pods.is_leaving(pod):
            self._api.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])

    def _report(self, owner: Object, new: list[Object], old: list[Object], replicas: int) -> None:
        """Write the Deployment's status."""
        ready = sum(map(is_ready, [*new, *old]))
        counts = {
            "replicas": len(new) + len(old),
            "updatedReplicas": len(new),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(replicas - ready, 0),
        }
        seen = {"observedGeneration": owner["metadata"].get("generation", 1)}
        available = {"type": "Available", "status": str(ready >= replicas)}
        status = {**seen, **{name: count for name, count in counts.items() if count}}
        set_status(self._api, "deployments.apps", owner, {**status, "conditions": [available]})
