# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The contract of an API server as a table: the stand-in and a real one, side by side."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from lib.tests import api_contract, api_contract_requests, api_standin_site
from lib.tests.api_contract import Site
from tests.functional.kubernetes import contract_site
from tests.functional.kubernetes.controlplane import (
    ALL_BUT_NODE_LIFECYCLE,
    Options,
    control_plane,
)

Fact = Callable[[Site], None]
FACTS: tuple[Fact, ...] = (*api_contract.FACTS, *api_contract_requests.FACTS)


def rows() -> Iterator[str]:
    """Yield the table line by line, as each fact has been tried on both."""
    yield "| fact | stand-in | real |"
    yield "|---|---|---|"
    with control_plane(Options(controllers=ALL_BUT_NODE_LIFECYCLE)) as cluster:
        for fact in FACTS:
            standin = _try(fact, api_standin_site.open_site(over_http=False))
            real = _try(fact, contract_site.open_site(cluster))
            yield f"| {fact.__name__.replace('_', ' ')} | {standin} | {real} |"


def _try(fact: Fact, opened: AbstractContextManager[Site]) -> str:
    with opened as site:
        try:
            fact(site)
        except (AssertionError, KeyError, pytest.fail.Exception) as error:
            return f"NO: {str(error).partition(chr(10))[0][:60]}"
    return "yes"
