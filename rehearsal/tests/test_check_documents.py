# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What counts in one document by itself, and what documents do to each other, on Juju 4.0.

Source: bundledata.go (normalizeData, verifyKubernetesPlacement), overlay.go (applyOverlay,
mergeStructs, removeRelations) and cmd/juju/application/bundle (verifyBaseBundle) of Juju 4.0.
"""

import zipfile
from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check, load
from rehearsal.bundle.keys import JujuVersion

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
BASE = f"""
default-base: ubuntu@24.04
applications:
  easyrsa: {{charm: {CHARMS}/easyrsa.charm, num_units: 1, to: ["0"]}}
  etcd: {{charm: {CHARMS}/etcd.charm, num_units: 1, to: ["0"]}}
machines: {{"0": {{}}}}
relations:
- [etcd:certificates, easyrsa:client]
"""


def findings(tmp_path: Path, *overlays: str, base: str = BASE) -> list[Finding]:
    """Return what the check says of a bundle with overlays."""
    (tmp_path / "bundle.yaml").write_text(base)
    files = [tmp_path / f"o{index}.yaml" for index in range(len(overlays))]
    for file, text in zip(files, overlays, strict=True):
        file.write_text(text)
    return check(tmp_path / "bundle.yaml", files, juju="4.0")


def errors(found: list[Finding]) -> list[str]:
    """Return the paths of the errors."""
    return [finding.path for finding in found if finding.severity == "error"]


def test_the_right_bundle_has_no_findings(tmp_path: Path):
    assert findings(tmp_path) == []


@pytest.mark.parametrize(
    ("overlay", "path"),
    [
        ("applications: {etcd: {scale: 1}}", None),
        ("applications: {etcd: {scale: 1, num_units: 0}}", None),
        ("applications: {etcd: {scale: 1, num_units: 1}}", "applications.etcd.scale"),
        ("applications: {etcd: {placement: a=b}}", "applications.etcd.placement"),
    ],
)
def test_scale_of_an_overlay_counts_as_its_units(overlay: str, path: str | None, tmp_path: Path):
    assert errors(findings(tmp_path, overlay)) == ([path] if path else [])


@pytest.mark.parametrize("juju", ["3.6", "4.0"])
@pytest.mark.parametrize(
    "overlay",
    [
        'applications: {etcd: {num_units: 2, scale: "1"}}',
        "relations: 7",
        "relations: [7]\napplications: {etcd: {num_units: -1}}",
        "applications: {etcd: {charm: [x], to: [nosuch]}}",
    ],
)
def test_an_overlay_with_a_wrong_type_is_dropped_as_a_whole(
    juju: JujuVersion, overlay: str, tmp_path: Path
):
    (tmp_path / "b.yaml").write_text(BASE)
    (tmp_path / "o.yaml").write_text(overlay)
    found = check(tmp_path / "b.yaml", [tmp_path / "o.yaml"], juju=juju)
    assert {finding.rule for finding in found} == {"type"}
    assert {finding.severity for finding in found} == {"error" if juju == "3.6" else "warning"}


def test_a_tag_that_does_not_fit_refuses_the_overlay(tmp_path: Path):
    found = findings(tmp_path, "applications: {etcd: {num_units: !!int two}}")
    assert errors(found) == ["applications.etcd.num_units"]
    assert findings(tmp_path, "foo: !!int two")[0].severity == "warning"


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("machines: {}\n", "machines", "both counts"),
        ("applications: {u: {charm: ubuntu, channel: stable, num_units: 1}}\n", "applications",
         "both counts"),
        ("relations: []\n", "relations", "the last one wins"),
        ("description: a\n<<: {description: b}\n", "description", "write << first"),
    ],
)  # fmt: skip
def test_a_section_that_is_there_twice_is_no_error(
    text: str, path: str, said: str, tmp_path: Path
):
    found = findings(tmp_path, base=BASE + text)
    assert errors(found) == []
    (finding,) = (f for f in found if f.rule == "duplicate")
    assert finding.path == path
    assert said in f"{finding.message} {finding.remedy}"


def test_what_a_section_says_twice_is_put_together(tmp_path: Path):
    body = "annotations: {a: '1', b: '1'}, annotations: {b: '2'}"
    (tmp_path / "b.yaml").write_text(BASE.replace("etcd.charm,", f"etcd.charm, {body},"))
    bundle = load(tmp_path / "b.yaml", juju="4.0").bundle
    assert bundle is not None
    assert bundle.applications["etcd"].annotations == {"a": "1", "b": "2"}


def test_a_series_of_an_overlay_counts_on_36(tmp_path: Path):
    (tmp_path / "b.yaml").write_text(BASE.replace("default-base: ubuntu@24.04", "series: jammy"))
    (tmp_path / "o.yaml").write_text("series: noble\nmachines: {'0': {series: focal}}")
    merged = load(tmp_path / "b.yaml", [tmp_path / "o.yaml"], juju="3.6").bundle
    assert merged is not None
    assert (merged.default_base, merged.machines["0"].base) == ("ubuntu@24.04", "ubuntu@20.04")


OUT = "applications: {etcd: }"


@pytest.mark.parametrize(
    ("overlays", "path", "remedy"),
    [
        pytest.param(
            [OUT, "applications: {etcd: {num_units: 2}}"],
            "applications.etcd.charm",
            "give {out} as the last overlay, or delete these lines",
            id="changed-afterwards",
        ),
        pytest.param(
            [OUT, "relations: [[easyrsa:client, etcd:certificates]]"],
            "relations.0",
            "give {out} as the last overlay, or delete these lines",
            id="related-afterwards",
        ),
        pytest.param(
            [f"{OUT}\nrelations: [[easyrsa:client, etcd:certificates]]"],
            "relations.0",
            "delete these lines",
            id="related-in-the-same-file",
        ),
        pytest.param(
            ["machines: {}\napplications: {easyrsa: {to: [etcd]}, etcd: }"],
            "applications.easyrsa.to.0",
            "place the unit elsewhere, in the overlay that takes the application out, too",
            id="placed-beside-it",
        ),
    ],
)
def test_what_an_overlay_took_out_is_not_taken_for_a_wrong_name(
    overlays: list[str], path: str, remedy: str, tmp_path: Path
):
    base = BASE.replace("easyrsa: {", f"etcdd: {{charm: {CHARMS}/etcd.charm}}\n  easyrsa: {{")
    found = [f for f in findings(tmp_path, *overlays, base=base) if f.severity == "error"]
    out = str(tmp_path / "o0.yaml")
    assert [(f.path, f.remedy) for f in found] == [(path, remedy.format(out=out))]
    assert f"overlay takes it out ({out}:" in found[0].message


@pytest.mark.parametrize(
    "overlays",
    [
        pytest.param(["applications: {etcd: {num_units: 2}}", OUT], id="the-other-order"),
        pytest.param([OUT, f"applications: {{etcd: {{charm: {CHARMS}/etcd.charm}}}}"], id="back"),
        pytest.param([OUT, "applications: {etcd: {num_units: 2}}", OUT], id="out-again"),
    ],
)
def test_an_overlay_may_take_out_last_or_be_taken_back(overlays: list[str], tmp_path: Path):
    assert errors(findings(tmp_path, *overlays)) == []


def test_scale_of_an_overlay_takes_the_place_of_the_units_of_the_base(tmp_path: Path):
    (tmp_path / "b.yaml").write_text(BASE)
    (tmp_path / "o.yaml").write_text("applications: {etcd: {scale: 3}}")
    merged = load(tmp_path / "b.yaml", [tmp_path / "o.yaml"], juju="4.0").bundle
    assert merged is not None
    assert merged.applications["etcd"].num_units == 3


def test_a_negative_scale_is_ignored_with_a_word(tmp_path: Path):
    text = BASE.replace("num_units: 1", "num_units: 1, scale: -1", 1)
    found = findings(tmp_path, base=text)
    assert [(f.severity, f.path) for f in found] == [("warning", "applications.easyrsa.scale")]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("scale: 1", None),
        ("scale: 1, placement: a=b", "applications.etcd.to"),
        ('scale: 1, to: ["a=b,c=d"]', "applications.etcd.to"),
        ('scale: 2, to: ["a=b", "c=d"]', "applications.etcd.to"),
        ('scale: 1, to: ["0"]', "applications.etcd.to"),
        ('scale: 1, to: ["a="]', "applications.etcd.to"),
        ('scale: 1, to: ["a=b,a=c"]', "applications.etcd.to"),
    ],
)
def test_a_kubernetes_bundle_cannot_place_by_labels(body: str, path: str | None, tmp_path: Path):
    text = f"""
