# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The page of pitfalls: each row names tests that are there."""

import re

import pytest
from conftest import CHARM

ROOT = CHARM.parents[1]
PAGE = (ROOT / "docs/operate/login-pitfalls.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]
PLACES = (
    "charms/keystone-saml/tests/unit",
    "charms/keystone-auth/tests/unit",
    "tests/functional/keystone",
    "tests/functional/keystone_auth",
)


@pytest.fixture(scope="module")
def known() -> set[str]:
    texts = [path.read_text() for place in PLACES for path in (ROOT / place).glob("test_*.py")]
    return {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_each_pitfall_names_the_tests_that_show_it(known, row):
    named = re.findall(r"`(test_\w+)`", row.rstrip("| ").rpartition(" | ")[2])
    assert named
    assert set(named) <= known
