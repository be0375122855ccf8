# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The grammar of the command line. `--model` comes after the verb, as juju's clients write it."""

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from rehearsal.cli import deploying, happening, looking, operating

Add = Callable[["argparse._SubParsersAction[argparse.ArgumentParser]"], None]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of one command; `run` is the function that carries it out.

    Raises:
        SystemExit: With 2 for a misused command, as juju, and 0 for help.
    """
    main = argparse.ArgumentParser(
        prog="rehearse", description="an embedded Juju on simulated machines"
    )
    verbs = main.add_subparsers(dest="verb", required=True, metavar="VERB")
    shared = argparse.ArgumentParser(add_help=False)
    default = Path(os.environ.get("REHEARSAL_HOME", ".rehearsal"))
    shared.add_argument("--home", type=Path, default=default, help="folder of the model")
    shared.add_argument("-m", "--model", default="", help="name of the model; it has just one")
    for group in (deploying, operating, looking, happening):
        group.add(lambda name, text: verbs.add_parser(name, help=text, parents=[shared]))
    return main.parse_args(argv)
