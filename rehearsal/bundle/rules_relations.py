# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules on relations: V12 on the text, V14 and V15 with the charms, limits, scopes, bases. Pure.

Source: facts on bundles V12 to V15; two subordinates in container scope measured on 4.0.15.
"""

from collections import Counter
from dataclasses import dataclass

from rehearsal.bundle.findings import Path
from rehearsal.bundle.names import find_end
from rehearsal.bundle.verification import Verification, near
from rehearsal.facts import CharmFacts, Endpoint


@dataclass(frozen=True, slots=True)
class Joined:
    """A relation with both endpoints known; applications in file order."""

    index: int
    applications: tuple[str, str]
    endpoints: tuple[Endpoint, Endpoint]

    @property
    def is_container(self) -> bool:
        """Whether either end is container-scoped: one is enough."""
        return any(endpoint.scope == "container" for endpoint in self.endpoints)

    @property
    def key(self) -> frozenset[str]:
        """The relation's key, whichever way round it was written."""
        names = zip(self.applications, self.endpoints, strict=True)
        return frozenset(f"{application}:{endpoint.name}" for application, endpoint in names)


def verify_relation_texts(run: Verification) -> None:
    """V12: two ends, both known, not one application, none twice."""
    seen: dict[frozenset[str], int] = {}
    for index, ends in enumerate(run.bundle.relations):
        path: Path = ("relations", index)
        if len(ends) != 2:
            message = f"the relation has {len(ends)} endpoint(s), not 2"
            run.error("V12", path, message, "write [application:endpoint, application:endpoint]")
            continue
        parsed = [find_end(end) for end in ends]
        for end, parts in zip(ends, parsed, strict=True):
            _end(run, path, end, parts)
        if parsed[0] and parsed[1] and parsed[0][0] == parsed[1][0]:
            message = f"{parsed[0][0]} is related to itself"
            run.error("V12", path, message, "peers need no relation in a bundle; delete it")
        key = frozenset(ends)
        if key in seen:
            message = f"the relation {' - '.join(ends)} is there twice (relations.{seen[key]} too)"
            run.error("V12", path, message, "delete one; an overlay's relations are added")
        seen.setdefault(key, index)


def _end(run: Verification, path: Path, end: str, parts: tuple[str, str] | None) -> None:
    if parts is None:
        run.error("V12", path, f'invalid relation syntax "{end}"', "write application:endpoint")
        return
    name = parts[0]
    in_bundle = name in run.bundle.applications or name in run.bundle.undefined
    if not in_bundle and name not in run.bundle.saas:
        message = f"{end} refers to an application that is not in the bundle"
        run.error("V12", path, message, "add the application, or delete the relation")
    if in_bundle and name in run.bundle.saas:
        message = f"{name} is an application and a saas"
        run.error("V12", path, message, "rename one of them")


def join_relations(run: Verification) -> list[Joined]:
    """V14 and V15: return the relations whose two endpoints fit; report the others."""
    joined: list[Joined] = []
    for index, ends in enumerate(run.bundle.relations):
        parsed = [find_end(end) for end in ends]
        if len(parsed) != 2 or parsed[0] is None or parsed[1] is None:
            continue
        sides = (parsed[0], parsed[1])
        if all(name in run.bundle.saas for name, _ in sides):
            message = "two offers of other models cannot be related here"
            run.error("V12", ("relations", index), message, "relate an application of the bundle")
        known = [run.charms.get(name) for name, _ in sides]
        if known[0] and known[1] and sides[0][0] != sides[1][0]:
            found = _join(run, index, sides, (known[0], known[1]))
            joined += [found] if found else []
        else:
            _one_side(run, index, sides)
    return joined


def _one_side(run: Verification, index: int, sides: tuple[tuple[str, str], ...]) -> None:
    for name, endpoint in sides:
        charm = run.charms.get(name)
        if charm and endpoint and charm.find_endpoint(endpoint) is None:
            _no_endpoint(run, index, name, endpoint, charm)


def _no_endpoint(
    run: Verification, index: int, name: str, endpoint: str, charm: CharmFacts
) -> None:
    message = f"{name} ({charm.name}) has no endpoint {endpoint}"
    remedy_from = [*charm.endpoints, "juju-info"]
    path: Path = ("relations", index)
    report = run.warning if charm.partial else run.error
    report("V15", path, message, near(endpoint, remedy_from))


