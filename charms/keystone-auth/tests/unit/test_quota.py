# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a project may use, as a ResourceQuota counts it."""

import pytest

from quota import (
    GPU_RESOURCES,
    amount,
    find_closed,
    find_unknown,
    merge,
    parse_limits,
    parse_quota,
    parse_tags,
    shut,
)

GPU = "requests.nvidia.com/gpu"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvidia.com/gpu: 4", {GPU: "4"}),
        ("limits.nvidia.com/gpu: 4", {GPU: "4"}),
        ("requests.nvidia.com/gpu=4", {GPU: "4"}),
        ("nvidia.com/gpu: 4\nlimits.nvidia.com/gpu: 4", {GPU: "4"}),
        ("gpu=4,mig-1g.10gb=7", {GPU: "4", "requests.nvidia.com/mig-1g.10gb": "7"}),
        ("nvidia.com/mig-1g.10gb.me=1", {"requests.nvidia.com/mig-1g.10gb.me": "1"}),
        ("limits.nvidia.com/mig-3g.40gb: 2", {"requests.nvidia.com/mig-3g.40gb": "2"}),
        ("amd.com/gpu=1", {"requests.amd.com/gpu": "1"}),
        ("limits.rdma/hca_shared=1", {"requests.rdma/hca_shared": "1"}),
    ],
    ids=range(9),
)
def test_q04_extended_resources_are_counted_by_requests_however_they_were_written(
    text: str, expected: dict[str, str]
) -> None:
    assert parse_quota(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("cpu=16, memory=128Gi", {"requests.cpu": "16", "requests.memory": "128Gi"}),
        ("limits.cpu=32", {"limits.cpu": "32"}),
        ("pods=20\nservices.loadbalancers=1", {"pods": "20", "services.loadbalancers": "1"}),
        ("requests.storage=1Ti", {"requests.storage": "1Ti"}),
        (
            "ceph-xfs.storageclass.storage.k8s.io/requests.storage=1Ti",
            {"ceph-xfs.storageclass.storage.k8s.io/requests.storage": "1Ti"},
        ),
        ("count/jobs.batch=50", {"count/jobs.batch": "50"}),
        ("hugepages-2Mi=1Gi", {"requests.hugepages-2Mi": "1Gi"}),
    ],
    ids=range(8),
)
def test_other_keys_are_what_a_quota_has(text: str, expected: dict[str, str]) -> None:
    assert parse_quota(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu", "no pair"),
        ("gpus=4", "counts nothing called 'gpus'"),
        ("nvidia.com/gpus=4", "no resource of a GPU"),
        ("nvidia.com/mig-1g10gb=4", "no resource of a GPU"),
        ("nvidia.com/mig-9g.99gb=1", "no resource of a GPU"),
        ("nvidia.com/mig-5g.40gb=1", "no resource of a GPU"),
        ("mig-6g.40gb=1", "counts nothing called 'mig-6g.40gb'"),
        ("mig-1g.0gb=1", "counts nothing called 'mig-1g.0gb'"),
        ("gpu=1 mig-1g.10gb=2", "'gpu=1 mig-1g.10gb=2' is several pairs, put commas between them"),
        ("gpu: 1 cpu: 4", "is several pairs, put commas"),
        ("gpu=1;cpu=4", "is several pairs, put commas"),
        ("1g.10gb=2", "nothing called '1g.10gb', write mig-1g.10gb"),
        ("mig-1g.5gb+me=1", "write mig-1g.5gb.me"),
        ("gpu=99999999999999999999", "is more than there is"),
        ("memory=16", "'16' is less than 1Mi, as in 16Gi"),
        ("memory=16m", "is less than 1Mi"),
        ("requests.storage=100", "is less than 1Mi, as in 100Gi"),
        ("nvidia.com/gpu=0.5", "no whole number"),
        ("nvidia.com/gpu=500m", "no whole number"),
        ("nvidia.com/gpu=-1", "no quantity"),
        ("nvidia.com/gpu=four", "no quantity"),
        ("nvidia.com/gpu=4Gi", "no whole number"),
        ("nvidia.com/gpu=4\nlimits.nvidia.com/gpu=8", "given twice, as 4 and 8"),
        ("memory=1GB", "no quantity"),
        ("=4", "counts nothing"),
        ("cpu=", "no quantity"),
    ],
    ids=range(26),
)
def test_q04_what_a_quota_would_ignore_or_refuse_is_refused_before(
    text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        parse_quota(text)


def test_tags_of_a_project_give_gpus_and_other_tags_mean_nothing() -> None:
    tags = ["k8s", "k8s:gpu=4", "k8s:mig-1g.10gb=7", "k8s:cpu=32", "owner=physics", "k8s:old"]
    wanted = {"requests.cpu": "32", GPU: "4", "requests.nvidia.com/mig-1g.10gb": "7"}
    assert parse_tags(tags) == (wanted, [])


def test_a_wrong_tag_or_limit_is_named_and_takes_no_other_along() -> None:
    given, wrong = parse_tags(["k8s:gpu=4", "k8s:gpus=8", "k8s:mig-9g.99gb=1"])
    assert given == {GPU: "4"}
    assert wrong == [
        "a quota counts nothing called 'gpus', as in gpu, mig-1g.10gb or cpu",
        "a quota counts nothing called 'mig-9g.99gb', as in gpu, mig-1g.10gb or cpu",
    ]
    given, wrong = parse_limits({"gpu": 2, "volumes": 10})
    assert given == {GPU: "2"}
    assert len(wrong) == 1


def test_limits_of_keystone_go_before_tags_and_minus_one_is_no_limit() -> None:
    layers = (parse_tags(["k8s:gpu=4"]), parse_limits({"requests.nvidia.com/gpu": 8}))
    assert merge({GPU: "1"}, *(quota for quota, _ in layers)) == {GPU: "8"}
    assert parse_limits({"requests.nvidia.com/gpu": -1}) == ({}, [])


def test_profiles_that_no_gpu_has_are_named_until_a_node_offers_them() -> None:
    """A GPU that is newer than the charm brings profiles of its own."""
    quota = parse_quota("mig-1g.11gb=1,mig-1g.10gb=2,gpu=1")
    offered = ["nvidia.com/gpu", "nvidia.com/mig-3g.40gb"]
    assert find_unknown(quota, offered) == (
        "no GPU is cut into mig-1g.11gb; nodes offer gpu, mig-3g.40gb"
    )
    assert find_unknown(quota, []).endswith("nodes offer no GPU")
    assert find_unknown(quota, ["nvidia.com/mig-1g.11gb"]) == ""
    assert find_unknown(parse_quota("mig-1g.10gb=2,cpu=4"), []) == ""


def test_every_gpu_resource_that_is_not_given_is_zero() -> None:
    closed = find_closed({GPU: "4"}, ["nvidia.com/gpu", "nvidia.com/mig-9g.999gb"])
    assert GPU not in closed
    assert set(closed.values()) == {"0"}
    assert {f"requests.{name}" for name in GPU_RESOURCES} - {GPU} < set(closed)
    assert "requests.nvidia.com/mig-9g.999gb" in closed


def test_under_a_shut_quota_no_pod_starts() -> None:
    assert shut({GPU: "4", "requests.cpu": "8"}) == {GPU: "0", "pods": "0"}


def test_quantities_compare_by_what_they_are() -> None:
    assert amount("1") == amount("1000m")
    assert amount("1Ki") == amount("1024")
    assert amount("1k") < amount("1Ki")
