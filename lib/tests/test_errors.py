# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import pytest

from charmkit.config import check_registry
from charmkit.errors import MESSAGE_LIMIT, ConfigError, NotReadyError


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("a\x00b", "a\\x00b"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("a\udc80b", "a\\udc80b"),
        ("two\nlines\tand\r\nmore", "two lines and more"),
        ("Zürich, GPU 0", "Zürich, GPU 0"),
    ],
)
def test_what_a_terminal_would_obey_is_spelled_out(given: str, shown: str):
    assert str(NotReadyError(given)) == shown
    assert str(ConfigError("mig-profile", given)) == f"mig-profile: {shown}"


def test_a_message_of_nothing_but_control_characters_keeps_its_limit():
    assert len(str(NotReadyError("\x01" * 500))) == MESSAGE_LIMIT


@pytest.mark.parametrize(
    "value",
    [
        "",
        "mirror.example.org",
        "mirror.example.org/gpu",
        "mirror.example.org:5000/gpu/cluster",
        "10.0.0.5:5000",
        "[fd00::5]:5000/gpu",
        "registry:5000/gpu",
        "localhost/gpu",
        "mirror",
        "Mirror.Example.org/a_b/c__d/e-f.g",
    ],
)
def test_a_registry_is_host_port_and_path(value: str):
    assert check_registry(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "https://mirror.example.org",
        "mirror.example.org/",
        "mirror.example.org/gpu:v1",
        "mirror.example.org/gpu@sha256:0",
        "mirror.example.org /gpu",
        " mirror.example.org",
        "mirror.example.org\n",
        "mirror.example.org:/gpu",
        "mirror.example.org:0/gpu",
        "mirror.example.org:123456/gpu",
        "mirror.example.org/GPU",
        "mirror.example.org//gpu",
        "user:word@mirror.example.org",
    ],
)
def test_anything_else_is_no_registry(value: str):
    with pytest.raises(ValueError, match=r"is no registry, as in mirror\.example\.org:5000/gpu"):
        check_registry(value)
