# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The workload controllers of a cluster that matter here: DaemonSets and Jobs.

Each `run` looks at the store and does what is due; nothing is remembered but times.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from standins.cluster import pods
from standins.kubernetes.api import ApiServer

Object = dict[str, Any]

JOB_BACK_OFF = 10.0
JOB_BACK_OFF_MOST = 360.0
JOB_FAILURES = 6
"""Failed pods after which a Job gives up. Source: Kubernetes, "Jobs", backoffLimit."""

PODS_MADE = "standins/pods-made"
"""Annotation of a Job: how many pods it has made, so that names do not return."""

DAEMON_TOLERATIONS: tuple[Object, ...] = tuple(
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""What every DaemonSet's pod tolerates. Source: Kubernetes, "DaemonSet"."""


class DaemonSets:
    """Keeps one pod of each DaemonSet on each node that it selects."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def run(self) -> None:
        """Make what is missing, delete what should not be there, renew what is outdated."""
        sets = self._api.scan("daemonsets.apps")
        if not sets:
            return
        every_node, every_pod = self._api.scan("nodes"), self._api.scan("pods")
        for daemon_set in sets:
            uid = daemon_set["metadata"]["uid"]
            own = [pod for pod in every_pod if pods.owner(pod) == uid]
            self._reconcile(daemon_set, every_node, own)

    def _reconcile(self, owner: Object, every_node: list[Object], own: list[Object]) -> None:
        """Reconcile one DaemonSet."""
        wanted = self._template(owner)
        chosen = {n["metadata"]["name"] for n in every_node if _runs_on(wanted, n)}
        kept: list[Object] = []
        for pod in own:
            if pods.node_of(pod) not in chosen or pods.is_finished(pod):
                self._delete(pod)
            else:
                kept.append(pod)
        self._renew(kept, wanted)
        covered = {pods.node_of(pod) for pod in own if not pods.is_finished(pod)}
        for node in sorted(chosen - covered):
            self._make(wanted, node)
        self._report(owner, chosen, kept, wanted)

    def _renew(self, kept: list[Object], wanted: Object) -> None:
        """Delete outdated pods, one at a time unless they are not ready anyway."""
        old = [pod for pod in kept if _revision(pod) != _revision(wanted)]
        unready = [pod for pod in kept if not is_ready(pod)]
        for pod in old:
            if pod in unready:
                self._delete(pod)
        if old and not unready:
            self._delete(old[0])

    def _template(self, owner: Object) -> Object:
        """Return the pod that a DaemonSet makes, without a node."""
        template = owner["spec"]["template"]
        digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
        pod = made_from(owner, template, {"controller-revision-hash": digest})
        tolerations = pod["spec"].get("tolerations") or []
        pod["spec"]["tolerations"] = [*tolerations, *DAEMON_TOLERATIONS]
        return pod

    def _make(self, wanted: Object, node: str) -> None:
        """Create the pod for one node; the scheduler has nothing to decide about it."""
        owner = wanted["metadata"]["ownerReferences"][0]
        seed = f"{owner['uid']}/{node}/{self._api.revision}"
        name = f"{owner['name']}-{hashlib.sha256(seed.encode()).hexdigest()[:5]}"
        metadata = {**wanted["metadata"], "name": name}
        spec = {**wanted["spec"], "nodeName": node}
        self._api.put({**wanted, "metadata": metadata, "spec": spec})

    def _delete(self, pod: Object) -> None:
        if not pods.is_leaving(pod):
            self._api.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])

    def _report(self, owner: Object, chosen: set[str], kept: list[Object], wanted: Object) -> None:
        """Write the DaemonSet's status."""
        ready = sum(is_ready(pod) for pod in kept)
        status = {
            "currentNumberScheduled": len(kept),
            "desiredNumberScheduled": len(chosen),
            "numberAvailable": ready,
            "numberMisscheduled": 0,
            "numberReady": ready,
            "numberUnavailable": len(chosen) - ready,
            "observedGeneration": owner["metadata"].get("generation", 1),
            "updatedNumberScheduled": sum(_revision(p) == _revision(wanted) for p in kept),
        }
        set_status(self._api, "daemonsets.apps", owner, status)


class Jobs:
    """Runs a pod for each Job until it succeeds, with the back-off of the real controller.

    One pod at a time: parallelism and completions above 1 are not modelled.
    """

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self.retries: dict[str, float] = {}

    def run(self, now: float) -> None:
        """Make the pods that are missing."""
        jobs = self._api.scan("jobs.batch")
        if not jobs:
            return
        every_pod = self._api.scan("pods")
        for job in jobs:
            uid = job["metadata"]["uid"]
            self._reconcile(job, [pod for pod in every_pod if pods.owner(pod) == uid], now)

    def next_due(self, now: float) -> float | None:
        """Return when the next pod is made after a failure, None when none is."""
        return min((time for time in self.retries.values() if time > now), default=None)

    def _reconcile(self, job: Object, own: list[Object], now: float) -> None:
        """Reconcile one Job."""
        failed = [pod for pod in own if pods.phase(pod) == "Failed"]
        active = [pod for pod in own if not pods.is_finished(pod)]
        done = any(pods.phase(pod) == "Succeeded" for pod in own)
        status: Object = {"active": len(active), "failed": len(failed), "succeeded": int(done)}
        set_status(self._api, "jobs.batch", job, {k: n for k, n in status.items() if n})
        if done or active or len(failed) > job["spec"].get("backoffLimit", JOB_FAILURES):
            self.retries.pop(job["metadata"]["uid"], None)
            return
        if failed and not self._may_retry(job, len(failed), now):
            return
        self._make(job)

    def _may_retry(self, job: Object, failures: int, now: float) -> bool:
        """Return whether the back-off after the last failure is over."""
        delay = min(JOB_BACK_OFF * 2 ** (failures - 1), JOB_BACK_OFF_MOST)
        due = self.retries.setdefault(job["metadata"]["uid"], now + delay)
        if now < due:
            return False
        del self.retries[job["metadata"]["uid"]]
        return True

    def _make(self, job: Object) -> None:
        """Create a pod; the first has the Job's own name, so that people find it."""
        name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        number = int((job["metadata"].get("annotations") or {}).get(PODS_MADE, "0")) + 1
        pod = made_from(job, job["spec"]["template"], {"job-name": name})
        pod["metadata"]["name"] = name if number == 1 else f"{name}-{number}"
        self._api.put(pod)

        def count(obj: Object) -> None:
            obj["metadata"].setdefault("annotations", {})[PODS_MADE] = str(number)

        self._api.edit("jobs.batch", name, namespace, count)


def made_from(owner: Object, template: Mapping[str, Any], labels: Mapping[str, str]) -> Object:
    """Return a pod of a template, owned by its controller and without a name."""
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": owner["metadata"]["namespace"],
            "labels": {**(metadata.get("labels") or {}), **labels},
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [
                {
                    "apiVersion": owner["apiVersion"],
                    "kind": owner["kind"],
                    "name": owner["metadata"]["name"],
                    "uid": owner["metadata"]["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": dict(template["spec"]),
        "status": {"phase": "Pending"},
    }


def _runs_on(pod: Object, node: Object) -> bool:
    """Return whether a DaemonSet's pod belongs on a node."""
    effects = ("NoSchedule", "NoExecute")
    return pods.selects(pod, node) and pods.untolerated(pod, node, effects) is None


def _revision(pod: Object) -> str:
    return str(pod["metadata"]["labels"].get("controller-revision-hash", ""))


def is_ready(pod: Object) -> bool:
    """Return whether a pod is ready and stays."""
    return pods.condition(pod, "Ready").get("status") == "True" and not pods.is_leaving(pod)


def set_status(api: ApiServer, kind: str, obj: Object, status: Object) -> None:
    """Write the status of an object when it differs."""
    if obj.get("status") != status:
        api.put({**obj, "status": status})
