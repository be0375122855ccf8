# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What facts say of a charm beyond its metadata: what blocks it, what does not go with it. Pure.

Sections of a file of ``rehearsal/data/charms``, all of them optional::

    retired:
      endpoints: {ceph-client: what to write instead}
      options: {enable-nvidia-plugin: what to write instead}   # all but the default blocks
    unsuited:
    - option: allow-privileged
      values: ['false']            # or the YAML that its text holds: holds:, unless:
      beside: [ceph-csi]           # charms, where needed with options: when: {mode: l2}
      same: cluster                # or machine
      why: what becomes of it
      write: what to write instead
    networks:
    - {option: cidr, what: the pod network, unless: {manage-pools: 'false'}}
    instead: what to use where Juju refuses the charm
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Unsuited:
    """Values of an option under which other charms cannot work.

    Attributes:
        option: The option; where it is not set, its default counts.
        values: The values, in small letters; none where its text is YAML.
        holds: What its YAML has in it then.
        unless: What, beside that, makes it right.
        beside: Charms that cannot work.
        when: Their options, for this to be so.
        same: Where they must be to meet: in one `cluster`, or on one `machine`.
        why: What becomes of it.
        write: What to write instead.
    """

    option: str
    values: tuple[str, ...]
    holds: Mapping[str, Any]
    unless: Mapping[str, Any]
    beside: tuple[str, ...]
    when: Mapping[str, str]
    same: str
    why: str
    write: str


@dataclass(frozen=True, slots=True)
class Network:
    """An option that holds networks of the cluster, unless other options have the values named."""

    option: str
    what: str
    unless: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Advice:
    """All of it for one charm; `retired` are endpoints and options, with what to write instead."""

    retired_endpoints: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    retired_options: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    unsuited: tuple[Unsuited, ...] = ()
    networks: tuple[Network, ...] = ()
    instead: str = ""


def advice_from(facts: Mapping[str, Any]) -> Advice:
    """Return what a file of facts says; what is not there says nothing."""
    retired = _map(facts.get("retired"))
    return Advice(
        _texts(retired.get("endpoints")),
        _texts(retired.get("options")),
        tuple(map(_unsuited, _maps(facts.get("unsuited")))),
        tuple(
            Network(str(one.get("option")), str(one.get("what")), _texts(one.get("unless")))
            for one in _maps(facts.get("networks"))
        ),
        str(facts.get("instead") or ""),
    )


def _unsuited(one: Mapping[str, Any]) -> Unsuited:
    return Unsuited(
        option=str(one.get("option")),
        values=_names(one.get("values")),
        holds=_map(one.get("holds")),
        unless=_map(one.get("unless")),
        beside=_names(one.get("beside")),
        when=_texts(one.get("when")),
        same=str(one.get("same")),
        why=str(one.get("why")),
        write=str(one.get("write")),
    )


def _map(value: Any) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def _maps(value: Any) -> list[dict[str, Any]]:
    return [_map(one) for one in value] if isinstance(value, list) else []


def _texts(value: Any) -> dict[str, str]:
    return {key: str(item) for key, item in _map(value).items()}


def _names(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
