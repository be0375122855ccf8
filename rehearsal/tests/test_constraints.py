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


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("mem=8GB", "write mem=8G"),
        ("mem=1.5tib", "write mem=1.5T"),
        ("root-disk=many", "write a number: root-disk=64G"),
        ("cores=8G", "write a number: cores=8"),
        ("mem=4G,cores=2", "put one blank between constraints, not a comma"),
        ("cores=2,mem=4G", "put one blank between constraints, not a comma"),
        ("memory=8G", "did you mean mem?"),
        ("Memory=8G", "did you mean mem?"),
        ("cpus=8", "did you mean cores?"),
        ("gpus=8", "did you mean tags?"),
        ("rootdisk=8G", "did you mean root-disk?"),
        ("zzz=1", "there are: allocate-public-ip, arch,"),
        ("mem = 8G", "write mem=VALUE, without a blank"),
        ("include-file://x", "write it out"),
        ("tags=gpu dgx", "write tags=gpu,dgx: commas join names"),
        ("cores=2 tags=gpu, dgx", "write tags=gpu,dgx: commas join names"),
        ("zones=a b", "write zones=a,b"),
        ("cores=2 dgx", "write dgx=VALUE"),
        ("pool=gpu", "did you mean tags?"),
        ("system-id=abc", "did you mean tags?"),
        ("arch=aarch64", "write arch=arm64"),
        ("arch=vax", "write one of amd64"),
        ("tags=a tags=b", "write tags once"),
        ("allocate-public-ip=maybe", "write key=value pairs"),
    ],
)
def test_a_remedy_says_what_to_write_instead(text: str, remedy: str):
    with pytest.raises(ConstraintError) as caught:
        parse(text)
    assert caught.value.remedy.startswith(remedy)


def test_the_second_wins_key_by_key():
    both = merge(parse("arch=amd64 cores=2 tags=a"), parse("cores=4"))
    assert (both.arch, both.cores, both.tags) == ("amd64", 4, ("a",))
    assert parse(" ".join(f"{key}={value}" for key, value in both.values.items())) == both
