# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A unit of gpu-worker on a node, as Juju sees it: its options, relations and hooks."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ops import testing

from charmkit.gpudriver import DriverState, dump_driver
from tests.functional.kubernetes.audit import Request, read_audit
from tests.functional.nodes.agent import CHARM, ROOT, command
from tests.functional.nodes.cluster import Cluster
from tests.functional.nodes.hooks import Ended, Hook, receive, send
from tests.functional.nodes.node import HANDLER, Node

POOL = "gpu-worker"
PAUSE = 0.3
"""Between two hooks where the charm waits for the cluster; its watcher looks every 5 s."""


class Unit:
    """One unit; the agent on its node is started when a hook is due, and dies with the node."""

    def __init__(self, cluster: Cluster, node: Node, number: int, **options: Any) -> None:
        self.cluster = cluster
        self.node = node
        self.number = number
        self.name = f"{POOL}/{number}"
        self.seconds = 0.0
        self.after_hook: Callable[[], None] = _nothing
        self._agent: subprocess.Popen[bytes] | None = None
        self._charm = node.plan.folder / "charm"
        _stage(self._charm)
        driver = DriverState(str(number), ready=True, runtime_handler=HANDLER)
        self.host = testing.SubordinateRelation("host", remote_app_name="dgx")
        self.driver = testing.Relation(
            "gpu-driver",
            remote_app_name="nvidia-driver",
            remote_units_data={0: dump_driver(driver)},
        )
        self.kube_control = testing.Relation(
            "kube-control",
            remote_app_name="kubernetes-control-plane",
            remote_units_data={0: self._offer()},
        )
        self.pool = testing.PeerRelation("pool")
        self.state = testing.State(
            leader=number == 0,
            planned_units=2,
            config=_dashed(options),
            relations=[self.host, self.driver, self.kube_control, self.pool],
        )

    def _offer(self) -> dict[str, str]:
        """What kubernetes-control-plane writes: an administrator's token, as it does."""
        token = self.cluster.control.admin_token
        entry = {"client_token": token, "kubelet_token": "", "proxy_token": "", "scope": self.name}
        return {
            "api-endpoints": json.dumps([self.cluster.control.url]),
            "creds": json.dumps({self.name: entry}),
        }

    # Hooks.

    def run(self, event: str, **details: Any) -> tuple[str, str]:
        """Run a hook on the node, then what it makes Juju do, and return the status."""
        self._send(event, details)
        self.after_hook()
        return self.status

    def act(self, name: str, **params: Any) -> dict[str, Any]:
        """Run an action and return its results; a refusal fails the test."""
        ended = self._send("action", {"name": name, "params": params})
        assert not ended.refused, ended.refused
        return dict(ended.results or {})

    def configure(self, **options: Any) -> tuple[str, str]:
        """Change options, with the hook that follows."""
        self.state = replace(self.state, config={**self.state.config, **_dashed(options)})
        return self.run("config_changed")

    def settle(self, seconds: float = 90.0) -> float:
        """Run update-status once, and until the unit is active; return how long that took."""
        self.run("update_status")
        return self.settle_until(lambda: self.status[0] == "active", "active", seconds)

    def settle_until(self, probe: Callable[[], bool], what: str, seconds: float = 90.0) -> float:
        """Run update-status until something is so; return how long that took."""
        began = time.monotonic()
        while not probe():
            passed = time.monotonic() - began
            assert passed < seconds, f"{self.name}: not {what} in {passed:.0f} s: {self.status}"
            self.run("update_status")
            if not probe():
                time.sleep(PAUSE)
        return time.monotonic() - began

    def start_boot_service(self) -> None:
        """Run the charm's boot service to its end, as its unit file says, by the tests' Python."""
        text = self.node.run("cat", f"/etc/systemd/system/{POOL}-boot.service")
        lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        path = lines["Environment"].removeprefix("PYTHONPATH=")
        arguments = shlex.split(lines["ExecStart"])[1:]
        environment = [f"{key}={value}" for key, value in self.node.gpus.environment.items()]
        program = ["env", f"PYTHONPATH={path}", *environment, sys.executable, *arguments]
        self.node.run(*program)

    def close(self) -> None:
        """End the agent."""
        if self._agent is not None:
            self._agent.kill()
            self._agent.wait()
            for stream in (self._agent.stdin, self._agent.stdout):
                if stream is not None:
                    stream.close()
            self._agent = None

    def _send(self, event: str, details: dict[str, Any]) -> Ended:
        agent = self._ensure_agent()
        assert agent.stdin is not None
        assert agent.stdout is not None
        send(agent.stdin, Hook(event, details, self.state))
        ended = receive(agent.stdout)
        if not isinstance(ended, Ended):
            raise ended
        self.state, self.seconds = ended.state, ended.seconds
        return ended

    def _ensure_agent(self) -> "subprocess.Popen[bytes]":
        if self._agent is not None and self._agent.poll() is None:
            return self._agent
        self.close()
        paths = {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
        with (self.node.plan.folder / "hooks.log").open("ab") as log:
            self._agent = subprocess.Popen(
                self.node.inside(*command(POOL, self.number, self._charm)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], **paths, **self.node.gpus.environment},
            )
        assert self._agent.stdout is not None
        assert receive(self._agent.stdout) == "ready"
        return self._agent

    # What became of it.

    @property
    def status(self) -> tuple[str, str]:
        """The unit's status and message."""
        return self.state.unit_status.name, self.state.unit_status.message

    @property
    def object(self) -> dict[str, Any]:
        """The node as the API has it."""
        return self.cluster.node(self.node.name)

    @property
    def allocatable(self) -> dict[str, int]:
        """GPU resources that the node offers, without those at zero."""
        counts = self.object["status"]["allocatable"]
        return {n: int(c) for n, c in counts.items() if n.startswith("nvidia.com/") and int(c)}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the node."""
        return dict(self.object["metadata"].get("labels") or {})

    @property
    def taints(self) -> set[str]:
        """Keys of the node's taints."""
        return {taint["key"] for taint in self.object["spec"].get("taints") or ()}

    @property
    def cordon(self) -> tuple[bool, str]:
        """Whether the node is closed, and by which unit."""
        found = self.object
        annotations = found["metadata"].get("annotations") or {}
        closed = bool(found["spec"].get("unschedulable"))
        return closed, annotations.get("gpu-pool/cordoned-by", "")

    def plugin_pods(self) -> list[dict[str, Any]]:
        """Return the device plugin's pods on this node."""
        path = "/api/v1/namespaces/gpu-pool/pods"
        items = self.cluster.client.get(path).json()["items"]
        return [item for item in items if item["spec"].get("nodeName") == self.node.name]

    def requests(self) -> list[Request]:
        """Return what was asked of the API server so far with the pool's account.

        A server writes a request into its audit log before it ends the answer.
        """
        account = f"system:serviceaccount:gpu-pool:{POOL}"
        found = read_audit(self.cluster.control.audit_log)
        return [request for request in found if request.user == account]


