# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""NVML refuses a call that changes something: it is said, nothing is half done, a retry works.

The default run takes codes of each kind of error; `-m soak` every code at every call, once and for
a long time. `python benchmarks/mig/fault_table.py` prints what came of them.
"""

import re
from pathlib import Path

import pytest
from faults import CALLS, CODES, Ended, refuse

SOME = (3, 15, 19, 23, 999)
"""One that says never, one that needs a person, two that need time, one that says nothing."""

STATUS = re.compile(r"GPU (\d+|driver)( \([^)]+\))?: .{5,110}")


KINDS = ("NotReadyError", "PutOffError", "InterventionError", "UnsupportedError")


def check(ended: Ended) -> None:
    assert STATUS.fullmatch(ended.text), ended.text
    assert ended.kind in KINDS
    assert ended.partial == ()
    assert ended.wrong == ()


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_call_is_said_and_leaves_nothing_behind(call: str, tmp_path: Path):
    code = SOME[CALLS.index(call)]
    check(refuse(tmp_path, call, code))


@pytest.mark.soak
@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("code", CODES, ids=CODES.values())
def test_every_code_at_every_call_is_said_and_leaves_nothing_behind(
    call: str, code: int, always: bool, tmp_path: Path
):
    ended = refuse(tmp_path, call, code, always=always)
    check(ended)
    assert ended.back == always


def test_a_call_that_is_refused_for_long_gives_the_node_back(tmp_path: Path):
    ended = refuse(tmp_path, "nvmlDeviceCreateGpuInstanceWithPlacement", 999, always=True)
    check(ended)
    assert ended.back
