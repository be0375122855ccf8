# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The objects of all projects, rendered from our templates. Pure but for reading the templates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charmkit.errors import CharmkitError, ConfigError
from charmkit.manifests import render
from identity import Naming
from projects import Project
from quota import Quota, find_closed, find_unknown, merge, parse_limits, parse_tags, shut
from rolemap import OWN, RoleMap
from spaces import DOMAIN, NAME, ORPHANED, PROJECT, Space, State

_TEMPLATES = Path(__file__).parent / "templates"
_SAID = ("requests.cpu", "requests.memory", "limits.cpu", "limits.memory")

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """What is the same for every project.

    Attributes:
        application: Name of ours, and of every object.
        naming: How groups are called.
        roles: Which role is which.
        hard: A quota is kept; otherwise somebody else keeps one.
        default_quota: What every project has at least, where it says nothing else.
        container_defaults: What a container asks for that says nothing; it is held to that only
            where the quota counts limits, which takes no container without one.
        isolate: Pods are reached from their own namespace only.
        pod_security: Level of the Pod Security Standards.
    """

    application: str
    naming: Naming
    roles: RoleMap
    hard: bool
    default_quota: Quota
    container_defaults: Quota
    isolate: bool
    pod_security: str


def render_all(
    rules: Rules, spaces: Sequence[Space], offered: Iterable[str]
) -> tuple[list[Object], list[CharmkitError]]:
    """Return every object in the order of creation, and what is wrong with single projects.

    Args:
        rules: What is the same for all.
        spaces: The namespaces.
        offered: Resources of NVIDIA that nodes offer.
    """
    problems: list[CharmkitError] = []
    resources = tuple(offered)
    unknown = find_unknown(rules.default_quota, resources) if rules.hard else ""
    if unknown:
        problems.append(ConfigError("default-quota", unknown))
    rows = [_row(rules, space, resources, problems) for space in spaces]
    values = {
        "application": rules.application,
        "own_roles": OWN,
        "spaces": rows,
        "isolate": rules.isolate,
        "pod_security": rules.pod_security,
        "defaults": _plain(rules.container_defaults),
    }
    return render(_TEMPLATES, "projects.yaml.j2", values), problems


def quota_of(rules: Rules, project: Project, offered: Sequence[str]) -> tuple[Quota, list[str]]:
    """Return what a project is given, and what is wrong with it.

    The option comes first, then limits of all, its tags, its own limits; what is wrong of them
    gives nothing, and the rest holds.
    """
    layers = (
        parse_limits(dict(project.defaults)),
        parse_tags(project.tags),
        parse_limits(dict(project.limits)),
    )
    own = merge(*(quota for quota, _ in layers))
    wrong = [text for _, texts in layers for text in texts]
    unknown = find_unknown(own, offered)
    return merge(rules.default_quota, own), [*wrong, *([unknown] if unknown else [])]


def _row(
    rules: Rules, space: Space, offered: Sequence[str], problems: list[CharmkitError]
) -> Object:
    project, is_open = space.project, space.state is State.OPEN
    quota, wrong = quota_of(rules, project, offered)
    if is_open and rules.hard:
        problems += [ConfigError(f"project {project.name[:24]}", text) for text in wrong]
    closed = find_closed(quota, offered)
    if not is_open:
        quota = shut({**quota, **closed})
    return {
        "name": space.name,
        "labels": {PROJECT: project.id, **({ORPHANED: space.since} if space.since else {})},
        "annotations": {NAME: project.name, DOMAIN: project.domain},
        "quota": quota if rules.hard and quota else {},
        "closed": closed if rules.hard and is_open else {},
        "ceilings": _ceilings(rules.container_defaults, quota if rules.hard else {}),
        "bindings": _bindings(rules, project.id) if is_open else [],
    }


def find_bare(rules: Rules, quota: Quota) -> tuple[str, ...]:
    """Return what each container has to say, as the quota refuses it and no default fills it in.

    Source: Kubernetes 1.35, pkg/quota/v1/evaluator/core/pods.go, `validationSet`: CPU and memory,
    no other resource.
    """
    needed = [key for key in _SAID if key in quota]
    return tuple(
        key for key in needed if key.partition(".")[2] not in _plain(rules.container_defaults)
    )


def _plain(defaults: Quota) -> Quota:
    """Return defaults by the names that a LimitRange has."""
    return {key.removeprefix("requests."): value for key, value in defaults.items()}


def _ceilings(defaults: Quota, quota: Quota) -> Quota:
    """Return the limits of containers that say none: elsewhere they would refuse large requests.

    Source: Kubernetes 1.35: a request may not be above its limit, a default one included.
    """
    return {name: one for name, one in _plain(defaults).items() if f"limits.{name}" in quota}


def _bindings(rules: Rules, project_id: str) -> list[Object]:
    """Return one binding a target, whose groups are those of all roles that lead there."""
    found: dict[str, list[str]] = {}
    for role, target in sorted(rules.roles.items()):
        found.setdefault(target, []).append(rules.naming.role(project_id, role))
    return [
        {
            "name": f"{rules.application}-{target}",
            "role": f"{rules.application}-{target}" if target in OWN else target,
            "groups": groups,
        }
        for target, groups in sorted(found.items())
    ]
