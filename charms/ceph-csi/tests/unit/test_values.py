# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Monitors, keys, offers and volumes: other people's texts as values."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cephkey import AES, AES256K, find_refusing_kernels, key_type, without_prefix
from monitors import LEGACY, Monitor, parse_monitors
from offers import parse_external, read_offer
from standins.ceph.cluster import make_key
from volumes import SecretReference, cluster_of_handle, find_volumes

FSID = "ffd296d4-7790-8387-4120-3e56f9787fb5"
KEY = make_key("any")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1", [Monitor("10.0.0.1")]),
        ("10.0.0.2,10.0.0.1", [Monitor("10.0.0.1"), Monitor("10.0.0.2")]),
        ("10.0.0.1:6789", [Monitor("10.0.0.1", 6789, 0)]),
        ("10.0.0.1:3300", [Monitor("10.0.0.1", 0, 3300)]),
        ("10.0.0.1:6789 10.0.0.1:3300", [Monitor("10.0.0.1", 6789, 3300)]),
        ("fd00::1", [Monitor("fd00::1")]),
        ("[fd00::1]", [Monitor("fd00::1")]),
        ("[fd00::1]:6790", [Monitor("fd00::1", 6790, 0)]),
        ("v2:10.0.0.1:3300/0", [Monitor("10.0.0.1", 0, 3300)]),
        ("any:10.0.0.1", [Monitor("10.0.0.1", 6789, 3300)]),
        ("[v2:10.0.0.1:13300/0,v1:10.0.0.1:16789/0]", [Monitor("10.0.0.1", 16789, 13300)]),
        ("[v2:[fd00::1]:3300,v1:[fd00::1]:6789]", [Monitor("fd00::1")]),
        ("", []),
    ],
)
def test_an_address_may_be_written_in_any_way_of_ceph(text: str, expected: list[Monitor]) -> None:
    assert list(parse_monitors(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["mon.example.org", "10.0.0.256", "10.0.0.1:99999", "[v2:10.0.0.1,v1:10.0.0.2]", "[", "v2:"],
)
def test_what_is_no_address_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"monitor|port"):
        parse_monitors(text)


def test_a_mounter_gets_the_port_of_its_protocol() -> None:
    both, second = Monitor("fd00::1"), Monitor("10.0.0.1", 0, 3300)
    assert both.text(LEGACY) == "[fd00::1]:6789"
    assert both.text("prefer-crc") == "[fd00::1]:3300"
    assert second.port(LEGACY) == 0
    assert both.vector() == "[v2:[fd00::1]:3300,v1:[fd00::1]:6789]"


@given(st.text())
def test_any_text_is_monitors_or_a_value_error(text: str) -> None:
    try:
        assert all(one.address for one in parse_monitors(text))
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either is right


def test_the_type_of_a_key_is_read_from_its_first_bytes() -> None:
    assert key_type(KEY) == AES
    assert KEY.startswith("AQ")
    modern = make_key("any", 2)
    assert (modern[:2], key_type(modern)) == ("Ag", AES256K)


@pytest.mark.parametrize(
    "text", ["", "AQ==", "no base64", KEY[:-4], "AwAAgSRpAAAAABAA", KEY + "\n"]
)
def test_what_is_no_key_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="key") as caught:
        key_type(text)
    assert not text or text not in str(caught.value)


def test_only_kernels_before_7_refuse_an_aes256k_key() -> None:
    kernels = ["6.8.0-90-generic", "7.0.1", "10.1", "6.17.0"]
    assert find_refusing_kernels(AES256K, kernels) == ("6.17.0", "6.8.0-90-generic")
    assert find_refusing_kernels(AES, kernels) == ()


def test_a_user_is_written_without_its_prefix() -> None:
    assert without_prefix("client.k8s ") == "k8s"


GOOD = {"auth": "cephx", "key": KEY, "ceph-public-address": "10.0.0.1"}


@pytest.mark.parametrize(
    ("app", "units", "missing"),
    [
        pytest.param({}, {"m/0": GOOD}, (), id="whole"),
        pytest.param({}, {"m/0": {}, "m/1": GOOD}, (), id="one-unit-suffices"),
        pytest.param({}, {}, ("key", "auth", "ceph-public-address"), id="nothing"),
        pytest.param({}, {"m/0": {**GOOD, "key": "x"}}, ("a usable key",), id="bad-key"),
        pytest.param({}, {"m/0": {**GOOD, "auth": "none"}}, ("auth cephx",), id="auth-none"),
        pytest.param(
            {},
            {"m/0": {**GOOD, "ceph-public-address": "host"}},
            ("a usable ceph-public-address",),
            id="bad-address",
        ),
        pytest.param(
            {"ceph-mon-public-addresses": '["10.0.0.7"]'},
            {"m/0": {**GOOD, "ceph-public-address": ""}},
            (),
            id="microceph",
        ),
        pytest.param({"ceph-mon-public-addresses": "{"}, {"m/0": GOOD}, (), id="broken-list"),
    ],
)
def test_an_offer_names_what_is_missing(
    app: dict[str, str], units: dict[str, dict[str, str]], missing: tuple[str, ...]
) -> None:
    assert read_offer("m", "u", 1, app, units).missing == missing


