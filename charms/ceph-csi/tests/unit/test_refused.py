# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every call on the API that is refused, in hooks, actions and removal: a sentence, no error.

The calls are walked with a stride, from another one for each answer, so that each meets some.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from ops import testing
from storagesite import Site
from test_removal import leave_canonical

from charmkit.errors import MESSAGE_LIMIT
from standins.kubernetes.refusing import SAYS, Refusing

TABLES = ("[{name: ceph-rbd, kind: rbd, reclaim: Retain}, {name: b, kind: rbd}]", "")
STRIDE = 32


def site_of(folder: Path) -> tuple[Site, Refusing]:
    """Return a site and its way to the API."""
    ways: list[Refusing] = []

    def wrap(inner: object) -> Refusing:
        ways.append(Refusing(inner))  # type: ignore[arg-type]
        return ways[0]

    return Site(folder, way=wrap), ways[0]


def alternate(site: Site) -> None:
    """Change what there is to be, back and forth, and look at all of it."""
    old = site.state.config.get("storage-classes", "")
    site.configure(storage_classes=TABLES[0] if old == TABLES[1] else TABLES[1])
    site.update()


def act(site: Site, name: str) -> None:
    """Run an action; it may fail with one line."""
    failed = ""
    try:
        site.act(name)
    except testing.ActionFailed as failure:
        failed = failure.message
    assert not failed or (failed.isprintable() and len(failed) <= MESSAGE_LIMIT)


@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_a_hook_that_is_refused_is_a_status_and_made_up_for(
    tmp_path: Path, answer: str
) -> None:
    site, way = site_of(tmp_path)
    site.talk()
    way.places.clear()
    alternate(site)
    alternate(site)
    for place in way.choose(answer, STRIDE):
        way.refuse(place, answer)
        alternate(site)
        alternate(site)
        way.refuse("", answer)
        assert site.update()[0] == "active", place


@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_the_first_hooks_that_is_refused_is_a_status_and_made_up_for(
    tmp_path: Path, answer: str
) -> None:
    site, way = site_of(tmp_path / "first")
    site.talk()
    for number, place in enumerate(way.choose(answer, STRIDE)):
        site, another = site_of(tmp_path / str(number))
        another.refuse(place, answer)
        site.talk()
        another.refuse("", answer)
        site.talk()
        assert site.talk()[0] == "active", place


ACTIONS = ("adopt", "list-volumes", "prepare-removal", "show-caps", "sync")


@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_an_action_that_is_refused_fails_it_in_one_line(
    tmp_path: Path, answer: str
) -> None:
    def fresh(name: str) -> tuple[Site, Refusing]:
        site, way = site_of(tmp_path / name)
        site.talk()
        leave_canonical(site)
        way.places.clear()
        return site, way

    first, seen = fresh("first")
    for name in ACTIONS:
        act(first, name)
    for number, place in enumerate(seen.choose(answer, STRIDE)):
        site, way = fresh(str(number))
        way.refuse(place, answer)
        for name in ACTIONS:
            act(site, name)
        way.refuse("", answer)
        act(site, "adopt")
        assert site.talk()[0] == "active", place


@pytest.mark.parametrize("volumes", [0, 1], ids=["empty", "with-a-volume"])
@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_the_removal_that_is_refused_is_no_error_and_loses_no_volume(
    tmp_path: Path, answer: str, volumes: int
) -> None:
    def fresh(name: str) -> tuple[Site, Refusing]:
        site, way = site_of(tmp_path / name)
        site.talk()
        for number in range(volumes):
            site.add_volume(f"pv-{number}", pool="ceph-csi-rbd")
        site.state = replace(site.state, planned_units=0)
        way.places.clear()
        return site, way

    first, seen = fresh("first")
    first.run(first.on.relation_broken(first.host))
    for number, place in enumerate(seen.choose(answer, STRIDE)):
        site, way = fresh(str(number))
        way.refuse(place, answer)
        site.run(site.on.relation_broken(site.host))
        way.refuse("", answer)
        site.run(site.on.relation_broken(site.host))
        site.run(site.on.stop())
        assert bool(site.objects("secrets")) == bool(volumes), place


def test_adopt_takes_no_driver_away_before_every_label_is_ours(tmp_path: Path) -> None:
    site, way = site_of(tmp_path)
    site.talk()
    leave_canonical(site)
    way.refuse("PATCH /apis/storage.k8s.io/v1/storageclasses/ceph-xfs", "422")
    with pytest.raises(testing.ActionFailed) as failed:
        site.act("adopt", namespace="default")
    assert failed.value.message == (
        "storageclasses ceph-xfs: mend it, the cluster refuses spec.z: Invalid value: "
        '"a": field is immutable'
    )
    assert "csi-rbdplugin" in site.objects("daemonsets.apps")
    way.refuse("", "422")
    assert "DaemonSet csi-rbdplugin" in site.act("adopt", namespace="default")["adopted"]
    assert site.talk()[0] == "active"


def test_adopt_that_ends_half_way_brings_our_drivers_all_the_same(tmp_path: Path) -> None:
    site, way = site_of(tmp_path)
    leave_canonical(site)
    site.talk()
    assert "rbd-node" not in site.objects("daemonsets.apps")
    place = "DELETE /apis/apps/v1/namespaces/default/daemonsets/csi-rbdplugin"
    way.refuse(place, "503")
    with pytest.raises(testing.ActionFailed, match="apiserver is shutting down"):
        site.act("adopt", namespace="default")
    assert "rbd-node" in site.objects("daemonsets.apps")
