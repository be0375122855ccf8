# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A package source is named once on a machine, since apt refuses everything otherwise."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

from aptsources import Source, check_line, parse_lines, parse_stanzas

TOOLKIT = "https://nvidia.github.io/libnvidia-container/stable/deb/"
KEYRING = "/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg"
OURS = "/etc/apt/sources.list.d/nvidia-driver-charm.list"
ACTIVE = ops.ActiveStatus("driver 580.173.02 (580-server-open)")

MakeSite = Callable[..., Any]

LINE = f"deb [signed-by={KEYRING}] {TOOLKIT}$(ARCH) /\n"
STANZA = f"""# The toolkit.
Types: deb
URIs: {TOOLKIT}amd64/
Suites: /
Signed-By: {KEYRING}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("nvidia-container-toolkit.list", LINE), ("toolkit.sources", STANZA)],
    ids=["one-line", "deb822"],
)
def test_a_source_that_an_image_brought_is_not_named_again(
    site: MakeSite, name: str, text: str
) -> None:
    dgx = site()
    dgx.host.files.ensure_text(f"/etc/apt/sources.list.d/{name}", text)
    dgx.install()
    assert dgx.status == ACTIVE
    assert not dgx.host.files.exists(OURS)


def test_a_source_that_somebody_adds_later_takes_the_place_of_ours(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    assert dgx.host.files.exists(OURS)
    dgx.host.files.ensure_text("/etc/apt/sources.list.d/toolkit.list", LINE)
    dgx.update()
    assert dgx.status == ACTIVE
    assert not dgx.host.files.exists(OURS)
    assert dgx.host.packages.candidates(["nvidia-container-toolkit"])


@pytest.mark.parametrize("word", ["no", "False", "off"])
def test_a_source_that_is_turned_off_is_none(site: MakeSite, word: str) -> None:
    dgx = site()
    path = "/etc/apt/sources.list.d/toolkit.sources"
    dgx.host.files.ensure_text(path, f"{STANZA}Enabled: {word}\n")
    dgx.install()
    assert dgx.status == ACTIVE
    assert dgx.host.files.exists(OURS)


def test_an_option_that_is_emptied_takes_its_source_away(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.configure(repository="")
    assert not dgx.host.files.exists(OURS)
    assert dgx.status == ACTIVE


def test_a_second_look_fetches_no_list(site: MakeSite) -> None:
    dgx = site()
    dgx.host.files.ensure_text("/etc/apt/sources.list.d/toolkit.list", LINE)
    dgx.install()
    dgx.host.inject("apt-update", text="no list may be fetched")
    dgx.update()
    assert dgx.status == ACTIVE


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("deb https://mirror.example.com/nvidia", "write one line that begins with deb"),
        ("deb mirror.example.com /", "write one line that begins with deb"),
        ("deb-src https://mirror.example.com /", "write one line that begins with deb"),
        ("deb https://mirror.example.com noble", "suite noble needs a component, such as main"),
        ("deb https://mirror.example.com / main", "suite / takes no component"),
        ("deb https://a.example.com /\ndeb https://b.example.com /", "write one line"),
    ],
)
def test_a_line_that_would_end_every_command_of_apt_is_refused(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_line(line)


@pytest.mark.parametrize(
    "line",
    [
        f"deb {TOOLKIT}$(ARCH) /",
        "deb [arch=amd64 trusted=yes] http://mirror.example.com/ubuntu noble main restricted",
        "deb file:/srv/mirror ./",
    ],
)
def test_lines_that_apt_takes_are_taken(line: str) -> None:
    check_line(line)


def test_sources_are_compared_as_apt_does() -> None:
    text = f"# deb {TOOLKIT} /\ndeb-src {TOOLKIT} /\n{LINE}"
    expected = [Source((f"{TOOLKIT}amd64", "/"), frozenset(), signed=True)]
    assert list(parse_lines(text)) == list(parse_stanzas(STANZA)) == expected
    two = "Types: deb deb-src\nURIs: http://a.example.com\nSuites: noble\n noble-updates\n"
    assert [source.place for source in parse_stanzas(two)] == [
        ("http://a.example.com", "noble"),
        ("http://a.example.com", "noble-updates"),
    ]


MIRROR = "http://mirror.example.com/ubuntu"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"deb {MIRROR} noble main", ""),
        (f"deb [signed-by=/a.gpg] {MIRROR} noble main", "add nvidia there"),
        (f"deb [signed-by=/a.gpg] {MIRROR} noble main nvidia", ""),
        (f"deb {MIRROR} noble nvidia", ""),
    ],
    ids=["unsigned", "signed", "all of it", "no key"],
)
def test_a_part_of_a_source_that_the_machine_lacks_is_named_where_apt_lets_it(
    site: MakeSite, line: str, reason: str
) -> None:
    dgx = site()
    dgx.install()
    dgx.host.files.ensure_text("/etc/apt/sources.list.d/mirror.list", f"{line}\n")
    dgx.configure(repository=f"deb {MIRROR} noble nvidia", repository_key="")
    if reason:
        assert (
            dgx.status.message == f"repository: another file of /etc/apt has suite noble, {reason}"
        )
    else:
        assert dgx.status == ACTIVE
    assert dgx.host.files.exists(OURS) is (not reason and "nvidia" not in line)
