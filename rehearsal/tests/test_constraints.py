# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The grammar of constraints."""

from typing import Any

import pytest

from rehearsal.maas.constraints import ConstraintError, merge, parse


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("arch=arm64", {"arch": "arm64"}),
        ("cores=8", {"cores": 8}),
        ("cpu-cores=8", {"cores": 8}),
        ("cores=", {"cores": None}),
        (" cores=2  mem=512 ", {"cores": 2, "mem": 512}),
        ("mem=1.5G", {"mem": 1536}),
        ("mem=2T", {"mem": 2 * 1024 * 1024}),
        ("mem=.5G", {"mem": 512}),
        ("root-disk=20G root-disk-source=default", {"root_disk": 20480}),
        ("tags=gpu,^quarantine", {"tags": ("gpu",), "not_tags": ("quarantine",)}),
        ("spaces=oam,^alpha", {"spaces": ("oam",), "not_spaces": ("alpha",)}),
        ("zones=a,b", {"zones": ("a", "b")}),
        ("virt-type=virtual-machine instance-type=m1 image-id=x", {}),
        ("allocate-public-ip=true container=lxd cpu-power=100", {}),
        (r"instance-role=a\ b cores=1", {"cores": 1}),
    ],
)
def test_constraints_have_values(text: str, fields: dict[str, Any]):
    found = parse(text)
    assert {name: getattr(found, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mem=8G mem=9G", 'bad "mem" constraint: already set'),
        ("cores=1 cpu-cores=2", 'bad "cores" constraint: already set'),
        ("mem=8GB", "non-negative float"),
        ("mem=-1", "non-negative float"),
        ("cores=-1", "non-negative integer"),
        ("cores=2\tmem=4G", "non-negative integer"),
        ("cores=2,mem=4G", "non-negative integer"),
        ("cores=1.5", "non-negative integer"),
        ("cores", 'malformed constraint "cores"'),
        ("5", 'malformed constraint "5"'),
        ("arch=foo", '"foo" not recognized'),
        ("spaces=Bad_Space", "not a valid space name"),
        ("memory=8G", 'unknown constraint "memory"'),
        ("container=docker", "container type"),
        ("allocate-public-ip=maybe", "must be"),
    ],
)
def test_what_is_no_constraint_has_jujus_reason(text: str, reason: str):
    with pytest.raises(ConstraintError, match=reason):
        parse(text)


def test_the_second_wins_key_by_key():
    both = merge(parse("arch=amd64 cores=2 tags=a"), parse("cores=4"))
    assert (both.arch, both.cores, both.tags) == ("amd64", 4, ("a",))
    assert parse(" ".join(f"{key}={value}" for key, value in both.values.items())) == both
