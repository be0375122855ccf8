# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What accounts did against what they may: the audit log of a real server and a charm's grant."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from charmkit.account import Grant, Rule

OWN_ROLE = Rule(("clusterroles",), ("get", "delete"), "rbac.authorization.k8s.io")
"""What `charmkit.account` grants every account on the role of its own name."""

READS = ("get", "list", "watch")

NOBODY = "NOBODY"
"""In a table: a verb that no test used and for which no code path is named."""

TABLES = pytest.StashKey[dict[str, str]]()
"""Tables of the session by application, printed at its end."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the audit log has it.

    Attributes:
        resource: As roles spell it, with its group: `pods/eviction`, `daemonsets.apps`.
        agent: The client's name.
    """

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    agent: str


@dataclass(frozen=True, slots=True)
class Granted:
    """One verb on one resource that a rule of a grant gives; a namespace where it ends there."""

    verb: str
    resource: str
    namespace: str
    names: tuple[str, ...]

    def covers(self, request: Request) -> bool:
        """Return whether it allows a request. A create in an apply carries no name in a role."""
        if (self.verb, self.resource) != (request.verb, request.resource):
            return False
        if self.namespace and self.namespace != request.namespace:
            return False
        return not self.names or request.name in self.names

    def __str__(self) -> str:
        place = f" in {self.namespace}" if self.namespace else ""
        only = f" {'/'.join(self.names)}" if self.names else ""
        return f"{self.verb} {self.resource}{only}{place}"


def read_audit(path: Path) -> list[Request]:
    """Return the requests on resources, in order; a line that is not whole yet is left out."""
    found: list[Request] = []
    for line in path.read_text().splitlines():
        if line.endswith("}"):
            found += _requests(json.loads(line))
    return found


def granted(application: str, grant: Grant, namespace: str) -> list[Granted]:
    """Return what an application's account may do, one entry for each verb and resource."""
    own = Rule(OWN_ROLE.resources, OWN_ROLE.verbs, OWN_ROLE.group, (application,))
    found = [entry for rule in (*grant.cluster, own) for entry in _entries(rule, "")]
    return found + [entry for rule in grant.namespaced for entry in _entries(rule, namespace)]


def unlawful(requests: Iterable[Request], may: Sequence[Granted]) -> list[Request]:
    """Return the requests that no rule covers, whether or not the server refused them."""
    return [r for r in requests if not any(entry.covers(r) for entry in may)]


def count_uses(requests: Iterable[Request], may: Sequence[Granted]) -> Mapping[Granted, int]:
    """Return how often each entry was used.

    An apply that made its object used the verb create, too: the log has it as a patch with 201.
    """
    uses: Counter[Granted] = Counter(dict.fromkeys(may, 0))
    for request in requests:
        verbs = {request.verb, *(["create"] if (request.verb, request.code) == MADE else [])}
        for entry in may:
            if any(entry.covers(_with_verb(request, verb)) for verb in verbs):
                uses[entry] += 1
    return uses


MADE = ("patch", 201)


def table(uses: Mapping[Granted, int], reasons: Mapping[str, str]) -> str:
    """Return granted against used as a table; what was not used has the path that needs it."""
    lines = ["| granted | used | needed by |", "|---|---|---|"]
    for entry, count in uses.items():
        reason = "" if count else reasons.get(f"{entry.verb} {entry.resource}", NOBODY)
        lines.append(f"| {entry} | {count} | {reason} |")
    return "\n".join(lines)


def _entries(rule: Rule, namespace: str) -> list[Granted]:
    suffix = f".{rule.group}" if rule.group else ""
    spelled = [_spell(resource, suffix) for resource in rule.resources]
    return [
        Granted(verb, resource, namespace, rule.names)
        for resource in spelled
        for verb in rule.verbs
    ]


def _spell(resource: str, suffix: str) -> str:
    plural, slash, subresource = resource.partition("/")
    return f"{plural}{suffix}{slash}{subresource}"


def _requests(event: dict[str, object]) -> list[Request]:
    reference = event.get("objectRef")
    user, status = event.get("user"), event.get("responseStatus")
    if not isinstance(reference, dict) or not isinstance(user, dict):
        return []
    group, plural = reference.get("apiGroup", ""), reference.get("resource", "")
    resource = f"{plural}.{group}" if group else plural
    if reference.get("subresource"):
        resource = f"{resource}/{reference['subresource']}"
    code = status.get("code", 0) if isinstance(status, dict) else 0
    return [
        Request(
            user.get("username", ""),  # Nobody whom the server knows has none.
            str(event["verb"]),
            resource,
            reference.get("namespace", ""),
            reference.get("name", ""),
            code,
            str(event.get("userAgent", "")),
        )
    ]


def _with_verb(request: Request, verb: str) -> Request:
    return Request(
        request.user,
        verb,
        request.resource,
        request.namespace,
        request.name,
        request.code,
        request.agent,
    )


def put_last(items: list[pytest.Item], module: str) -> None:
    """Let the tests of a module run after all others, whose requests they look at."""
    items.sort(key=lambda item: module in item.nodeid)


def print_tables(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the tables of the session."""
    for application, text in config.stash.get(TABLES, {}).items():
        reporter.section(f"granted and used: {application}", sep="-")
        reporter.write_line(text)
