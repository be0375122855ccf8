# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What stands against a change, and what is wrong after it, from what was read. Pure."""

from collections import Counter
from collections.abc import Sequence

from bgp import PEERS, Peer
from charmkit.errors import CharmkitError, ConfigError, InterventionError, NotReadyError
from checks import check_hosts, check_reserved, find_address
from config import BGP, L2, MetallbOptions
from facts import EXCLUDE_LABEL, Announcement, Node, Service
from objects import CONTROL_PLANE_TAINTS, GPU_TAINTS
from observe import Reports, Rollout, Surroundings
from pools import Pool
from usage import Care, find_users
from waiting import explain_waiting, find_full, find_waiting

_INVALID = "Invalid"
_TOLERATED = tuple(f"{key}:NoSchedule" for key in (*CONTROL_PLANE_TAINTS, *GPU_TAINTS))
_PASSING = "node.kubernetes.io/"
"""How taints begin that every DaemonSet tolerates, or that go by themselves."""


def check_surroundings(options: MetallbOptions, seen: Surroundings) -> None:
    """Refuse options that would break what is in the cluster.

    Raises:
        ConfigError: Names option, item and whom it would hit.
    """
    pools = options.address_pools
    now, then = compare(options, seen)
    check_hosts(pools, {node.name: node.addresses for node in seen.nodes}, "node")
    check_hosts(pools, {"of this cluster": seen.api_servers}, "the API server")
    check_reserved(pools, seen.service_networks, "the service network")
    check_hosts(pools, {s.name: s.cluster_ips for s in seen.services}, "cluster IP of service")
    networks = tuple(span for node in seen.nodes for span in node.pod_networks)
    check_reserved(pools, networks, "a pod network")
    check_hosts(pools, {s.name: _by_hand(s) for s in seen.services}, "external IP of service")
    strange = [s for s in seen.services if s.lb_class not in (now.lb_class, then.lb_class)]
    check_hosts(pools, {s.name: s.addresses for s in strange}, "address of foreign service")
    for other in then.others:
        check_reserved(pools, other.spans, f"pool {other.name} of somebody else")
    if not any(node.matches(options.node_selector) for node in seen.nodes) and seen.nodes:
        labels = ",".join(f"{name}={value}" for name, value in options.node_selector.items())
        raise ConfigError("node-selector", f"no node has {labels}, label one or change it")
    if options.mode == BGP:
        nodes = [node for node in seen.nodes if node.matches(options.node_selector)]
        _check_routers(options.bgp_peers, seen.nodes, nodes)


def _by_hand(service: Service) -> set[str]:
    """Return the external IPs of a service that it has from no load balancer."""
    return set(service.external_ips) - set(service.addresses)


def compare(options: MetallbOptions, seen: Surroundings) -> tuple[Care, Care]:
    """Return what MetalLB looks after now, and after the options are applied.

    A pool that bears the name of one of ours is taken as ours, though its label is gone. Where
    somebody took the controller away, the options say which services it looked after.
    """
    wanted, lb_class = options.address_pools, options.load_balancer_class
    names = {pool.name for pool in wanted}
    ours = (*seen.pools, *(pool for pool in seen.strangers if pool.name in names))
    others = tuple(pool for pool in seen.strangers if pool.name not in names)
    present = lb_class if seen.lb_class is None and ours else seen.lb_class
    return Care(ours, others, present), Care(wanted, others, lb_class)


def _check_routers(
    peers: Sequence[Peer], nodes: Sequence[Node], announcing: Sequence[Node]
) -> None:
    for peer in peers:
        node = next((node for node in nodes if peer.address in node.addresses), None)
        if node is not None:
            reason = f"{peer.name}: {peer.address} is node {node.name}, name a router"
            raise ConfigError(PEERS, reason)
        if not any(node.matches(peer.nodes) for node in announcing) and nodes:
            reason = f"{peer.name}: no node has the labels of its node-selector, label one"
            raise ConfigError(PEERS, reason)


def find_problems(
    options: MetallbOptions, seen: Surroundings, reports: Reports, *, all_answer: bool = False
) -> tuple[CharmkitError, ...]:
    """Return what keeps addresses from being given and announced, what blocks first.

    Args:
        options: What is wanted.
        seen: The cluster.
        reports: What MetalLB says.
        all_answer: Every node answers ARP for all addresses, see `machine`.
    """
    found = (
        _find_invalid(reports),
        _find_silence(options, seen.nodes),
        _find_noise(options, all_answer=all_answer),
        _find_twice(options, seen.services, reports.announcements),
        _find_unready("controller", reports.controller),
        _find_unready("speaker", reports.speaker),
    )
    return tuple(problem for problem in found if problem is not None)


def _find_invalid(reports: Reports) -> CharmkitError | None:
    for verdict in reports.verdicts:
        if verdict.result == _INVALID:
            what = verdict.summary or "no reason given"
            return InterventionError(f"MetalLB {verdict.process} refuses its settings: {what}")
    return None


