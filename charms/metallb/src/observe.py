# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Read the cluster: what must be known before a change, and what MetalLB says after it."""

from collections.abc import Sequence
from dataclasses import dataclass

from addresses import Span
from charmkit.addon import PART_OF
from charmkit.errors import InterventionError
from charmkit.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    DAEMON_SET,
    DEPLOYMENT,
    NODE,
    SERVICE,
    SERVICE_CIDR,
    VALIDATING_WEBHOOKS,
    Kind,
)
from charmkit.kube import Kube
from charmkit.readiness import is_ready
from facts import (
    Announcement,
    Node,
    Object,
    Service,
    Verdict,
    find_spans,
    items_of,
    labels_of,
    parse_announcement,
    parse_node,
    parse_pool,
    parse_service,
    parse_verdict,
    part_of,
)
from kinds import (
    CALICO_BGP_PEER,
    CONFIGURATION_STATE,
    DEFINITIONS,
    ENDPOINT_SLICE,
    POOL,
    SERVICE_L2_STATUS,
    WEBHOOKS,
)
from pools import Pool
from rights import CALICO_DEFINITION, CILIUM_DEFINITION
from silence import MOST_NAMESPACES, SERVICE_NAME, find_served

MANAGED_BY = "app.kubernetes.io/managed-by"
_CLASS_ARGUMENT = "--lb-class="


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a change must respect.

    Attributes:
        nodes: All nodes.
        services: All services.
        service_networks: What the cluster gives services their own addresses from.
        pools: Pools of ours that are there, with their names and ranges.
        api_servers: Addresses by which the API is reached.
        strangers: Pools of others in MetalLB's namespace.
        lb_class: The class of services that MetalLB looks after; None while it looks after none.
        is_new: Neither the controller nor its webhook is there.
    """

    nodes: tuple[Node, ...]
    services: tuple[Service, ...]
    service_networks: tuple[Span, ...]
    pools: tuple[Pool, ...]
    api_servers: tuple[str, ...]
    strangers: tuple[Pool, ...] = ()
    lb_class: str | None = None
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Rollout:
    """How far a process of MetalLB has come.

    Attributes:
        wanted: How many pods there are to be.
        ready: How many are.
        done: All of them are, in the version that is wanted.
    """

    wanted: int
    ready: int
    done: bool


@dataclass(frozen=True, slots=True)
class Reports:
    """What MetalLB says of itself. A process that is not installed yet has no rollout."""

    controller: Rollout | None
    speaker: Rollout | None
    verdicts: tuple[Verdict, ...] = ()
    announcements: tuple[Announcement, ...] = ()


def read_surroundings(kube: Kube, application: str, namespace: str) -> Surroundings:
    """Return what a change must respect.

    Raises:
        InterventionError: Another MetalLB is in the cluster.
        CharmkitError: The API does not answer or refuses.
    """
    definition, webhook = _find_installed(kube, application)
    pools = kube.list(POOL, namespace=namespace) if definition else []
    controller = kube.find(DEPLOYMENT, "controller", namespace)
    return Surroundings(
        tuple(map(parse_node, kube.list(NODE))),
        tuple(map(parse_service, kube.list(SERVICE))),
        find_spans(_read_service_networks(kube)),
        tuple(parse_pool(pool) for pool in pools if _owner(pool) == application),
        tuple(_host(url) for url in kube.credentials.servers),
        tuple(parse_pool(pool) for pool in pools if _owner(pool) != application),
        _class_of(controller) if controller and pools else None,
        controller is None and webhook is None,
    )


def _read_service_networks(kube: Kube) -> list[str]:
    """Return what services get their own addresses from; nothing before Kubernetes 1.33.

    Every API server that has the kind makes one of this name. Source: Kubernetes 1.35.4,
    pkg/controlplane/controller/defaultservicecidr.
    """
    if kube.find(SERVICE_CIDR, "kubernetes") is None:
        return []
    return [text for cidr in kube.list(SERVICE_CIDR) for text in items_of(cidr["spec"], "cidrs")]


def _class_of(controller: Object) -> str:
    """Return the class of the services that a controller looks after, empty for none."""
    pod = part_of(part_of(part_of(controller, "spec"), "template"), "spec")
    words = [str(word) for one in items_of(pod, "containers") for word in items_of(one, "args")]
    found = (word.partition("=")[2] for word in words if word.startswith(_CLASS_ARGUMENT))
    return next(found, "")


def check_foreign(kube: Kube, application: str) -> None:
    """Refuse a cluster in which somebody else has installed MetalLB.

    Raises:
        InterventionError: Somebody has: two MetalLBs would fight over each service.
    """
    _find_installed(kube, application)


def _find_installed(kube: Kube, application: str) -> Sequence[Object | None]:
    """Return the definition of pools and the webhook's configuration, None for what is not there.

    Raises:
        InterventionError: They are somebody else's.
    """
    places = ((CUSTOM_RESOURCE_DEFINITION, DEFINITIONS[0]), (VALIDATING_WEBHOOKS, WEBHOOKS))
    found = [kube.find(kind, name) for kind, name in places]
    for obj in filter(None, found):
        if _owner(obj) != application:
            labels = labels_of(obj)
            whose = labels.get(PART_OF) or labels.get(MANAGED_BY) or "nobody's label"
            raise InterventionError(
                f"another MetalLB is here ({obj['metadata']['name']}, {whose}): keep one; "
                "on k8s: load-balancer-enabled=false"
            )
    return found


def _owner(obj: Object) -> str:
    return labels_of(obj).get(PART_OF, "")


def _host(url: str) -> str:
    """Return the host of an https URL without its port and brackets."""
    rest = url.partition("://")[2].partition("/")[0]
    return rest.partition("]")[0].lstrip("[") if rest.startswith("[") else rest.partition(":")[0]


def read_calico_peers(kube: Kube) -> tuple[tuple[str, str], ...]:
    """Return name and address of the routers that Calico has sessions with, where that is seen.

    Calico that keeps its settings in etcd, as in Charmed Kubernetes, shows nothing here.
    """
    if kube.find(CUSTOM_RESOURCE_DEFINITION, CALICO_DEFINITION) is None:
        return ()
    peers = ((p["metadata"]["name"], part_of(p, "spec")) for p in kube.list(CALICO_BGP_PEER))
    return tuple((name, str(spec["peerIP"])) for name, spec in peers if spec.get("peerIP"))


def read_cilium_pools(kube: Kube) -> tuple[Pool, ...]:
    """Return the pools from which Cilium gives services addresses, in whatever version it has.

    Source: docs.cilium.io, "LoadBalancer IP Address Management": blocks of cidr, or start and
    stop; one without stop is one address.
    """
    definition = kube.find(CUSTOM_RESOURCE_DEFINITION, CILIUM_DEFINITION)
    versions = items_of(part_of(definition or {}, "spec"), "versions")
    stored = next((v["name"] for v in versions if v.get("storage")), "")
    if not stored:
        return ()
    plural, _, group = CILIUM_DEFINITION.partition(".")
    kind = Kind(f"{group}/{stored}", "CiliumLoadBalancerIPPool", plural, namespaced=False)
    return tuple(
        Pool(obj["metadata"]["name"], find_spans(map(_block, items_of(obj["spec"], "blocks"))))
        for obj in kube.list(kind)
    )


def _block(block: Object) -> str:
    start = str(block.get("start", ""))
    return str(block.get("cidr") or f"{start}-{block.get('stop') or start}")


def read_reports(kube: Kube, namespace: str) -> Reports:
    """Return what MetalLB says of itself.

    Raises:
        CharmkitError: The API does not answer or refuses.
    """
    controller = kube.find(DEPLOYMENT, "controller", namespace)
    speaker = kube.find(DAEMON_SET, "speaker", namespace)
    if controller is None or speaker is None:
        return Reports(None, None)
    return Reports(
        _rollout(controller, (controller["spec"].get("replicas", 1)), "availableReplicas"),
        _rollout(
            speaker,
            part_of(speaker, "status").get("desiredNumberScheduled", 0),
            "numberReady",
        ),
        tuple(map(parse_verdict, kube.list(CONFIGURATION_STATE, namespace=namespace))),
        tuple(map(parse_announcement, kube.list(SERVICE_L2_STATUS, namespace=namespace))),
    )


def read_served(kube: Kube, services: Sequence[Service]) -> tuple[Service, ...]:
    """Return which of some services have a pod that is ready; one read for each namespace.

    Those of namespaces beyond the most that are looked into count as having none.
    """
    namespaces = list(dict.fromkeys(service.namespace for service in services))
    served: set[str] = set()
    for namespace in namespaces[:MOST_NAMESPACES]:
        served |= find_served(kube.list(ENDPOINT_SLICE, namespace=namespace, labels=SERVICE_NAME))
    return tuple(service for service in services if service.name in served)


def _rollout(obj: Object, wanted: int, ready: str) -> Rollout:
    return Rollout(int(wanted), int(part_of(obj, "status").get(ready, 0)), is_ready(obj))


def find_shared_peers(
    peers: Sequence[tuple[str, str]], calico: Sequence[tuple[str, str]]
) -> tuple[str, str, str] | None:
    """Return our peer, its address and Calico's name for the first that both have.

    Args:
        peers: Name and address of ours.
        calico: Name and address of Calico's, which may end in a port.
    """
    for name, address in peers:
        for theirs, text in calico:
            if address in (text, text.rpartition(":")[0].strip("[]")):
                return name, address, theirs
    return None
