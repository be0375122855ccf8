# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The repository's own bundles and overlays: nothing outside the facts, no error on any Juju."""

from itertools import combinations
from pathlib import Path

import pytest

from rehearsal.bundle import check, load, plan
from rehearsal.bundle.charms import find_charms
from rehearsal.bundle.findings import Findings
from rehearsal.maas.inventory import default_inventory

ROOT = Path(__file__).parents[2]
BUNDLES = sorted((ROOT / "bundles").glob("*.yaml"))
FIRST, LAST = "site-", "keystone-external"
"""Overlays that others build on; those that take out what others set, and so go last."""

OVERLAYS = sorted(
    (ROOT / "overlays").glob("*.yaml"),
    key=lambda path: (path.stem.startswith(LAST), not path.stem.startswith(FIRST), path.stem),
)
REFERENCE = ROOT / "bundles" / "charmed-kubernetes.yaml"
CHOICES = [chosen for size in range(len(OVERLAYS) + 1) for chosen in combinations(OVERLAYS, size)]
SILENT = {"V6", "base"}
"""Warnings that stay: charms not packed yet, and facts older than the base (calico, partial)."""


@pytest.mark.parametrize("juju", ["3.6", "4.0"])
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_bundle_alone_is_without_fault(bundle: Path, juju):
    found = check(bundle, juju=juju)
    assert [finding for finding in found if finding.severity == "error"] == []
    assert {finding.rule for finding in found} <= SILENT


@pytest.mark.parametrize("juju", ["3.6", "4.0"])
@pytest.mark.parametrize("overlays", CHOICES, ids=lambda paths: "+".join(p.stem for p in paths))
def test_the_reference_with_any_overlays_fits_the_site(overlays: tuple[Path, ...], juju):
    found = check(REFERENCE, overlays, juju=juju, inventory=default_inventory())
    assert [finding for finding in found if finding.severity == "error"] == []


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_every_charm_is_ours_or_has_facts(bundle: Path):
    loaded = load(bundle).bundle
    assert loaded is not None
    known = find_charms(loaded, "3.6", Findings())
    assert set(loaded.applications) == set(known)
    for application in loaded.applications.values():
        charm = known[application.name]
        assert set(application.options) <= set(charm.options)


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_what_scales_has_no_placement_and_every_relation_both_endpoints(bundle: Path):
    loaded = load(bundle).bundle
    assert loaded is not None
    assert loaded.default_base
    assert all(":" in end for relation in loaded.relations for end in relation)
    for unit in plan(loaded).units:
        tags = loaded.applications[unit.application].constraints
        assert bool(unit.directive) != tags.startswith("tags=")
