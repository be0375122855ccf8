# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the rules work on: the bundle, its charms, the site, and where findings go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from heapq import nsmallest
from itertools import islice

from rehearsal.bundle.findings import Findings, Path, Position
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import Base, find_base
from rehearsal.facts import CharmFacts
from rehearsal.maas.machines import Inventory

POOLS = frozenset(("rootfs", "tmpfs", "loop", "lxd", "lxd-zfs", "lxd-btrfs", "maas"))
"""Storage pools that a new model has. Source: Juju's providers, common and LXD and MAAS."""

_TRUE = ("1", "t", "true")
"""What Juju takes for true, in small letters."""


@dataclass(slots=True)
class Verification:
    """One run over one bundle.

    `charms` lacks an application whose charm is unknown or cannot be read. Without an inventory
    the site is a new controller: space alpha, user admin, the pools that Juju brings.
    """

    bundle: Bundle
    juju: JujuVersion
    charms: Mapping[str, CharmFacts]
    inventory: Inventory | None = None
    findings: Findings = field(default_factory=Findings)

    def error(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Add an error at a path of the bundle."""
        self.findings.error(rule, path, message, remedy, self.bundle.at(path))

    def warning(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Add a warning at a path of the bundle."""
        self.findings.warning(rule, path, message, remedy, self.bundle.at(path))

    def missing(
        self, charm: CharmFacts, rule: str, path: Path, message: str, known: Iterable[str]
    ) -> None:
        """Report a name that a charm does not have: a warning where the facts are partial."""
        names = list(known)
        remedy = near(str(path[-1]).partition(":")[2] or str(path[-1]), names)
        if charm.partial or (rule == "V16" and "options" in charm.unlisted):
            if not names:
                remedy = f"look it up: juju info {charm.name}"
            why = f"{message}, as far as the facts go ({charm.source})"
            self.warning(rule, path, why, remedy)
        else:
            self.error(rule, path, message, remedy)

    def option(self, name: str, option: str) -> str:
        """Return an application's option as text, its default where the bundle does not set it."""
        known = self.charms[name].options.get(option)
        value = self.bundle.applications[name].options.get(option)
        if value is None and known is not None:
            value = known.default
        text = "" if value is None else str(value)
        if known is not None and known.type == "boolean":
            return "true" if text.lower() in _TRUE else "false"
        return text

    def base_of(self, application: Application) -> Base | None:
        """Return the base that Juju gives: the application's, the default, the charm's first."""
        asked = self.bundle.base_of(application)
        charm = self.charms.get(application.name)
        if asked is not None or charm is None or not charm.is_packed:
            return asked
        return next((base for base in map(find_base, charm.bases) if base), None)

    def spaces(self) -> frozenset[str]:
        """Return the spaces of the site."""
        return self.inventory.spaces if self.inventory else frozenset(("alpha",))

    def users(self) -> frozenset[str]:
        """Return the local users of the site."""
        return self.inventory.users if self.inventory else frozenset(("admin",))

    def pools(self) -> frozenset[str]:
        """Return the storage pools of the site."""
        return POOLS | (self.inventory.pools if self.inventory else frozenset[str]())


MANY_NAMES = 50
"""More names than this are not all compared: a bundle of thousands is answered in seconds, too."""


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the name that is spelt most like another, empty when none comes near."""
    names = list(islice(known, 20 * MANY_NAMES))
    if len(names) > MANY_NAMES:
        names = [other for other in names if other[:1] == name[:1] and _is_as_long(other, name)]
    close = get_close_matches(name[:200], names[:MANY_NAMES], 1, cutoff)
    return close[0] if close else ""


def _is_as_long(first: str, second: str) -> bool:
    return abs(len(first) - len(second)) <= 2


def near(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names what comes closest, else what there is."""
    names = list(known)
    close = closest(name, names)
    if close:
        return f"did you mean {close}?"
    if not names:
        return "there are none; delete the line"
    shown = ", ".join(nsmallest(12, names))
    return f"there are: {shown}{', ...' if len(names) > 12 else ''}"


def last_overlay(taken: Position, here: Position) -> str:
    """Return what to do about lines on an application that an overlay takes out.

    Args:
        taken: Where it is taken out.
        here: The lines. Those of the same file are not mended by another order.
    """
    if taken.file == here.file:
        return "delete these lines"
    return f"give {taken.file} as the last overlay, or delete these lines"


def application_path(application: Application, *steps: str | int) -> Path:
    """Return a path below an application."""
    return ("applications", application.name, *steps)


def constraint_texts(bundle: Bundle) -> dict[Path, str]:
    """Return the constraints of applications and machines, as they are written, by path."""
    texts: dict[Path, str] = {
        application_path(application, "constraints"): application.constraints
        for application in bundle.applications.values()
    }
    for name, machine in bundle.machines.items():
        texts["machines", name, "constraints"] = machine.constraints
    return texts
