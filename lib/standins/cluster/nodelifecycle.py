# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The controller that notices nodes without a kubelet and moves their pods away."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from standins.cluster import nodes, pods
from standins.kubernetes.api import ApiServer
from standins.kubernetes.store import timestamp

Object = dict[str, Any]

SILENCE = 50.0
"""Seconds without a kubelet until its node is NotReady (recorded: 40 to 50, 48.6)."""
PATIENCE = 300.0
"""Seconds that a pod stays on an unreachable node (DefaultTolerationSeconds)."""


class Heart(Protocol):
    """What beats behind a node: a kubelet, or the memory of one whose machine is gone."""

    @property
    def node(self) -> str:
        """Name of the node."""
        ...

    @property
    def running(self) -> bool:
        """Whether it beats."""
        ...

    @property
    def stopped(self) -> float:
        """Time since which it does not."""
        ...


@dataclass(frozen=True, slots=True)
class Departed:
    """The kubelet of a machine that was given back."""

    node: str
    stopped: float
    running: bool = False


class NodeLifecycle:
    """Notices silent kubelets and moves the pods away."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def run(self, kubelets: Iterable[Heart], now: float) -> None:
        """Bring condition, taints and pods of every node in line with its kubelet."""
        for kubelet in kubelets:
            silent = not kubelet.running and now - kubelet.stopped >= SILENCE
            node = self._stored(kubelet.node)
            if node is not None and silent != _is_marked(node) and (silent or kubelet.running):
                self._mark(kubelet.node, silent=silent, now=now)
            if not kubelet.running and now - kubelet.stopped >= SILENCE + PATIENCE:
                self._evict(kubelet.node)

    def next_due(self, kubelets: Iterable[Heart], now: float) -> float | None:
        """Return when a silence has lasted long enough, None when nothing is silent."""
        times = [
            kubelet.stopped + delay
            for kubelet in kubelets
            if not kubelet.running
            for delay in (SILENCE, SILENCE + PATIENCE)
        ]
        return min((time for time in times if time > now), default=None)

    def _stored(self, name: str) -> Object | None:
        """Return a node without copying it."""
        return self._api.store.find(self._api.resource("nodes"), "", name)

    def _mark(self, name: str, *, silent: bool, now: float) -> None:
        """Put the taints of silence on a node, or take them off."""

        def change(node: Object) -> None:
            taints = node["spec"].pop("taints", None) or []
            kept = [taint for taint in taints if taint["key"] != nodes.UNREACHABLE]
            if silent:
                kept += _silence_taints(now)
                node["status"]["conditions"] = nodes.unknown(node["status"], now)
            if kept:
                node["spec"]["taints"] = kept

        self._api.edit("nodes", name, "", change)

    def _evict(self, name: str) -> None:
        """Delete the pods that do not tolerate a node without a kubelet for ever."""
        taint = {"key": nodes.UNREACHABLE, "effect": "NoExecute"}
        for pod in self._api.scan("pods"):
            if pods.node_of(pod) != name or pods.is_leaving(pod) or pods.tolerates(pod, taint):
                continue
            self._api.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])


def _is_marked(node: Object) -> bool:
    """Return whether a node has the taints of silence."""
    return any(taint["key"] == nodes.UNREACHABLE for taint in node["spec"].get("taints") or ())


def _silence_taints(now: float) -> list[Object]:
    """Return the taints of silence."""
    return [
        {"key": nodes.UNREACHABLE, "effect": effect, "timeAdded": timestamp(now)}
        for effect in ("NoSchedule", "NoExecute")
    ]
