# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPUs as values, and what a node with them advertises."""

from dataclasses import replace

import pytest

from gpu import Device, Instance, Placement, allocatable


def with_instances(gpu, *names: str):
    by_name = {profile.name: profile for profile in gpu.profiles}
    start, instances = 0, []
    for number, name in enumerate(names):
        profile = by_name[name]
        place = Placement(start, profile.size)
        instances.append(Instance(number, profile, place, (Device(0, f"MIG-{number}"),)))
        start += profile.size
    return replace(gpu, mig=True, mig_pending=True, instances=tuple(instances))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (
            "mixed",
            {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 2, "nvidia.com/mig-1g.5gb.me": 1},
        ),
        ("single", {"nvidia.com/gpu": 4}),
        ("none", {"nvidia.com/gpu": 2}),
    ],
)
def test_each_strategy_counts_devices_in_its_way(gpus_of, strategy, expected):
    whole, other = gpus_of("a100-40gb", 2)
    cut = with_instances(other, "1g.5gb", "1g.5gb+me", "1g.5gb")
    assert allocatable([whole, cut], strategy) == expected


def test_a_gpu_with_mig_on_and_no_instance_counts_nowhere(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    assert allocatable([with_instances(gpu)]) == {"nvidia.com/gpu": 0}


def test_devices_are_what_can_be_computed_on(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    assert gpu.devices == (gpu.uuid,)
    cut = with_instances(gpu, "3g.20gb", "3g.20gb")
    assert cut.devices == ("MIG-0", "MIG-1")
    assert cut.instances[1].is_busy(frozenset(["MIG-1"]))
    assert not cut.instances[0].is_busy(frozenset(["MIG-1"]))


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [((0, 4), False), ((3, 2), True), ((4, 4), True), ((5, 1), True), ((8, 1), False)],
)
def test_places_overlap_where_they_share_a_unit(other, overlaps):
    place, other_place = Placement(4, 4), Placement(*other)
    assert place.overlaps(other_place) == other_place.overlaps(place) == overlaps
