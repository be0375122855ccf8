# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the package sources have: of each package the candidate and all builds. Pure but for one.

apt installs a package's candidate, mostly the newest build. NVIDIA's repository keeps the builds
of all branches under one name, so that a branch is to be had only by the exact version of each
package (its driver installation guide, "Version locking": `apt install NAME=VERSION*`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from charmkit.host import Host
from flavours import upstream

_APT_CACHE = "/usr/bin/apt-cache"
_PACKAGE = re.compile(r"^(\S+):\n((?: .*\n)*)", re.MULTILINE)
_CANDIDATE = re.compile(r"^  Candidate: ([^(\s]\S*)$", re.MULTILINE)
_BUILD = re.compile(r"^ (?:\*\*\*|   ) (\S+) \d+$", re.MULTILINE)
"""A row of the version table. A negative priority means that an administrator does not want it.
Source: apt 2.7, apt-cache(8), apt_preferences(5)."""


@dataclass(frozen=True, slots=True)
class Offers:
    """What can be installed.

    Attributes:
        candidates: Version that apt would take of itself, by package name.
        builds: All versions, newest first, by package name; none where there is no candidate.
    """

    candidates: Mapping[str, str]
    builds: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def find(self, name: str, version: str) -> str | None:
        """Return the build of a package that has a driver's version; apt's own choice first."""
        return next((one for one in self._list_builds(name) if upstream(one) == version), None)

    def list_versions(self, name: str) -> tuple[str, ...]:
        """Return the driver versions of a package's builds, apt's own choice first."""
        return tuple(dict.fromkeys(upstream(one) for one in self._list_builds(name)))

    def _list_builds(self, name: str) -> Iterator[str]:
        if name in self.candidates:
            yield self.candidates[name]
            yield from self.builds.get(name, ())


def read_offers(host: Host, names: Sequence[str]) -> Offers:
    """Return what apt knows of packages, by the lists that were fetched last."""
    return parse_offers(host.run([_APT_CACHE, "policy", *names])) if names else Offers({})


def parse_offers(text: str) -> Offers:
    """Return what `apt-cache policy NAMES` says; a package without a candidate is left out."""
    candidates: dict[str, str] = {}
    builds: dict[str, tuple[str, ...]] = {}
    for name, rows in _PACKAGE.findall(text):
        candidate = _CANDIDATE.search(rows)
        if candidate:
            candidates[name] = candidate[1]
            builds[name] = tuple(_BUILD.findall(rows))
    return Offers(candidates, builds)
