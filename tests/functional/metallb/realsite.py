# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm as in a hook on a real API server, and the real processes of MetalLB beside it.

There is no kubelet: pods of the real controllers are made to run by hand, and the processes run
here with the tokens of their ServiceAccounts, with flags and environment as in the charm's objects
where a pod's file system and network do not matter.
"""

import base64
import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import yaml
from lbsite import APP, HOME, META, UNIT, dashed
from ops import testing

from charm import MetallbCharm
from charmkit.credentials import Credentials
from charmkit.kube import Kube
from standins.gateways import SimulatedGateways
from standins.world import World
from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.audit import Request, read_audit
from tests.functional.kubernetes.controlplane import ControlPlane
from tests.functional.kubernetes.processes import Program
from tests.functional.kubernetes.running import eventually, listing, nothing_stays
from tests.functional.metallb.network import CONTROL, NODE, WIRE

MERGE = {"Content-Type": "application/merge-patch+json"}
NODE_NAME = "kn1"
_PASSING = re.compile(r" (kube-|default/)|^ipaddresses")
POOLS = "vip=10.99.0.100-10.99.0.110"
Object = dict[str, Any]


class RealGateways(SimulatedGateways):
    """A simulated machine, and the charm's own way to the API; what it opens can be closed."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        super().__init__(folder, None, now)
        self.opened: list[Kube] = []

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        self.opened.append(super().kube(credentials, manager))
        return self.opened[-1]


