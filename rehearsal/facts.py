# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is known about a charm: endpoints, options, bases, storage.

Facts on Charmhub charms lie in ``rehearsal/data/charms``, each with its source and date;
``partial`` says that what is absent there may exist all the same.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml

from rehearsal.advice import Advice, advice_from
from rehearsal.errors import RehearsalError

Role = Literal["provides", "requires", "peers"]
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
UNLIMITED = -1
"""A storage or device count without an upper end."""


class CharmFileError(RehearsalError):
    """A charm file or folder is none that Juju takes; the message says why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint; `limit` is 0 where there is none."""

    name: str
    role: Role
    interface: str
    scope: str = "global"
    limit: int = 0
    optional: bool = True


@dataclass(frozen=True, slots=True)
class Option:
    """One option with its type and, where known, its default."""

    type: str
    default: Any = None


@dataclass(frozen=True, slots=True)
class Storage:
    """One storage with its type and how many a unit may have."""

    type: str
    least: int = 1
    most: int = 1
    smallest: float = 0
    """Least size of one, in MiB."""


@dataclass(frozen=True, slots=True)
class CharmFacts:
    """A charm as the check sees it.

    `bases` maps ``ubuntu@24.04`` to architectures, in the order of the manifest; empty when
    unknown. `source` says where the facts come from.
    """

    name: str
    subordinate: bool = False
    bases: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict[str, Any]())
    endpoints: Mapping[str, Endpoint] = field(default_factory=lambda: dict[str, Endpoint]())
    options: Mapping[str, Option] = field(default_factory=lambda: dict[str, Option]())
    resources: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    storage: Mapping[str, Storage] = field(default_factory=lambda: dict[str, Storage]())
    devices: Mapping[str, Storage] = field(default_factory=lambda: dict[str, Storage]())
    extra_bindings: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    partial: bool = False
    unlisted: tuple[str, ...] = ()
    """Sections that the facts leave out, ``options`` for one; the others are whole."""
    needs_trust: bool = False
    needs: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    """Endpoints without which the charm never becomes active, though its metadata does not say
    so; each with the option that, when true, makes it do without, or an empty text."""
    advice: Advice = field(default_factory=Advice)
    assumes: tuple[str, ...] = ()
    """Features that the model must have, ``k8s-api`` for one; of alternatives none."""
    is_packed: bool = False
    problem: str = ""
    source: str = ""

    def find_endpoint(self, name: str) -> Endpoint | None:
        """Return an endpoint; ``juju-info`` is always there."""
        if name == "juju-info" and name not in self.endpoints:
            return Endpoint("juju-info", "provides", "juju-info")
        return self.endpoints.get(name)


