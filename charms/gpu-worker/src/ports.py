# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a worker needs of its surroundings, apart from the gateways: who it is, leave, GPUs."""

from dataclasses import dataclass
from typing import Protocol

from hardware import Hardware
from plan import Change


class Lease(Protocol):
    """The leave to be out of service, which the leader of the pool gives."""

    @property
    def is_held(self) -> bool:
        """The unit may close its node."""
        ...

    def request(self) -> None:
        """Ask for it."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


class Gpus(Protocol):
    """The machine's GPUs."""

    def read(self) -> Hardware:
        """Return what there is and what computes on it."""
        ...

    def apply(self, *changes: Change, alone: bool = False, again: bool = False) -> None:
        """Change GPUs.

        Args:
            changes: What to do.
            alone: Nobody uses any GPU of the machine.
            again: It was tried a moment ago; services that watch are not stopped for it again.
        """
        ...

    def request_modes(self, *changes: Change) -> None:
        """Ask for MIG modes that need not come now."""
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Who acts: the application is the pool."""

    application: str
    unit: str
