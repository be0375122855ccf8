# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Tables of status that no recorded model has."""

from typing import Any

import pytest

from rehearsal.cli import status

MODEL = {"name": "m", "controller": "c", "cloud": "maas", "version": "4.0.15"}


@pytest.mark.parametrize(
    ("url", "row"),
    [
        pytest.param("admin/identity.keystone", "local  admin/identity.keystone", id="here"),
        pytest.param("other:admin/ceph.mon", "other  admin/ceph.mon", id="another-controller"),
        pytest.param("a/b/c/d", "unknown  a/b/c/d", id="no-url"),
    ],
)
def test_what_stands_for_an_offer_is_shown_between_model_and_applications(
    url: str, row: str
) -> None:
    state = {"current": "active", "message": "not shown"}
    app: dict[str, Any] = {"application-status": state, "charm-name": "x"}
    far = {"far": {"url": url, "application-status": state}}
    data = {"model": MODEL, "application-endpoints": far, "applications": {"x": app}}
    tables = status.render(data).split("\n\n")
    assert [table.split()[0] for table in tables] == ["Model", "SAAS", "App"]
    assert tables[1].splitlines()[1] == f"far   active  {row}"
