# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The words of the sequence: kinds of work, its steps, and what it decides on. Pure."""

import enum
from dataclasses import dataclass

CUT = "cut"
"""Work: GPUs that are idle differ from what was asked."""

DRAIN = "drain"
"""Work: pods are in the way of a change, and may be evicted."""

REBOOT = "reboot"
"""Work: a MIG mode changes only with a reboot, which is allowed and was not done yet."""

RESTART = "restart"
"""Work: the plugin runs and offers something else than NVML has."""

DRIVER = "driver:"
"""Beginning of the work of getting out of the driver's way; its identifier follows."""


class Step(enum.Enum):
    """What to do next. Steps whose name begins with WAIT do nothing but wait."""

    IDLE = "idle"
    LEASE = "lease"
    CORDON = "cordon"
    WAIT_ADMISSION = "wait-admission"
    EVICT = "evict"
    UNHOLD = "unhold"
    PAUSE = "pause"
    WAIT_PLUGIN_GONE = "wait-plugin-gone"
    CLOSE_GATE = "close-gate"
    RECUT = "recut"
    GRANT = "grant"
    REBOOT = "reboot"
    RESTORE_MODE = "restore-mode"
    OPEN_GATE = "open-gate"
    RESUME = "resume"
    WAIT_ADVERTISED = "wait-advertised"
    UNTAINT = "untaint"
    UNCORDON = "uncordon"
    RELEASE = "release"


CLOSING = frozenset(
    {Step.LEASE, Step.CORDON, Step.WAIT_ADMISSION, Step.EVICT, Step.UNHOLD, Step.PAUSE}
    | {Step.WAIT_PLUGIN_GONE, Step.CLOSE_GATE, Step.RECUT, Step.GRANT, Step.REBOOT}
)
"""Steps away from service; the others lead back and need to know what NVML has."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is true of a node at one moment.

    Attributes:
        work: What is to be done: empty, `CUT`, `DRAIN`, `REBOOT`, `RESTART`, `driver_work(id)`.
        key: Tells one request from the next, such as the hash of a layout.
        now: Seconds since the epoch.
        serving: The plugin may hand out devices: it runs, or the node still advertises some.
        leased: The leader allows this unit to be out of service.
        cordoned: No new pod is bound to the node.
        ours: The cordon is this unit's.
        unallocated: Pods that are bound to the node and wait for their devices.
        paused: The node's label keeps the plugin away.
        gate: The gate's file is there.
        gate_right: The gate's file is of this boot and of the layout that NVML has.
        advertised: The node advertises exactly what NVML has, or a GPU that is of no use besides.
        starting: The start-up taint is on the node.
        boot: Boot of the machine.
        evict: Pods that have to go first, by name.
        asks: UUIDs of GPUs whose MIG mode the next re-cut asks for.
        pending: A GPU has another MIG mode pending that this unit asked for.
        done: Nothing is to be changed now or later.
        attempt: The request, and what is allowed for it; empty where nothing can be wanted.
        holds: Holds of ours are bound to the node.
        astray: The node's label lets the plugin of another strategy run.
        unserved: No strategy that is allowed can offer the GPUs as they are.
        faulty: A GPU is of no use, so what the plugin makes of it is not known.
        partly: The node advertises a part of what NVML has, as where the plugin once found a
            device unwell, which it never takes back.
    """

    work: str
    key: str
    now: float
    serving: bool
    leased: bool
    cordoned: bool
    ours: bool
    unallocated: tuple[str, ...]
    paused: bool
    gate: bool
    gate_right: bool
    advertised: bool
    starting: bool
    boot: str = ""
    evict: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    pending: bool = False
    done: bool = False
    attempt: str = ""
    holds: bool = False
    astray: bool = False
    unserved: bool = False
    faulty: bool = False
    partly: bool = False

    @property
    def may_lack(self) -> bool:
        """What the node advertises may never become what NVML has."""
        return self.faulty or self.partly


def driver_work(identifier: str) -> str:
    """Return the work of getting out of the driver's way."""
    return DRIVER + identifier
