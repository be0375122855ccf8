# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from standins.pages import IDP_ENTITY, IDP_HOST, Pages


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    place = tmp_path / "web/www.example.edu"
    place.mkdir(parents=True)
    (place / "notes").write_text("hello")
    (tmp_path / "world.json").write_text("{}")
    return Pages(tmp_path)


@pytest.mark.parametrize(
    ("host", "path", "status"),
    [
        ("www.example.edu", "/notes", 200),
        ("www.example.edu", "/other", 404),
        (IDP_HOST, "/idp/shibboleth", 200),
        (IDP_HOST, "/elsewhere", 404),
        ("10.0.0.2", "/api/v1/nodes", None),
        ("", "/api/v1/nodes", None),
        ("..", "/world.json", None),
        ("www.example.edu", "/../../world.json", 404),
    ],
)
def test_a_page_is_a_file_or_built_in_and_other_hosts_are_not_ours(
    pages: Pages, host: str, path: str, status: int | None
) -> None:
    found = pages.find(host, path)
    assert (None if found is None else found.status) == status


def test_a_file_of_the_model_goes_before_the_built_in_page(pages: Pages, tmp_path: Path) -> None:
    place = tmp_path / "web" / IDP_HOST / "idp"
    place.mkdir(parents=True)
    (place / "shibboleth").write_text("ours")
    found = pages.find(IDP_HOST, "/idp/shibboleth")
    assert found is not None
    assert found.body == b"ours"


def test_the_built_in_provider_is_named_by_its_own_metadata(pages: Pages) -> None:
    found = pages.find(IDP_HOST, "/idp/shibboleth")
    assert found is not None
    assert f'entityID="{IDP_ENTITY}"'.encode() in found.body
