# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Deploys onto a model that holds something: the changes, the refusals, what is not heeded."""

from dataclasses import replace
from pathlib import Path

import pytest

from rehearsal.bundle import (
    Bundle,
    Deployed,
    Existing,
    Exposed,
    Plan,
    PlanError,
    load,
    plan,
    unheeded,
)
from rehearsal.bundle.mapping import map_machines, parse_map

BASE = """
default-base: ubuntu@24.04
applications:
  a: {charm: ./a.charm, num_units: 2, to: ["0", "1"], options: {x: 1, y: two}}
  b: {charm: ./b.charm, num_units: 1, to: ["0"], constraints: arch=amd64 mem=4G}
  s: {charm: ./s.charm}
  c: {charm: c, channel: 1/stable}
machines: {"0": {}, "1": {}}
relations:
- [a:p, b:q]
"""
HELD = Existing(
    juju="4.0",
    applications={
        "a": Deployed(
            "a",
            base="ubuntu@24.04",
            options={"x": 1, "y": "two"},
            units={"a/0": "0", "a/1": "1"},
            next_unit=2,
        ),
        "b": Deployed(
            "b",
            base="ubuntu@24.04",
            constraints="mem=4G arch=amd64",
            units={"b/0": "0"},
            next_unit=1,
        ),
        "s": Deployed("s", base="ubuntu@24.04"),
        "c": Deployed("c", is_local=False, base="ubuntu@24.04", channel="1/stable"),
    },
    machines=("0", "1"),
    next_machine=2,
    relations=frozenset([frozenset(["a:p", "b:q"])]),
)


def bundle(tmp_path: Path, overlay: str = "") -> Bundle:
    (tmp_path / "b.yaml").write_text(BASE)
    (tmp_path / "o.yaml").write_text(overlay)
    found = load(tmp_path / "b.yaml", [tmp_path / "o.yaml"], juju="4.0").bundle
    assert found is not None
    return found


def replanned(tmp_path: Path, overlay: str, held: Existing = HELD, words: str = "") -> Plan:
    return plan(bundle(tmp_path, overlay), existing=held, map_text=words)


def lines(found: Plan) -> list[str]:
    return [change.text for change in found.changes]


def test_the_same_bundle_changes_nothing(tmp_path: Path):
    found = replanned(tmp_path, "")
    assert found.changes == ()
    assert found.text() == ""
    assert found.failure is None


@pytest.mark.parametrize(
    ("overlay", "wanted"),
    [
        ("applications: {a: {options: {x: 2}}}", ["set application options for a"]),
        ("applications: {a: {options: {x: '1'}}}", ["set application options for a"]),
        ("applications: {a: {options: {x: 1.0}}}", ["set application options for a"]),
        ("applications: {a: {options: {x: 1}}}", []),
        ("applications: {a: {options: {z: true}}}", ["set application options for a"]),
        ("applications: {a: {options: {x: null}}}", []),
        ("applications: {a: {annotations: {n: '1'}}}", ["set annotations for a"]),
        ("applications: {b: {constraints: arch=amd64 mem=8G}}",
         ['set constraints for b to "arch=amd64 mem=8G"']),
        ("applications: {b: {constraints: mem=4G arch=amd64}}", []),
        ("applications: {b: {constraints: ''}}",
         ["upload charm b from local for base ubuntu@24.04/stable",
          'set constraints for b to ""']),
        ("applications: {b: {base: ubuntu@22.04}}",
         ["upload charm b from local for base ubuntu@22.04/stable with architecture=amd64"]),
        ("applications: {b: {expose: true}}",
         ["expose all endpoints of b and allow access from CIDRs 0.0.0.0/0 and ::/0"]),
        ("applications: {b: {exposed-endpoints: {q: {expose-to-cidrs: [10.0.0.0/8]}}}}",
         ["override expose settings for endpoint q of b and allow access from CIDR 10.0.0.0/8"]),
        ("applications: {b: {exposed-endpoints: {'': {expose-to-spaces: [x, y]}}}}",
         ["expose all endpoints of b and allow access from spaces x and y"]),
        ("applications: {b: {offers: {o: {endpoints: [q]}}}}", ["create offer o using b:q"]),
        ("saas: {far: {url: m.o}}", ["consume offer far at m.o"]),
        ("relations: [[a:r, s:h]]", ["add relation a:r - s:h"]),
        ("relations: [[b:q, a:p]]", []),
        ("relations: [[a, b]]", ["add relation a - b"]),
        ("applications: {a: {num_units: 1, to: ['0']}}\nmachines: {'0': {}}", []),
        ("applications: {a: {to: ['1', '0']}}", []),
        ("applications: {a: {num_units: 3}}", ["add unit a/2 to new machine 2"]),
        ("applications: {a: {num_units: 3, to: ['0', '1', '0']}}",
         ["add unit a/2 to new machine 2"]),
        ("applications: {a: {num_units: 3, to: ['0', '1', b]}}",
         ["add unit a/2 to new machine 2"]),
        ("applications: {b: {num_units: 2, to: ['0', a]}}",
         ["add unit b/1 to existing machine 1 to satisfy [a]"]),
        ("applications: {a: {num_units: 3, to: ['0', '1', 'lxd:b/0']}}",
         ["add unit a/2 to 0/lxd/0 to satisfy [lxd:b/0]"]),
        ("applications: {a: {num_units: 3, to: ['lxd:0', '0', '1']}}",
         ["add unit a/2 to 0/lxd/0"]),
        ("applications: {a: {num_units: 3, to: [new, '0', '1']}}",
         ["add new machine 2", "add unit a/2 to new machine 2"]),
        (("applications: {a: {num_units: 3, to: ['0', '1', '7']}}\n"
         "machines: {'0': {}, '1': {}, '7': {}}"),
         ["add new machine 2 (bundle machine 7)", "add unit a/2 to new machine 2"]),
        ("applications: {s: {num_units: 1}}", ["add unit s/0 to new machine 2"]),
        ("applications: {d: {charm: d, num_units: 1}}",
         ["upload charm d from charm-hub for base ubuntu@24.04/stable",
          "deploy application d from charm-hub on ubuntu@24.04/stable",
          "add unit d/0 to new machine 2"]),
        ("applications: {c: {channel: 2/stable}}",
         ["upload charm c from charm-hub for base ubuntu@24.04/stable from channel 2/stable",
          ("upgrade c from charm-hub using charm c for base ubuntu@24.04/stable"
          " from channel 2/stable")]),
        ("applications: {b: null}", []),
        ("applications: {b: {trust: true}}", []),
        ("applications: {b: {charm: ./other.charm}}", []),
        ("applications: {b: {bindings: {q: alpha}, storage: {d: 1G}}}", []),
    ],
)  # fmt: skip
def test_only_what_is_new_or_differs_is_done(overlay: str, wanted: list[str], tmp_path: Path):
    assert lines(replanned(tmp_path, overlay)) == wanted


