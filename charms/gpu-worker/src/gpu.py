# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPUs as values: what a machine has and what each GPU is cut into. Pure.

Everything here was read from NVML; nothing comes from a table of products.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from charmkit.errors import InterventionError

WHOLE_GPU = "nvidia.com/gpu"
"""Resource of a whole GPU. Source: NVIDIA device plugin, internal/rm."""

_DISPLAY_MODE = re.compile(r"RTX PRO \d+ Blackwell")
"""Cards that can do MIG, but only in compute mode. Source: MIG guide, RTX PRO 6000; seen in
NVIDIA/gpu-operator#2249."""


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """Where an instance lies, in memory units of its GPU."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """First unit behind it."""
        return self.start + self.size

    def overlaps(self, other: "Placement") -> bool:
        """Tell whether two instances cannot be there together."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines of one instance, as NVML counts them."""

    copy: int = 0
    decoder: int = 0
    encoder: int = 0
    jpeg: int = 0
    ofa: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of instance that a GPU offers.

    Attributes:
        id: Number that create and list calls take; it means something on this board only.
        name: Spelling that the device plugin advertises, such as `1g.5gb+me`.
        slices: Compute slices.
        eighths: Memory in eighths of the GPU, rounded up.
        attribute: Empty, `+me`, `-me`, `+gfx` or `+me.all`.
        maximum: Most instances of it on one GPU.
        placements: Where it may lie, by start.
        memory_mib: Memory of an instance.
        driver_name: Spelling of the driver, where it is another one; empty when it gives none.
    """

    id: int
    name: str
    slices: int
    eighths: int
    attribute: str
    maximum: int
    placements: tuple[Placement, ...]
    memory_mib: int
    multiprocessors: int = 0
    engines: Engines = Engines()
    driver_name: str = ""

    def __hash__(self) -> int:
        """Hash by number and name, since searches hash profiles by the million."""
        return hash((self.id, self.name))

    @property
    def key(self) -> tuple[int, int, str]:
        """What the profile is, however it is spelled."""
        return self.slices, self.eighths, self.attribute

    @property
    def kind(self) -> tuple[str, int, int, Engines]:
        """What the strategy `single` wants alike: on boards that differ a name is not enough.

        Source: NVIDIA device plugin 0.20, internal/rm/device_map.go, which compares attributes.
        """
        return self.name, self.memory_mib, self.multiprocessors, self.engines

    @property
    def size(self) -> int:
        """Memory units that an instance covers."""
        return self.placements[0].size

    @property
    def dotted(self) -> str:
        """Name as layouts and resources spell it: `1g.5gb.me`."""
        return self.name.replace("+", ".").replace(",", ".")

    @property
    def resource(self) -> str:
        """Resource that the device plugin advertises under the strategy `mixed`."""
        return f"nvidia.com/mig-{self.dotted}"


@dataclass(frozen=True, slots=True)
class Device:
    """A MIG device: one compute instance, which a container can be given."""

    id: int
    uuid: str


@dataclass(frozen=True, slots=True)
class Instance:
    """A GPU instance as it is.

    Attributes:
        id: Number that the driver gave it; it says nothing about the place.
        devices: Its compute instances; none after a change that was cut short.
        is_whole: It has exactly one compute instance, which takes all of it.
    """

    id: int
    profile: Profile
    placement: Placement
    devices: tuple[Device, ...]
    is_whole: bool = True

    @property
    def uuid(self) -> str:
        """UUID of the MIG device; empty when there is not exactly one that takes all."""
        return self.devices[0].uuid if self.is_whole else ""

    def is_busy(self, busy: frozenset[str]) -> bool:
        """Tell whether one of its devices is among the busy ones."""
        return any(device.uuid in busy for device in self.devices)

    def __str__(self) -> str:
        return f"{self.profile.name}@{self.placement.start}"


@dataclass(frozen=True, slots=True)
class Cut:
    """An instance as it should be: a profile in a place."""

    profile: Profile
    placement: Placement

    def is_met_by(self, instance: Instance) -> bool:
        """Tell whether an instance is exactly this."""
        return (
            instance.is_whole
            and instance.profile.id == self.profile.id
            and instance.placement == self.placement
        )

    def __str__(self) -> str:
        return f"{self.profile.name}@{self.placement.start}"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of the machine.

    Attributes:
        index: Position in PCI order, from 0: the number that layouts use.
        address: PCI address as sysfs writes it, such as `0000:07:00.0`.
        device_id: PCI device and vendor, as in a device-filter: 0x20B010DE.
        subsystem_id: PCI subsystem, written in the same way.
        mig_capable: The driver answers mode queries for it.
        mig: MIG is on.
        mig_pending: MIG will be on after the next reset.
        resetless: The mode changes at once and does not survive a reboot.
        profiles: What it can be cut into, by profile id; empty where the driver hides them.
        instances: What it is cut into, by start.
        ailment: What its driver says is wrong with it, and what to do; empty for a healthy one.
    """

    index: int
    uuid: str
    address: str
    product: str
    memory_mib: int
    device_id: int = 0
    subsystem_id: int = 0
    architecture: str = ""
    compute_capability: tuple[int, int] = (0, 0)
    mig_capable: bool = False
    mig: bool = False
    mig_pending: bool = False
    resetless: bool = False
    profiles: tuple[Profile, ...] = ()
    instances: tuple[Instance, ...] = ()
    ailment: str = ""

    @property
    def label(self) -> str:
        """How messages name it: `GPU 0 (A100-SXM4-40GB)`."""
        return f"GPU {self.index} ({self.product.removeprefix('NVIDIA ')})"

    @property
    def display_mode(self) -> str:
        """Why a card that drives displays refuses MIG; empty for boards without that mode."""
        if not _DISPLAY_MODE.search(self.product):
            return ""
        return f"{self.label} must be switched to compute mode before MIG"

    @property
    def units(self) -> int:
        """Length of the placement grid in memory units; 0 while no profile is known."""
        ends = (place.end for profile in self.profiles for place in profile.placements)
        return max(ends, default=0)

    @property
    def slices(self) -> int:
        """Compute slices of the whole GPU; 0 while no profile is known."""
        return max((profile.slices for profile in self.profiles), default=0)

    @property
    def is_split(self) -> bool:
        """Whether an instance has a compute instance that does not take all of it."""
        return any(each.devices and not each.is_whole for each in self.instances)

    @property
    def devices(self) -> tuple[str, ...]:
        """UUIDs of what can be computed on: the GPU itself, or its MIG devices by place."""
        if not self.mig:
            return (self.uuid,)
        return tuple(device.uuid for each in self.instances for device in each.devices)


