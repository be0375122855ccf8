# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Node labels that say what the GPUs are, as gpu-feature-discovery writes them. Pure.

Selectors of users and of other programs know these names, so they are the same here, without its
DaemonSet and without node-feature-discovery. Counts and products are outputs: what somebody else
wrote there is put right.

Source: k8s-device-plugin 0.20, `internal/lm`, compared with what it printed on recorded machines.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpu import Gpu, Profile
from strategy import MIXED, NONE, SINGLE, can_serve

PREFIX = "nvidia.com/"

_OWNED = re.compile(
    r"nvidia\.com/("
    r"cuda\.(driver|runtime|driver-version|runtime-version)\.[a-z]+"
    r"|gpu\.(machine|product|count|replicas|sharing-strategy|memory|family|mode|clique"
    r"|multiprocessors|compute\.(major|minor)|slices\.[gc]i|engines\.[a-z]+)"
    r"|mig-[^/]+\.(product|count|replicas|sharing-strategy|memory|multiprocessors"
    r"|slices\.[gc]i|engines\.[a-z]+)"
    r"|mig\.(capable|strategy)|mps\.capable)"
)
"""Every label that gpu-feature-discovery may write; one that is not wanted is a leftover."""

_UNSAFE = re.compile(r"[^A-Za-z0-9\-_. ]")
_LONGEST = 63  # Kubernetes' limit of a label value.


@dataclass(frozen=True, slots=True)
class System:
    """What the labels tell about a machine besides its GPUs.

    Attributes:
        driver: Version of the driver, such as `550.163.01`.
        cuda: CUDA version that the driver supports, as major and minor.
        machine: Product name from DMI; empty when the firmware tells none.
        mode: What the GPUs are for: compute, graphics or unknown.
    """

    driver: str
    cuda: tuple[int, int]
    machine: str = ""
    mode: str = "compute"


UNKNOWN_MODE = "unknown"
"""What GPUs are for that drive displays in part."""

UNKNOWN_SYSTEM = System("", (0, 0))
"""A machine of which nothing was read."""


def compute_labels(gpus: Sequence[Gpu], system: System, strategy: str = MIXED) -> dict[str, str]:
    """Return the labels of a machine, without the timestamp.

    `gpu.count` counts every GPU of the product that the labels are about, cut or not. Where boards
    differ that is the first one that is not cut, if there is any: it is what `nvidia.com/gpu` is.
    gpu-feature-discovery does the same with a warning, and takes any of several.

    Args:
        gpus: The GPUs in PCI order; none gives no label.
        system: What else the labels tell.
        strategy: MIG strategy of the device plugin: mixed, single or none.
    """
    if not gpus:
        return {}
    labels = _machine(gpus, system)
    if strategy != NONE:
        labels["mig.strategy"] = strategy
    labels |= _single(gpus) if strategy == SINGLE else _mixed(gpus) if strategy == MIXED else {}
    return {PREFIX + name: value for name, value in labels.items()}


def _machine(gpus: Sequence[Gpu], system: System) -> dict[str, str]:
    first = next((gpu for gpu in gpus if not gpu.mig), gpus[0])
    product = sanitize(first.product)
    return {
        **_versions(system),
        "gpu.machine": sanitize(system.machine),
        "gpu.product": product,
        "gpu.family": first.architecture,
        "gpu.memory": str(first.memory_mib),
        "gpu.count": str(sum(gpu.product == first.product for gpu in gpus)),
        "gpu.replicas": "0" if all(gpu.mig for gpu in gpus) else "1",
        "gpu.sharing-strategy": "none",
        "gpu.compute.major": str(first.compute_capability[0]),
        "gpu.compute.minor": str(first.compute_capability[1]),
        "gpu.mode": system.mode,
        "mig.capable": "true" if any(gpu.mig_capable for gpu in gpus) else "false",
        "mps.capable": "false",
    }


def _mixed(gpus: Sequence[Gpu]) -> dict[str, str]:
    labels = dict[str, str]()
    cut = [(gpu, each) for gpu in gpus for each in gpu.instances if gpu.mig and each.is_whole]
    counts = Counter(each.profile.dotted for _, each in cut)
    for gpu, each in reversed(cut):  # Of boards that differ the first one that has such a slice.
        name = each.profile.dotted
        labels |= _slice(f"mig-{name}", gpu, each.profile, counts[name])
    return labels


def _single(gpus: Sequence[Gpu]) -> dict[str, str]:
    """Return what instances that are all alike, called GPUs, make of the labels."""
    first = next((gpu for gpu in gpus if gpu.mig), None)
    if first is None:
        return {}
    if can_serve(gpus, SINGLE):
        count = sum(len(gpu.instances) for gpu in gpus)
        return _slice("gpu", first, first.instances[0].profile, count)
    none = dict.fromkeys(("gpu.count", "gpu.replicas", "gpu.memory"), "0")
    return {"gpu.product": _product(first, "INVALID"), "gpu.sharing-strategy": "", **none}


def find_leftovers(present: Iterable[str], wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Return labels of gpu-feature-discovery's names that the machine does not have, sorted."""
    return tuple(sorted(n for n in present if _OWNED.fullmatch(n) and n not in wanted))


def sanitize(text: str) -> str:
    """Return a text as a label value: unsafe characters dropped, a hyphen for spaces."""
    return "-".join(_UNSAFE.sub("", text).split())[:_LONGEST].strip("-_.")


def _versions(system: System) -> dict[str, str]:
    major, minor, revision = [*system.driver.split("."), "", ""][:3]
    cuda_major, cuda_minor = (str(number) for number in system.cuda)
    return {
        "cuda.driver.major": major,
        "cuda.driver.minor": minor,
        "cuda.driver.rev": revision,
        "cuda.runtime.major": cuda_major,
        "cuda.runtime.minor": cuda_minor,
        "cuda.driver-version.full": system.driver,
        "cuda.driver-version.major": major,
        "cuda.driver-version.minor": minor,
        "cuda.driver-version.revision": revision,
        "cuda.runtime-version.full": f"{cuda_major}.{cuda_minor}",
        "cuda.runtime-version.major": cuda_major,
        "cuda.runtime-version.minor": cuda_minor,
    }


def _slice(resource: str, gpu: Gpu, profile: Profile, count: int) -> dict[str, str]:
    values = {
        "product": _product(gpu, profile.dotted),
        "count": count,
        "replicas": 1,
        "sharing-strategy": "none",
        "memory": profile.memory_mib,
        "multiprocessors": profile.multiprocessors,
        "slices.gi": profile.slices,
        "slices.ci": profile.slices,
        "engines.copy": profile.engines.copy,
        "engines.decoder": profile.engines.decoder,
        "engines.encoder": profile.engines.encoder,
        "engines.jpeg": profile.engines.jpeg,
        "engines.ofa": profile.engines.ofa,
    }
    return {f"{resource}.{name}": str(value) for name, value in values.items()}


def _product(gpu: Gpu, part: str) -> str:
    """Return the name of a product and its part, the former cut where both are no label value.

    Node-feature-discovery leaves such a label out, as for the RTX PRO 6000 of workstations.
    """
    suffix = f"-MIG-{part}"
    return sanitize(gpu.product)[: _LONGEST - len(suffix)].rstrip("-_.") + suffix