class Pool:
    """Two units; what one writes for its peers the other finds in its next hook."""

    def __init__(self, leader: Unit, other: Unit) -> None:
        self._leader = leader
        self._other = other
        self._told: dict[str, str] = {}
        for unit in (leader, other):
            unit.after_hook = self.carry

    def carry(self) -> None:
        """Carry the bags, with the hook in which the leader decides about what is new to it."""
        asked = dict(_peers(self._other).local_unit_data)
        _put(self._leader, peers_data={self._other.number: asked})
        if asked != self._told:
            self._told = asked
            relation = _peers(self._leader)
            self._leader.run("relation_changed", relation=relation, remote_unit=self._other.number)
            return
        bag = _peers(self._leader)
        mine = {self._leader.number: bag.local_unit_data}
        _put(self._other, peers_data=mine, local_app_data=bag.local_app_data)


def _peers(unit: Unit) -> Any:
    return next(r for r in unit.state.relations if r.endpoint == "pool")


def _put(unit: Unit, **bags: Any) -> None:
    """Let a unit find other bags of the peer relation."""
    fresh = replace(_peers(unit), **bags)
    others = [r for r in unit.state.relations if r.endpoint != "pool"]
    unit.state = replace(unit.state, relations=[*others, fresh])


def _nothing() -> None:
    """A unit without peers writes for nobody."""


def _dashed(options: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in options.items()}


def _stage(folder: Any) -> None:
    """Make the charm's folder as a packed charm has it: its code and the shared package."""
    shutil.copytree(CHARM / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shared = folder / "lib" / "charmkit"
    shutil.copytree(
        ROOT / "lib" / "charmkit", shared, ignore=shutil.ignore_patterns("__pycache__")
    )
