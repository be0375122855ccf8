# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pytest

from standins.store import JsonStore


@pytest.fixture
def store(tmp_path: Path) -> JsonStore:
    store = JsonStore(tmp_path / "host.json")
    store.create({"count": 0})
    return store


def test_a_change_is_seen_by_everybody_at_once(store: JsonStore) -> None:
    other = JsonStore(store.path)
    assert other.read() == {"count": 0}
    with store.edit() as data:
        data["count"] = 1
    assert other.read() == store.read() == {"count": 1}


def test_a_read_without_a_change_is_the_same_object(store: JsonStore) -> None:
    assert store.read() is store.read()


def test_an_edit_that_changes_nothing_writes_nothing(store: JsonStore) -> None:
    before = store.path.stat()
    with store.edit() as data:
        data["count"] = 0
    assert store.path.stat().st_ino == before.st_ino


def test_what_a_failing_program_changed_stays_changed(store: JsonStore) -> None:
    def fail_half_way() -> None:
        with store.edit() as data:
            data["count"] = 7
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert store.read() == {"count": 7}


def test_a_store_that_was_never_made_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        JsonStore(tmp_path / "nothing.json").read()


def test_changes_of_several_processes_add_up(store: JsonStore) -> None:
    children: list[int] = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            mine = JsonStore(store.path)
            for _ in range(40):
                with mine.edit() as data:
                    data["count"] += 1
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    assert store.read() == {"count": 120}
