# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules on joined relations: doubles, limits, scopes, bases, and what has none. Pure.

Source: facts on bundles V13 to V15; two subordinates in container scope measured on 4.0.15.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping

from rehearsal.bundle.findings import Path
from rehearsal.bundle.names import find_end
from rehearsal.bundle.rules_relations import Joined
from rehearsal.bundle.verification import Verification
from rehearsal.counted import counted
from rehearsal.facts import CharmFacts, Endpoint

BY_MACHINE = frozenset(("nvidia_gpu_driver",))
"""Interfaces of global scope whose units pick their partner by machine."""


def verify_joined(run: Verification, joined: list[Joined]) -> None:
    """Check what needs all relations: doubles, limits, scopes, bases, subordinates left alone."""
    _doubles(run, joined)
    _limits(run, joined)
    for relation in joined:
        if relation.is_container:
            _scope(run, relation)
            _same_base(run, relation)
    _alone(run, joined)
    _needed(run, joined)
    _by_machine(run, joined)


def _doubles(run: Verification, joined: list[Joined]) -> None:
    """Report a relation that is there in other words; in the same words, V12 reports it."""
    seen: dict[frozenset[str], int] = {}
    for relation in joined:
        earlier = seen.setdefault(relation.key, relation.index)
        is_same_text = frozenset(run.bundle.relations[earlier]) == frozenset(
            run.bundle.relations[relation.index]
        )
        if earlier != relation.index and not is_same_text:
            message = f"{' - '.join(sorted(relation.key))} is there already (relations.{earlier})"
            path: Path = ("relations", relation.index)
            run.error("V12", path, message, "delete one; write both endpoints everywhere")


def _limits(run: Verification, joined: list[Joined]) -> None:
    uses: Counter[tuple[str, str]] = Counter()
    for relation in joined:
        for name, endpoint in zip(relation.applications, relation.endpoints, strict=True):
            uses[name, endpoint.name] += 1
            if endpoint.limit and uses[name, endpoint.name] == endpoint.limit + 1:
                taken = counted(endpoint.limit, "relation")
                message = f"{name}:{endpoint.name} takes {taken}, this is more"
                path: Path = ("relations", relation.index)
                run.error("limit", path, message, "deploy the charm again under another name")


def _scope(run: Verification, relation: Joined) -> None:
    subordinates = [run.charms[name].subordinate for name in relation.applications]
    first, second = relation.applications
    path: Path = ("relations", relation.index)
    if all(subordinates) and run.juju == "4.0":
        message = (
            f"{first} and {second} are both subordinates and meet in container scope: Juju 4.0"
            " makes units of them without end"
        )
        remedy = "give the endpoint global scope on both ends, or leave the relation out"
        run.error("scope", path, message, remedy)
    if not any(subordinates):
        message = f"{first} and {second} are principals, but the relation is container-scoped"
        run.error("scope", path, message, "one of the two must be a subordinate")


def _same_base(run: Verification, relation: Joined) -> None:
    bases = [run.base_of(run.bundle.applications[name]) for name in relation.applications]
    one, other = bases
    if one is None or other is None or one.short == other.short:
        return
    first, second = relation.applications
    message = f"{first} is on {one.short}, {second} on {other.short}: one machine has one base"
    report = run.error if run.juju == "4.0" else run.warning
    remedy = "give both the same base:"
    report("base", ("relations", relation.index), message, remedy)


def _alone(run: Verification, joined: list[Joined]) -> None:
    hosted = {
        name
        for relation in joined
        if relation.is_container
        for name, other in zip(relation.applications, relation.applications[::-1], strict=True)
        if run.juju == "4.0" or not run.charms[other].subordinate
    }
    known = {relation.index for relation in joined}
    unsure = {
        end.partition(":")[0]
        for index, ends in enumerate(run.bundle.relations)
        for end in ends
        if index not in known
    }
    for name, charm in run.charms.items():
        if charm.subordinate and name not in hosted and name not in unsure:
            message = f"{name} is a subordinate without a relation to a principal: it has no units"
            ends = [end for end in charm.endpoints.values() if end.scope == "container"]
            ends.sort(key=lambda end: (end.role != "requires", end.interface != "juju-info"))
            remedy = f"relate {name}:{ends[0].name} to a principal" if ends else "relate it"
            run.warning("V13", ("applications", name), message, remedy)