def test_a_number_of_a_unit_is_not_used_again(tmp_path: Path):
    known = replace(HELD.applications["a"], units={"a/0": "0", "a/4": "1"}, next_unit=5)
    held = replace(HELD, applications={**HELD.applications, "a": known})
    found = replanned(tmp_path, "applications: {a: {num_units: 3}}", held)
    assert lines(found) == ["add unit a/5 to new machine 2"]


def test_exposure_that_is_there_already_is_not_repeated(tmp_path: Path):
    exposed = {"q": Exposed(cidrs=("10.0.0.0/8",))}
    known = replace(HELD.applications["b"], exposed=exposed, annotations={"n": "1"})
    held = replace(HELD, applications={**HELD.applications, "b": known})
    overlay = (
        "applications: {b: {annotations: {n: '1'},"
        " exposed-endpoints: {q: {expose-to-cidrs: [10.0.0.0/8]}}}}"
    )
    assert lines(replanned(tmp_path, overlay, held)) == []


@pytest.mark.parametrize(
    ("overlay", "failure"),
    [
        ("applications: {a: {options: {x: 2}}}",
         'cannot update options for application "a": config yaml not supported not implemented'),
        ("applications: {b: {base: ubuntu@22.04}}", "b\": file does not exist"),
        ("relations: [[a, b]]",
         'cannot add relation "a", "b": relation a:p b:q: already exists'),
        ("relations: [[b, a]]",
         'cannot add relation "b", "a": relation b:q a:p: already exists'),
        ("applications: {b: {offers: {o: {endpoints: [q, r]}}}}",
         'offer "o" already exists, updating offers is not supported'),
        ("applications: {b: {offers: {o: {endpoints: [q], acl: {u@external: read}}}}}",
         "cannot grant read access"),
        ("applications: {b: {offers: {o: {endpoints: [q]}}}}", ""),
    ],
)  # fmt: skip
def test_juju_4_stops_half_way_and_the_plan_says_where(overlay: str, failure: str, tmp_path: Path):
    held = replace(HELD, offers={"o": ("q",)})
    found = replanned(tmp_path, overlay, held).failure
    assert failure in (found.failure if found else "")


@pytest.mark.parametrize(
    "overlay",
    [
        "applications: {a: {options: {x: 2}}}",
        "applications: {b: {offers: {o: {endpoints: [q, r]}}}}",
        "applications: {b: {offers: {o: {endpoints: [q], acl: {u@external: read}}}}}",
    ],
)
def test_juju_36_does_what_40_cannot(overlay: str, tmp_path: Path):
    held = replace(HELD, juju="3.6", offers={"o": ("q",)})
    assert replanned(tmp_path, overlay, held).failure is None


