# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules of the check that the records do not hold: Juju 3.6, site facts, Charmhub names, words."""

from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check, exit_status, render_json, render_text
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.words import check_words, parse_words, with_words

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
HEAD = """
default-base: ubuntu@24.04
applications:
  w: {charm: C/kubernetes-worker.charm, num_units: 1}
  n: {charm: C/nvidia-driver.charm}
  g:
    charm: C/gpu-worker.charm
"""
HOSTED = "- [n:host, w:juju-info]\n- [g:host, w:juju-info]\n"


def findings(tmp_path: Path, text: str, juju: JujuVersion = "3.6") -> list[Finding]:
    path = tmp_path / "bundle.yaml"
    path.write_text(text.replace("C/", f"{CHARMS}/"))
    return check(path, juju=juju)


def severities(found: list[Finding], rule: str) -> list[str]:
    return [finding.severity for finding in found if finding.rule == rule]


@pytest.mark.parametrize(
    ("text", "rule", "on_36", "on_40"),
    [
        (f"{HEAD}relations:\n{HOSTED}- [g:gpu-driver, n:gpu-driver]\n", "scope", [], ["error"]),
        (f"{HEAD}relations: [[g, w]]", "V14", [], []),
        (f"{HEAD}variables: {{a: 1}}", "unknown-key", ["error"], ["warning"]),
        (f"{HEAD}series: noble", "unknown-key", [], ["warning"]),
        (f"{HEAD}default-base: ubuntu@24.04", "duplicate", ["error"], ["warning"]),
        (f"{HEAD}    series: noble", "V3", [], []),
        (f"{HEAD}    series: nosuch", "V3", ["error"], []),
        (f"{HEAD}    series: jammy", "V3", [], []),
        (f"{HEAD}    series: groovy", "V3", [], []),
        (f"{HEAD}    series: Jammy\n    base: ubuntu@24.04", "V3", ["error"], []),
        (f"{HEAD}    series: nosuch\n    base: ubuntu@24.04", "V3", ["warning"], []),
        (f"{HEAD}    series: jammy\n    base: ubuntu@24.04", "V3", ["warning"], []),
        (f"{HEAD}series: jammy", "V3", ["warning"], []),
        (f"{HEAD}saas: {{x: {{url: 'a/m.o'}}}}", "V4", ["error"], []),
        (f"{HEAD}saas: {{x: {{url: 'bob@ext/m.o'}}}}", "V4", [], []),
        (f"{HEAD}    options: {{drain: null}}", "V16", [], ["error"]),
        (f"{HEAD}    options: {{busy-threshold: '0.5'}}", "V16", [], ["error"]),
        (HEAD.replace("num_units: 1", "num_units: 1, to: [kvm:new]"), "V10", [], ["error"]),
        (
            f"{HEAD}    base: ubuntu@22.04\nrelations:\n{HOSTED}",
            "base",
            ["warning"],
            ["error"],
        ),
    ],
    ids=["two subordinates", "one way to fit", "unknown key", "series", "twice", "series of one",
         "no such series", "another series", "an old series", "no series and base",
         "an unknown series and base", "series and base", "series and default-base",
         "owner of one letter", "owner from elsewhere", "null option",
         "text for a float", "kvm", "two bases"],
)  # fmt: skip
def test_the_versions_differ(
    text: str, rule: str, on_36: list[str], on_40: list[str], tmp_path: Path
):
    assert severities(findings(tmp_path, text, "3.6"), rule) == on_36
    assert severities(findings(tmp_path, text, "4.0"), rule) == on_40


def test_juju_36_prefers_named_endpoints_to_the_implicit_one(tmp_path: Path):
    text = (
        "default-base: ubuntu@24.04\napplications:\n"
        "  c: {charm: C/kubernetes-control-plane.charm, num_units: 1}\n"
        "  g: {charm: C/gpu-worker.charm}\nrelations: [[g, c]]\n"
    )
    assert severities(findings(tmp_path, text, "3.6"), "V14") == []
    assert severities(findings(tmp_path, text, "4.0"), "V14") == ["error"]


