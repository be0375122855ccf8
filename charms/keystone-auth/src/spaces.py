# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which namespace is whose, and in which state: from projects and what is in the cluster. Pure.

A namespace bears the id of its project as a label; that, not the name, says whose it is. So a
project that is renamed keeps its namespace, and one that was lost from sight finds it again. No
namespace is ever deleted: what a project that is disabled, deleted or no longer selected leaves
stays, closed (no role bindings, a quota under which nothing new starts).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from charmkit.errors import (
    CharmkitError,
    ConfigError,
    ConflictError,
    InterventionError,
    NotReadyError,
)
from projects import Project, is_reserved, namespace_name

PROJECT = "keystone-auth.charm/project-id"
"""Label of a namespace: whose it is."""

ORPHANED = "keystone-auth.charm/orphaned-since"
"""Label of a namespace whose project is gone: the day, as in 2026-11-30."""

NAME = "keystone-auth.charm/project-name"
DOMAIN = "keystone-auth.charm/project-domain"

MOST_LOST = 3
"""Namespaces that one pass may close without being asked; where most of all go, none does."""

Object = dict[str, Any]


class State(Enum):
    """What a project's namespace is."""

    OPEN = "open"
    DISABLED = "disabled"
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace and its project.

    Attributes:
        name: Of the namespace.
        project: Its project; where that is gone, what the namespace remembers of it.
        state: Whether anybody gets in.
        since: The day on which it lost its project; empty unless it did.
    """

    name: str
    project: Project
    state: State
    since: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Every namespace of ours, by project, and what stands in the way of some."""

    spaces: tuple[Space, ...]
    problems: tuple[CharmkitError, ...]

    def count(self, state: State) -> int:
        """Return how many are in a state."""
        return sum(space.state is state for space in self.spaces)


def arrange(
    projects: Iterable[Project],
    namespaces: Sequence[Mapping[str, Any]],
    template: str,
    *,
    today: str,
    force: bool = False,
) -> Layout:
    """Return what is to be.

    Args:
        projects: Those that are served.
        namespaces: All of the cluster.
        template: Checked by `projects.check_template`.
        today: As a label has it.
        force: Close however many namespaces lost their project.

    Raises:
        InterventionError: Most namespaces would be closed at once, which is more often a wrong
            option or a Keystone that lost sight than a decision.
    """
    chosen = {project.id: project for project in projects}
    known = _by_project(namespaces)
    _check_loss(known, chosen, force=force)
    taken = {item["metadata"]["name"]: item for item in namespaces}
    spaces: list[Space] = []
    problems: list[CharmkitError] = []
    for identifier in sorted({*chosen, *known}):
        found = known.get(identifier, [])
        try:
            space = _arrange_one(chosen.get(identifier), found, template, taken, today)
            taken.setdefault(space.name, {})
            spaces.append(space)
        except CharmkitError as error:
            problems.append(error)
    return Layout(tuple(spaces), tuple(problems))


def _arrange_one(
    project: Project | None,
    found: Sequence[Mapping[str, Any]],
    template: str,
    taken: Mapping[str, Any],
    today: str,
) -> Space:
    """Return one namespace. Raises CharmkitError: it cannot be served now."""
    if len(found) > 1:
        names = ", ".join(item["metadata"]["name"] for item in found[:2])
        raise InterventionError(f"namespaces {names}: one project's, take label {PROJECT} off one")
    if not found:
        assert project is not None
        return _begin(project, template, taken)
    metadata = found[0]["metadata"]
    name = metadata["name"]
    if metadata.get("deletionTimestamp"):
        raise NotReadyError(f"namespace {name}: waiting for it to be gone")
    if is_reserved(name):
        raise InterventionError(f"namespace {name}: the cluster's own, take label {PROJECT} off")
    if project is None:
        since = metadata.get("labels", {}).get(ORPHANED) or today
        return Space(name, _remember(metadata), State.ORPHANED, since)
    return Space(name, project, State.OPEN if project.enabled else State.DISABLED)


def _begin(project: Project, template: str, taken: Mapping[str, Any]) -> Space:
    name = namespace_name(template, project)
    if is_reserved(name):
        reason = f"'{project.name[:30]}' would get {name}, which is the cluster's own"
        raise ConfigError("namespace-template", reason)
    if name in taken:
        raise ConflictError(f"namespace {name}: exists, label it {PROJECT}={project.id} to use it")
    return Space(name, project, State.OPEN if project.enabled else State.DISABLED)


def _by_project(namespaces: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for item in namespaces:
        labels: Object = item["metadata"].get("labels") or {}
        identifier = str(labels.get(PROJECT) or "")
        if identifier:
            found.setdefault(identifier, []).append(item)
    return found


def _check_loss(
    known: Mapping[str, Sequence[Mapping[str, Any]]],
    chosen: Mapping[str, Project],
    *,
    force: bool,
) -> None:
    served = [
        identifier
        for identifier, items in known.items()
        if ORPHANED not in (items[0]["metadata"].get("labels") or {})
    ]
    lost = [identifier for identifier in served if identifier not in chosen]
    if force or not lost:
        return
    if len(lost) == len(served) > 1 or (len(lost) > MOST_LOST and len(lost) * 2 > len(served)):
        raise InterventionError(
            f"keystone: {len(lost)} of {len(served)} projects lost, nothing closed; if so meant: "
            "run sync force=true"
        )


def _remember(metadata: Mapping[str, Any]) -> Project:
    notes: Object = metadata.get("annotations") or {}
    return Project(
        id=metadata["labels"][PROJECT],
        name=notes.get(NAME, metadata["name"]),
        domain=notes.get(DOMAIN, ""),
        enabled=False,
    )