bundle: kubernetes
default-base: ubuntu@24.04
applications:
  etcd: {{charm: {CHARMS}/etcd.charm, {body}}}
"""
    assert errors(findings(tmp_path, base=text)) == ([path] if path else [])


def test_labels_are_written_once(tmp_path: Path):
    text = f"""
bundle: kubernetes
default-base: ubuntu@24.04
applications:
  etcd: {{charm: {CHARMS}/etcd.charm, scale: 1, to: ["a=b"], placement: a=b}}
"""
    assert "applications.etcd.placement" in errors(findings(tmp_path, base=text))


@pytest.mark.parametrize(
    ("overlay", "path"),
    [
        ('applications: {etcd: {to: ["1"]}}\nmachines: {"0": {}, "1": {}}', "to.0"),
        (f"applications: {{new1: {{charm: {CHARMS}/easyrsa.charm, num_units: 0}}}}", "charm"),
    ],
    ids=["a machine", "a charm"],
)
def test_a_second_document_does_not_mend_the_first(overlay: str, path: str, tmp_path: Path):
    wrong = BASE.replace('1, to: ["0"]}', '1, to: ["1"]}', 1)
    if path == "charm":
        wrong = BASE.replace("applications:", "applications:\n  new1: {num_units: 0}")
    found = findings(tmp_path, base=f"{wrong}---\n{overlay}\n")
    assert any(name.endswith(path) for name in errors(found))


@pytest.mark.parametrize("place", ["applications.easyrsa", "machines.0"])
def test_an_image_is_for_overlays_alone(place: str, tmp_path: Path):
    section, name = place.split(".")
    first = "easyrsa: {" if section == "applications" else '"0": {'
    comma = ", " if section == "applications" else ""
    text = BASE.replace(first, f"{first}constraints: image-id=x{comma}", 1)
    assert errors(findings(tmp_path, base=text)) == [f"{place}.constraints"]
    overlay = f'{section}: {{"{name}": {{constraints: image-id=x}}}}'
    assert errors(findings(tmp_path, overlay)) == []


@pytest.mark.parametrize("body", ["{}", "null", "{expose-to-cidrs: null}"])
def test_an_exposed_endpoint_without_content_is_taken_away(body: str, tmp_path: Path):
    exposed = f"applications: {{etcd: {{exposed-endpoints: {{db: {body}}}}}}}"
    limits = "applications: {etcd: {exposed-endpoints: {db: {expose-to-cidrs: [10.0.0.0/8]}}}}"
    assert findings(tmp_path, limits, exposed) == []
    alone = findings(tmp_path, exposed)
    assert [finding.path for finding in alone] == ["applications.etcd.exposed-endpoints.db"]
    open_to_all = BASE.replace("etcd: {", "etcd: {expose: true, ")
    assert errors(findings(tmp_path, exposed, base=open_to_all)) == []


def test_a_relation_of_three_ends_stays_when_one_of_its_applications_goes(tmp_path: Path):
    text = BASE.replace("machines:", "x:").replace(
        "relations:", "relations:\n- [easyrsa, etcd, a]"
    )
    found = findings(tmp_path, "applications: {easyrsa: null}", base=text)
    assert "relations.0" in errors(found)


@pytest.mark.parametrize(
    ("cidr", "is_refused"),
    [
        ("10.0.0.1/8", False), ("::/0", False), ("10.0.0.0/08", False),
        ("10.0.0.0/255.0.0.0", True), ("10.0.0.0/0.0.0.255", True), ("fe80::1%eth0/64", True),
        ("10.0.0.0/33", True), ("10.0.0.0/+8", True), ("any", True), ("", True),
    ],
)  # fmt: skip
def test_sources_are_what_go_reads_as_a_network(cidr: str, is_refused: bool, tmp_path: Path):
    overlay = (
        f"applications: {{etcd: {{exposed-endpoints: {{db: {{expose-to-cidrs: ['{cidr}']}}}}}}}}"
    )
    assert bool(errors(findings(tmp_path, overlay))) == is_refused


@pytest.mark.parametrize(
    "text", ["include-file:p.txt", "include-base64:p.txt", "Include-File://p"]
)
def test_an_include_that_is_none_is_told_of(text: str, tmp_path: Path):
    overlay = f"applications: {{etcd: {{options: {{channel: '{text}'}}}}}}"
    assert "include" in {finding.rule for finding in findings(tmp_path, overlay)}


@pytest.mark.parametrize(
    ("to", "is_told"),
    [
        ("[easyrsa]", True), ("[easyrsa, easyrsa]", True), ("['lxd:easyrsa']", True),
        ("[easyrsa, new]", False), ("[easyrsa/0, easyrsa/0]", False), ("['0', easyrsa]", False),
        ("['0', 'lxd:easyrsa']", False),
    ],
)  # fmt: skip
def test_each_unit_has_one_of_another_application_beside_it(
    to: str, is_told: bool, tmp_path: Path
):
    """Source: internal/bundle/changes/handlers.go, definedApplicationForUnit."""
    overlay = f"applications: {{etcd: {{num_units: 2, to: {to}}}}}"
    told = [f for f in findings(tmp_path, overlay) if "go beside easyrsa" in f.message]
    assert [f.path for f in told] == (["applications.etcd.to"] if is_told else [])


@pytest.mark.parametrize(("base", "is_told"), [("22.04", True), ("24.04", False)])
def test_a_machine_without_a_base_has_the_controllers(base: str, is_told: bool, tmp_path: Path):
    text = BASE.replace("default-base: ubuntu@24.04", "").replace(
        "num_units: 1", f"num_units: 1, base: ubuntu@{base}"
    )
    told = [f.path for f in findings(tmp_path, base=text) if f.rule == "base"]
    assert told == (["applications.easyrsa.base", "applications.etcd.base"] if is_told else [])


@pytest.mark.parametrize("key", ["[a]: x", "{a: b}: x", "? - a\n: x"])
def test_a_key_that_is_no_text_spoils_its_document(key: str, tmp_path: Path):
    """Source: go-yaml v2 decode.go: the key is decoded into a text, and fails."""
    assert errors(findings(tmp_path, base=f"{BASE}{key}\n"))
    told = findings(tmp_path, f"default-base: nonsense\n{key}\n")
    assert [finding.severity for finding in told if finding.rule == "type"] == ["warning"]
    assert errors(told) == []


def packed(folder: Path, name: str, metadata: str, arches: str = "[amd64]") -> Path:
    """Write a charm file for Ubuntu 24.04."""
    path = folder / f"{name}.charm"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.yaml", f"name: {name}\n{metadata}\n")
        base = f"{{name: ubuntu, channel: '24.04', architectures: {arches}}}"
        archive.writestr("manifest.yaml", f"bases: [{base}]\n")
    return path


@pytest.mark.parametrize(("scope", "wanted"), [("container", []), ("global", ["relations.0"])])
def test_between_principals_only_global_endpoints_are_inferred(
    scope: str, wanted: list[str], tmp_path: Path
):
    """Source: domain/relation/state, inferEndpoints."""
    one = packed(
        tmp_path,
        "one",
        f"""requires:
  a: {{interface: x, scope: {scope}}}
  b: {{interface: y}}""",
    )
    two = packed(tmp_path, "two", "provides: {c: {interface: x}, d: {interface: y}}")
    text = f"""
default-base: ubuntu@24.04
applications:
  one: {{charm: {one}, num_units: 1}}
  two: {{charm: {two}, num_units: 1}}
relations:
- [one, two]
"""
    assert errors(findings(tmp_path, base=text)) == wanted


@pytest.mark.parametrize(
    ("arches", "wanted"),
    [("[amd64]", []), ("[]", ["charm"]), ("[amd64, arm64]", ["charm"])],
)
def test_a_file_of_a_subordinate_names_one_architecture(
    arches: str, wanted: list[str], tmp_path: Path
):
    """Source: record v13-multiarch; apiserver deployApplication."""
    metadata = "subordinate: true\nrequires: {host: {interface: juju-info, scope: container}}"
    sub = packed(tmp_path, "sub", metadata, arches)
    text = BASE.replace("applications:", f"applications:\n  sub: {{charm: {sub}}}")
    found = findings(tmp_path, base=f"{text}- [sub:host, etcd:juju-info]\n")
    assert errors(found) == [f"applications.sub.{name}" for name in wanted]
