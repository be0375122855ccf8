# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Least privilege: what keystone-auth's account did over this suite against what it is granted."""

from collections.abc import Mapping
from typing import Any

import pytest

from charmkit.account import Grant, Rule
from tests.functional.keystone_auth.site import Site
from tests.functional.kubernetes.audit import (
    NOBODY,
    TABLES,
    Request,
    count_uses,
    granted,
    read_audit,
    table,
    unlawful,
)

APP = HOME = "keystone-auth"
ACCOUNT = f"system:serviceaccount:{HOME}:{APP}"

_ROLES = "clusterroles.rbac.authorization.k8s.io"
NEEDED: Mapping[str, str] = {
    f"escalate {_ROLES}": "no request: the server asks for it when Addon.ensure applies a role",
    f"bind {_ROLES}": "no request: the server asks for it when Addon.ensure applies a binding",
}
"""Verbs that no test here used, with the code path that needs each."""


@pytest.fixture
def grant(site: Site) -> Grant:
    """What the charm gives its account; its modules cannot be imported here."""

    def rules(found: list[dict[str, Any]]) -> tuple[Rule, ...]:
        return tuple(
            Rule(tuple(one["resources"]), tuple(one["verbs"]), one["group"], tuple(one["names"]))
            for one in found
        )

    given = site.lead("grant")
    return Grant(rules(given["cluster"]), rules(given["namespaced"]))


@pytest.fixture
def asked(site: Site, requests: list[Request]) -> list[Request]:
    """What the account asked for, on this site and on those of other tests."""
    everything = [*requests, *read_audit(site.cluster.audit_log)]
    found = [request for request in everything if request.user == ACCOUNT]
    if len(found) < 100:
        pytest.skip("the other tests of this folder did not run before")
    return found


def test_the_account_used_nothing_that_it_is_not_granted(
    asked: list[Request], grant: Grant
) -> None:
    assert unlawful(asked, granted(APP, grant, HOME)) == []


def test_every_granted_verb_is_used_or_has_a_code_path(
    asked: list[Request], grant: Grant, pytestconfig: pytest.Config
) -> None:
    found = table(count_uses(asked, granted(APP, grant, HOME)), NEEDED)
    pytestconfig.stash[TABLES][APP] = found
    assert [line for line in found.splitlines() if NOBODY in line] == []
