# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The command `rehearse`: juju's verbs, and what only a rehearsal has."""

import sys
from collections.abc import Sequence

from charmkit.errors import CharmkitError
from rehearsal.cli import parser
from rehearsal.errors import RehearsalError
from rehearsal.machines import NoMachineError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status: 0 well, 1 refused or failed, 2 misused."""
    arguments = parser.parse(argv)
    try:
        status: int = arguments.run(arguments)
    except NoMachineError as error:
        print(f"ERROR {error}", file=sys.stderr)
        for name, reason in sorted(error.reasons.items()):
            print(f"  {name}: {reason}", file=sys.stderr)
        return 1
    except (RehearsalError, CharmkitError) as error:
        print(f"ERROR {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        print("interrupted; the model is as it was after the last hook", file=sys.stderr)
        return 130
    return status
