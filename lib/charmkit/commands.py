# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Run a program of the machine. The one place of the suite that starts a process."""

import logging
import subprocess
from collections.abc import Sequence
from pathlib import PurePath
from typing import Protocol

from charmkit.errors import InterventionError, NotReadyError

_logger = logging.getLogger(__name__)

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin",
    "HOME": "/root",
    "LC_ALL": "C",
    "DEBIAN_FRONTEND": "noninteractive",
    "NEEDRESTART_SUSPEND": "1",
}
"""Everything that a program sees: nothing of Juju's (juju-exec refuses an inherited context),
plain English, no question, and no restart of foreign services after apt (needrestart(1))."""


class CommandError(InterventionError):
    """A program ended with a failure.

    Attributes:
        returncode: Exit status, never 0; 127 when there is no such program.
        stdout: Everything it wrote to its standard output.
        stderr: Everything it wrote to its standard error.
    """

    def __init__(self, argv: Sequence[str], returncode: int, stdout: str, stderr: str) -> None:
        lines = [line.strip() for line in (stderr or stdout).splitlines() if line.strip()]
        reason = lines[-1] if lines else f"exit status {returncode}"
        super().__init__(f"{PurePath(argv[0]).name}: {reason}")
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr


class Run(Protocol):
    """How gateways run programs: `Host.run`, in production and in the rehearsal."""

    def __call__(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        """Run a program and return its standard output."""
        ...


def run_command(argv: Sequence[str], *, timeout: float = 60) -> str:
    """Run a program to its end and return its standard output.

    Args:
        argv: Absolute path of the program, and its arguments; no shell is involved.
        timeout: Seconds until it is killed.

    Raises:
        CommandError: It ended with a failure, or there is no such program.
        NotReadyError: It took longer than the timeout.
        ValueError: The program is not named by an absolute path.
    """
    if not argv[0].startswith("/"):
        raise ValueError(f"{argv[0]!r} is not an absolute path")
    try:
        done = subprocess.run(
            list(argv),
            capture_output=True,
            check=False,
            cwd="/",
            encoding="utf-8",
            env=ENVIRONMENT,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )
    except FileNotFoundError as error:
        raise CommandError(argv, 127, "", "no such program") from error
    except subprocess.TimeoutExpired as error:
        name = PurePath(argv[0]).name
        raise NotReadyError(f"{name}: no answer in {timeout:.0f} s, it is tried again") from error
    _logger.debug("%s: exit status %d", argv, done.returncode)
    if done.returncode:
        raise CommandError(argv, done.returncode, done.stdout, done.stderr)
    return done.stdout
