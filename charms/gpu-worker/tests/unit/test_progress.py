# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a journal remembers, whichever version of the charm wrote it."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
from gpusite import POOL, UNIT, Site

from charmkit.journal import StateFile
from progress import RETURNED, Progress, dump, parse
from refusal import Refusal

FULL = Progress(
    1000.0,
    "b-1",
    "drain:k",
    "why",
    2000.0,
    "w-1",
    ("GPU-0", "GPU-1"),
    "k",
    RETURNED,
    Refusal("k", "b-1", ("GPU-0",), "GPU 0: refuses", 3000.0, 2, True),
    1500.0,
)
OLD = ("since", "abandoned", "reason", "retry", "granted")
"""What the first version of the charm wrote."""


def test_everything_is_read_back_as_it_was_written():
    assert parse(dump(FULL)) == FULL
    assert all(getattr(FULL, field.name) != field.default for field in fields(Progress))


def test_a_refresh_goes_on_from_what_an_older_charm_wrote():
    written = {name: value for name, value in dump(FULL)["progress"].items() if name in OLD}
    known = {name: getattr(FULL, name) for name in OLD}
    assert parse({"progress": written}) == replace(Progress(), **known)


def test_a_revert_goes_on_from_what_a_newer_charm_wrote():
    written = {**dump(FULL)["progress"], "invented": [1]}
    assert parse({"progress": written}) == FULL


@pytest.mark.parametrize("fields_kept", [OLD, ()], ids=["refresh", "nothing but time"])
def test_a_refresh_in_the_middle_of_a_change_finishes_it(tmp_path: Path, fields_kept: tuple[str]):
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    site.options = {"mig_profile": "all-2g.12gb"}
    site.hook()
    assert site.cordon == (True, UNIT)
    journal = StateFile(site.files, f"/var/lib/{POOL}/journal.json", schema=1)
    data = journal.read()
    assert data is not None
    kept = {n: v for n, v in data["progress"].items() if n in (*fields_kept, "since")}
    journal.write({"progress": kept})
    assert site.settle().problems == ()
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    site.assert_in_service()


def test_a_machine_that_is_away_for_long_finishes_its_change_when_it_is_back(tmp_path: Path):
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    site.options = {"mig_profile": "all-2g.12gb"}
    site.hook()
    site.lose_power(kubelet_after=30)
    site.world.advance(3600)
    assert site.settle().problems == ()
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    site.assert_in_service()
