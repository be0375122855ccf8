# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C between two hooks, never inside a commit."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """Holds Ctrl-C back while a model settles; a second one gets through at once."""

    def __init__(self) -> None:
        self._asked = False
        self._previous: Any = None

    def __enter__(self) -> "Interrupts":
        self._asked = False
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None
        if kind is None:
            self.check()

    def check(self) -> None:
        """Let a Ctrl-C that was held back through.

        Raises:
            KeyboardInterrupt: Somebody pressed it since the model began to settle.
        """
        if self._asked:
            self._asked = False
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Remember the first Ctrl-C."""
        del number, frame
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
