# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""``series``, the word of Juju 3.6 for a base, of the bundle, its applications and machines. Pure.

Juju 4.0 does not know the key. To 3.6 it is the base where none is written, and is passed over
where one is: that the two differ is told only beside another error.

Source: the client code of 3.6.11: cmd/juju/application/bundle, verifyBundle; core/bundle/changes,
computeBase; core/base, GetBaseFromSeries and supported.go.
"""

import re
from typing import Any

from rehearsal.bundle.findings import Path
from rehearsal.bundle.merge import Merged
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import find_base

_UBUNTU = {
    "precise": "12.04", "quantal": "12.10", "raring": "13.04", "saucy": "13.10", "trusty": "14.04",
    "utopic": "14.10", "vivid": "15.04", "wily": "15.10", "xenial": "16.04", "yakkety": "16.10",
    "zesty": "17.04", "artful": "17.10", "bionic": "18.04", "cosmic": "18.10", "disco": "19.04",
    "eoan": "19.10", "focal": "20.04", "groovy": "20.10", "hirsute": "21.04", "impish": "21.10",
    "jammy": "22.04", "kinetic": "22.10", "lunar": "23.04", "mantic": "23.10", "noble": "24.04",
    "oracular": "24.10", "plucky": "25.04", "questing": "25.10", "resolute": "26.04",
}  # fmt: skip
_OTHERS = {
    "centos7": "centos@7",
    "centos9": "centos@9",
    "genericlinux": "genericlinux@genericlinux",
    "kubernetes": "kubernetes@kubernetes",
}
_NAME = re.compile(r"[a-z]+[a-z0-9]*")
_BASES = {**{name: f"ubuntu@{release}" for name, release in _UBUNTU.items()}, **_OTHERS}


def resolve_series(merged: Merged) -> None:
    """Put the base of a series where none is written; report a series that 3.6 refuses."""
    _entry(merged, (), merged.data, "default-base")
    for section in ("applications", "machines"):
        for name, body in (merged.data.get(section) or {}).items():
            if body:
                _entry(merged, (section, name), body, "base")


def has_base_of_series(bundle: Bundle, application: Application) -> bool:
    """Return whether a base was a series: such bundles are old, and so are their channels."""
    above = ("applications", application.name) if application.base else ()
    base = bundle.positions.get((*above, "base" if above else "default-base"))
    return base is not None and bundle.positions.get((*above, "series")) == base


def _entry(merged: Merged, path: Path, body: dict[str, Any], key: str) -> None:
    series, written = body.get("series") or "", body.get(key) or ""
    if not series:
        return
    here = (*path, "series")
    named, base = _BASES.get(series, ""), find_base(written)
    if not named and not (written and _NAME.fullmatch(series)):
        message, remedy = f'there is no series "{series}"', f"write {key}: ubuntu@24.04"
        merged.findings.error("V3", here, message, remedy, merged.at(here))
    elif base is not None and base.short.lower() != named:
        message = f"series {series} is passed over: {key} says {written}"
        merged.findings.warning("V3", here, message, "delete series:", merged.at(here))
    elif not written and series in _UBUNTU:
        body[key] = named
        merged.positions.put((*path, key), merged.at(here))
