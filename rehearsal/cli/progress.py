# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a person sees while hooks run: one line on the terminal that is written over."""

import sys
import time
from types import TracebackType

from rehearsal.counted import counted
from rehearsal.site import Site

PATIENCE_SECONDS = 1.0
"""Nothing is shown for what is over sooner."""


class Progress:
    """Shows how many hooks have run, and says at the end how long it took.

    On something that is no terminal nothing is written, or only the last line.
    """

    def __init__(self, site: Site, what: str, *, tell: bool = False) -> None:
        """Args: tell: Say how long it took also where no terminal is."""
        self._site = site
        self._tell = tell or sys.stderr.isatty()
        self._what = what
        self._began = time.monotonic()
        self._hooks = 0

    def __enter__(self) -> "Progress":
        self._site.juju.observe(self._line)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._site.juju.observe(lambda line: None)
        seconds = time.monotonic() - self._began
        if seconds >= PATIENCE_SECONDS and self._hooks and self._tell:
            rate = self._hooks / seconds if seconds else 0
            self._show(
                f"{self._what}: {counted(self._hooks, 'hook')} in {seconds:.1f} s "
                f"({rate:.0f} a second)\n"
            )

    def _line(self, line: str) -> None:
        self._hooks += ' ran "' in line
        if sys.stderr.isatty() and time.monotonic() - self._began >= PATIENCE_SECONDS:
            ran, now = counted(self._hooks, "hook"), line.partition(":")[0]
            self._show(f"{self._what}: {ran}, now {now}")

    def _show(self, text: str) -> None:
        clear = "\r\033[K" if sys.stderr.isatty() else ""
        sys.stderr.write(clear + text)
        sys.stderr.flush()
