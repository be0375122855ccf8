# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The folder of a model: what survives, who may open it, what is refused."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehearsal.errors import BusyError, FormatError
from rehearsal.juju.codec import encode
from rehearsal.juju.engine import Rehearsal
from rehearsal.juju.entities import Bag
from rehearsal.juju.store import Store
from rehearsal.workers.scripted import SOURCE, ScriptedCharm

CHILD = """
import signal
import sys
from pathlib import Path
from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal
from rehearsal.workers.scripted import SOURCE, ScriptedCharm, scripted

# A shell that starts the tests in the background has Ctrl-C ignored by all below it.
signal.signal(signal.SIGINT, signal.default_int_handler)
charm = ScriptedCharm()
juju = Rehearsal(Path(sys.argv[1]), standins={SOURCE: charm})

def publish(event, unit):
    for relation in unit.related("cluster"):
        relation.local_unit["n"] = str(unit.config["n"])

charm.on("alpha", "config-changed", publish)
options = {"n": {"type": "int", "default": 0}}
if "alpha" not in juju.model.applications:
    machines = tuple(juju.add_machine().id for _ in range(4))
    alpha = scripted("alpha", peers={"cluster": "cluster"}, options=options)
    juju.deploy(alpha, Deployment(machines=machines))
    juju.settle()
    print("deployed", flush=True)
value = juju.model.applications["alpha"].config.get("n", 0)
while True:
    value += 1
    juju.set_config("alpha", {"n": value})
    print("set", value, flush=True)
    juju.settle()
    print("settled", value, flush=True)
"""


def dump(store: Store) -> str:
    """Return everything in a model as text."""
    tables = ("applications", "units", "relations", "bags", "members", "machines")
    return json.dumps([encode(store.model.table(name)) for name in tables], sort_keys=True)


def version_in(home: Path, owner: str) -> int:
    """Open a model, return the version of a bag of relation 1, and let go."""
    store = Store(home)
    version = store.open(wait=0).bag(1, owner).version
    store.release()
    return version


def test_a_closed_model_is_the_same_when_opened(tmp_path: Path) -> None:
    store = Store(tmp_path)
    model = store.open()
    model.put("bags", "1|a/0", Bag({"key": "value"}, 3))
    before = dump(store)
    store.close()
    again = Store(tmp_path)
    again.open()
    assert dump(again) == before
    again.release()


def test_what_was_appended_survives_without_a_close(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.open().put("bags", "1|a/0", Bag({"key": "value"}, 3))
    store.append()
    store.release()
    assert version_in(tmp_path, "a/0") == 3


def test_a_half_written_line_is_cut_off(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.open().put("bags", "1|a/0", Bag({}, 1))
    store.append()
    store.release()
    with (tmp_path / "model.log").open("ab") as file:
        file.write(b'[["bags","1|a/0",{"data":{},"vers')
    again = Store(tmp_path)
    again.open().put("bags", "1|b/0", Bag({}, 1))
    assert again.model.bag(1, "a/0").version == 1
    again.append()
    again.release()
    assert version_in(tmp_path, "b/0") == 1


def test_a_log_that_is_in_the_snapshot_already_is_not_applied_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    model = store.open()
    model.put("bags", "1|a/0", Bag({}, 1))
    store.append()
    log = (tmp_path / "model.log").read_bytes()
    model.put("bags", "1|a/0", Bag({}, 2))
    store.close()
    (tmp_path / "model.log").write_bytes(log)
    assert version_in(tmp_path, "a/0") == 2


def test_the_second_command_is_told_who_has_the_model(tmp_path: Path) -> None:
    first = Store(tmp_path)
    first.open(who="rehearse deploy")
    with pytest.raises(BusyError, match=rf"in use by rehearse deploy \(process {os.getpid()}\)"):
        Store(tmp_path).open(wait=0)
    first.close()
    assert version_in(tmp_path, "a/0") == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [("{}", "not the snapshot"), ("[", "not the snapshot"), ('{"schema": 99}', "schema 99")],
    ids=["empty", "no JSON", "newer"],
)
def test_a_folder_that_is_no_model_is_refused(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(FormatError, match=words):
        Store(tmp_path).open()


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_command_loses_nothing_that_it_reported(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    reported = {"set": 0, "settled": 0}
    for _ in range(3):
        _run_and_kill(tmp_path, chance.uniform(0.15, 0.6), reported)
        with Rehearsal(tmp_path, standins={SOURCE: ScriptedCharm()}) as juju:
            units = juju.model.units_of("alpha")
            config = juju.model.applications["alpha"].config if units else {}
            assert config.get("n", 0) >= reported["set"]
            said = [juju.model.bag(0, unit.name).data.get("n", "0") for unit in units]
            assert all(int(value) >= reported["settled"] for value in said)
            juju.settle()
            assert all(unit.started for unit in juju.model.units.values())


def _run_and_kill(home: Path, seconds: float, reported: dict[str, int]) -> None:
    """Let a process work on the model, kill it, and note what it had reported."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(home)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    output, _ = child.communicate()
    for line in output.splitlines():
        what, _, number = line.partition(" ")
        if number.isdigit():
            reported[what] = max(reported[what], int(number))


def test_ctrl_c_stops_between_two_hooks_and_leaves_a_sound_model(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    reported = [child.stdout.readline() for _ in range(30)]
    child.send_signal(signal.SIGINT)
    try:
        _, error = child.communicate(timeout=60)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in error
    with Rehearsal(tmp_path, standins={SOURCE: ScriptedCharm()}, durable=False) as juju:
        number = int(reported[-1].split()[1])
        assert juju.model.applications["alpha"].config["n"] >= number
        juju.settle()
        assert all(unit.started and not unit.queue for unit in juju.model.units.values())
