# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a deploy makes: units, machines, containers, and the order of the changes."""

from pathlib import Path

import pytest

from rehearsal.bundle import Plan, load, plan

ROOT = Path(__file__).parents[2]
HEAD = "default-base: ubuntu@24.04\napplications:\n"
MACHINES = "machines: {'0': {constraints: tags=a}, '4': {base: ubuntu@22.04}}\n"


def planned(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "b.yaml"
    path.write_text(HEAD + text)
    bundle = load(path).bundle
    assert bundle is not None
    return plan(bundle)


def homes(found: Plan) -> dict[str, str]:
    return {unit.name: unit.machine for unit in found.units}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  a: {charm: a, num_units: 2}\n", {"a/0": "0", "a/1": "1"}),
        (f"  a: {{charm: a, num_units: 2, to: ['4', '0']}}\n{MACHINES}", {"a/0": "1", "a/1": "0"}),
        (f"  a: {{charm: a, num_units: 2, to: ['4']}}\n{MACHINES}", {"a/0": "1", "a/1": "2"}),
        (f"  a: {{charm: a, num_units: 2, to: ['4', new]}}\n{MACHINES}", {"a/0": "1", "a/1": "2"}),
        (
            "  a: {charm: a, num_units: 2, to: [b]}\n  b: {charm: b, num_units: 2}\n",
            {"a/0": "0", "a/1": "1", "b/0": "0", "b/1": "1"},
        ),
        (
            "  a: {charm: a, num_units: 2, to: [b/1]}\n  b: {charm: b, num_units: 2}\n",
            {"a/0": "1", "a/1": "2", "b/0": "0", "b/1": "1"},
        ),
        (
            "  a: {charm: a, num_units: 2, to: ['lxd:b']}\n  b: {charm: b, num_units: 1}\n",
            {"a/0": "0/lxd/0", "a/1": "1", "b/0": "0"},
        ),
        ("  a: {charm: a, num_units: 1, to: ['lxd:new']}\n", {"a/0": "0/lxd/0"}),
        ("  a: {charm: a}\n", {}),
        ("  a: {charm: a, scale: 2}\nbundle: kubernetes\n", {}),
    ],
    ids=["no to", "machines", "rest new", "new", "beside", "beside one", "containers", "new host",
         "no units", "kubernetes"],
)  # fmt: skip
def test_each_unit_has_its_machine(text: str, wanted: dict[str, str], tmp_path: Path):
    assert homes(planned(tmp_path, text)) == wanted


def test_a_machine_takes_its_own_constraints_and_a_new_one_the_applications(tmp_path: Path):
    text = f"  a: {{charm: a, num_units: 3, to: ['0', '4'], constraints: tags=b}}\n{MACHINES}"
    found = planned(tmp_path, text)
    machines = {machine.id: machine for machine in found.machines}
    assert [machines[key].constraints for key in "012"] == ["tags=a", "", "tags=b"]
    assert [machines[key].bundle_id for key in "012"] == ["0", "4", ""]
    assert [str(machines[key].base) for key in "01"] == [
        "ubuntu@24.04/stable",
        "ubuntu@22.04/stable",
    ]


def test_a_container_names_its_host_and_the_unit_it_waits_for(tmp_path: Path):
    text = "  a: {charm: a, num_units: 1, to: ['lxd:b/0']}\n  b: {charm: b, num_units: 1}\n"
    found = planned(tmp_path, text)
    (container,) = [machine for machine in found.machines if machine.container]
    assert (container.id, container.parent, container.beside) == ("0/lxd/0", "0", "b/0")
    assert found.text().splitlines()[-3:] == [
        "- add unit b/0 to new machine 0",
        "- add lxd container 0/lxd/0 on new machine 0",
        "- add unit a/0 to 0/lxd/0 to satisfy [lxd:b/0]",
    ]


def test_a_cycle_of_placements_ends(tmp_path: Path):
    text = "  a: {charm: a, num_units: 1, to: [b]}\n  b: {charm: b, num_units: 1, to: [a]}\n"
    assert sorted(homes(planned(tmp_path, text))) == ["a/0", "b/0"]


