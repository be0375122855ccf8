# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Facts on a charm as a file of ``rehearsal/data/charms``, for ``rehearse facts``. Pure."""

from typing import Any

import yaml

from rehearsal.facts import UNLIMITED, CharmFacts, Endpoint, Storage

_DEFAULT_LIMIT = 80
"""Longest default that is kept; a longer one is text of the charm, not a fact about it."""


def render_facts(charm: CharmFacts, *, repo: str, date: str, commit: str = "") -> str:
    """Return the facts on a charm as YAML that `find_facts` reads.

    Args:
        charm: Read from a packed charm or a source folder.
        repo: Where the charm comes from: a repository, or the file's name.
        date: Day on which it was read, ``2026-11-30``.
        commit: Commit of the repository, where known.
    """
    source = {"repo": repo, **({"commit": commit} if commit else {}), "date": date}
    facts: dict[str, Any] = {
        "name": charm.name,
        "subordinate": charm.subordinate,
        "bases": [
            f"{base}:{arch}" if arch else base
            for base, arches in charm.bases.items()
            for arch in arches or ("",)
        ],
        **{role: _endpoints(charm, role) for role in ("requires", "provides", "peers")},
        "options": {name: _option(charm, name) for name in charm.options},
        "actions": sorted(charm.actions),
        "resources": dict(charm.resources),
        "storage": {name: _storage(storage) for name, storage in charm.storage.items()},
        "extra-bindings": list(charm.extra_bindings),
        "assumes": list(charm.assumes),
        "source": source,
    }
    kept = {key: value for key, value in facts.items() if value not in ({}, [])}
    return yaml.safe_dump(kept, sort_keys=False, width=99, default_flow_style=None)


def _storage(storage: Storage) -> dict[str, Any]:
    most = "" if storage.most == UNLIMITED else storage.most
    return {"type": storage.type, "multiple": {"range": f"{storage.least}-{most}"}}


def _endpoints(charm: CharmFacts, role: str) -> dict[str, Any]:
    return {
        name: _endpoint(endpoint)
        for name, endpoint in charm.endpoints.items()
        if endpoint.role == role
    }


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    facts: dict[str, Any] = {"interface": endpoint.interface}
    if endpoint.scope != "global":
        facts["scope"] = endpoint.scope
    if endpoint.limit:
        facts["limit"] = endpoint.limit
    if not endpoint.optional:
        facts["optional"] = False
    return facts


def _option(charm: CharmFacts, name: str) -> dict[str, Any]:
    option = charm.options[name]
    is_short = isinstance(option.default, bool | int | float) or (
        isinstance(option.default, str) and len(option.default) <= _DEFAULT_LIMIT
    )
    return {"type": option.type, **({"default": option.default} if is_short else {})}
