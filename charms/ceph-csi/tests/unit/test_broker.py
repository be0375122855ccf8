# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The broker's wire format: requests that stay the same, answers of whoever leads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import find_answer, operations, request, request_id
from caps import Usage, as_arguments, capabilities

USAGE = Usage.of(["kube"], ["cephfs"])
OPS = operations("ceph-csi", USAGE, create=["kube"], replicas=3)


def answer(identifier: str, code: int = 0, stderr: str = "") -> str:
    return json.dumps({"exit-code": code, "request-id": identifier, "stderr": stderr})


def test_every_operation_is_in_one_request_with_the_pools_first() -> None:
    body = json.loads(request(OPS, ""))
    assert body["api-version"] == 1
    assert [op["op"] for op in body["ops"]] == ["create-pool", "set-key-permissions"]
    assert body["ops"][0]["app-name"] == "rbd"
    assert body["ops"][1]["client"] == "ceph-csi"


def test_the_same_request_has_the_same_identifier_and_another_key_another() -> None:
    again = operations("ceph-csi", USAGE, create=["kube"], replicas=3)
    assert request(OPS, "k") == request(again, "k")
    assert request_id(request(OPS, "k")) != request_id(request(OPS, ""))
    assert request_id(request(OPS, "k")) != request_id(request(OPS, "l"))


def test_a_key_is_nowhere_in_a_request() -> None:
    assert "AQBsecret" not in request(OPS, "AQBsecret==")


ID = request_id(request(OPS, ""))


@pytest.mark.parametrize(
    ("bags", "verdict"),
    [
        pytest.param([], "pending", id="nobody"),
        pytest.param([{"broker-rsp-ceph-csi-0": answer(ID)}], "done", id="by-unit"),
        pytest.param([{"broker_rsp": answer(ID)}], "done", id="legacy"),
        pytest.param([{}, {"broker-rsp-ceph-csi-0": answer(ID)}], "done", id="second-mon-leads"),
        pytest.param(
            [{"broker-rsp-ceph-csi-0": answer("old")}], "pending", id="to-another-request"
        ),
        pytest.param([{"broker-rsp-ceph-csi-1": answer(ID, 1)}], "pending", id="to-another-unit"),
        pytest.param([{"broker_rsp": answer(ID, 1, "no\nspace")}], "failed", id="refused"),
        pytest.param(
            [{"broker_rsp": answer(ID, 1)}, {"broker_rsp": answer(ID)}], "done", id="later-leader"
        ),
        pytest.param([{"broker_rsp": "[]"}, {"broker_rsp": "{"}], "pending", id="no-object"),
        pytest.param([{"broker_rsp": json.dumps({"request-id": ID})}], "pending", id="no-code"),
    ],
)
def test_only_an_answer_to_this_request_counts(bags: list[dict[str, str]], verdict: str) -> None:
    assert find_answer(ID, "ceph-csi/0", bags).verdict == verdict


def test_a_refusal_carries_its_reason_on_one_line() -> None:
    found = find_answer(ID, "ceph-csi/0", [{"broker_rsp": answer(ID, 1, "no\n  space")}])
    assert found.reason == "no space"


@given(st.lists(st.dictionaries(st.sampled_from(["broker_rsp", "x"]), st.text()), max_size=3))
def test_any_text_in_a_bag_is_no_answer(bags: list[dict[str, str]]) -> None:
    assert find_answer(ID, "ceph-csi/0", bags).verdict == "pending"


@given(st.text())
def test_any_text_has_an_identifier_or_none(text: str) -> None:
    assert isinstance(request_id(text), str)


def test_capabilities_name_every_pool_and_file_system_and_nothing_wider() -> None:
    caps = capabilities(Usage.of(["b", "a", "a"], ["fs"]))
    assert list(caps) == ["mon", "mgr", "osd", "mds"]
    assert "profile rbd pool=a, profile rbd pool=b" in caps["osd"]
    assert "allow rws fsname=fs path=/volumes/csi" in caps["mds"]
    words = ", ".join(caps.values()).split(", ")
    assert not {"allow rw", "allow *", "allow rwx", "allow r", "profile rbd pool="} & set(words)
    assert all("vol_name=fs" in word for word in words if "fs subvolume" in word)


def test_without_a_file_system_there_is_no_capability_for_one() -> None:
    caps = capabilities(Usage.of(["a"], []))
    assert "mds" not in caps
    assert "fs subvolume" not in caps["mgr"]
    assert 'allow command "fs ls"' in caps["mon"]  # One that comes later is found.


def test_arguments_alternate_between_daemon_and_text() -> None:
    words = as_arguments(capabilities(USAGE))
    assert words[::2] == ["mon", "mgr", "osd", "mds"]
