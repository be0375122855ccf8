# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""metallb's pools held against the networks that the cluster's own charms make. Pure."""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rehearsal.bundle.model import Application
from rehearsal.bundle.neighbours import Neighbours
from rehearsal.bundle.poolgrammar import Pool, Span
from rehearsal.bundle.verification import Verification, application_path
from rehearsal.maas.networks import Network

_LONGEST = 1024
"""Characters of an option with networks that are read; two families have under 70."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A network of the cluster: what it is, and which option of which application says so."""

    network: Network
    what: str
    application: str
    option: str


def charms_with_networks(run: Verification) -> list[str]:
    """Return the names of the charms of a bundle that make networks of a cluster."""
    return sorted({charm.name for charm in run.charms.values() if charm.advice.networks})


def claimed_networks(
    run: Verification, neighbours: Neighbours, name: str, charms: Sequence[str]
) -> list[Claimed]:
    """Return the networks of the clusters that an application is in, with their defaults.

    Args:
        run: The bundle.
        neighbours: Who is in a cluster with whom.
        name: The application.
        charms: Those that make networks.
    """
    return [
        claimed
        for charm in charms
        for owner in neighbours.near("cluster", name, charm)
        for claimed in _of(run, owner)
    ]


def _of(run: Verification, name: str) -> Iterator[Claimed]:
    for known in run.charms[name].advice.networks:
        if any(run.option(name, option) == value for option, value in known.unless.items()):
            continue
        for text in re.split(r"[,\s]+", run.option(name, known.option)[:_LONGEST]):
            try:
                network = ipaddress.ip_network(text, strict=False)
            except ValueError:
                continue
            yield Claimed(network, known.what, name, known.option)


def verify_claimed(
    run: Verification, application: Application, pools: Sequence[Pool], claims: Sequence[Claimed]
) -> None:
    """Warn of pools that hold addresses of pods or services; the charm sees not all of these."""
    path = application_path(application, "options", "address-pools")
    for pool in pools:
        for claim in claims:
            shared = next((span for span in pool.spans if _overlap(span, claim.network)), None)
            if shared is not None:
                message = (
                    f"pool {pool.name}: '{shared}' overlaps {claim.network}, {claim.what}"
                    f" ({claim.option} of {claim.application})"
                )
                remedy = f"leave that out, or give {claim.application} another {claim.option}"
                run.warning("pools", path, message, remedy)


def _overlap(span: Span, network: Network) -> bool:
    first, last = int(network[0]), int(network[-1])
    return span.family == network.version and span.first <= last and first <= span.last
