# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from charmkit.errors import InterventionError, UnsupportedError
from charmkit.files import Files
from charmkit.journal import CorruptStateError, StateFile

PATH = "/var/lib/gpu-worker/journal.json"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


class PowerLossError(Exception):
    """The machine is gone at this very step."""


class FailingFiles(Files):
    """Files of a machine that loses power before the nth step of a write."""

    def __init__(self, root: Path, step: int) -> None:
        super().__init__(root)
        self.step = step

    def _replace(self, real: Path, content: bytes, mode: int) -> None:
        fresh = real.with_name(f".{real.name}.1.new")
        steps = (
            lambda: fresh.write_bytes(b""),
            lambda: fresh.write_bytes(content[: len(content) // 2]),
            lambda: fresh.write_bytes(content),
            lambda: fresh.replace(real),
        )
        for number, step in enumerate(steps):
            if number == self.step:
                raise PowerLossError
            step()


def test_what_was_written_is_read(files: Files) -> None:
    state = StateFile(files, PATH, schema=1)
    assert state.read() is None
    assert state.write({"step": "create", "gpus": [0, 3]})
    assert state.read() == {"step": "create", "gpus": [0, 3]}


def test_writing_the_same_changes_nothing(files: Files) -> None:
    state = StateFile(files, PATH, schema=1)
    state.write({"b": 1, "a": 2})
    assert not state.write({"a": 2, "b": 1})


def test_only_root_may_read_it(files: Files) -> None:
    StateFile(files, PATH, schema=1).write({})
    assert stat.S_IMODE(files.path(PATH).stat().st_mode) == 0o600
    assert stat.S_IMODE(files.path(PATH).parent.stat().st_mode) == 0o700


def test_a_cleared_file_is_gone(files: Files) -> None:
    state = StateFile(files, PATH, schema=1)
    state.write({})
    assert state.clear()
    assert not state.clear()
    assert state.read() is None


@pytest.mark.parametrize(
    ("theirs", "ours", "whose"), [(2, 1, "a newer"), (1, 2, "an older")], ids=["newer", "older"]
)
def test_a_file_of_another_schema_is_refused_and_kept(
    files: Files, theirs: int, ours: int, whose: str
) -> None:
    StateFile(files, PATH, schema=theirs).write({"gpus": [3]})
    with pytest.raises(UnsupportedError, match=f"schema {theirs} of {whose} charm"):
        StateFile(files, PATH, schema=ours).read()
    assert StateFile(files, PATH, schema=theirs).read() == {"gpus": [3]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"schema": 1}',
        "[]",
        "null",
        '{"schema": "1", "data": {}}',
        '{"schema": 0, "data": {}}',
    ],
    ids=["empty", "torn", "no data", "list", "null", "text schema", "zero schema"],
)
def test_a_file_that_nobody_of_us_wrote_is_named(files: Files, text: str) -> None:
    files.ensure_text(PATH, text)
    with pytest.raises(CorruptStateError, match="move it away") as caught:
        StateFile(files, PATH, schema=1).read()
    assert isinstance(caught.value, InterventionError)
    assert PATH in str(caught.value)


@pytest.mark.parametrize("step", range(4))
def test_a_power_loss_at_any_step_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, step: int
) -> None:
    StateFile(Files(tmp_path), PATH, schema=1).write({"step": "old"})
    with pytest.raises(PowerLossError):
        StateFile(FailingFiles(tmp_path, step), PATH, schema=1).write({"step": "new"})
    assert StateFile(Files(tmp_path), PATH, schema=1).read() == {"step": "old"}
    assert StateFile(Files(tmp_path), PATH, schema=1).write({"step": "new"})
    assert StateFile(Files(tmp_path), PATH, schema=1).read() == {"step": "new"}


@pytest.mark.parametrize("step", range(4))
def test_the_first_state_is_whole_or_absent_after_a_power_loss(tmp_path: Path, step: int) -> None:
    with pytest.raises(PowerLossError):
        StateFile(FailingFiles(tmp_path, step), PATH, schema=1).write({"step": "new"})
    assert StateFile(Files(tmp_path), PATH, schema=1).read() is None


def test_a_killed_writer_leaves_a_file_that_is_json(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    state = StateFile(Files(tmp_path, durable=False), PATH, schema=1)
    state.write({"n": 0})
    child = os.fork()
    if child == 0:
        os.write(writer, b"x")
        number = 0
        while True:
            number += 1
            state.write({"n": number, "filling": "x" * 5000})
    os.read(reader, 1)
    for _ in range(200):
        assert state.read() is not None
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert json.loads(Files(tmp_path).read_text(PATH))["schema"] == 1


def test_an_older_schema_is_migrated_step_by_step(files: Files) -> None:
    StateFile(files, PATH, schema=1).write({"layout": "a"})
    steps = {1: lambda data: {"layouts": [data["layout"]]}, 2: lambda data: {**data, "tries": 0}}
    newest = StateFile(files, PATH, schema=3, migrations=steps)
    assert newest.read() == {"layouts": ["a"], "tries": 0}


def test_a_schema_with_a_missing_step_is_refused_and_kept(files: Files) -> None:
    StateFile(files, PATH, schema=1).write({"layout": "a"})
    with pytest.raises(UnsupportedError, match="of an older charm"):
        StateFile(files, PATH, schema=3, migrations={2: dict}).read()
    assert StateFile(files, PATH, schema=1).read() == {"layout": "a"}


@dataclass(frozen=True, slots=True)
class Steps:
    done: int
    names: tuple[str, ...] = ()


def test_data_of_a_class_is_read_as_that_class(files: Files) -> None:
    state = StateFile(files, PATH, schema=1)
    state.write({"done": 2, "names": ["a"]})
    assert state.read_as(Steps) == Steps(2, ("a",))
    state.clear()
    assert state.read_as(Steps) is None


@pytest.mark.parametrize("data", [{}, {"done": None}, {"done": "two"}, {"names": 3}])
def test_data_with_other_fields_is_corrupt(files: Files, data: dict[str, object]) -> None:
    state = StateFile(files, PATH, schema=1)
    state.write(data)
    with pytest.raises(CorruptStateError):
        state.read_as(Steps)


def test_a_deeply_nested_file_is_corrupt(files: Files) -> None:
    files.ensure_text(PATH, "[" * 100_000)
    with pytest.raises(CorruptStateError):
        StateFile(files, PATH, schema=1).read()
