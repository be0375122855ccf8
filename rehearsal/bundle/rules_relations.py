# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules on relations: V12 on the text, V14 and V15 with the charms, limits, scopes, bases. Pure.

Source: facts on bundles V12 to V15; two subordinates in container scope measured on 4.0.15.
"""

from dataclasses import dataclass

from rehearsal.bundle.findings import Path
from rehearsal.bundle.names import find_end
from rehearsal.bundle.verification import Verification, closest, last_overlay, near
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
    if _is_unreadable(run, name):
        return
    in_bundle = name in run.bundle.applications or name in run.bundle.undefined
    if not in_bundle and name not in run.bundle.saas:
        message = f"{end} refers to an application that is not in the bundle"
        taken = run.bundle.removed.get(name)
        message += f": an overlay takes it out ({taken})" if taken else ""
        run.error("V12", path, message, _of_what_is_not_there(run, path, name))
    if in_bundle and name in run.bundle.saas:
        message = f"{name} is an application and a saas"
        run.error("V12", path, message, "rename one of them")


def _of_what_is_not_there(run: Verification, path: Path, name: str) -> str:
    """Return what to do about a relation with an application that is not in the bundle."""
    taken = run.bundle.removed.get(name)
    if taken is not None:
        return last_overlay(taken, run.bundle.at(path))
    close = closest(name, [*run.bundle.applications, *run.bundle.saas])
    return f"did you mean {close}?" if close else "add the application, or delete the line"


def _is_unreadable(run: Verification, name: str) -> bool:
    """Return whether the application's own lines are the fault, which is reported there."""
    lost = {("applications",), ("applications", name), ("saas",), ("saas", name)}
    has_none = not run.bundle.applications and not run.bundle.undefined
    return has_none or bool(lost & run.bundle.faulty)


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
    remedy_from = [*(charm.endpoints.keys() - charm.advice.retired_endpoints.keys()), "juju-info"]
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
    if run.juju == "4.0" and not any(charm.subordinate for charm in charms):
        pairs = _of_principals(pairs) or pairs
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
    return [(one, other) for one in first for other in second if _fit(one, other)]


def _of_principals(pairs: list[tuple[Endpoint, Endpoint]]) -> list[tuple[Endpoint, Endpoint]]:
    """Return the pairs in global scope: between principals, Juju 4.0 looks at no others.

    Source: domain/relation/state, inferEndpoints.
    """
    return [pair for pair in pairs if all(end.scope != "container" for end in pair)]


def _fit(one: Endpoint, other: Endpoint) -> bool:
    """Return whether two endpoints can be related: a provides and a requires of one interface."""
    is_pair = {one.role, other.role} == {"provides", "requires"}
    return is_pair and one.interface == other.interface


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
