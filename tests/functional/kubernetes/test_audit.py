# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How granted and used are compared: without a cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from charmkit.account import Grant, Rule
from tests.functional.kubernetes.audit import (
    NOBODY,
    count_uses,
    granted,
    read_audit,
    table,
    unlawful,
)

GRANT = Grant(
    cluster=(Rule(("nodes",), ("get", "patch")), Rule(("pods/eviction",), ("create",))),
    namespaced=(Rule(("daemonsets",), ("create", "patch"), "apps", ("d",)),),
)
MAY = granted("a", GRANT, "home")


def event(verb: str, resource: str, name: str = "", code: int = 200, **more: Any) -> str:
    reference = {"resource": resource, "name": name, **more}
    status = {"code": code}
    return json.dumps(
        {"verb": verb, "user": {"username": "u"}, "objectRef": reference, "responseStatus": status}
    )


def log(folder: Path, *lines: str) -> Path:
    path = folder / "audit.log"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(
    "line",
    [
        event("list", "nodes"),
        event("delete", "nodes", "n"),
        event("patch", "daemonsets", "d", apiGroup="apps", namespace="elsewhere"),
        event("patch", "daemonsets", "other", apiGroup="apps", namespace="home"),
        event("patch", "daemonsets", "d", namespace="home"),
        event("create", "pods", "p", namespace="home"),
        event("get", "secrets", "s", code=403, namespace="home"),
    ],
    ids=["verb", "other verb", "namespace", "name", "group", "subresource", "refused"],
)
def test_what_no_rule_covers_is_unlawful(line: str, tmp_path: Path) -> None:
    assert len(unlawful(read_audit(log(tmp_path, line)), MAY)) == 1


def test_what_a_rule_covers_is_counted(tmp_path: Path) -> None:
    lines = [
        event("get", "nodes", "n"),
        event("get", "nodes", "none", code=404),
        event("create", "pods", "p", subresource="eviction", namespace="x", code=201),
        event("patch", "daemonsets", "d", apiGroup="apps", namespace="home", code=201),
        '{"half": ',
    ]
    requests = read_audit(log(tmp_path, *lines))
    assert unlawful(requests, MAY) == []
    counts = {str(entry): count for entry, count in count_uses(requests, MAY).items()}
    own = "clusterroles.rbac.authorization.k8s.io a"
    assert counts == {
        "get nodes": 2,
        "patch nodes": 0,
        "create pods/eviction": 1,
        f"get {own}": 0,
        f"delete {own}": 0,
        "create daemonsets.apps d in home": 1,
        "patch daemonsets.apps d in home": 1,
    }


def test_a_verb_that_nothing_used_needs_a_code_path() -> None:
    uses = count_uses([], MAY)
    assert NOBODY in table(uses, {})
    assert "| patch nodes | 0 | marking.py |" in table(uses, {"patch nodes": "marking.py"})