class AllLostError(InterventionError):
    """There are GPUs on the machine, and none of them can be used."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A GPU that is there and cannot be used.

    Attributes:
        index: Position in PCI order among all GPUs, this one included.
        address: PCI address as sysfs writes it; empty where nobody knows it any more.
        reason: What is wrong and what to do.
    """

    index: int
    address: str
    reason: str

    def __str__(self) -> str:
        where = f" ({self.address})" if self.address else ""
        return f"GPU {self.index}{where} {self.reason}"


def allocatable(gpus: Iterable[Gpu], strategy: str = "mixed") -> dict[str, int]:
    """Return what a node with these GPUs must advertise, by resource.

    Args:
        gpus: The GPUs of the node, as read back.
        strategy: MIG strategy of the device plugin: mixed, single or none.

    Returns:
        Counts by resource name; `nvidia.com/gpu` is always there. A GPU with MIG on and no
        instance counts nowhere, except under `none`, which sees whole GPUs only.

    Source: NVIDIA device plugin 0.20, internal/rm/device_map.go; confirmed on a real kubelet.
    """
    counts = Counter({WHOLE_GPU: 0})
    for gpu in gpus:
        if strategy == "none" or not gpu.mig:
            counts[WHOLE_GPU] += 1
            continue
        for instance in gpu.instances:
            counts[instance.profile.resource if strategy == "mixed" else WHOLE_GPU] += int(
                instance.is_whole
            )
    return {resource: counts[resource] for resource in sorted(counts)}
