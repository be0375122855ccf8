# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""YAML as Juju reads it."""

import pytest

from rehearsal.bundle.document import DocumentError, faults, parse, plain_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("'yes'", "yes"),
        ("~", None),
        ("", None),
        ("0x10", 16),
        ("1_000", 1000),
        ("02", 2),
        ("08", "08"),
        ("1:30", "1:30"),
        ("1.35", 1.35),
        ("1e3", "1e3"),
        ("1e+3", 1000.0),
        (".5e3", 500.0),
        ("5.", "5."),
        ("+5", 5),
        ("-0b11", -3),
        ("0O7", 7),
        ("0x_1", 1),
        ("_1", "_1"),
        ("-_1", -1),
        ("1e+400", "1e+400"),
        ("18446744073709551615", 2**64 - 1),
        ("+18446744073709551615", 2.0**64),
        ("99999999999999999999", 1e20),
        ("2026-01-01", "2026-01-01"),
        ("!foo 7", "7"),
        ("!foo ~", "~"),
        ("!!int '7'", 7),
        ("!!bool 'yes'", True),
        ("!!null '~'", None),
        ("!!binary eA==", "x"),
        ("!!timestamp 2026-01-01", "2026-01-01"),
        ("!!str 7", "7"),
        ("[a, b, ]", ["a", "b"]),
        ("0x", "0x"),
        ("_", "_"),
        ("-.inf", float("-inf")),
    ],
)
def test_a_scalar_has_the_type_that_juju_sees(text: str, value: object):
    (node,) = parse(f"k:\t{text}\n".encode())
    assert node is not None
    assert plain_value(node) == {"k": value}


def test_a_merge_key_gives_way_to_an_own_value():
    (node,) = parse(b"a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: {<<: [*x, {p: 9}]}\n")
    assert node is not None
    assert plain_value(node) == {
        "a": {"p": 1, "q": 2},
        "b": {"p": 1, "q": 3},
        "c": {"p": 1, "q": 2},
    }


def test_a_merge_key_takes_over_what_stands_above_it():
    (node,) = parse(b"{p: 1, r: 4, <<: {p: 2, q: 3}}")
    assert node is not None
    assert plain_value(node) == {"p": 2, "r": 4, "q": 3}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
def test_every_encoding_of_unicode_is_read(encoding: str):
    (node,) = parse("a: ü\r\nb: 1\r\n".encode(encoding))
    assert node is not None
    assert plain_value(node) == {"a": "ü", "b": 1}


def test_documents_are_kept_apart_and_an_empty_one_is_none():
    assert [node is None for node in parse(b"---\n---\na: 1\n---\nnull\n")] == [True, False, True]
    assert parse(b"") == []
    assert parse(b"# nothing\n") == []


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (b"a: b: c", 1, "mapping values"),
        (b"a: 1\nb: *nope", 2, "unknown anchor"),
        (b"a: &a [*a]", 1, "contains itself"),
        (b"x: 1\ny: \x00", 2, "control character 0x00"),
        (b"- " * 5000, 1, "nested deeper"),
        (b"[" * 100_000, 1, "nest"),
        (b"a: [1,, 2]", 1, "node content"),
        (b"\xff\xfe\x00", 1, "UTF-16"),
        (b"a: 1\nb: \xe9t\xe9", 2, "0xe9 is no UTF-8"),
        (b"a:\n\tb: 1", 2, "a tab cannot indent"),
        (b"a: 'b\n", 2, "quoted scalar .line 1.: found unexpected end"),
        (b"a: 1\nb: {<<: 3}", 2, "map merge requires map"),
        (b"a: &a {}\nb: {<<: [*a, 3]}", 2, "map merge requires map"),
        (b"a:\n" + b"- x\n" * 200_001, 0, "too large"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_what_is_no_yaml_says_where(text: bytes, line: int, reason: str):
    with pytest.raises(DocumentError, match=reason) as caught:
        parse(text)
    assert caught.value.line == line


def test_aliases_that_multiply_are_stopped():
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9))
    with pytest.raises(DocumentError, match="aliasing"):
        parse(f"l0: &l0 x\n{levels}\n".encode())


@pytest.mark.parametrize(
    "text",
    ["!!int x", "!!int 1.5", "!!int ~", "!!bool 1", "!!null x", "!!float x", "!!timestamp 7",
     "!!binary '%%'", "{!!int x: 1}", "[a, !!bool 1]", "!<tag:yaml.org,2002:int> x"],
)  # fmt: skip
def test_a_tag_that_does_not_fit_its_text_is_told_apart(text: str):
    (node,) = parse(f"k: {text}\n".encode())
    assert node is not None
    assert len(list(faults(node))) == 1
