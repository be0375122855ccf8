# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Field cases of bundles, overlays and MAAS: each an input file to the check."""

from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check, load
from rehearsal.bundle.keys import JujuVersion

CASES = Path(__file__).parent / "data" / "cases"
both = pytest.mark.parametrize("juju", ["3.6", "4.0"])


def found(name: str, juju: JujuVersion, *overlays: str) -> list[Finding]:
    return check(
        CASES / f"{name}.yaml", [CASES / "overlays" / f"{o}.yaml" for o in overlays], juju=juju
    )


def errors(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.path: finding for finding in findings if finding.severity == "error"}


@both
def test_j01_a_misspelt_endpoint_names_its_neighbour(juju: JujuVersion):
    finding = errors(found("j01", juju))["relations.0"]
    assert "no endpoint lb-consumer" in finding.message
    assert finding.remedy == "did you mean lb-consumers?"


@both
def test_j04_a_relation_that_the_wrong_charm_cannot_have_is_found(juju: JujuVersion):
    findings = found("j04", juju)
    paths = [finding.path for finding in findings if finding.rule == "V15"]
    assert paths == ["relations.0", "relations.1"]
    assert "openstack-integrator) has no endpoint kube-control" in findings[-2].message


@both
def test_j05_an_ambiguous_relation_lists_what_to_write(juju: JujuVersion):
    finding = errors(found("j05", juju))["relations.0"]
    assert "ambiguous" in finding.message
    assert (
        "[azure-integrator:lb-consumers, kubernetes-control-plane:loadbalancer-" in finding.remedy
    )


@both
def test_j07_placement_that_outlives_its_units_names_both_files(juju: JujuVersion):
    finding = errors(found("j07", juju, "j07"))
    message = finding["applications.etcd.to"].message
    assert "cases/j07.yaml:3" in message
    assert "overlays/j07.yaml:2" in message
    assert "to: []" in finding["applications.etcd.to"].remedy
    assert "machines: does not declare" in finding["applications.easyrsa.to.0"].message


@both
def test_j09_a_subordinate_has_no_units_placement_or_constraints(juju: JujuVersion):
    findings = found("j09", juju)
    wrong = errors(findings)
    for key in ("to", "constraints"):
        assert f"applications.gpu-worker.{key}" in wrong
    (units,) = [f for f in findings if f.path == "applications.gpu-worker.num_units"]
    assert units.severity == ("error" if juju == "3.6" else "warning")
    assert "its units come with the principal's" in units.message
    assert any("without a relation to a principal" in finding.message for finding in findings)


@both
def test_j10_a_charm_that_needs_trust_says_so_with_the_command(juju: JujuVersion):
    finding = errors(found("j10", juju))["applications.metallb.trust"]
    assert "metallb needs trust: true" in finding.message
    assert "--trust" in finding.remedy


@both
def test_j13_overlays_remove_relations_include_beside_themselves_and_name_options(
    juju: JujuVersion,
):
    findings = found("j13", juju, "j13")
    assert list(errors(findings)) == ["applications.keystone.options.admin_password"]
    assert errors(findings).popitem()[1].remedy == "did you mean admin-password?"
    bundle = load(CASES / "j13.yaml", [CASES / "overlays" / "j13.yaml"], juju=juju).bundle
    assert bundle is not None
    assert bundle.relations == (("etcd:db", "kubernetes-control-plane:etcd"),)
    options = bundle.applications["kubernetes-control-plane"].options
    assert options["audit-policy"] == "rules: []\n"