@lru_cache(maxsize=256)
def find_facts(name: str, folder: Path | None = None) -> CharmFacts | None:
    """Return the facts on a Charmhub charm, None when there are none."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,199}", name):
        return None
    root = folder or Path(str(resources.files("rehearsal"))) / "data" / "charms"
    path = root / f"{name}.yaml"
    if not path.is_file():
        return None
    return from_mapping(read_mapping(path.read_bytes(), path.name))


def known_names(folder: Path | None = None) -> list[str]:
    """Return the names of the Charmhub charms that there are facts on, in order.

    Args:
        folder: Folder of facts instead of the repository's own.
    """
    root = folder or Path(str(resources.files("rehearsal"))) / "data" / "charms"
    return sorted(path.stem for path in root.glob("*.yaml"))


def from_mapping(facts: Mapping[str, Any]) -> CharmFacts:
    """Return a charm from the form that the facts files have."""
    bases: dict[str, tuple[str, ...]] = {}
    for text in facts.get("bases") or ():
        base, _, arch = str(text).partition(":")
        bases[base] = (*bases.get(base, ()), arch) if arch else bases.get(base, ())
    source = facts.get("source") or {}
    return CharmFacts(
        name=str(facts.get("name", "")),
        subordinate=facts.get("subordinate") is True,
        bases=bases,
        endpoints=endpoints_of(facts),
        options=options_of(facts.get("options")),
        resources={name: str(kind) for name, kind in entries_of(facts.get("resources"))},
        storage=storage_of(facts.get("storage"), unsaid=UNLIMITED),
        extra_bindings=tuple(names_of(facts.get("extra-bindings"))),
        actions=tuple(names_of(facts.get("actions"))),
        partial=facts.get("partial") is True,
        unlisted=tuple(names_of(facts.get("unlisted"))),
        needs_trust=facts.get("needs-trust") is True,
        needs={name: str(waiver or "") for name, waiver in entries_of(facts.get("needs"))},
        advice=advice_from(facts),
        assumes=features_of(facts.get("assumes")),
        source=f"{source.get('repo', 'facts')} {source.get('date', '')}".strip(),
    )


def read_mapping(text: bytes, name: str) -> dict[str, Any]:
    """Return a YAML text as a map; an empty one is an empty map.

    Raises:
        CharmFileError: The text is no YAML map.
    """
    try:
        data = yaml.load(text, Loader=_LOADER)  # noqa: S506  (a safe loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CharmFileError(f"{name}: no YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(data, dict):
        if data is None:
            return {}
        raise CharmFileError(f"{name}: must be a map")
    return {str(key): value for key, value in data.items()}


def entries_of(value: Any) -> list[tuple[str, Any]]:
    """Return the pairs of a map; nothing for any other value."""
    return [(str(key), item) for key, item in value.items()] if isinstance(value, dict) else []


def names_of(value: Any) -> list[str]:
    """Return the texts of a list or the keys of a map."""
    if isinstance(value, list):
        return [str(item) for item in value]
    return [name for name, _ in entries_of(value)]


def features_of(value: Any) -> tuple[str, ...]:
    """Return the features that a charm's ``assumes`` asks for in any case, without versions.

    Source: juju core/assumes: a list is an ``all-of``, whose members all have to hold.
    """
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    return tuple(dict.fromkeys(text.split()[0] for text in texts if text.strip()))


def endpoints_of(metadata: Mapping[str, Any]) -> dict[str, Endpoint]:
    """Return the endpoints of a charm's metadata by name."""
    found: dict[str, Endpoint] = {}
    roles: tuple[Role, ...] = ("provides", "requires", "peers")
    for role in roles:
        for name, body in entries_of(metadata.get(role)):
            fields = body if isinstance(body, dict) else {"interface": body}
            limit = fields.get("limit")
            found[name] = Endpoint(
                name,
                role,
                str(fields.get("interface") or ""),
                str(fields.get("scope") or "global"),
                limit if isinstance(limit, int) else 0,
                fields.get("optional") is not False,
            )
    return found


def options_of(value: Any) -> dict[str, Option]:
    """Return the options of a charm's configuration by name."""
    return {
        name: Option(str(body.get("type", "string")), body.get("default"))
        for name, body in entries_of(value)
        if isinstance(body, dict)
    }


def storage_of(value: Any, *, unsaid: int = 1) -> dict[str, Storage]:
    """Return the storage of a charm's metadata by name.

    Args:
        value: The section ``storage``.
        unsaid: How many there may be where nothing is said: metadata means one, facts that they
            do not know.
    """
    found: dict[str, Storage] = {}
    for name, body in entries_of(value):
        fields = body if isinstance(body, dict) else {"type": body}
        multiple = fields.get("multiple")
        span = (1, unsaid)
        if isinstance(multiple, dict):
            span = _range(str(multiple.get("range", "1")))
        smallest = _mib(fields.get("minimum-size"))
        found[name] = Storage(str(fields.get("type", "filesystem")), *span, smallest)
    return found


def _mib(value: Any) -> float:
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([MGTPEZY]?)(?:i?B)?", str(value))
    return float(match[1]) * 1024.0 ** "MGTPEZY".index(match[2] or "M") if match else 0


def _range(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,6})(?:(\+|-)(\d{0,6}))?", text)
    if match is None:
        return 0, UNLIMITED
    least = int(match[1])
    if match[2] is None:
        return least, least
    return least, int(match[3]) if match[3] else UNLIMITED


def devices_of(value: Any) -> dict[str, Storage]:
    """Return the devices of a charm's metadata by name."""
    found: dict[str, Storage] = {}
    for name, body in entries_of(value):
        fields = body if isinstance(body, dict) else {}
        most = fields.get("countmax")
        least = fields.get("countmin")
        found[name] = Storage(
            str(fields.get("type", "")),
            least if isinstance(least, int) else 0,
            most if isinstance(most, int) else UNLIMITED,
        )
    return found
