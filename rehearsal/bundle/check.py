# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""``rehearse check``: every fault of a bundle that can be found without a controller, at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rehearsal.bundle import (
    rules_advice,
    rules_annotations,
    rules_bundle,
    rules_charms,
    rules_doubtful,
    rules_joined,
    rules_neighbours,
    rules_options,
    rules_pools,
    rules_relations,
    rules_remote,
    rules_site,
    rules_skew,
    rules_storage,
    rules_units,
)
from rehearsal.bundle.charms import find_charms
from rehearsal.bundle.consequences import without_consequences
from rehearsal.bundle.findings import Finding, Findings, escaped, in_file_order
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.loading import Loaded, load
from rehearsal.bundle.model import Bundle
from rehearsal.bundle.neighbours import find_neighbours
from rehearsal.bundle.verification import Verification
from rehearsal.facts import CharmFacts
from rehearsal.maas.machines import Inventory

_TEXT_RULES = (
    rules_bundle.verify_kind,
    rules_bundle.verify_bases,
    rules_bundle.verify_saas,
    rules_bundle.verify_machines,
    rules_bundle.verify_applications,
    rules_units.verify_units,
    rules_relations.verify_relation_texts,
)
_CHARM_RULES = (
    rules_charms.verify_subordinates,
    rules_charms.verify_supported_bases,
    rules_charms.verify_constraints,
    rules_doubtful.verify_doubtful,
    rules_storage.verify_storage,
    rules_charms.verify_bindings,
    rules_annotations.verify_annotations,
    rules_charms.verify_resources,
    rules_charms.verify_trust,
    rules_advice.verify_assumed,
    rules_options.verify_options,
    rules_remote.verify_offers,
    rules_remote.verify_exposed,
)


def check(
    path: Path,
    overlays: Sequence[Path] = (),
    *,
    juju: JujuVersion = "3.6",
    inventory: Inventory | None = None,
    facts: Path | None = None,
) -> list[Finding]:
    """Return all findings on a bundle with its overlays, in file order; never raises for its text.

    Args:
        path: The bundle: file, folder or zip.
        overlays: As ``--overlay`` names them, in order.
        juju: Whose rules apply.
        inventory: Machines and spaces of the site; without one, what a new controller has.
        facts: Folder of facts on Charmhub charms instead of the repository's own.
    """
    return check_loaded(load(path, overlays, juju=juju), juju, inventory=inventory, facts=facts)


def check_loaded(
    loaded: Loaded,
    juju: JujuVersion,
    *,
    inventory: Inventory | None = None,
    facts: Path | None = None,
    deployed: Mapping[str, CharmFacts] | None = None,
) -> list[Finding]:
    """Return all findings on a bundle that is loaded already.

    Args:
        loaded: The bundle.
        juju: Whose rules apply.
        inventory: As for `check`.
        facts: As for `check`.
        deployed: Charms of the applications that the model has: the files are not looked at, and
            whether the machines suffice is left to the deploy.
    """
    findings = Findings(list(loaded.findings))
    if loaded.bundle is not None:
        findings.found += verify(
            loaded.bundle, juju, inventory=inventory, facts=facts, deployed=deployed
        )
    if loaded.base is not None:
        alone = _TEXT_RULES if loaded.has_overlays else ()
        findings.found += _base_alone(loaded.base, juju, findings.found, deployed, alone)
    found = without_consequences(findings.found)
    return [escaped(finding) for finding in in_file_order(found, loaded.files)]


def verify(
    bundle: Bundle,
    juju: JujuVersion,
    *,
    inventory: Inventory | None = None,
    facts: Path | None = None,
    deployed: Mapping[str, CharmFacts] | None = None,
) -> list[Finding]:
    """Return the findings on a merged bundle, in no order."""
    findings = Findings()
    charms = find_charms(bundle, juju, findings, facts, deployed)
    run = Verification(bundle, juju, charms, inventory, findings)
    for rule in (*_TEXT_RULES, *_CHARM_RULES):
        rule(run)
    joined = rules_relations.join_relations(run)
    rules_joined.verify_joined(run, joined)
    rules_skew.verify_skew(run, joined)
    rules_advice.verify_retired(run, joined)
    neighbours = find_neighbours(run, joined)
    rules_neighbours.verify_unsuited(run, neighbours)
    rules_pools.verify_pools(run, neighbours)
    if inventory is not None and not deployed and not findings.has_errors():
        rules_site.verify_fit(run, inventory)
    return [_unheeded(finding, deployed or {}) for finding in findings.found]


_OF_THE_CHARM = frozenset(
    ("V7", "V9", "V13", "V16", "V17", "arch", "assumes", "base", "space", "trust")
)
"""Rules on what Juju looks at when it deploys an application, and not when it is there."""


def _unheeded(finding: Finding, deployed: Mapping[str, CharmFacts]) -> Finding:
    """Return a finding as it counts for an application that the model has already."""
    section, _, rest = finding.path.partition(".")
    is_there = section == "applications" and rest.partition(".")[0] in deployed
    if not is_there or finding.severity == "warning" or finding.rule not in _OF_THE_CHARM:
        return finding
    message = f"{finding.message} (the application is deployed: Juju does not look)"
    return replace(finding, severity="warning", message=message)


def _base_alone(
    base: Bundle,
    juju: JujuVersion,
    known: Sequence[Finding],
    deployed: Mapping[str, CharmFacts] | None,
    rules: Sequence[Callable[[Verification], None]],
) -> list[Finding]:
    """Return what Juju refuses before it reads an overlay.

    Source: measured on 4.0.15: an overlay cannot supply a missing charm, machine or application;
    cmd/juju/application/bundle, verifyBaseBundle.
    """
    findings = Findings()
    if rules:
        find_charms(base, juju, findings, None, deployed)
    run = Verification(base, juju, {}, None, findings)
    for rule in (*rules, rules_bundle.verify_base_document):
        rule(run)
    at = {(finding.rule, finding.path) for finding in known if finding.severity == "error"}
    return [
        Finding(
            "error",
            finding.rule,
            finding.path,
            f"{finding.message} (the base file alone: Juju verifies it before the overlays)",
            finding.remedy,
            finding.position,
        )
        for finding in findings.found
        if finding.severity == "error" and (finding.rule, finding.path) not in at
    ]
