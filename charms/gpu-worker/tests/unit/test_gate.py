# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from charmkit.errors import UnsupportedError
from charmkit.files import Files
from gate import Record, Store
from progress import Progress

RECORD = Record("boot-1", "abc", [{"uuid": "GPU-0", "mig": True}])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, durable=False)


def test_the_gate_is_open_for_one_boot_and_one_set_of_devices(files: Files):
    store = Store(files, "gpu-worker")
    assert not store.is_open()
    store.open(RECORD)
    assert store.is_open()
    assert store.is_open("boot-1", "abc")
    assert not store.is_open("boot-2", "abc")
    assert not store.is_open("boot-1", "other")


def test_the_plugins_init_container_finds_the_boot_in_the_gate(files: Files):
    Store(files, "gpu-worker").open(RECORD)
    assert "boot-1" in files.read_text("/run/gpu-worker/ready")


def test_the_record_outlives_the_gate(files: Files):
    store = Store(files, "gpu-worker")
    store.open(RECORD)
    assert store.close()
    assert not store.close()
    assert store.find_record() == RECORD


def test_a_journal_with_nothing_in_it_is_no_file(files: Files):
    store = Store(files, "gpu-worker")
    store.write_progress(Progress(since=5.0, granted="x"))
    assert store.read_progress() == Progress(since=5.0, granted="x")
    store.write_progress(Progress())
    assert not files.exists("/var/lib/gpu-worker/journal.json")


def test_an_override_is_kept_and_forgotten(files: Files):
    store = Store(files, "gpu-worker")
    store.write_override("all-2g.10gb")
    assert store.find_override() == "all-2g.10gb"
    store.write_override("")
    assert store.find_override() == ""


def test_a_journal_of_a_newer_charm_is_refused(files: Files):
    files.ensure_text("/var/lib/gpu-worker/journal.json", '{"schema": 9, "data": {}}')
    with pytest.raises(UnsupportedError, match="newer charm"):
        Store(files, "gpu-worker").read_progress()


def test_two_pools_on_one_machine_keep_apart(files: Files):
    Store(files, "gpu-worker").open(RECORD)
    assert not Store(files, "gpu-worker-mig").is_open()


def test_nothing_is_left_after_removal(files: Files):
    store = Store(files, "gpu-worker")
    store.open(RECORD)
    store.write_override("all-2g.10gb")
    store.write_progress(Progress(since=1.0))
    store.clear()
    assert files.glob("/run/gpu-worker/*") == []
    assert files.glob("/var/lib/gpu-worker/*") == []
