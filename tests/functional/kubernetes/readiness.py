# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""When a control plane is ready: its API server says so, and its namespaces are furnished.

Everything here asks through a function that returns what stands at a path, None while nobody
answers.
"""

import json
import subprocess
from collections.abc import Callable, Sequence

import httpx2

Read = Callable[[str], str | None]

_FURNITURE = (
    "/api/v1/namespaces",
    "/api/v1/serviceaccounts?fieldSelector=metadata.name%3Ddefault",
    "/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt",
)


def is_ready(read: Read) -> bool:
    """Ask /readyz: the port alone answers before the default roles are there."""
    return read("/readyz") is not None


def is_furnished(read: Read) -> bool:
    """Say whether the controllers have put into every namespace what belongs there.

    They do so once the account of each of them is made, which takes 3 to 5 seconds: whoever lists
    a cluster before that takes their accounts for what a charm made.
    """
    counts = {_count(read(path)) for path in _FURNITURE}
    return len(counts) == 1 and counts != {0}


def _count(answer: str | None) -> int:
    return len(json.loads(answer)["items"]) if answer else 0


def over(client: Callable[[], httpx2.Client]) -> Read:
    """Return a way to ask over the network of this process."""

    def read(path: str) -> str | None:
        with client() as opened:
            try:
                answer = opened.get(path, timeout=5.0)
            except httpx2.HTTPError:
                return None
        return answer.text if answer.status_code == 200 else None

    return read


def by(kubectl: Sequence[str]) -> Read:
    """Return a way to ask by a command, for a server in a network of its own."""

    def read(path: str) -> str | None:
        asked = [*kubectl, "get", f"--raw={path}"]
        ran = subprocess.run(asked, capture_output=True, text=True, timeout=15)
        return ran.stdout if ran.returncode == 0 else None

    return read
