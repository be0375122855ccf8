# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Constraints that Juju takes and that do not say what their author meant. Pure.

Sources: juju core/constraints (MiB without a unit); provider/maas/constraints.go (what MAAS does
not know is logged and ignored); MAAS: names of tags are letters, digits, ``_``, ``-`` and ``.``.
"""

import re
from collections.abc import Iterator

from rehearsal.bundle.verification import Verification, constraint_texts
from rehearsal.maas.constraints import NOT_ON_MAAS, ConstraintError, Constraints, parse

_SMALL = 1024
"""MiB below which a size without a unit is taken for a slip: 64 for 64G."""
_TAG = re.compile(r"[\w.-]+")


def verify_doubtful(run: Verification) -> None:
    """Warn of sizes without a unit, names that no tag can have, keys that MAAS does not know."""
    if run.bundle.kind == "kubernetes":
        return
    for path, text in constraint_texts(run.bundle).items():
        try:
            constraints = parse(text)
        except ConstraintError:
            continue
        for rule, message, remedy in _doubts(constraints):
            run.warning(rule, path, message, remedy)


def _doubts(constraints: Constraints) -> Iterator[tuple[str, str, str]]:
    """Yield code, message and remedy."""
    for key in ("mem", "root-disk"):
        value = constraints.values.get(key, "")
        if value.isdecimal() and 0 < int(value) < _SMALL:
            yield "V7", f"{key}={value} means {value} MiB", f"write {key}={value}G, or {value}M"
    for tag in (*constraints.tags, *constraints.not_tags):
        if not _TAG.fullmatch(tag):
            yield "maas", f'no tag of MAAS can be called "{tag}"', _named(tag)
    for key in sorted(NOT_ON_MAAS & {key for key, value in constraints.values.items() if value}):
        yield "maas", f"MAAS does not know {key}: Juju ignores it", "use tags"


def _named(tag: str) -> str:
    """Return how to write what the author may have meant."""
    bare = tag.lstrip("!~-^ ")
    if bare != tag and _TAG.fullmatch(bare):
        return f"write ^{bare} to keep off machines with the tag"
    return "join names with commas, and use letters, digits, _, - and ."