class RealSite:
    """One unit, one node, and MetalLB."""

    def __init__(self, control: ControlPlane, folder: Path, node_space: str) -> None:
        self.control = control
        self.folder = folder
        self.client: httpx2.Client = control.client()
        self._node_space = node_space
        self._programs = contextlib.ExitStack()
        world = World(folder / "world")
        machine = world.add_machine("0", "cpu", "control-0", CONTROL)
        machine.host.files.ensure_text("/root/cdk/ca.crt", control.authority.certificate)
        self.gateways = RealGateways(machine.folder, time.time)
        charm: Any = type("MetallbCharm", (MetallbCharm,), {"gateways": self.gateways})
        self.context: Any = testing.Context(charm, meta=META, app_name=APP, machine_id="0")
        self.on = self.context.on
        name = "kubernetes-control-plane"
        host = testing.SubordinateRelation("host", remote_app_name=name)
        kube = testing.Relation(
            "kube-control", remote_app_name=name, remote_units_data={0: self._offer()}
        )
        config = dashed({"address_pools": POOLS, "interfaces": WIRE})
        self.state = testing.State(leader=True, config=config, relations=[host, kube])
        self._make_node()
        self.before = self.listing()

    def _offer(self) -> dict[str, str]:
        token = self.control.admin_token
        entry = {"client_token": token, "kubelet_token": "", "proxy_token": "", "scope": UNIT}
        return {
            "api-endpoints": json.dumps([self.control.url]),
            "creds": json.dumps({UNIT: entry}),
        }

    def _make_node(self) -> None:
        labels = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": NODE_NAME}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE_NAME}}
        node["metadata"]["labels"] = labels  # type: ignore[index]
        self.post("/api/v1/nodes", node)
        ready = {"type": "Ready", "status": "True", "reason": "ByHand", "message": ""}
        address = {"type": "InternalIP", "address": NODE}
        status = {"conditions": [ready], "addresses": [address]}
        self.patch(f"/api/v1/nodes/{NODE_NAME}/status", {"status": status})
        self.patch(f"/api/v1/nodes/{NODE_NAME}", {"spec": {"taints": []}})

    def close(self) -> None:
        """Stop MetalLB and close every connection."""
        self._programs.close()
        for kube in self.gateways.opened:
            kube.close()
        self.client.close()

    def listing(self) -> set[str]:
        """Return everything in the cluster, once its own controllers have come to rest.

        What is in the namespaces of Kubernetes itself and of the test's users is left out.
        """
        seen: list[set[str]] = [set(), {"nothing yet"}]
        while seen[-1] != seen[-2]:
            # A kind that goes away between its discovery and its list has no items.
            with contextlib.suppress(KeyError):
                found = listing(self.client)
                seen.append({name for name in found if not _PASSING.search(name)})
            time.sleep(1.0)
        return seen[-1]

    # The API, as people use it.

    def get(self, path: str) -> Object:
        return dict(self.client.get(path).json())

    def items(self, path: str) -> list[Object]:
        return list(self.get(path).get("items") or ())

    def post(self, path: str, body: Object) -> httpx2.Response:
        return self.client.post(path, json=body)

    def patch(self, path: str, body: Object) -> httpx2.Response:
        return self.client.patch(path, content=json.dumps(body).encode(), headers=MERGE)

    # The charm.

    def run(self, event: Any) -> tuple[str, str]:
        self.state = self.context.run(event, self.state)
        return self.status

    def configure(self, **options: Any) -> tuple[str, str]:
        self.state = replace(self.state, config={**self.state.config, **dashed(options)})
        return self.run(self.on.config_changed())

    @property
    def status(self) -> tuple[str, str]:
        return self.state.unit_status.name, self.state.unit_status.message

    def settle(self) -> None:
        """Run update-status, with the pods of MetalLB made to run, until the unit is active."""

        def active() -> bool:
            self.run_pods()
            return self.run(self.on.update_status())[0] == "active"

        eventually(active, "active", 120.0, saw=lambda: self.status)

    def leave(self) -> None:
        """Take the application away, with the events that Juju sends.

        Juju takes longer from one hook to the next than the cluster for what it has begun.
        """
        self.state = replace(self.state, planned_units=0)
        for endpoint in ("host", "host", "host", "kube-control"):
            relation = next(r for r in self.state.relations if r.endpoint == endpoint)
            self.run(self.on.relation_broken(relation))
            nothing_stays(self._passing)
            self._programs.close()  # As kubelets do when the workloads are gone.
        self.run(self.on.stop())

    def _passing(self) -> set[str]:
        """Return what is on its way out: addresses without their pools, ended definitions."""
        pools = self.client.get(f"/apis/metallb.io/v1beta1/namespaces/{HOME}/ipaddresspools")
        is_left = pools.status_code == 200 and pools.json()["items"]
        served = [] if is_left else self.items("/api/v1/namespaces/default/services")
        definitions = self.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        held = {f"address of {obj['metadata']['name']}" for obj in served if _ingress(obj)}
        ended = [obj["metadata"] for obj in definitions if "deletionTimestamp" in obj["metadata"]]
        return held | {f"definition {metadata['name']}" for metadata in ended}

    def requests(self) -> list[Request]:
        """Return what the charm asked of the server so far.

        A server writes a request into its audit log before it ends the answer.
        """
        me = f"system:serviceaccount:{HOME}:{APP}"
        return [r for r in read_audit(self.control.audit_log) if r.user == me]

    # Pods and processes.

    def run_pods(self) -> None:
        """Play scheduler and kubelet for the pods of MetalLB."""
        ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]
        for pod in self.items(f"/api/v1/namespaces/{HOME}/pods"):
            path = f"/api/v1/namespaces/{HOME}/pods/{pod['metadata']['name']}"
            if pod["metadata"].get("deletionTimestamp"):
                self.client.request("DELETE", path, params={"gracePeriodSeconds": "0"})
                continue
            if pod.get("status", {}).get("phase") != "Running":
                self.patch(f"{path}/status", {"status": {"phase": "Running", "conditions": ready}})

    def start_controller(self) -> None:
        """Start MetalLB's controller, and give it the certificate that it made."""
        slice_of = self.slice_for("metallb-webhook-service", HOME, CONTROL, 9443)
        self.post(f"/apis/discovery.k8s.io/v1/namespaces/{HOME}/endpointslices", slice_of)
        container = self._container("deployments", "controller")
        certificates = self.folder / "tmp/k8s-webhook-server/serving-certs"
        certificates.mkdir(parents=True)
        flags = [arg for arg in container["args"] if not arg.startswith("--port=")]
        self._start("controller", [*flags, f"--cert-dir={certificates}"], container, ())
        path = f"/api/v1/namespaces/{HOME}/secrets/metallb-webhook-cert"
        eventually(lambda: bool(self.get(path).get("data")), "the controller makes a certificate")
        for name, value in self.get(path)["data"].items():
            (certificates / name).write_bytes(base64.b64decode(value))

    def reloads(self) -> int:
        """Return how often the speaker took up another configuration, by its log."""
        return (self.folder / "speaker.log").read_text().count('"event":"config reloaded"')

    def start_speaker(self) -> None:
        """Start MetalLB's speaker in the node's network namespace."""
        pods = self.items(f"/api/v1/namespaces/{HOME}/pods?labelSelector=component%3Dspeaker")
        container = self._container("daemonsets", "speaker")
        flags = [arg for arg in container["args"] if not arg.startswith("--port=")]
        own = [f"--node-name={NODE_NAME}", f"--pod-name={pods[0]['metadata']['name']}"]
        self._start(
            "speaker", [*flags, *own], container, ("ip", "netns", "exec", self._node_space)
        )

    def _container(self, plural: str, name: str) -> Object:
        found = self.get(f"/apis/apps/v1/namespaces/{HOME}/{plural}/{name}")
        return dict(found["spec"]["template"]["spec"]["containers"][0])

    def _start(
        self, name: str, flags: list[str], container: Object, within: tuple[str, ...]
    ) -> None:
        """Start a process with the variables of its container that are no files or pod fields."""
        given = {e["name"]: e["value"] for e in container["env"] if "value" in e}
        given.pop("METALLB_ML_SECRET_KEY_PATH", None)
        given.pop("METALLB_ML_LABELS", None)
        variables = {
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(self._kubeconfig(name)),
            "TMPDIR": str(self.folder / "tmp"),
            **given,
        }
        command = [*within, str(binaries.find(name)), f"--namespace={HOME}", "--port=0", *flags]
        program = Program(name, command, self.folder, environment=variables)
        self._programs.callback(program.stop)

    def _kubeconfig(self, account: str) -> Path:
        """Return a kubeconfig with a token of an account that the charm's objects made."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        path = f"/api/v1/namespaces/{HOME}/serviceaccounts/{account}/token"
        token = self.post(path, body).json()["status"]["token"]
        config = yaml.safe_load(self.control.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        found = self.folder / f"{account}.kubeconfig"
        found.touch(mode=0o600)
        found.write_text(yaml.safe_dump(config))
        return found

    @staticmethod
    def slice_for(service: str, namespace: str, address: str, port: int) -> Object:
        """Return the EndpointSlice of a service whose pods are none."""
        labels = {"kubernetes.io/service-name": service}
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{service}-1", "namespace": namespace, "labels": labels},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": port, "protocol": "TCP"}],
            "endpoints": [
                {
                    "addresses": [address],
                    "conditions": {"ready": True},
                    "nodeName": NODE_NAME,
                }
            ],
        }

    # What researchers do.

    def bring(self, name: str, address: str) -> None:
        """Make a LoadBalancer service that somebody else gave an address."""
        self._make_service(name)
        path = f"/api/v1/namespaces/default/services/{name}/status"
        self.patch(path, {"status": {"loadBalancer": {"ingress": [{"ip": address}]}}})

    def serve(self, name: str) -> str:
        """Make a LoadBalancer service with an endpoint; return the address that it gets."""
        self._make_service(name)
        path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
        self.post(path, self.slice_for(name, "default", NODE, 8080))
        eventually(lambda: bool(self.address(name)), f"{name} has an address")
        return self.address(name)

    def _make_service(self, name: str) -> None:
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        self.post("/api/v1/namespaces/default/services", service)

    def address(self, name: str) -> str:
        return _ingress(self.get(f"/api/v1/namespaces/default/services/{name}"))


def _ingress(service: Object) -> str:
    """Return the first address of a service, empty for none."""
    found = service.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
    return str(found[0].get("ip", ""))


@contextlib.contextmanager
def real_site(
    control: ControlPlane,
    folder: Path,
    node_space: str,
    prepare: Callable[[RealSite], object] = lambda _: None,
) -> Iterator[RealSite]:
    """Run a site for the time of a block, with MetalLB's controller serving.

    Args:
        control: The API server.
        folder: For what it writes.
        node_space: Network namespace of the node.
        prepare: What happens in the cluster before the charm comes.
    """
    site = RealSite(control, folder, node_space)
    try:
        prepare(site)
        site.run(site.on.config_changed())
        site.start_controller()
        site.settle()
        yield site
    finally:
        site.close()
