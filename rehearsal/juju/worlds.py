# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the engine needs of the world below the charms, and a world without anything in it."""

from collections.abc import Mapping
from typing import Any, Protocol


class World(Protocol):
    """Machines and a cluster with a clock of their own; `standins.world.World` is one."""

    now: float

    @property
    def machines(self) -> Mapping[str, Any]:
        """Return the machines by id."""
        ...

    @property
    def api(self) -> Any:
        """Return the cluster's API with `handle(ApiRequest) -> ApiResponse`."""
        ...

    def settle(self) -> bool:
        """Let everything happen that is due now; return whether anything did."""
        ...

    def next_due(self) -> float | None:
        """Return when the world moves by itself."""
        ...

    def advance_to(self, time: float) -> bool:
        """Let time pass up to a moment."""
        ...

    def reboot(self, machine_id: str) -> None:
        """Restart a machine in order."""
        ...

    def agent_up(self, machine_id: str) -> bool:
        """Return whether Juju's agent runs on a machine."""
        ...

    def due_agents(self) -> list[str]:
        """Return the machines whose agent came up again, each boot once."""
        ...

    def services_due(self) -> list[Any]:
        """Return the oneshot services that booting machines are to run now."""
        ...

    def service_ended(self, machine_id: str, name: str) -> None:
        """Note that a oneshot service has run."""
        ...

    def services(self, machine_id: str) -> list[Any]:
        """Return the services of charms that run all the time on a machine."""
        ...

    def stamp(self, machine_id: str) -> str:
        """Return a text that differs when something changed that a unit may wait for."""
        ...

    def deadlines(self, machine_id: str) -> list[float]:
        """Return when units of a machine want to be woken at the latest."""
        ...

    def save(self) -> None:
        """Write down what is kept in memory."""
        ...


class EmptyWorld:
    """Machines that nobody simulates: charms run, agents restart, nothing else is there."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.machines: dict[str, Any] = {}
        self.api: Any = None
        self._restarted: list[str] = []

    def settle(self) -> bool:
        """Return False: nothing ever moves here."""
        return False

    def next_due(self) -> float | None:
        """Return None: nothing ever moves here."""
        return None

    def advance_to(self, time: float) -> bool:
        """Let time pass up to a moment."""
        self.now = max(time, self.now)
        return False

    def reboot(self, machine_id: str) -> None:
        """Restart a machine; its agent is up again at once."""
        self._restarted.append(machine_id)

    def agent_up(self, machine_id: str) -> bool:
        """Return True: agents always run."""
        del machine_id
        return True

    def due_agents(self) -> list[str]:
        """Return the machines that were restarted."""
        due, self._restarted = self._restarted, []
        return due

    def services_due(self) -> list[Any]:
        """Return nothing: there are no services."""
        return []

    def service_ended(self, machine_id: str, name: str) -> None:
        """Do nothing."""

    def services(self, machine_id: str) -> list[Any]:
        """Return nothing: there are no services."""
        del machine_id
        return []

    def stamp(self, machine_id: str) -> str:
        """Return the empty text: nothing changes."""
        del machine_id
        return ""

    def deadlines(self, machine_id: str) -> list[float]:
        """Return nothing: nobody waits."""
        del machine_id
        return []

    def save(self) -> None:
        """Do nothing: the clock is in the model."""
