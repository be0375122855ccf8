# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""``scale`` and ``placement``: the words of Kubernetes for ``num_units`` and ``to``. Pure.

Juju puts one in the other's place in each document by itself, before documents are merged.

Source: bundledata.go, normalizeData (4.0; charm v12 for 3.6); records v2-both, v2-scale,
v2-scale-neg, v2-placement.
"""

from typing import Any

from rehearsal.bundle.findings import Findings, Path
from rehearsal.bundle.schema import Decoded


def resolve_aliases(part: Decoded, findings: Findings) -> None:
    """Put the words of one document in their place; report what Juju refuses to read."""
    applications: dict[str, Any] = part.data.get("applications") or {}
    for name, body in applications.items():
        if body:
            _scale(part, findings, ("applications", name), body)
            _placement(part, findings, ("applications", name), body)


def _scale(part: Decoded, findings: Findings, path: Path, body: dict[str, Any]) -> None:
    scale, units = body.get("scale") or 0, body.get("num_units") or 0
    here, at = (*path, "scale"), part.positions.get((*path, "scale"))
    if at is None or scale == 0:
        return
    if scale < 0:
        findings.warning("V2", here, "a negative scale is ignored", "write num_units: 1", at)
    elif units > 0:
        remedy = "keep num_units for machines, scale for Kubernetes"
        findings.error("V2", here, "there are both scale and num_units", remedy, at)
    elif units == 0:
        body["num_units"] = scale
        part.positions[(*path, "num_units")] = at
    body["scale"] = None


def _placement(part: Decoded, findings: Findings, path: Path, body: dict[str, Any]) -> None:
    placement, here = body.get("placement"), (*path, "placement")
    at = part.positions.get(here)
    if not placement or at is None:
        return
    if part.data.get("bundle") != "kubernetes":
        remedy = "use to: with machines, or bundle: kubernetes"
        findings.error("V2", here, "placement is for Kubernetes alone", remedy, at)
    elif body.get("to"):
        findings.error("V2", here, "there are both placement and to", "keep one", at)
    else:
        body["to"] = [placement]
        part.positions[(*path, "to")] = part.positions[(*path, "to", 0)] = at
    body["placement"] = None
