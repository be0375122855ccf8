# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The command `rehearse`: juju's verbs, and what only a rehearsal has."""

import argparse
import contextlib
import io
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

from charmkit.errors import CharmkitError
from rehearsal.cli import homes, parser
from rehearsal.cli.grammar import Misuse
from rehearsal.errors import RehearsalError
from rehearsal.maas.machines import NoMachineError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status: 0 well, 1 refused or failed, 2 misused.

    What is refused ends in one line `ERROR ...`; a verb that prints YAML or JSON prints `{}` then.
    """
    arguments = argparse.Namespace()
    try:
        arguments = parser.parse(argv)
        arguments.root = arguments.home
        if hasattr(arguments, "model"):
            arguments.home = homes.folder_of(arguments.home, arguments.model)
        with _sent(arguments):
            status: int = arguments.run(arguments)
        homes.note_time(arguments.home)
    except Misuse as error:
        print(f"ERROR {error}", file=sys.stderr)
        return 2
    except (RehearsalError, CharmkitError) as error:
        return _refused(arguments, error)
    except BrokenPipeError:
        return 1
    except OSError as error:
        return _refused(arguments, error)
    except KeyboardInterrupt:
        print("interrupted; the model is as it was after the last hook", file=sys.stderr)
        return 130
    return status


@contextlib.contextmanager
def _sent(arguments: argparse.Namespace) -> Generator[None]:
    """Send what is printed to the file that `--output` names."""
    name = getattr(arguments, "output", "")
    if not name:
        yield
        return
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        yield
    Path(name).write_text(text.getvalue())


def _refused(arguments: argparse.Namespace, error: Exception) -> int:
    """Say why a command was refused; return 1. A path may hold what is no text."""
    said = f"ERROR {error}".encode("utf-8", "backslashreplace").decode()
    print(said, file=sys.stderr)
    if isinstance(error, NoMachineError):
        for name, reason in sorted(error.reasons.items()):
            print(f"  {name}: {reason}", file=sys.stderr)
    if getattr(arguments, "format", "") in ("json", "yaml"):
        print("{}")
    return 1
