# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the test and the agent on a node say to each other: hooks and what came of them.

Values are pickled, with their length in front.
"""

import pickle
import struct
from dataclasses import dataclass
from typing import IO, Any

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Hook:
    """What Juju would run.

    Attributes:
        event: Name of the event, as on `Context.on`.
        details: What it is called with there.
        state: What Juju has before it.
    """

    event: str
    details: dict[str, Any]
    state: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a hook.

    Attributes:
        state: What Juju has after it.
        seconds: How long the charm ran.
        results: Of an action.
        refused: Why an action failed; empty when it did not.
    """

    state: Any
    seconds: float
    results: dict[str, Any] | None = None
    refused: str = ""


def send(stream: IO[bytes], value: object) -> None:
    """Write a value."""
    content = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a value.

    Raises:
        EOFError: The other side has ended.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError("the other side has ended")
    return pickle.loads(stream.read(*_LENGTH.unpack(head)))
