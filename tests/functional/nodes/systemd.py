# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A real machine without systemd: `systemctl` is the stand-in, all else is the machine."""

from collections.abc import Sequence
from pathlib import Path

from charmkit.commands import CommandError
from charmkit.host import Host
from standins.metal.system import ProgramError, System, new_state
from standins.metal.systemctl import systemctl

SYSTEMCTL = "/usr/bin/systemctl"


class NodeHost(Host):
    """The gateway of production, but for systemctl, which finds the machine's own unit files."""

    def __init__(self, folder: Path) -> None:
        """Args: folder: Where the stand-in keeps what systemd would know."""
        super().__init__()
        self._system = System(folder)
        root = folder / "root"
        if not root.exists():
            root.mkdir(parents=True)
            (root / "etc").symlink_to("/etc")
        if not (folder / "host.json").exists():
            self._system.store.create(new_state("24.04"))

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        """Run a program of the machine, or the stand-in of systemctl.

        Raises:
            CommandError: It fails.
        """
        if argv[0] != SYSTEMCTL:
            return super().run(argv, timeout=timeout)
        try:
            return systemctl(self._system, argv)
        except ProgramError as error:
            raise CommandError(argv, error.returncode, error.stdout, error.stderr) from error
