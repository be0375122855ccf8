# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a conftest imports so that a charm's rights are compared with what its suite asked for.

The fixture `requests` collects the audit logs; `test_rights` comes last and makes the table.
"""

import pytest

from tests.functional.kubernetes.audit import TABLES, Request, print_tables, put_last

__all__ = (
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_terminal_summary",
    "requests",
)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLES] = {}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_last(items, "test_rights")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    print_tables(terminalreporter, config)


@pytest.fixture(scope="session")
def requests() -> list[Request]:
    """What was asked of all clusters of the session whose test has ended."""
    return []