def _needed(run: Verification, joined: list[Joined]) -> None:
    joined_ends = {
        (name, endpoint.name)
        for relation in joined
        for name, endpoint in zip(relation.applications, relation.endpoints, strict=True)
    }
    for ends in run.bundle.relations:
        joined_ends |= {parts for parts in map(find_end, ends) if parts}
    by_kind = _endpoints_by_kind(run)
    for name, charm in run.charms.items():
        for endpoint in charm.endpoints.values():
            is_missing = (name, endpoint.name) not in joined_ends
            if is_missing and _is_needed(run, name, charm, endpoint):
                message = f"{name} needs a relation on {endpoint.name} ({endpoint.interface})"
                remedy = f"relate {name}:{endpoint.name}{_partner(name, endpoint, by_kind)}"
                run.warning("relation", ("applications", name), message, remedy)


def _is_needed(run: Verification, name: str, charm: CharmFacts, endpoint: Endpoint) -> bool:
    """Return whether a charm gets nowhere without an endpoint, by its metadata or by the facts."""
    if endpoint.name in charm.needs:
        return run.bundle.applications[name].options.get(charm.needs[endpoint.name]) is not True
    return endpoint.role == "requires" and not endpoint.optional


def _endpoints_by_kind(run: Verification) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return (application, endpoint) of all endpoints by role and interface."""
    found: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for name, charm in run.charms.items():
        for end in charm.endpoints.values():
            found[end.role, end.interface].append((name, end.name))
    return found


def _partner(
    name: str, endpoint: Endpoint, by_kind: dict[tuple[str, str], list[tuple[str, str]]]
) -> str:
    """Return `` to APPLICATION:ENDPOINT`` where the bundle holds just one that fits."""
    role = "provides" if endpoint.role == "requires" else "requires"
    fitting = [pair for pair in by_kind.get((role, endpoint.interface), ())[:3] if pair[0] != name]
    return f" to {fitting[0][0]}:{fitting[0][1]}" if len(fitting) == 1 else ""


def _by_machine(run: Verification, joined: list[Joined]) -> None:
    """Warn where a subordinate looks for a partner on its machine that is not put there."""
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    for relation in joined:
        if relation.is_container:
            first, second = relation.applications
            hosts[first].add(second)
            hosts[second].add(first)
    _one_of_a_kind(run, hosts)
    for relation in joined:
        if relation.endpoints[0].interface not in BY_MACHINE:
            continue
        first, second = relation.applications
        asks, gives = (
            (first, second) if relation.endpoints[0].role == "requires" else (second, first)
        )
        for host in sorted(hosts[asks] - hosts[gives]):
            message = f"{asks} runs beside {host} and needs {gives} on the same machine"
            remedy = f"relate {gives} to {host}, as {asks} is"
            run.warning("relation", ("applications", gives), message, remedy)


def _one_of_a_kind(run: Verification, hosts: Mapping[str, set[str]]) -> None:
    """Warn where two applications of a charm that has a machine to itself go beside one."""
    first: dict[tuple[str, str], str] = {}
    for name, charm in run.charms.items():
        alone = any(end.interface in BY_MACHINE for end in charm.endpoints.values())
        for host in sorted(hosts.get(name, ())) if charm.subordinate and alone else ():
            other = first.setdefault((charm.name, host), name)
            if other != name:
                message = (
                    f"{other} and {name} are both {charm.name} and run beside {host}: the second"
                    " on a machine refuses or waits"
                )
                remedy = f"relate one of them to {host}, the other to machines of its own"
                run.warning("relation", ("applications", name), message, remedy)