def _find_silence(options: MetallbOptions, nodes: Sequence[Node]) -> CharmkitError | None:
    chosen = [node for node in nodes if node.matches(options.node_selector)]
    heard = [node for node in chosen if not node.is_excluded]
    if chosen and not heard:
        return InterventionError(
            f"no node can announce: remove label {EXCLUDE_LABEL} from one of {len(chosen)}"
        )
    taints = [_find_taint(node) for node in heard]
    if not heard or not all(taints):
        return None
    where = f"{heard[0].name}, which has taint {taints[0]}"
    return InterventionError(f"no node can announce: no speaker runs on {where}, remove it")


def _find_taint(node: Node) -> str:
    """Return the taint that keeps a speaker off a node, empty for none."""
    kept = (t for t in node.taints if t not in _TOLERATED and not t.startswith(_PASSING))
    return next(kept, "")


def _find_noise(options: MetallbOptions, *, all_answer: bool) -> CharmkitError | None:
    if options.mode != L2 or not all_answer:
        return None
    text = "every node answers in IPVS mode, set ipvs: {strictARP: true} in proxy-extra-config"
    return InterventionError(f"kube-proxy: {text}")


def _find_twice(
    options: MetallbOptions, services: Sequence[Service], announcements: Sequence[Announcement]
) -> CharmkitError | None:
    """Return that two nodes answer for one address, as when they cannot hear each other."""
    if options.mode != L2:
        return None
    counts = Counter(announcement.service for announcement in announcements)
    for service in services:
        if counts[service.name] > max(len(service.addresses), 1):
            nodes = sorted(a.node for a in announcements if a.service == service.name)
            names = " and ".join(nodes[:2])
            return InterventionError(
                f"{service.name}: {names} both announce it, open port 7946 between nodes"
            )
    return None


def _find_unready(process: str, rollout: Rollout | None) -> CharmkitError | None:
    if rollout is None:
        return NotReadyError(f"{process}: not installed yet, waiting for the leader")
    if rollout.done and rollout.wanted:
        return None
    ready = f"{rollout.ready} of {rollout.wanted}"
    return NotReadyError(f"{process}: {ready} ready, look at its pods if it lasts")


def describe(options: MetallbOptions, seen: Surroundings, remarks: Sequence[str] = ()) -> str:
    """Return the active message: how much of each pool is used, and who still waits, and why.

    Args:
        options: What is wanted.
        seen: The cluster.
        remarks: What else is worth a word; empty ones do not count.
    """
    pools, services = options.address_pools, seen.services
    shares = ", ".join(f"{p.name} {len(find_users(p, services))}/{p.size}" for p in pools)
    notes = [f"{options.mode}: {shares} used", *filter(None, remarks)]
    waiting = find_waiting(services, options.load_balancer_class)
    for first in waiting[:1]:
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        choice = (*pools, *seen.strangers)
        reason = explain_waiting(first, choice, services, find_full(choice, services))
        notes.append(f"{first.name}{more} without address{reason and f': {reason}'}")
    if not any(pool.auto_assign for pool in pools):
        notes.append("no pool auto-assigns")
    return _cut("; ".join(notes))


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"


def explain_address(
    text: str, options: MetallbOptions, seen: Surroundings, reports: Reports
) -> dict[str, str]:
    """Return what is known of one address: its pool, who has it, who answers for it.

    Raises:
        ConfigError: It is no address.
    """
    address = find_address(text.strip())
    if address is None:
        raise ConfigError("address", f"'{text[:48]}' is no address, write one as in 10.20.0.9")
    pool = next((p for p in options.address_pools if p.holds(address)), None)
    users = [s.name for s in seen.services if str(address) in s.addresses]
    nodes = [
        f"{a.node} ({', '.join(a.interfaces)})" if a.interfaces else a.node
        for a in reports.announcements
        if a.service in users
    ]
    taken = _find_owner(str(address), pool, seen, options)
    free = "free" if pool is not None else "in no pool"
    return {
        "address": str(address),
        "pool": pool.name if pool else "none",
        "used-by": ", ".join(users) or taken or free,
        "announced-by": ", ".join(nodes) or "nobody",
    }


def _find_owner(
    address: str, pool: Pool | None, seen: Surroundings, options: MetallbOptions
) -> str:
    """Return who else has an address, empty for nobody who is known."""
    owners = [f"node {node.name}" for node in seen.nodes if address in node.addresses]
    owners += ["the API server"] if address in seen.api_servers else []
    own = ((s, (*s.cluster_ips, *s.external_ips)) for s in seen.services)
    owners += [f"service {service.name}" for service, texts in own if address in texts]
    found = find_address(address)
    spans = (
        (options.reserved_ranges, "a reserved range"),
        (options.pod_cidr, "the pod network"),
        (seen.service_networks, "the service network"),
    )
    if found is not None and pool is None:
        owners += [what for many, what in spans if any(span.holds(found) for span in many)]
    return ", ".join(owners)