def _join(
    run: Verification, index: int, sides: tuple[tuple[str, str], tuple[str, str]],
    charms: tuple[CharmFacts, CharmFacts],
) -> Joined | None:  # fmt: skip
    candidates: list[list[Endpoint]] = []
    for (name, endpoint), charm in zip(sides, charms, strict=True):
        if endpoint and charm.find_endpoint(endpoint) is None:
            _no_endpoint(run, index, name, endpoint, charm)
        candidates.append(_candidates(charm, endpoint))
    if not candidates[0] or not candidates[1]:
        return None
    pairs = _pairs(candidates[0], candidates[1])
    if run.juju == "3.6" and len(pairs) > 1:
        named = [pair for pair in pairs if all(end.interface != "juju-info" for end in pair)]
        pairs = named or pairs
    names = (sides[0][0], sides[1][0])
    if len(pairs) == 1:
        return Joined(index, names, pairs[0])
    _unfit(run, index, sides, candidates, pairs, charms)
    return None


def _candidates(charm: CharmFacts, endpoint: str) -> list[Endpoint]:
    if endpoint:
        found = charm.find_endpoint(endpoint)
        return [found] if found else []
    implicit = charm.find_endpoint("juju-info")
    names = [end for end in charm.endpoints.values() if end.role != "peers"]
    return [*names, *([implicit] if implicit and implicit not in names else [])]


def _pairs(first: list[Endpoint], second: list[Endpoint]) -> list[tuple[Endpoint, Endpoint]]:
    return [
        (one, other)
        for one in first
        for other in second
        if one.interface == other.interface and {one.role, other.role} == {"provides", "requires"}
    ]


def _unfit(
    run: Verification, index: int, sides: tuple[tuple[str, str], tuple[str, str]],
    candidates: list[list[Endpoint]], pairs: list[tuple[Endpoint, Endpoint]],
    charms: tuple[CharmFacts, CharmFacts],
) -> None:  # fmt: skip
    (first, _), (second, _) = sides
    path: Path = ("relations", index)
    if pairs:
        choices = ", ".join(f"[{first}:{a.name}, {second}:{b.name}]" for a, b in pairs)
        message = f"ambiguous relation: {first} and {second} fit in {len(pairs)} ways"
        run.error("V14", path, message, f"write both endpoints, one of {choices}")
        return
    whole = any(
        not endpoint and charm.partial for (_, endpoint), charm in zip(sides, charms, strict=True)
    )
    report = run.warning if whole else run.error
    if sides[0][1] and sides[1][1]:
        one, other = candidates[0][0], candidates[1][0]
        message = (
            f"{first}:{one.name} ({one.role} {one.interface}) does not fit"
            f" {second}:{other.name} ({other.role} {other.interface})"
        )
        report("V15", path, message, "a requires joins a provides of the same interface")
        return
    message = f"no endpoints of {first} and {second} fit each other"
    report("V14", path, message, "check the charms; name both endpoints")


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


def _doubles(run: Verification, joined: list[Joined]) -> None:
    seen: dict[frozenset[str], int] = {}
    for relation in joined:
        if relation.key in seen:
            earlier = f"relations.{seen[relation.key]}"
            message = f"{' - '.join(sorted(relation.key))} is there already ({earlier})"
            path: Path = ("relations", relation.index)
            run.error("V12", path, message, "delete one; write both endpoints everywhere")
        seen.setdefault(relation.key, relation.index)


def _limits(run: Verification, joined: list[Joined]) -> None:
    uses: Counter[tuple[str, str]] = Counter()
    for relation in joined:
        for name, endpoint in zip(relation.applications, relation.endpoints, strict=True):
            uses[name, endpoint.name] += 1
            if endpoint.limit and uses[name, endpoint.name] == endpoint.limit + 1:
                message = (
                    f"{name}:{endpoint.name} takes {endpoint.limit} relation(s), this is more"
                )
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
        name for relation in joined if relation.is_container for name in relation.applications
    }
    mentioned = {end.partition(":")[0] for ends in run.bundle.relations for end in ends}
    for name, charm in run.charms.items():
        unsure = charm.partial and name in mentioned
        if charm.subordinate and name not in hosted and not unsure:
            message = f"{name} is a subordinate without a relation to a principal: it has no units"
            ends = [end.name for end in charm.endpoints.values() if end.scope == "container"]
            remedy = f"relate {name}:{ends[0]} to a principal" if ends else "relate it"
            run.warning("V13", ("applications", name), message, remedy)


def _needed(run: Verification, joined: list[Joined]) -> None:
    joined_ends = {
        (name, endpoint.name)
        for relation in joined
        for name, endpoint in zip(relation.applications, relation.endpoints, strict=True)
    }
    for ends in run.bundle.relations:
        joined_ends |= {parts for parts in map(find_end, ends) if parts}
    for name, charm in run.charms.items():
        for endpoint in charm.endpoints.values():
            is_needed = endpoint.role == "requires" and not endpoint.optional
            if is_needed and (name, endpoint.name) not in joined_ends:
                message = f"{name} needs a relation on {endpoint.name} ({endpoint.interface})"
                remedy = f"relate {name}:{endpoint.name}"
                run.warning("relation", ("applications", name), message, remedy)
