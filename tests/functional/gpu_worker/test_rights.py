# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Least privilege: what gpu-worker's account did over this suite against what it is granted."""

from collections.abc import Mapping

import pytest
from gpusite import POOL

from assembly import GRANT
from observed import NAMESPACE
from tests.functional.kubernetes.audit import (
    NOBODY,
    TABLES,
    Request,
    count_uses,
    granted,
    table,
    unlawful,
)

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{POOL}"

NEEDED: Mapping[str, str] = {}
"""Verbs that no test here used, with the code path that needs each.

The tests of this folder run before: `tests.functional.kubernetes.audit.put_last`.
"""


@pytest.fixture
def asked(requests: list[Request]) -> list[Request]:
    found = [request for request in requests if request.user == ACCOUNT]
    if not found:
        pytest.skip("no other test of this folder ran before")
    return found


def test_the_account_used_nothing_that_it_is_not_granted(asked: list[Request]) -> None:
    assert unlawful(asked, granted(POOL, GRANT, NAMESPACE)) == []


def test_every_granted_verb_is_used_or_has_a_code_path(
    asked: list[Request], pytestconfig: pytest.Config
) -> None:
    uses = count_uses(asked, granted(POOL, GRANT, NAMESPACE))
    found = table(uses, NEEDED)
    pytestconfig.stash[TABLES][POOL] = found
    assert NOBODY not in found
