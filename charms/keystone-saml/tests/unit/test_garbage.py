# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whatever an option holds: one line that names it, and logins go on."""

import pytest
from conftest import METADATA

from standins.garbage import NUMBERS, TEXTS

LETTERS = {"idp-name", "protocol-name", "user-facing-name", "federation-domain", "nameid-formats"}
"""Options that take any word that is short and can be seen."""

OPTIONS = {
    name: option
    for name, option in METADATA["config"]["options"].items()
    if option["type"] in ("string", "int")
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_full_of_garbage_is_named_in_one_line_and_logins_go_on(site, option):
    before = (site.file("sp-location"), site.file("sp-meta"), site.file("idp-meta"))
    writes = site.writes()
    values = NUMBERS if OPTIONS[option]["type"] == "int" else TEXTS
    for value in values:
        if option in LETTERS and len(value) <= 64 and value.isprintable():
            continue
        site.configure(**{option.replace("-", "_"): value})
        message = site.status.message
        assert site.status.name == "blocked", (str(value)[:50], message)
        assert message.startswith(f"{option}: "), message
        assert len(message) <= 120
        assert message.isprintable()
        now = (site.file("sp-location"), site.file("sp-meta"), site.file("idp-meta"))
        assert now == before, str(value)[:50]
        assert site.writes() == writes