@pytest.mark.parametrize(
    ("body", "path", "severity"),
    [
        ("charm: etcd-12", "charm", "error"),
        ("charm: Etcd", "charm", "error"),
        ("charm: ~/etcd.charm", "charm", "error"),
        ("charm: 'file:///x/etcd.charm'", "charm", "error"),
        ("charm: local:etcd", "charm", "error"),
        ("charm: nosuchcharm", "charm", "warning"),
        ("charm: etcd, revision: 3", "revision", "error"),
        ("charm: etcd, revision: -3, channel: stable", "revision", "error"),
        ("charm: etcd, channel: 1.35/stabel", "channel", "error"),
        ("charm: etcd, channel: a/b/c/d", "channel", "error"),
        ("charm: etcd, channel: edge/x/y", "channel", "error"),
        ("charm: etcd, channel: !!int x", "channel", "error"),
        ("charm: etcd, options: {channel: !!binary '%'}", "options.channel", "error"),
        ("charm: etcd", "num_units", "warning"),
        ("charm: etcd, num_units: 1, bindings: {db: oam}", "bindings.db", "error"),
        ("charm: etcd, num_units: 1, bindings: {dbs: alpha}", "bindings.dbs", "warning"),
        ("charm: etcd, num_units: 1, storage: {data: 'many,1G'}", "storage.data", "error"),
        ("charm: etcd, num_units: 1, storage: {data: 'loop,1G'}", "storage.data", "warning"),
        ("charm: etcd, num_units: 1, storage: {data: '!'}", "storage.data", "error"),
        ("charm: etcd, num_units: 1, constraints: spaces=oam", "constraints", "error"),
        ("charm: etcd, num_units: 2000", "num_units", "warning"),
        ("charm: etcd, num_units: 1, base: ubuntu@18.04", "base", "error"),
        ("charm: etcd, num_units: 1, options: {trust: true}", "options.trust", "warning"),
        ("charm: etcd, num_units: 1, to: [nosuch]", "to.0", "error"),
        ("charm: C/nosuch.charm", "charm", "error"),
        ("charm: C/broken.charm", "charm", "error"),
        ("charm: C/", "charm", "error"),
    ],
)
def test_one_application_with_one_fault(body: str, path: str, severity: str, tmp_path: Path):
    text = f"default-base: ubuntu@24.04\napplications:\n  x: {{{body}}}\n"
    found = [
        (finding.path, finding.severity)
        for finding in findings(tmp_path, text)
        if finding.rule != "relation"
    ]
    wanted = f"applications.x.{path}"
    assert (found == []) if not path else ((wanted, severity) in found)


def test_a_charm_that_is_not_packed_yet_is_checked_from_its_source(tmp_path: Path):
    source = tmp_path / "charms" / "x"
    source.mkdir(parents=True)
    (source / "charmcraft.yaml").write_text("name: x\nconfig: {options: {a: {type: int}}}\n")
    (tmp_path / "bundles").mkdir()
    path = tmp_path / "bundles" / "b.yaml"
    path.write_text(
        "default-base: ubuntu@24.04\napplications:\n"
        "  x: {charm: ../dist/x_ubuntu-24.04-amd64.charm, num_units: 1, options: {a: b}}\n"
    )
    found = {finding.path: finding for finding in check(path)}
    assert found["applications.x.charm"].severity == "warning"
    assert "make pack" in found["applications.x.charm"].remedy
    assert found["applications.x.options.a"].message == "expected int, got 'b'"


def test_findings_come_in_file_order_with_their_line(tmp_path: Path):
    text = f"{HEAD}relations:\n- [w:nosuch, n:host]\nmachines: {{'7': {{}}}}\n"
    found = findings(tmp_path, text)
    lines = [finding.position.line for finding in found]
    assert lines == sorted(lines)
    assert [finding.path for finding in found if finding.severity == "error"] == [
        "relations.0",
        "machines.7",
    ]


def test_the_exit_status_follows_the_severity(tmp_path: Path):
    warned = findings(tmp_path, f"{HEAD}relations:\n{HOSTED}series: noble\n", "4.0")
    assert (exit_status(warned), exit_status(warned, strict=True)) == (0, 1)
    assert exit_status(findings(tmp_path, "applications: {}")) == 1
    assert exit_status([]) == exit_status([], strict=True) == 0


