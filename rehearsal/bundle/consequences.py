# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One fault, one finding: what follows from a value that could not be read is left out. Pure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from rehearsal.bundle.findings import Finding

ROOTS = frozenset(("type", "unknown-key", "duplicate", "include", "yaml", "file"))
"""Rules on what the author wrote; the others are on what Juju makes of it."""
_RELATION = re.compile(r"relations\.\d+(?=\.)")
"""A relation that lacks an end, because that end is no text, has not too few by itself."""


def without_consequences(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings without those that another one explains.

    A misspelt ``num-units`` is not also an application without units. An error is never explained
    by a warning, and never by what another file holds, so the exit status stays what it was.
    """
    roots: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.explains:
            roots[finding.explains].append(finding)
            relation = _RELATION.match(finding.explains)
            if relation:
                roots[f"V12 {relation[0]}"].append(finding)
    return [finding for finding in findings if not _is_explained(finding, roots)]


def _is_explained(finding: Finding, roots: Mapping[str, Sequence[Finding]]) -> bool:
    if finding.rule in ROOTS:
        return False
    known = [*roots.get(finding.path, ()), *roots.get(f"{finding.rule} {finding.path}", ())]
    return any(
        root.position.file == finding.position.file
        and (root.severity == "error" or finding.severity == "warning")
        for root in known
    )
