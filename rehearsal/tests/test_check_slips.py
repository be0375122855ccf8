# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Slips of a site's first bundle: what to write instead stands below each finding."""

from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check
from rehearsal.bundle.keys import JujuVersion
from rehearsal.maas.machines import Inventory, SiteMachine

HEAD = "default-base: ubuntu@24.04\n"
EASYRSA = "  easyrsa: {charm: easyrsa, channel: 1.35/stable, num_units: 1"
VERSIONS: tuple[JujuVersion, ...] = ("3.6", "4.0")


def found(folder: Path, text: str, juju: JujuVersion = "3.6") -> list[Finding]:
    (folder / "b.yaml").write_text(text)
    return check(folder / "b.yaml", juju=juju)


@pytest.mark.parametrize("juju", VERSIONS)
@pytest.mark.parametrize(
    ("constraints", "rule", "message", "remedy"),
    [
        ("mem=64", "V7", "mem=64 means 64 MiB", "write mem=64G, or 64M"),
        ("root-disk=100", "V7", "root-disk=100 means 100 MiB", "write root-disk=100G, or 100M"),
        ("tags=!gpu", "maas", 'called "!gpu"', "write ^gpu to keep off machines with the tag"),
        ("tags=a;b", "maas", 'called "a;b"', "join names with commas"),
        ("instance-type=m1", "maas", "MAAS does not know instance-type", "use tags"),
    ],
)
def test_constraints_that_say_something_else_are_warned_of(
    tmp_path: Path, juju: JujuVersion, constraints: str, rule: str, message: str, remedy: str
) -> None:
    text = f'{HEAD}applications:\n{EASYRSA}, constraints: "{constraints}"}}\n'
    (finding,) = found(tmp_path, text, juju)
    assert (finding.severity, finding.rule) == ("warning", rule)
    assert finding.path == "applications.easyrsa.constraints"
    assert message in finding.message
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize(
    "constraints",
    ["mem=4096", "mem=64G", "root-disk=512M", "tags=a_b,^c.d-1", "", "mem=", "instance-type="],
)
def test_constraints_that_say_what_is_meant_are_not(tmp_path: Path, constraints: str) -> None:
    assert (
        found(tmp_path, f'{HEAD}applications:\n{EASYRSA}, constraints: "{constraints}"}}\n') == []
    )


@pytest.mark.parametrize("name", ["cs:~containers/etcd-500", "cs:etcd"])
def test_a_charm_of_the_charm_store_is_named_without_its_revision(
    tmp_path: Path, name: str
) -> None:
    text = f'{HEAD}applications:\n  etcd: {{charm: "{name}", num_units: 1}}\n'
    (finding,) = found(tmp_path, text)
    assert (finding.severity, finding.path) == ("error", "applications.etcd.charm")
    assert finding.remedy.startswith("write charm: etcd with a channel")


def test_a_charm_that_was_renamed_is_called_by_its_name_of_today(tmp_path: Path) -> None:
    text = (
        f"{HEAD}applications:\n  m: {{charm: kubernetes-master, channel: stable, num_units: 1}}\n"
    )
    (finding,) = found(tmp_path, text)
    assert finding.remedy.startswith("did you mean kubernetes-control-plane?")


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        (
            f"{HEAD}applications:\n  easyrsa:\n    charm:easyrsa\n    num_units: 1\n",
            5,
            "put a blank after the colon in line 4: charm: easyrsa",
        ),
        (
            f"{HEAD}applications:\n\u00a0\u00a0etcd: {{charm: etcd}}\n{EASYRSA}}}\n",
            4,
            "there is a no-break space (U+00A0 in line 3): type it anew",
        ),
    ],
    ids=["colon", "no-break space"],
)
def test_yaml_that_is_none_names_the_slip(
    tmp_path: Path, text: str, line: int, remedy: str
) -> None:
    (finding,) = found(tmp_path, text)
    assert finding.position is not None
    assert (finding.rule, finding.position.line) == ("yaml", line)
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("text", "path", "remedy"),
    [
        (f"{HEAD}applications:\n{EASYRSA}}}\netcd: {{num_units: 3}}\n", "etcd",
         "indent etcd: so that it stands below applications:"),
        (f"{HEAD}applications:\n  easyrsa:\n  charm: easyrsa\n", "applications.charm",
         "indent charm: so that it stands below the name of its application"),
        (f"{HEAD}x-common: &c {{channel: 1.35/stable}}\napplications:\n{EASYRSA}}}\n", "x-common",
         "write each anchor (&name) where it is used first"),
    ],
    ids=["application", "key", "anchors"],
)  # fmt: skip
def test_what_stands_too_far_left_is_to_be_indented(
    tmp_path: Path, text: str, path: str, remedy: str
) -> None:
    remedies = {finding.path: finding.remedy for finding in found(tmp_path, text)}
    assert remedies[path].startswith(remedy)


@pytest.mark.parametrize(
    ("constraints", "remedy"),
    [
        ("tags=GPU", "no machine has the tag GPU: did you mean gpu?"),
        ("tags=gpus", "no machine has the tag gpus: did you mean gpu?"),
        ("zones=az-1", "no machine has the zone az-1: did you mean az1?"),
        ("tags=gpu cores=65", "add a machine with tags=gpu cores=65 to MAAS"),
    ],
)
def test_a_tag_that_the_site_spells_otherwise_is_named(
    tmp_path: Path, constraints: str, remedy: str
) -> None:
    machine = SiteMachine("n1", cores=8, mem=2**16, disk=2**18, tags=("gpu",), zone="az1")
    (tmp_path / "b.yaml").write_text(
        f'{HEAD}applications:\n{EASYRSA}, constraints: "{constraints}"}}\n'
    )
    (finding,) = check(tmp_path / "b.yaml", inventory=Inventory((machine,)))
    assert finding.rule == "maas"
    assert finding.remedy.startswith(remedy)


@pytest.mark.parametrize("juju", VERSIONS)
@pytest.mark.parametrize(
    ("directive", "remedy"),
    [
        ("LXD:easyrsa/0", 'write "lxd:easyrsa/0"'),
        ("lxd: easyrsa/0", 'write "lxd:easyrsa/0"'),
        ("00", 'write "0"'),
        ("easyrsa:0", "write easyrsa/0: a colon follows the kind of a container alone"),
        ("new:0", "write lxd:0 for a container, or new alone for a machine"),
        ("docker:0", "use lxd:"),
        ("zone=az1", "declare a machine with constraints below machines:"),
    ],
)
def test_a_placement_that_is_none_says_which_is_meant(
    tmp_path: Path, juju: JujuVersion, directive: str, remedy: str
) -> None:
    unit = f'{{charm: easyrsa, channel: 1.35/stable, num_units: 1, to: ["{directive}"]}}'
    text = f"{HEAD}applications:\n{EASYRSA}}}\n  other: {unit}\n"
    (finding,) = found(tmp_path, text, juju)
    assert (finding.rule, finding.path) == ("V10", "applications.other.to.0")
    assert finding.remedy.startswith(remedy)