def test_constraints_of_the_model_decide_the_architecture(tmp_path: Path):
    known = replace(HELD.applications["b"], constraints="mem=4G")
    held = replace(HELD, arch="amd64", applications={**HELD.applications, "b": known})
    assert lines(replanned(tmp_path, "", held)) == ['set constraints for b to "arch=amd64 mem=4G"']


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", (False, {})),
        ("existing", (True, {})),
        ("existing,3=4", (True, {"3": "4"})),
        ("2=0,3=1", (False, {"2": "0", "3": "1"})),
    ],
)
def test_words_on_machines_are_read(text: str, wanted: tuple[bool, dict[str, str]]):
    assert parse_map(text) == wanted


@pytest.mark.parametrize("text", ["two", "2=", "=2", "a=b", "existing;2=3", "2=-1", "2=0/lxd/0"])
def test_other_words_on_machines_are_refused(text: str):
    with pytest.raises(PlanError, match="neither existing nor ours=theirs"):
        parse_map(text)


@pytest.mark.parametrize(
    ("words", "machines", "wanted"),
    [
        ("", ("0", "1"), {"0": "0", "1": "1"}),
        ("", ("5", "6"), {}),
        ("existing", ("0", "1"), {"0": "0", "1": "1"}),
        ("0=5,1=6", ("5", "6"), {"0": "5", "1": "6"}),
        ("0=7", ("0", "1"), {"1": "1"}),
        ("1=0", ("0", "1"), {"1": "0", "0": "1"}),
    ],
)
def test_declared_machines_are_found_in_the_model(
    words: str, machines: tuple[str, ...], wanted: dict[str, str], tmp_path: Path
):
    units = {"a/0": machines[0], "a/1": machines[1]}
    known = Deployed("a", units=units) if machines == ("0", "1") else Deployed("a")
    held = Existing(applications={"a": known}, machines=machines, next_machine=9)
    found = map_machines(bundle(tmp_path), held, words)
    assert found == wanted or (words == "1=0" and found["1"] == "0")


def test_a_machine_that_would_stay_empty_is_refused_in_jujus_words(tmp_path: Path):
    overlay = "applications: {b: {to: ['9']}}\nmachines: {'0': {}, '1': {}, '9': {}}"
    with pytest.raises(PlanError, match=r'bundle machine "9" - the target should host \[b\]'):
        replanned(tmp_path, overlay)


def test_model_machines_that_stand_for_none_are_offered(tmp_path: Path):
    held = replace(HELD, machines=("0", "1", "5"), next_machine=6)
    overlay = "applications: {b: {to: ['9']}}\nmachines: {'0': {}, '1': {}, '9': {}}"
    with pytest.raises(PlanError, match='perhaps to unreferenced model machine "5" - the target'):
        replanned(tmp_path, overlay, held)


def test_an_empty_machine_before_one_with_a_unit_goes_unnoticed(tmp_path: Path):
    """Source: internal/bundle/changes/handlers.go: each new machine waits for those before."""
    overlay = (
        "applications: {b: {to: ['8']}, a: {num_units: 3, to: ['0', '1', '9']}}\n"
        "machines: {'0': {}, '1': {}, '8': {}, '9': {}}"
    )
    assert lines(replanned(tmp_path, overlay)) == [
        "add new machine 2 (bundle machine 8)",
        "add new machine 3 (bundle machine 9)",
        "add unit a/2 to new machine 3",
    ]


def test_a_channel_for_a_local_charm_is_refused_in_jujus_words(tmp_path: Path):
    with pytest.raises(PlanError, match='the channel for "b" is unknown; use --force'):
        replanned(tmp_path, "applications: {b: {channel: stable}}")


def test_a_retry_makes_the_machines_again_unless_it_is_told_not_to(tmp_path: Path):
    held = replace(
        HELD,
        applications={
            name: replace(known, units={}, next_unit=0)
            for name, known in HELD.applications.items()
        },
    )
    assert "add new machine 2 (bundle machine 0)" in lines(replanned(tmp_path, "", held))
    again = lines(replanned(tmp_path, "", held, "existing"))
    assert "add unit a/0 to existing machine 0" in again
    assert not any(line.startswith("add new machine") for line in again)


@pytest.mark.parametrize(
    ("overlay", "path", "message"),
    [
        ("applications: {a: {num_units: 1, to: ['0']}}\nmachines: {'0': {}}",
         "applications.a.num_units", "has 2 units and keeps them"),
        ("applications: {b: {charm: ./other_ubuntu-24.04-amd64.charm}}",
         "applications.b.charm", "keeps its charm b"),
        ("applications: {a: {options: {y: null}}}",
         "applications.a.options.y", "stays, though the bundle lacks it"),
        ("applications: {b: {to: ['1']}}", "applications.b.to.0", "b/0 stays on machine 0"),
    ],
)  # fmt: skip
def test_what_is_not_done_is_a_warning(overlay: str, path: str, message: str, tmp_path: Path):
    (found,) = unheeded(bundle(tmp_path, overlay), HELD)
    assert (found.severity, found.path) == ("warning", path)
    assert message in found.message


def test_nothing_is_unheeded_where_nothing_differs(tmp_path: Path):
    assert unheeded(bundle(tmp_path), HELD) == []
    assert unheeded(bundle(tmp_path), Existing()) == []
