# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A command that is killed: `python -m rehearsal.tests.engine.victim HOME FIRST`.

It does the verbs of the small model from the FIRST on and prints what it reports: each verb when
it has returned, and each line of the log when it is told of it.
"""

import sys
from pathlib import Path

from rehearsal.errors import RehearsalError
from rehearsal.tests.engine.small_model import SmallModel
from rehearsal.workers.runners import Processes

SEED = 3
EVERY = 4
"""After so many verbs the model settles."""


def main(home: Path, first: int) -> None:
    """Do the verbs and report them; one that was done before the kill is no error."""
    processes = Processes()
    model = SmallModel(home, "3.6.14", SEED, processes)
    model.juju.observe(lambda line: report("log", line))
    for number, verb in enumerate(model.verbs()):
        if number >= first:
            _do(verb)
            report("verb", number)
            if number % EVERY == 0:
                model.juju.settle()
                report("settled", number)
    model.juju.settle()
    report("end", "")
    model.juju.close()
    processes.stop()


def report(*words: object) -> None:
    """Say something that must not be lost."""
    sys.stdout.write(" ".join(str(word) for word in words) + "\n")
    sys.stdout.flush()


def _do(verb: object) -> None:
    try:
        verb()  # type: ignore[operator]
    except RehearsalError as error:
        if "exists" not in str(error):
            raise


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