def test_relations_keep_their_ends_and_charmhub_is_named(tmp_path: Path):
    text = "  a: {charm: a, channel: 1/stable}\n  b: {charm: 'ch:b'}\nrelations: [[a:x, b]]\n"
    found = planned(tmp_path, text)
    assert found.relations[0].ends == (("a", "x"), ("b", ""))
    lines = found.text().splitlines()
    assert "- deploy application a from charm-hub on ubuntu@24.04/stable with 1/stable" in lines
    assert "- add relation a:x - b" in lines


def test_the_reference_bundle_asks_for_nine_machines_by_tag():
    bundle = load(ROOT / "bundles" / "charmed-kubernetes.yaml").bundle
    assert bundle is not None
    found = plan(bundle)
    tags = sorted(machine.constraints for machine in found.machines if not machine.container)
    assert tags == [
        *["tags=dgx"] * 3,
        "tags=dgx-mig",
        *["tags=k8s-control"] * 3,
        *["tags=k8s-cpu"] * 2,
    ]
    assert {unit.machine.partition("/")[0] for unit in found.units} == {
        machine.id for machine in found.machines if not machine.container
    }


def lines(found: Plan, *words: str) -> list[str]:
    return [change.text for change in found.changes if change.text.startswith(words)]


def test_applications_stand_in_the_order_of_their_numbers(tmp_path: Path):
    text = "".join(f"  {name}: {{charm: {name}, num_units: 1}}\n" for name in ("a10", "b", "a2"))
    found = planned(tmp_path, text)
    told = [line.split()[2] for line in lines(found, "deploy application")]
    assert told == ["a2", "a10", "b"]
    assert lines(found, "add unit") == [
        "add unit a2/0 to new machine 1",
        "add unit a10/0 to new machine 0",
        "add unit b/0 to new machine 2",
    ]


def test_a_unit_waits_for_the_one_before_it_and_a_machine_for_all_before(tmp_path: Path):
    # As the client code of 3.6.11 and 4.1-beta2 plans it.
    text = (
        "  etcd: {charm: etcd, num_units: 3, to: [new, 'lxd:new']}\n"
        "  b: {charm: b, num_units: 4, to: ['lxd:new', 'lxd:etcd/2', new]}\n"
    )
    assert lines(planned(tmp_path, text), "add new machine", "add lxd", "add unit") == [
        "add new machine 0",
        "add lxd container 1/lxd/0 on new machine 1",
        "add lxd container 2/lxd/0 on new machine 2",
        "add lxd container 3/lxd/0 on new machine 3",
        "add unit b/0 to 3/lxd/0",
        "add unit etcd/0 to new machine 0",
        "add unit etcd/1 to 1/lxd/0",
        "add unit etcd/2 to 2/lxd/0",
        "add lxd container 2/lxd/1 on new machine 2",
        "add new machine 4",
        "add new machine 5",
        "add unit b/1 to 2/lxd/1 to satisfy [lxd:etcd/2]",
        "add unit b/2 to new machine 4",
        "add unit b/3 to new machine 5",
    ]


def test_a_charm_under_another_name_is_told_and_uploaded_once(tmp_path: Path):
    text = (
        "  a: {charm: 'ch:amd64/ubuntu', channel: stable}\n  b: {charm: 'ch:amd64/ubuntu'}\n"
        "  ubuntu: {charm: ubuntu, revision: 3, channel: edge}\n"
    )
    found = planned(tmp_path, text)
    assert lines(found, "upload", "deploy") == [
        "upload charm ubuntu from charm-hub for base ubuntu@24.04/stable from channel stable",
        "deploy application a from charm-hub on ubuntu@24.04/stable with stable using ubuntu",
        "deploy application b from charm-hub on ubuntu@24.04/stable using ubuntu",
        "upload charm ubuntu from charm-hub for base ubuntu@24.04/stable with revision 3",
        "deploy application ubuntu from charm-hub on ubuntu@24.04/stable with edge",
    ]
