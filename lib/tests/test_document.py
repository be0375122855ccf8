# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""YAML of an option: what a person writes is read, what nobody writes is named with its line."""

import pytest

from charmkit.document import DEEPEST, LONGEST, read_yaml
from standins.garbage import BOMB


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1", {"a": 1}),
        ("- {name: x}\n- y", [{"name": "x"}, "y"]),
        ('{"rules": []}', {"rules": []}),
    ],
    ids=["nothing", "mapping", "list", "JSON"],
)
def test_what_a_person_writes_is_read(text: str, value: object) -> None:
    assert read_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\nb: 2\na: 3", "'a' is there twice, line 3"),
        ("x:\n  a: 1\n  a: 2", "'a' is there twice, line 3"),
        ("? [a]\n: b", "a key must be one word, line 1"),
        ("a: &a [1]\nb: *a", "line 2 has a YAML alias (*name), write the value out"),
        (BOMB, "line 2 has a YAML alias (*name), write the value out"),
        ("[" * 5000, f"line 1 is deeper than {DEEPEST} levels"),
        ("a: [", "line 1 is no YAML: expected the node content, but found '<stream end>'"),
        ("a: !!bool x", "no YAML that can be read"),
        ("a: !!python/name:os.system x", "line 1 is no YAML: could not determine a constructor"),
        ("a\x00", "no YAML: unacceptable character #x0000: special characters are not allowed"),
        ("x" * (LONGEST + 1), f"longer than {LONGEST} characters"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_what_nobody_writes_is_named(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the text is what counts
        read_yaml(text)
    assert str(caught.value).startswith(reason)


def test_an_option_may_be_longer_where_its_charm_says_so() -> None:
    text = "x" * (LONGEST + 1)
    assert read_yaml(text, longest=2 * LONGEST) == text
