# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Charm files that Juju refuses when they are uploaded: found before, with the reason.

Source: facts on charm metadata; juju/charm v12 meta.go (Check, schemas), config.go, actions.go.
"""

import zipfile
from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check

BASES = "bases: [{name: ubuntu, channel: '24.04', architectures: [amd64]}]"
SUB = "subordinate: true\nrequires: "


def findings(
    tmp_path: Path,
    metadata: str,
    *,
    config: str = "",
    actions: str = "",
    manifest: str = BASES,
    more: str = "",
) -> list[Finding]:
    """Return what the check says of one application of a charm with such files."""
    with zipfile.ZipFile(tmp_path / "x.charm", "w") as archive:
        name = "" if metadata.startswith("name:") else "name: x\n"
        archive.writestr("metadata.yaml", f"{name}{metadata}\n")
        archive.writestr("manifest.yaml", f"{manifest}\n")
        for file, text in (("config.yaml", config), ("actions.yaml", actions)):
            if text:
                archive.writestr(file, text)
    path = tmp_path / "b.yaml"
    body = f"charm: ./x.charm, num_units: 1{more}"
    path.write_text(f"default-base: ubuntu@24.04\napplications:\n  x: {{{body}}}\n")
    return check(path, juju="4.0")


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("", ""),
        ("requires: {a: {interface: juju-info}}", ""),
        ("provides: {a: y}", ""),
        ("requires: {a: {interface: y, limit: 1, scope: container}}", ""),
        ("storage: {d: {type: filesystem, location: /x, multiple: {range: 1+}}}", ""),
        ("storage: {d: {type: block, multiple: {range: 2}}}", ""),
        ("resources: {r: {type: file, filename: a.tgz}}", ""),
        ("name: X_1", "X_1 is no name of a charm"),
        ("name: x-1", "x-1 is no name of a charm"),
        ("provides: {juju-x: {interface: y}}", "name of the endpoint juju-x is reserved"),
        ("requires: {juju: {interface: y}}", "name of the endpoint juju is reserved"),
        ("provides: {a: {interface: juju-info}}", "interface juju-info of a is reserved"),
        ("peers: {a: {interface: juju-x}}", "interface juju-x of a is reserved"),
        ("provides: {a: {interface: y}}\nrequires: {a: {interface: y}}", "a is there twice"),
        ("provides: {a: {scope: global}}", "a has no interface"),
        ("provides: {a: {interface: y, scope: local}}", "neither global nor container"),
        ("provides: {a: {interface: y, limit: many}}", "limit of endpoint a"),
        ("subordinate: maybe", "neither true nor false"),
        ("min-juju-version: 2.9.0", "write assumes"),
        ("storage: {d: {location: /x}}", "neither block nor filesystem"),
        ("storage: {d: {type: disk}}", "neither block nor filesystem"),
        ("storage: {d: {type: block, location: /x}}", "has no location"),
        ("storage: {d: {type: filesystem, multiple: {range: x}}}", "range of storage d"),
        ("resources: {r: {type: image}}", "neither file nor oci-image"),
        ("resources: {r: {type: file}}", "names no file"),
        ("resources: {r: {type: file, filename: a/b}}", "names no file"),
    ],
)
def test_metadata(metadata: str, reason: str, tmp_path: Path):
    found = [finding for finding in findings(tmp_path, metadata) if finding.severity == "error"]
    assert [finding.path for finding in found] == (["applications.x.charm"] if reason else [])
    assert all(reason in finding.message for finding in found)


@pytest.mark.parametrize(("end", "is_refused"), [("juju-x", False), ("a", False)])
def test_a_subordinate_may_use_reserved_names_inside(end: str, is_refused: bool, tmp_path: Path):
    text = f"{SUB}{{{end}: {{interface: juju-info, scope: container}}}}"
    found = [f for f in findings(tmp_path, text) if f.path == "applications.x.charm"]
    assert bool(found) == is_refused


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("{type: string, default: ''}", ""),
        ("{type: integer, default: 5}", ""),
        ("{type: int, default: null}", ""),
        ("{type: float, default: 1}", ""),
        ("{type: boolean, default: 'true'}", ""),
        ("{description: d}", ""),
        ("{type: text}", "type text of option a is unknown"),
        ("{type: int, default: x}", "default of a"),
        ("{type: string, default: 1}", "default of a"),
        ("{type: boolean, default: 1}", "default of a"),
        ("{type: float, default: '0.5'}", "default of a"),
    ],
)
def test_options(option: str, reason: str, tmp_path: Path):
    found = findings(tmp_path, "", config=f"options: {{a: {option}}}")
    assert [f.severity for f in found] == (["error"] if reason else [])
    assert all(reason in finding.message for finding in found)


@pytest.mark.parametrize(
    ("actions", "is_refused"),
    [
        ("run-it: {params: {a: {type: string}}}", False),
        ("juju-run: {}", True),
        ("Run: {}", True),
        ("run_it: {}", True),
        ("run: {params: {a: {$ref: '#/b'}}}", True),
        ("run: {params: {a: [{$schema: x}]}}", True),
    ],
)
def test_actions(actions: str, is_refused: bool, tmp_path: Path):
    found = findings(tmp_path, "", actions=actions)
    assert [finding.severity for finding in found] == (["error"] if is_refused else [])


def test_a_manifest_names_a_base(tmp_path: Path):
    (found,) = findings(tmp_path, "", manifest="bases: []")
    assert "names no base" in found.message


@pytest.mark.parametrize(
    ("directive", "is_refused"),
    [("2,10G", False), ("3,1T", False), ("2,9G", True), ("1,10G", True), ("4,10G", True)],
)
def test_storage_is_as_many_and_as_large_as_the_charm_needs(
    directive: str, is_refused: bool, tmp_path: Path
):
    """Source: domain/application/service/storage/directive.go of Juju 4.0."""
    text = "storage: {d: {type: filesystem, minimum-size: 10G, multiple: {range: 2-3}}}"
    found = findings(tmp_path, text, more=f", storage: {{d: '{directive}'}}")
    assert [f.path for f in found] == (["applications.x.storage.d"] if is_refused else [])
