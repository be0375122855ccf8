# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Single changes of a deploy in Juju's words. Pure.

Source: the exact output of dry runs on Juju 4.0.15 (texts/dryrun-full.txt, bundles.jsonl).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rehearsal.bundle.model import Application, Exposed, Offer

ChangeKind = Literal[
    "upload", "deploy", "upgrade", "options", "constraints", "expose", "annotate", "machine",
    "consume", "offer", "grant", "relation", "container", "unit",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """One step; `subject` names the application, machine, saas, offer or unit it is about.

    `failure` is why the controller refuses it half-way through the deploy, empty when it does not.
    """

    kind: ChangeKind
    subject: str
    text: str
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A change with what others wait for (`gives`) and what it waits for (`needs`).

    Of the steps that name the same `once`, the first alone is taken.
    """

    change: Change
    gives: str = ""
    needs: frozenset[str] = frozenset()
    once: str = ""


def upload_details(application: Application) -> str:
    """Return what follows the base in the line of an upload: a revision hides the channel."""
    revision = application.revision
    details = f" from channel {application.channel}" if application.channel else ""
    if revision is not None and revision >= 0:
        details = f" with revision {revision}"
    arch = _arch(application)
    return details + (f" with architecture={arch}" if arch else "")


def natural(text: str) -> tuple[tuple[str, int], ...]:
    """Return a key that orders names as people do: a2 before a10.

    Source: internal/naturalsort.
    """
    parts = re.findall(r"([^0-9]*)([0-9]*)", text)
    return tuple((name, int(number[:400] or -1)) for name, number in parts if name or number)


def upload_key(application: Application, base: object) -> str:
    """Return what makes an upload another one.

    Source: bundle/changes, applicationKey: a channel that is not written is stable.
    """
    version = (application.channel or "stable", application.revision)
    return repr((application.charm, _arch(application), str(base), *version))


def _arch(application: Application) -> str:
    parts = application.constraints.split(" ")
    return next((part[5:] for part in parts if part.startswith("arch=")), "")


def application_extras(application: Application) -> Iterator[Step]:
    """Yield what follows the deploy of an application: exposure and annotations."""
    name = application.name
    for text in _exposures(application):
        yield Step(Change("expose", name, text))
    if application.annotations:
        yield Step(Change("annotate", name, f"set annotations for {name}"))


def _exposures(application: Application) -> Iterator[str]:
    if application.expose and not application.exposed:
        yield (
            f"expose all endpoints of {application.name}"
            " and allow access from CIDRs 0.0.0.0/0 and ::/0"
        )
    for endpoint in sorted(
        name for name, limits in application.exposed.items() if limits.spaces or limits.cidrs
    ):
        what = (
            f"override expose settings for endpoint {endpoint} of {application.name}"
            if endpoint
            else f"expose all endpoints of {application.name}"
        )
        yield f"{what} and allow access from {_sources(application.exposed[endpoint])}"


def _sources(exposed: Exposed) -> str:
    texts = (_listed("space", exposed.spaces), _listed("CIDR", exposed.cidrs))
    return " and ".join(text for text in texts if text)


def _listed(word: str, names: tuple[str, ...]) -> str:
    if len(names) <= 1:
        return f"{word} {names[0]}" if names else ""
    return f"{word}s {', '.join(names[:-1])} and {names[-1]}"


def offer_text(application: Application, name: str, offer: Offer) -> str:
    """Return how an offer is named in its line."""
    return f"offer {name} using {application.name}:{','.join(offer.endpoints)}"


def grants(name: str, offer: Offer) -> Iterator[Step]:
    """Yield what an offer's access list asks for, by user."""
    for user, access in sorted(offer.acl.items()):
        yield Step(Change("grant", name, f"grant user {user} {access} access to offer {name}"))
