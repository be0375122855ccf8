# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is known about tokens, for a while, in bounded memory. Pure: the caller has the clock.

Keys are hashes of tokens; a token itself is never kept.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from review import Verdict


def key_of(token: str) -> bytes:
    """Return the key of a token: its SHA-256, from which nobody gets the token back."""
    return hashlib.sha256(token.encode()).digest()


_TOLERANCE = 1.0
"""Seconds by which a clock goes back when it is only slewed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A verdict and how long it counts.

    Attributes:
        verdict: What was said.
        fresh_until: Until then nobody is asked again, in seconds of the caller's clock.
        usable_until: Until then it stands in while Keystone gives no answer.
        since: When it was said. Before that the clock was put back, and nothing can be said about
            how long it counts.
    """

    verdict: Verdict
    fresh_until: float
    usable_until: float
    since: float = 0.0


class Cache:
    """The most recently used entries, no more than a limit."""

    def __init__(self, limit: int) -> None:
        """Args: limit: Entries, 1 or more; one has about 2 KiB."""
        self._limit = limit
        self._entries: OrderedDict[bytes, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: bytes, now: float) -> Entry | None:
        """Return an entry that is still usable; one that is not is dropped."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if now >= entry.usable_until or now < entry.since - _TOLERANCE:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry

    def put(self, key: bytes, entry: Entry) -> None:
        """Keep an entry; where there are too many, the one that nobody asked for longest goes."""
        self._entries[key] = entry
        self._entries.move_to_end(key)
        while len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def drop(self, key: bytes) -> None:
        """Forget an entry, if there is one."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
