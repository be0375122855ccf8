# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Hostile and huge input is answered, with a finding, in little time of the processor."""

import time
from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check
from rehearsal.maas.inventory import default_inventory

LIMIT_S = 8.0
"""Far more than the second or two that each takes on a machine at rest."""
CHARM = "default-base: ubuntu@24.04\napplications: {e: {charm: %s}}"
ONE = "default-base: ubuntu@24.04\napplications: {e: {charm: ubuntu, channel: stable, num_units: 1"


def _bomb(value: str) -> str:
    """Return nine generations of a value that each name the one before nine times."""
    lines = ["x0: &x0 {q: 1}"]
    for number in range(1, 9):
        before = ", ".join([f"*x{number - 1}"] * 9)
        lines.append(f"x{number}: &x{number} {value % before}")
    return "\n".join(lines)


def _apps(count: int, body: str) -> str:
    lines = [f"  a{number}x: {{{body.replace('N', str(number))}}}" for number in range(count)]
    return "applications:\n" + "\n".join(lines)


CASES = {
    "aliases in lists": _bomb("[%s]"),
    "aliases in merges": _bomb("{<<: [%s]}"),
    "brackets": "[" * 100_000,
    "braces": "a: {" * 50_000,
    "indentation": "".join(" " * depth + "a:\n" for depth in range(2000)),
    "ten megabytes": "x" * 10_000_000,
    "a million values": "a:\n" + "- x\n" * 900_000,
    "comments": "#" * 3_000_000,
    "a long text": f'description: "{"x" * 3_000_000}"\n{ONE}}}}}',
    "a long number": f"{ONE}, options: {{hostname: {'9' * 500_000}}}}}}}",
    "a number of 350 digits": f"{ONE}, options: {{hostname: {'9' * 350}}}}}}}",
    "a number beyond floats": f"{ONE}, revision: 1e999}}}}",
    "many units": f"{ONE.replace('num_units: 1', 'num_units: 99999999')}}}}}",
    "many applications": _apps(2000, "charm: ubuntu, channel: stable, num_units: 1"),
    "a chain": _apps(2000, "charm: ubuntu, num_units: 1, to: [aNx]"),
    "a typo in each": _apps(1000, "chram: ubuntu, to: [aNy]"),
    "many options": f"{ONE}, options: {{{', '.join(f'o{n}: 1' for n in range(5000))}}}}}}}",
    "many documents": f"{ONE}}}}}\n" + "---\napplications: {e: {num_units: 1}}\n" * 2000,
    "a long name": f"{ONE}}}}}\nrelations: [[{'a-' * 100_000}1, e]]",
    "a long charm": f"default-base: ubuntu@24.04\napplications: {{e: {{charm: {'e' * 5000}}}}}",
    "a long file": f"default-base: ubuntu@24.04\napplications: {{e: {{charm: ./{'e' * 5000}}}}}",
    "a long file of dist": CHARM % f"../dist/{'e' * 5000}_u.charm",
    "a file of dist below a long folder": CHARM % f"./{'e' * 5000}/dist/e.charm",
    "a null byte in a file of dist": CHARM % '"./dist/e\\0.charm"',
    "a long include": f"{ONE}, options: {{hostname: include-file://{'e' * 5000}}}}}}}",
    "a long offer": f"{ONE}}}}}\nsaas: {{x: {{url: '{'a.' * 100_000}:'}}}}",
    "a long storage": f"{ONE}, storage: {{files: '{'1' * 100_000}x'}}}}}}",
    "a long constraint": f"{ONE}, constraints: 'mem={'1' * 100_000}'}}}}",
}


def _checked(folder: Path, text: str, overlay: str = "") -> list[Finding]:
    paths = [folder / "b.yaml", folder / "o.yaml"]
    for path, content in zip(paths, (text, overlay), strict=True):
        path.write_text(content)
    started = time.process_time()
    found = check(paths[0], paths[1:] if overlay else [], juju="4.0")
    assert time.process_time() - started < LIMIT_S
    return found


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_it_is_answered(text: str, tmp_path: Path):
    found = _checked(tmp_path, text)
    assert all(finding.message and finding.remedy for finding in found)


@pytest.mark.parametrize(
    "name",
    ["aliases in lists", "aliases in merges", "brackets", "ten megabytes", "a million values"],
)
def test_what_is_too_large_is_refused_with_one_finding(name: str, tmp_path: Path):
    (finding,) = _checked(tmp_path, CASES[name])
    assert finding.severity == "error"


@pytest.mark.parametrize("value", [", options: {o%d: 1}", ", to: [new]"])
def test_an_overlay_of_thousands_is_merged(value: str, tmp_path: Path):
    base = _apps(1500, "charm: ubuntu, channel: stable, num_units: 1")
    overlay = "applications:\n" + "\n".join(
        f"  a{number}x: {{num_units: 1{value.replace('%d', str(number))}}}"
        for number in range(1500)
    )
    assert _checked(tmp_path, base, overlay)


def test_twenty_thousand_units_are_held_against_the_site(tmp_path: Path):
    path = tmp_path / "b.yaml"
    text = _apps(20, "charm: ubuntu, channel: stable, num_units: 1000")
    path.write_text(f"default-base: ubuntu@24.04\n{text}\n")
    started = time.process_time()
    found = check(path, inventory=default_inventory())
    assert time.process_time() - started < LIMIT_S
    assert len([finding for finding in found if finding.rule == "maas"]) in (19, 20)
    assert "nor for 999 more like it" in found[-1].message
