# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The status of a pod as scheduler and kubelet write it. Pure.

Source: Kubernetes, "Pod Lifecycle"; reasons and messages as recorded on 1.35.4.
"""

from collections.abc import Mapping
from typing import Any

from standins.cluster import pods
from standins.kubernetes.store import timestamp

Object = dict[str, Any]


def unschedulable(pod: Mapping[str, Any], message: str, now: float) -> Object:
    """Return the status of a pod for which the scheduler finds no node."""
    scheduled = _condition(pod, "PodScheduled", "False", now)
    scheduled |= {"reason": "Unschedulable", "message": message}
    return {**pod.get("status", {}), "phase": "Pending", "conditions": [scheduled]}


def bound(pod: Mapping[str, Any], now: float) -> Object:
    """Return the status of a pod that was given a node and that no kubelet has seen."""
    scheduled = _condition(pod, "PodScheduled", "True", now)
    return {**pod.get("status", {}), "phase": "Pending", "conditions": [scheduled]}


def rejected(pod: Mapping[str, Any], reason: str, message: str) -> Object:
    """Return the status of a pod that the kubelet refuses; it never leaves it."""
    kept = [c for c in pod.get("status", {}).get("conditions", ()) if c["type"] == "PodScheduled"]
    return {"phase": "Failed", "reason": reason, "message": message, "conditions": kept}


def waiting(pod: Mapping[str, Any], reason: str, message: str, now: float) -> Object:
    """Return the status of an admitted pod whose containers do not run."""
    initialized = reason != "PodInitializing"
    state = {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}
    return _alive(pod, "Pending", state, now, initialized=initialized, ready=False)


def running(pod: Mapping[str, Any], restarts: int, now: float) -> Object:
    """Return the status of a pod whose containers run."""
    state = {"running": {"startedAt": timestamp(now)}}
    return _alive(pod, "Running", state, now, initialized=True, ready=True, restarts=restarts)


def crashed(pod: Mapping[str, Any], message: str, restarts: int, now: float) -> Object:
    """Return the status of a pod whose containers end at once, again and again."""
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return _alive(pod, "Running", state, now, initialized=True, ready=False, restarts=restarts)


def finished(pod: Mapping[str, Any], phase: str, now: float) -> Object:
    """Return the status of a pod whose containers have ended.

    Args:
        pod: The pod.
        phase: Succeeded or Failed.
        now: Epoch seconds.
    """
    code = 0 if phase == "Succeeded" else 1
    reason = "Completed" if phase == "Succeeded" else "Error"
    ended = {"exitCode": code, "reason": reason, "finishedAt": timestamp(now)}
    return _alive(pod, phase, {"terminated": ended}, now, initialized=True, ready=False)


def _alive(
    pod: Mapping[str, Any],
    phase: str,
    state: Object,
    now: float,
    *,
    initialized: bool,
    ready: bool,
    restarts: int = 0,
) -> Object:
    """Return a status with the conditions and container states of an admitted pod."""
    before = pod.get("status", {})
    values = {
        "PodScheduled": True,
        "Initialized": initialized,
        "ContainersReady": ready,
        "Ready": ready,
    }
    return {
        **before,
        "phase": phase,
        "startTime": before.get("startTime", timestamp(now)),
        "conditions": [_condition(pod, kind, str(is_so), now) for kind, is_so in values.items()],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container.get("image", ""),
                "imageID": container.get("image", ""),
                "ready": ready,
                "started": ready,
                "restartCount": restarts,
                "state": state,
            }
            for container in pod["spec"]["containers"]
        ],
    }


def _condition(pod: Mapping[str, Any], kind: str, value: str, now: float) -> Object:
    """Return a condition; its time changes only with its value."""
    old = pods.condition(pod, kind)
    since = old["lastTransitionTime"] if old.get("status") == value else timestamp(now)
    return {"type": kind, "status": value, "lastTransitionTime": since}
