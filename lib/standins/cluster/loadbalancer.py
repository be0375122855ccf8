# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MetalLB's controller and speakers: addresses for services, and who answers for them.

They act where their Deployment and DaemonSet are, and show what real ones show: addresses in the
status of services, the counts of pools, ConfigurationState, ServiceL2Status, and the certificate
that the controller writes into its webhook configuration. What nobody could see on a real site
(which node would be next, packets) is not here.

Source: MetalLB 0.15.3, read (internal/allocator, controller, speaker) and seen on a real API
server (addresses within a second, a shrink that renumbers, one that is pinned and stays without).
Its addresses are those of the real allocator on thousands of drawn pools and services; where that
chooses by chance (pools of equal priority) it takes the first by name.
Not modelled: the refusals of the webhook, BGP sessions, shared addresses, endpoints: every service
has one; cluster IPs where the API gives none: such a service gets one address of any family.
"""

import hashlib
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from standins.cluster.addresspools import (
    FROM_POOL,
    PREFIX,
    addresses_of,
    converge,
    count,
    find_home,
    labels_of,
    may_announce,
    name_in,
    name_of,
    rank,
)
from standins.kubernetes.api import ApiServer

Object = dict[str, Any]

CERTIFICATE = "c3RhbmQtaW4gY2VydGlmaWNhdGU="
"""What stands for the CA of the webhook: base64, as the API wants it."""

HOOKS = "validatingwebhookconfigurations.admissionregistration.k8s.io"
WATCHED = ("services", "deployments.apps", HOOKS)
KINDS = ("ipaddresspools", "l2advertisements", "servicel2statuses")


class LoadBalancer:
    """Both processes of MetalLB, wherever they are installed."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def versions(self) -> tuple[str, ...]:
        """Return a value that differs when something changed that MetalLB alone looks at."""
        if not self._scan(f"ipaddresspools.{PREFIX}") and not self._scan("deployments.apps"):
            return ()
        kinds = (*WATCHED, *(f"{kind}.{PREFIX}" for kind in KINDS))
        return tuple(
            obj["metadata"]["resourceVersion"] for kind in kinds for obj in self._scan(kind)
        )

    def run(self) -> None:
        """Do what is due."""
        for deployment in self._scan("deployments.apps"):
            if not _runs(deployment, "controller"):
                continue
            namespace = deployment["metadata"]["namespace"]
            if (deployment.get("status") or {}).get("availableReplicas"):
                self._serve_webhook(deployment)
                self._control(deployment, namespace)
            self._speak(namespace)

    def _serve_webhook(self, deployment: Object) -> None:
        """Fill in what the controller makes itself: certificate, authority, key of the gossip."""
        metadata = deployment["metadata"]
        namespace = metadata["namespace"]

        def fill(obj: Object) -> None:
            for hook in obj.get("webhooks") or ():
                hook["clientConfig"]["caBundle"] = CERTIFICATE

        self._api.edit(
            HOOKS,
            "metallb-webhook-configuration",
            "",
            fill,
        )

        def certify(obj: Object) -> None:
            obj.setdefault("data", {}).update({"tls.crt": CERTIFICATE, "tls.key": CERTIFICATE})

        self._api.edit("secrets", "metallb-webhook-cert", namespace, certify)
        if self._api.find("secrets", "memberlist", namespace) is None:
            owner = {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": metadata["name"],
                "uid": metadata["uid"],
            }
            head = {"name": "memberlist", "namespace": namespace, "ownerReferences": [owner]}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": head}
            self._api.put({**secret, "type": "Opaque", "data": {"secretkey": CERTIFICATE}})

    # The controller.

    def _control(self, deployment: Object, namespace: str) -> None:
        pools = self._scan(f"ipaddresspools.{PREFIX}", namespace)
        self._report_state("controller", namespace, {f"{PREFIX}/component-type": "controller"})
        lb_class = _argument(deployment, "lb-class")
        services = [
            service
            for service in self._scan("services")
            if service["spec"].get("type") == "LoadBalancer"
            and (service["spec"].get("loadBalancerClass") or "") == lb_class
        ]
        owners = {text: name_of(s) for s in reversed(services) for text in addresses_of(s)}
        for service in services:
            name = name_of(service)
            taken = {text for text, owner in owners.items() if owner != name}
            given = converge(service, pools, taken)
            home = find_home([ipaddress.ip_address(text) for text in given], service, pools)
            self._give(service, given, name_in(home) if given and home else "")
            owners = {text: owner for text, owner in owners.items() if owner != name}
            owners |= dict.fromkeys(given, name)
        for pool in pools:
            if pool.get("status") != (status := count(pool, set(owners))):
                self._api.put({**pool, "status": status})

    def _give(self, service: Object, given: list[str], pool: str) -> None:
        """Write the addresses, or that there are none, as the controller does."""
        metadata = service["metadata"]
        if given == addresses_of(service) and pool == _annotated(service) and "status" in service:
            return

        def change(obj: Object) -> None:
            annotations = obj["metadata"].setdefault("annotations", {})
            annotations.pop(FROM_POOL, None)
            obj["status"] = {"loadBalancer": {}}
            if given:
                annotations[FROM_POOL] = pool
                ingress = [{"ip": text, "ipMode": "VIP"} for text in given]
                obj["status"]["loadBalancer"]["ingress"] = ingress

        self._api.edit("services", metadata["name"], metadata["namespace"], change)

    def _report_state(self, name: str, namespace: str, labels: Mapping[str, str]) -> None:
        head = {"name": name, "namespace": namespace, "labels": dict(labels)}
        if self._api.find(f"configurationstates.{PREFIX}", name, namespace) is None:
            state = {"apiVersion": f"{PREFIX}/v1beta1", "kind": "ConfigurationState"}
            self._api.put({**state, "metadata": head, "status": {"result": "Valid"}})

    # The speakers.

    def _speak(self, namespace: str) -> None:
        if self._scan("daemonsets.apps", namespace) == []:
            return
        nodes = [node for node in self._scan("nodes") if self._has_speaker(node, namespace)]
        for node in nodes:
            name = node["metadata"]["name"]
            labels = {f"{PREFIX}/component-type": "speaker", f"{PREFIX}/node-name": name}
            self._report_state(f"speaker-{name}", namespace, labels)
        wanted = dict(self._announced(namespace, nodes))
        self._drop_statuses(namespace, wanted)
        for service, (node, interfaces) in wanted.items():
            self._note_status(namespace, service, node, interfaces)

    def _has_speaker(self, node: Object, namespace: str) -> bool:
        return any(
            labels_of(pod).get("component") == "speaker"
            and pod["spec"].get("nodeName") == node["metadata"]["name"]
            and (pod.get("status") or {}).get("phase") == "Running"
            for pod in self._scan("pods", namespace)
        )

    def _announced(
        self, namespace: str, nodes: list[Object]
    ) -> Iterator[tuple[str, tuple[str, list[str]]]]:
        """Yield each service that is answered for, with its node and interfaces."""
        pools = self._scan(f"ipaddresspools.{PREFIX}", namespace)
        for service in self._scan("services"):
            has = [ipaddress.ip_address(text) for text in addresses_of(service)]
            for first in has[:1]:  # Who answers for this one answers for all.
                pool = find_home(has, service, pools)
                for advertisement in self._scan(f"l2advertisements.{PREFIX}", namespace):
                    spec = advertisement.get("spec") or {}
                    names = spec.get("ipAddressPools")
                    if pool is None or (names and pool["metadata"]["name"] not in names):
                        continue
                    chosen = [node for node in nodes if may_announce(node, spec)]
                    if chosen:
                        leader = min(chosen, key=lambda node: rank(node, str(first)))
                        found = (leader["metadata"]["name"], spec.get("interfaces") or [])
                        yield name_of(service), found

    def _drop_statuses(self, namespace: str, wanted: Mapping[str, tuple[str, list[str]]]) -> None:
        for status in self._scan(f"servicel2statuses.{PREFIX}", namespace):
            seen = status["status"]
            service = f"{seen['serviceNamespace']}/{seen['serviceName']}"
            if wanted.get(service, ("",))[0] != seen["node"]:
                name = status["metadata"]["name"]
                self._api.remove(f"servicel2statuses.{PREFIX}", name, namespace)

    def _note_status(self, namespace: str, service: str, node: str, interfaces: list[str]) -> None:
        where, _, name = service.partition("/")
        digest = hashlib.sha256(f"{service}/{node}".encode()).hexdigest()[:5]
        labels = {
            f"{PREFIX}/node": node,
            f"{PREFIX}/service-name": name,
            f"{PREFIX}/service-namespace": where,
        }
        status: Object = {"node": node, "serviceName": name, "serviceNamespace": where}
        if interfaces:
            status["interfaces"] = [{"name": interface} for interface in interfaces]
        head = {"name": f"l2-{digest}", "namespace": namespace, "labels": labels}
        kind = {"apiVersion": f"{PREFIX}/v1beta1", "kind": "ServiceL2Status"}
        self._api.put({**kind, "metadata": head, "spec": {}, "status": status})

    def _scan(self, kind: str, namespace: str | None = None) -> list[Object]:
        """Return the objects of a kind; of one that is not served, none."""
        try:
            return self._api.scan(kind, namespace)
        except LookupError:
            return []


def _runs(workload: Object, component: str) -> bool:
    containers = workload["spec"]["template"]["spec"]["containers"]
    return any(f"metallb/{component}:" in container["image"] for container in containers)


def _annotated(service: Object) -> str:
    """Return the pool that a service is said to have its addresses from."""
    return str((service["metadata"].get("annotations") or {}).get(FROM_POOL, ""))


def _argument(workload: Object, name: str) -> str:
    containers = workload["spec"]["template"]["spec"]["containers"]
    found = [text for each in containers for text in each.get("args") or ()]
    values = [text.partition("=")[2] for text in found if text.startswith(f"--{name}=")]
    return values[0] if values else ""