def test_text_and_json_say_the_same(tmp_path: Path):
    found = findings(tmp_path, "applications: {}\n")
    assert "bundle.yaml:1: error V6 applications: at least one" in render_text(found)
    assert render_text(found).endswith("1 error, 0 warnings\n")
    assert '"rule": "V6"' in render_json(found)


@pytest.mark.parametrize(
    ("errors", "warnings", "last"),
    [
        (0, 0, "0 errors, 0 warnings"),
        (1, 1, "1 error, 1 warning"),
        (2, 0, "2 errors, 0 warnings"),
    ],
)
def test_the_last_line_counts_one_as_one(errors: int, warnings: int, last: str):
    found = [Finding("error", "V1", "", "m", "")] * errors
    found += [Finding("warning", "V1", "", "m", "")] * warnings
    assert render_text(found).splitlines()[-1] == last


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (None, "file"),
        ("", "yaml"),
        ("---\n", "yaml"),
        ("7", "type"),
        ("a: [", "yaml"),
        ("[a]", "type"),
    ],
)
def test_what_is_no_bundle_is_one_finding_and_no_traceback(
    text: str | None, rule: str, tmp_path: Path
):
    path = tmp_path / "b.yaml"
    if text is not None:
        path.write_text(text)
    assert rule in {finding.rule for finding in check(path)}


def test_control_characters_are_shown_escaped(tmp_path: Path):
    found = findings(tmp_path, 'applications: {"a\\e[31m": {charm: "x\\x07"}}')
    assert all(finding.message.isprintable() for finding in found)
    assert all(finding.path.isprintable() for finding in found)


@pytest.mark.parametrize(
    ("words", "severities_found"),
    [
        ("./b.yaml", []),
        ("b.yaml", ["error"]),
        ("./nosuch.yaml", ["error"]),
        ("./b.yaml name", ["warning"]),
        ("./b.yaml --base ubuntu@22.04", ["error"]),
        ("./b.yaml --config x=y", ["error"]),
        ("./b.yaml --channel stable", ["warning"]),
        ("./b.yaml --map-machines existing", []),
        ("./b.yaml --map-machines existing,2=77", ["warning"]),
        ("./b.yaml --map-machines 2=0", []),
        ("./b.yaml --map-machines two", ["error"]),
        ("./b.yaml --map-machines existing,,2=0", []),
        ("./b.yaml --overlay o.yaml --dry-run", []),
        ("./b.yaml -m lab --storage etcd:data=1G --device etcd:gpu=1", []),
        ("./b.yaml --storage data=1G", ["warning"]),
        ("./b.yaml --attach-storage data/0", ["error"]),
        ("./b.yaml --series noble", ["error"]),
        ("./b.yaml --trust=maybe", ["error"]),
        ("./b.yaml --overlay", ["error"]),
        ("./b.yaml a b", ["error", "warning"]),
    ],
)
def test_the_words_of_deploy_are_checked(words: str, severities_found: list[str], tmp_path: Path):
    (tmp_path / "b.yaml").write_text("")
    found = check_words(parse_words(words.split()), tmp_path, ["0"])
    assert [finding.severity for finding in found] == severities_found


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("", ["error"]),
        ("--trust", []),
        ("--trust=true", []),
        ("--trust=false", ["error"]),
        ("--force", ["warning"]),
    ],
)
def test_trust_depends_on_the_words(words: str, wanted: list[str]):
    asked = [Finding("warning", "trust", "applications.x.trust", "wants trust", "")]
    changed = with_words(asked, parse_words(["./b.yaml", *words.split()]))
    assert [finding.severity for finding in changed] == wanted


@pytest.mark.parametrize(
    ("head", "severity"),
    [
        ("series: focal", "warning"),
        ("default-base: ubuntu@20.04", "error"),
        ("series: focal\ndefault-base: ubuntu@20.04", "error"),
    ],
)
def test_an_old_bundle_may_have_a_channel_that_supported_its_series(
    head: str, severity: str, tmp_path: Path
):
    body = "{charm: ceph-mon, channel: quincy/stable, num_units: 1}"
    text = f"{head}\napplications:\n  ceph-mon: {body}"
    assert severities(findings(tmp_path, text, "3.6"), "base") == [severity]
