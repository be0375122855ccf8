# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the rules work on: the bundle, its charms, the site, and where findings go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from rehearsal.bundle.findings import Findings, Path
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import Base, find_base
from rehearsal.facts import CharmFacts
from rehearsal.maas.machines import Inventory

POOLS = frozenset(("rootfs", "tmpfs", "loop", "lxd", "lxd-zfs", "lxd-btrfs", "maas"))
"""Storage pools that a new model has. Source: Juju's providers, common and LXD and MAAS."""


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
        remedy = near(str(path[-1]).partition(":")[2] or str(path[-1]), known)
        if charm.partial or (rule == "V16" and "options" in charm.unlisted):
            why = f"{message}, as far as the facts go ({charm.source})"
            self.warning(rule, path, why, remedy)
        else:
            self.error(rule, path, message, remedy)

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


def near(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names what comes closest, else what there is."""
    names = sorted(known)
    close = get_close_matches(name, names, 1, 0.6)
    if close:
        return f"did you mean {close[0]}?"
    if not names:
        return "there are none; delete the line"
    shown = ", ".join(names[:12])
    return f"there are: {shown}{', ...' if len(names) > 12 else ''}"


def application_path(application: Application, *steps: str | int) -> Path:
    """Return a path below an application."""
    return ("applications", application.name, *steps)