def test_one_bad_bag_does_not_hide_a_good_one() -> None:
    bad = {"auth": "cephx", "key": "???", "ceph-public-address": "nowhere"}
    offer = read_offer("m", "u", 1, {}, {"m/0": bad, "m/1": GOOD})
    assert offer.keys == (KEY,)
    assert not offer.missing


def test_while_a_key_changes_both_are_tried_the_frequent_one_first() -> None:
    new = make_key("new")
    bags = {"m/0": GOOD, "m/1": {**GOOD, "key": new}, "m/2": {**GOOD, "key": new}}
    assert read_offer("m", "u", 1, {}, bags).keys == (new, KEY)


BAG = st.dictionaries(
    st.sampled_from(
        ["auth", "key", "ceph-public-address", "broker_rsp", "ceph-mon-public-addresses"]
    ),
    st.text() | st.just(KEY) | st.just("cephx") | st.just("10.0.0.1") | st.just('["::1"]'),
)


@given(BAG, st.dictionaries(st.sampled_from(["m/0", "m/1"]), BAG))
def test_any_bag_is_an_offer_that_is_whole_or_names_a_key(
    app: dict[str, str], units: dict[str, dict[str, str]]
) -> None:
    offer = read_offer("m", "u", 1, app, units)
    assert offer.missing or (offer.keys and offer.monitors)
    assert KEY not in repr(offer)


def test_an_external_cluster_is_read_with_its_user_without_prefix() -> None:
    text = f"[{{name: campus, fsid: {FSID}, monitors: [10.0.0.1, 10.0.0.2], user: client.k8s}}]"
    (offer,) = parse_external(text)
    assert (offer.name, offer.user, offer.fsid) == ("campus", "k8s", FSID)
    assert len(offer.monitors) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("campus", "must be a list"),
        ("[campus]", "entry 1 must be a map"),
        ("[{name: x}]", "entry 1: name"),
        ("[{name: campus}]", "campus: needs fsid"),
        (f"[{{name: campus, fsid: {FSID}, monitors: x, user: u}}]", "campus: monitors: 'x'"),
        ("[{name: campus, fsid: abc, monitors: 10.0.0.1, user: u}]", "campus: fsid"),
        (f"[{{name: campus, fsid: {FSID}, monitors: 10.0.0.1, user: 'a b'}}]", "campus: user"),
        (
            f"[{{name: campus, fsid: {FSID}, monitors: 10.0.0.1, user: u, key: k}}]",
            "campus: no key 'key'",
        ),
        ("[{", "no YAML"),
    ],
)
def test_an_external_cluster_that_cannot_be_read_is_named(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_external(text)


def volume(**csi: Any) -> dict[str, Any]:
    spec = {"csi": {"driver": "rbd.csi.ceph.com", **csi}}
    annotations = {
        "volume.kubernetes.io/provisioner-deletion-secret-name": "csi-rbd-secret",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": "default",
    }
    return {"metadata": {"name": "pv-1", "annotations": annotations}, "spec": spec}


def test_a_volume_tells_its_cluster_by_attribute_or_by_handle() -> None:
    handle = f"0001-0024-{FSID}-0000000000000002-aaaa"
    (found,) = find_volumes([volume(volumeHandle=handle)])
    assert found.fsid == FSID
    assert found.secrets == (SecretReference("default", "csi-rbd-secret"),)
    (other,) = find_volumes([volume(volumeAttributes={"clusterID": "x", "pool": "p"})])
    assert (other.fsid, other.pool) == ("x", "p")


def test_volumes_of_other_drivers_are_nothing_to_us() -> None:
    assert find_volumes([volume(driver="nfs.csi.k8s.io"), {"metadata": {"name": "x"}}]) == ()


def test_a_snapshot_that_outlives_its_volume_counts() -> None:
    handle = f"0001-0024-{FSID}-0000000000000002-aaaa"
    content = {
        "metadata": {"name": "snap-1"},
        "spec": {"driver": "cephfs.csi.ceph.com", "source": {"volumeHandle": handle}},
    }
    (found,) = find_volumes([], [content])
    assert (found.fsid, found.kind, found.phase) == (FSID, "cephfs", "Snapshot")


@given(st.text())
def test_any_handle_has_a_cluster_or_none(handle: str) -> None:
    assert isinstance(cluster_of_handle(handle), str)


def test_a_handle_with_a_length_that_lies_has_none() -> None:
    assert cluster_of_handle(json.dumps("0001-ffff-abc")) == ""
    assert cluster_of_handle("0001-0003-abcd-1") == ""
