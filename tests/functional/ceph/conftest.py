# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One real Ceph for all tests of this folder, which need a pytest process of their own.

Every charm has modules of the same names, so only one charm's can be on the path.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CHARM = Path(__file__).parents[3] / "charms" / "ceph-csi"
sys.path[:0] = [str(_CHARM / "src"), str(_CHARM / "tests" / "unit")]

from tests.functional.ceph.onenode import OneNode, find_missing, one_node  # noqa: E402
from tests.functional.kubernetes.audit import TABLES, print_tables  # noqa: E402

_TIMES: pytest.StashKey[list[str]] = pytest.StashKey()


@contextmanager
def _cluster() -> Iterator[OneNode]:
    folder = Path(tempfile.mkdtemp(prefix="ceph-", dir="/tmp"))
    try:
        missing = find_missing(folder)
        if missing:
            pytest.skip(missing)
        with one_node(folder) as cluster:
            cluster.add_file_system("cephfs")
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def ceph(pytestconfig: pytest.Config) -> Iterator[OneNode]:
    """A cluster with a file system `cephfs` and pools of somebody else."""
    with _cluster() as cluster:
        steps = ", ".join(f"{name} {took:.0f} s" for name, took in cluster.seconds.items())
        pytestconfig.stash[_TIMES].append(f"Ceph: {steps}")
        cluster.ceph("osd", "pool", "create", "other", "8")
        cluster.ceph("osd", "pool", "application", "enable", "other", "rbd")
        yield cluster


@pytest.fixture
def moving() -> Iterator[OneNode]:
    """A cluster of a test's own, whose monitor may move: no other test sees it after that."""
    with _cluster() as cluster:
        yield cluster


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TIMES] = []
    config.stash[TABLES] = {}


@pytest.fixture
def times(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Return what takes a line for the end of the run."""
    return pytestconfig.stash[_TIMES].append


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash[_TIMES]:
        terminalreporter.write_line(line)
    print_tables(terminalreporter, config)
