# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Projects of Keystone, which of them are served, and what their namespaces are called. Pure."""

import re
from dataclasses import dataclass, field
from enum import Enum

from policywords import find_variable

_ID = re.compile(r"[0-9a-f]{32}")
_SLUG = re.compile(r"[^a-z0-9]+")
_TEMPLATE_KEYS = ("name", "id", "id8", "domain")
LONGEST_NAMESPACE = 63
RESERVED = ("default", "kube-", "openshift-", "metallb-system", "gpu-pools")
"""Namespaces, or their beginnings, that no project gets."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project as Keystone has it.

    Attributes:
        id: As Keystone made it.
        name: Free text, unique within the domain.
        domain: Name of the domain.
        enabled: A project that is not gives nobody a token.
        tags: See `quota.parse_tags`.
        limits: Its unified limits of the service `kubernetes`, by resource.
        defaults: Those of every project.
    """

    id: str
    name: str
    domain: str
    enabled: bool = True
    tags: frozenset[str] = frozenset()
    limits: tuple[tuple[str, int], ...] = ()
    defaults: tuple[tuple[str, int], ...] = ()


class Choice(Enum):
    """By what projects are chosen."""

    TAG = "tag"
    DOMAIN = "domain"
    IDS = "ids"


@dataclass(frozen=True, slots=True)
class Selector:
    """Which projects are served."""

    choice: Choice
    values: tuple[str, ...]
    excluded: frozenset[str] = field(default_factory=frozenset[str])

    def takes(self, project: Project) -> bool:
        """Say whether a project is served."""
        if project.id in self.excluded:
            return False
        match self.choice:
            case Choice.TAG:
                return self.values[0] in project.tags
            case Choice.DOMAIN:
                return project.domain == self.values[0]
            case Choice.IDS:
                return project.id in self.values


def parse_selector(text: str) -> Selector:
    """Return which projects an option chooses: `tag=k8s`, `domain=campus` or `ids=ID ID`.

    Raises:
        ValueError: It is none of them, an id is none, or a template was not filled in.
    """
    left_over = find_variable(text)
    if left_over:
        raise ValueError(f"contains unrendered {left_over[:40]}")
    word, _, value = (part.strip() for part in text.partition("="))
    values = tuple(re.split(r"[ ,]+", value)) if word == Choice.IDS.value else (value,)
    if word not in [choice.value for choice in Choice] or not all(values):
        raise ValueError(f"'{text[:40]}' chooses no projects, as in tag=k8s or domain=campus")
    if word == Choice.TAG.value and re.search("[,/]", value):
        raise ValueError(f"'{value[:40]}': a tag of Keystone has no comma and no slash")
    if word == Choice.IDS.value:
        values = parse_ids(value)
    return Selector(Choice(word), values)


def parse_ids(text: str) -> tuple[str, ...]:
    """Return ids of projects, separated by spaces, commas or line ends.

    Raises:
        ValueError: An item is a name, or no id.
    """
    items = tuple(item for item in re.split(r"[\s,]+", text) if item)
    for item in items:
        if not _ID.fullmatch(item):
            raise ValueError(
                f"'{item[:32]}' is no id but a name; openstack project show -f value -c id NAME"
            )
    return items


def check_template(template: str) -> str:
    """Return a template of namespaces that keeps two projects apart.

    Raises:
        ValueError: It has unknown keys, no part of the id, or makes no name.
    """
    keys = re.findall(r"{([^{}]*)}", template)
    unknown = [key for key in keys if key not in _TEMPLATE_KEYS]
    if unknown or "{" in re.sub(r"{[^{}]*}", "", template):
        raise ValueError(
            f"'{template[:40]}': only {{name}}, {{domain}}, {{id}}, {{id8}} are filled in"
        )
    if not {"id", "id8"} & set(keys):
        raise ValueError(f"'{template[:40]}' needs {{id8}} or {{id}}: names of projects change")
    rest = re.sub(r"{[^{}]*}", "a", template)
    if not re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", rest) or len(rest) > 40:
        raise ValueError(f"'{template[:40]}' makes no name of a namespace (a-z, 0-9, -)")
    if is_reserved(rest):
        raise ValueError(f"'{template[:40]}' makes names that are the cluster's own")
    return template


def namespace_name(template: str, project: Project) -> str:
    """Return what a project's namespace is called when it is made; later it keeps its name."""
    values = {
        "name": slug(project.name) or "project",
        "domain": slug(project.domain) or "domain",
        "id": project.id,
        "id8": project.id[:8],
    }
    room = LONGEST_NAMESPACE - len(_fill(template, {**values, "name": "", "domain": ""}))
    values["name"] = values["name"][
        : max(room - len(values["domain"]) * ("{domain}" in template), 8)
    ]
    filled = _fill(template, values)
    if len(filled) > LONGEST_NAMESPACE:
        filled = f"p-{slug(project.id)[:60]}"
    name = re.sub("-{2,}", "-", filled).strip("-")
    return name if name[:1].isalpha() else f"p-{name}"[:LONGEST_NAMESPACE].rstrip("-")


def is_reserved(name: str) -> bool:
    """Say whether a namespace is the cluster's own."""
    return any(name == one or (one.endswith("-") and name.startswith(one)) for one in RESERVED)


def slug(text: str) -> str:
    """Return free text as a part of a name: lower case, digits and single hyphens."""
    return _SLUG.sub("-", text.lower()).strip("-")


def _fill(template: str, values: dict[str, str]) -> str:
    return re.sub(r"{([^{}]*)}", lambda found: values[found[1]], template)
