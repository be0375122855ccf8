# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A command that is killed loses nothing of what it reported, and the next one goes on from there.

The kill is SIGKILL at a random moment; a seed that loses something is printed.
"""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rehearsal.juju.engine import Rehearsal
from rehearsal.tests.engine.small_model import ROOT, final_state
from rehearsal.tests.engine.test_interleavings import differences
from standins.world import World

LONGEST = 1.0
"""Seconds after its first report at which a command is killed at the latest."""


def start(home: Path, first: int) -> "subprocess.Popen[str]":
    """Start the victim."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'lib'}"}
    command = [sys.executable, "-m", "rehearsal.tests.engine.victim", str(home), str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def kill_once(home: Path, first: int, chance: random.Random) -> list[str]:
    """Run the victim, kill it some time after its first report, and return what it reported."""
    with start(home, first) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(chance.uniform(0.0, LONGEST))
        process.kill()
        lines += process.stdout.readlines()
    return [line.rstrip("\n") for line in lines if line.endswith("\n")]


def lost(home: Path, reported: list[str]) -> list[str]:
    """Return the reported lines of the log that a new command does not find."""
    with Rehearsal(home, world=World) as juju:
        kept = juju.debug_log()
    told = [line.removeprefix("log ") for line in reported if line.startswith("log ")]
    missing = [line for line in told if line not in kept]
    events = sum(" ran " in line for line in told)
    return missing if events <= juju.model.settings.events else [f"{events} hooks were reported"]


def suffer(home: Path, kills: int, seed: int) -> list[str]:
    """Kill commands again and again on one model; return what was lost."""
    chance = random.Random(seed)
    first, found = 0, []
    reported: list[str] = []
    for number in range(kills):
        lines = kill_once(home, first, chance)
        reported += lines
        done = [int(line.split()[1]) for line in lines if line.startswith("verb ")]
        first = max([first, *(verb + 1 for verb in done)])
        found += [f"kill {number} of seed {seed}: {line}" for line in lost(home, reported)]
    return found


def finish(home: Path, first: int) -> dict[str, Any]:
    """Let the victim live this time, and return the state in which the model ends."""
    with start(home, first) as process:
        assert process.stdout is not None
        assert process.stdout.readlines()[-1].strip() == "end"
    with Rehearsal(home, world=World) as juju:
        juju.advance(3600)
        return final_state(juju)


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return finish(tmp_path_factory.mktemp("unharmed") / "home", 0)


def test_a_killed_command_loses_nothing_that_it_reported(
    tmp_path: Path, unharmed: dict[str, Any]
) -> None:
    assert suffer(tmp_path / "home", 8, seed=1) == []
    assert differences(finish(tmp_path / "home", 0), unharmed) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 7))
def test_fifty_kills_lose_nothing(tmp_path: Path, unharmed: dict[str, Any], seed: int) -> None:
    assert suffer(tmp_path / "home", 10, seed=seed) == []
    assert differences(finish(tmp_path / "home", 0), unharmed) == []
