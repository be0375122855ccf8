# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a Keystone: switches that a test or the rehearsal sets."""

import threading
from dataclasses import dataclass, field
from typing import Any

from standins.kubernetes.answers import ApiResponse


@dataclass(slots=True)
class Faults:
    """Faults of a Keystone; all off at first.

    Attributes:
        path: Only requests whose path begins so are affected; empty means all.
        refuse: Nobody listens: the connection is refused.
        hang: Requests are taken and not answered until this is off again (SIGSTOP).
        slow: Seconds that each answer takes.
        status: HTTP status of every answer, as a load balancer in front gives; 0 is off.
        lie: A wrong answer with status 200: `html` (a login page in between), `empty`, `cut` (half
            a document), `other` (a document of another shape).
        count: How many requests are affected; -1 means all.
        after: How many requests pass before that.
    """

    path: str = ""
    refuse: bool = False
    hang: bool = False
    slow: float = 0.0
    status: int = 0
    lie: str = ""
    count: int = -1
    after: int = 0
    changed: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def clear(self) -> None:
        """Switch everything off and let hanging requests go on."""
        self.path, self.refuse, self.hang, self.slow = "", False, False, 0.0
        self.status, self.lie, self.count, self.after = 0, "", -1, 0
        self.changed.set()
        self.changed = threading.Event()

    def affects(self, path: str) -> bool:
        """Tell whether a request is affected, and count it."""
        if not path.startswith(self.path) or self.count == 0:
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.count > 0 and (self.refuse or self.hang or self.slow or self.status or self.lie):
            self.count -= 1
        return True

    def find_answer(self, response: ApiResponse) -> ApiResponse:
        """Return the wrong answer that takes the place of a right one, else the right one."""
        if self.status:
            body = b"<html><body><h1>Service Unavailable</h1></body></html>"
            return ApiResponse(self.status, body, {"content-type": "text/html"})
        if self.lie:
            kind = "text/html" if self.lie == "html" else "application/json"
            return ApiResponse(200, _lie(self.lie, response.body), {"content-type": kind})
        return response

    def dump(self) -> dict[str, Any]:
        """Return the switches as JSON values."""
        return {name: getattr(self, name) for name in _NAMES}

    def load(self, data: dict[str, Any]) -> None:
        """Set the switches to what `dump` returned."""
        for name in _NAMES:
            setattr(self, name, data.get(name, getattr(self, name)))


_NAMES = ("path", "refuse", "hang", "slow", "status", "lie", "count", "after")


def _lie(kind: str, body: bytes) -> bytes:
    lies = {
        "html": b"<!DOCTYPE html><html><body>Please sign in</body></html>",
        "empty": b"",
        "cut": body[: len(body) // 2],
    }
    return lies.get(kind, b'{"result": [], "ok": true}')
