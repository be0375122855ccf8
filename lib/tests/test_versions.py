# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import shutil

import pytest

from charmkit.commands import CommandError, run_command
from standins.metal.versions import parse_relation, version_key

DPKG = "/usr/bin/dpkg"

ORDERED = [
    "0~rc1",
    "0",
    "1.0~beta1-1",
    "1.0~beta2-1",
    "1.0-1",
    "1.0-1ubuntu1",
    "1.0+dfsg-1",
    "1.0.1-1",
    "1.18.1-1",
    "1.20.0-1",
    "6.8.0.84+580.173.02",
    "6.8.0.90+580.159.03",
    "6.8.0.90+580.173.02",
    "580.159.03-0ubuntu0.24.04.1",
    "580.173.02-0ubuntu0.22.04.1",
    "580.173.02-0ubuntu0.24.04.1",
    "580.173.02-1ubuntu1",
    "595.91.07-1ubuntu1",
    "2:21.1.12-1ubuntu1.4",
]


def test_versions_sort_as_dpkg_sorts_them() -> None:
    assert sorted(set(ORDERED), key=version_key) == ORDERED


@pytest.mark.skipif(not shutil.which("dpkg"), reason="dpkg is not here to ask")
@pytest.mark.parametrize(
    ("lower", "higher"), [(ORDERED[n], ORDERED[n + 1]) for n in range(len(ORDERED) - 1)]
)
def test_dpkg_itself_agrees(lower: str, higher: str) -> None:
    try:
        run_command([DPKG, "--compare-versions", lower, "lt", higher])
    except CommandError:
        pytest.fail(f"dpkg does not think that {lower} is lower than {higher}")


@pytest.mark.parametrize(
    ("text", "version", "allowed"),
    [
        ("libc6", "1", True),
        ("libc6 (= 2.39)", "2.39", True),
        ("libc6 (= 2.39)", "2.38", False),
        ("libc6 (>= 2.39)", "2.40", True),
        ("libc6 (>= 2.39)", "2.39~rc1", False),
        ("libc6 (<= 2.39)", "2.39-1", False),
        ("libc6 (<< 2.39)", "2.38", True),
        ("libc6 (>> 2.39)", "2.39", False),
    ],
)
def test_relations_allow_what_they_say(text: str, version: str, allowed: bool) -> None:
    relation = parse_relation(text)
    assert relation.name == "libc6"
    assert relation.allows(version) is allowed


@pytest.mark.parametrize("text", ["", "a b", "a (~ 1)", "a (= 1"])
def test_what_is_no_relation_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no package relation"):
        parse_relation(text)
