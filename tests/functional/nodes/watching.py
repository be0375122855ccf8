# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Watches, all through the tests, that no node offers what its GPUs do not have."""

import threading
from types import TracebackType
from typing import Any

from tests.functional.kubernetes.controlplane import ControlPlane
from tests.functional.kubernetes.running import eventually
from tests.functional.nodes.node import Node

PAUSE = 0.15


class Watch:
    """Looks at nodes and their GPUs until it is left; what was wrong stays in `wrong`.

    Attributes:
        looks: Comparisons that were made.
        rounds: How often it was through with all nodes.
    """

    def __init__(self, control: ControlPlane, nodes: list[Node]) -> None:
        self.wrong: list[str] = []
        self.looks = 0
        self.rounds = 0
        self._client = control.client()
        self._nodes = nodes
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self._client.close()

    def wait_round(self) -> None:
        """Return when every node was looked at once more, from now on to the end."""
        last = self.rounds + 1  # The round that runs now may have begun long ago.
        eventually(lambda: self.rounds > last, "the nodes are looked at", saw=lambda: self.rounds)

    def take_wrong(self) -> list[str]:
        """Return and forget what was wrong since the last time."""
        found, self.wrong = self.wrong, []
        return found

    def _run(self) -> None:
        while not self._over.wait(PAUSE):
            for node in self._nodes:
                self._look(node)
            self.rounds += 1

    def _look(self, node: Node) -> None:
        """Compare what is on offer with what was there before and after it was read.

        A machine that is off says nothing: until its kubelet reports again, the cluster has what
        it reported last.
        """
        reported = node.reports
        before = node.gpus.offers()
        found = self._client.get(f"/api/v1/nodes/{node.name}").json()
        if not reported or not node.reports or before != node.gpus.offers():
            return
        self.looks += 1
        offered = _offered(found)
        if any(count > before.get(resource, 0) for resource, count in offered.items()):
            self.wrong.append(f"{node.name} offers {offered}, its GPUs have {before}")


def _offered(node: dict[str, Any]) -> dict[str, int]:
    counts = node.get("status", {}).get("allocatable", {}) if node["kind"] == "Node" else {}
    return {name: int(n) for name, n in counts.items() if name.startswith("nvidia.com/")}
