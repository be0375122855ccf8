# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every code that NVML can answer, at every call that changes something, on a node in service."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pynvml
from gpusite import Site

from charmkit.errors import CharmkitError

SET_MODE = "nvmlDeviceSetMigMode"
CALLS = (
    SET_MODE,
    "nvmlDeviceCreateGpuInstanceWithPlacement",
    "nvmlGpuInstanceCreateComputeInstance",
    "nvmlComputeInstanceDestroy",
    "nvmlGpuInstanceDestroy",
)
CODES = {
    value: name.removeprefix("NVML_ERROR_")
    for name, value in vars(pynvml).items()
    if re.fullmatch(r"NVML_ERROR_[A-Z_]+", name) and isinstance(value, int)
}
"""Every error code of nvmlReturn_t that this pynvml knows, by number."""

PATIENCE = 30
"""Hooks, one a minute: more than drain-timeout and the rest after it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of one refusal.

    Attributes:
        text: What the status said while it lasted.
        kind: Class of the error, which decides the status.
        partial: GPUs with an instance without a compute instance, right after the refusal.
        back: Whether the node was in service again while the refusal lasted.
        wrong: What is not as it should be after it has ended.
    """

    text: str
    kind: str
    partial: tuple[int, ...]
    back: bool
    wrong: tuple[str, ...]


def refuse(folder: Path, call: str, code: int, *, always: bool = False) -> Ended:
    """Let NVML refuse a call, the first time or for a long time, and then no more."""
    site = Site(folder)
    site.options = {"mig_profile": "all-disabled" if call == SET_MODE else "all-4g.24gb"}
    site.settle()
    site.options = {"mig_profile": "all-2g.12gb"}
    site.machine.gpus.fault(call, code, nth=0 if always else 1)
    error = _run_until_refused(site)
    partial = _find_partial(site)
    back = always and _is_back(site)
    site.machine.gpus.clear_faults()
    _go_on(site, PATIENCE)
    kind = type(error).__name__ if error else ""
    return Ended(str(error or ""), kind, partial, back, tuple(_find_wrong(site)))


def _run_until_refused(site: Site) -> CharmkitError | None:
    for _ in range(10):
        try:
            outcome = site.hook()
        except CharmkitError as error:
            return error
        if "GPU" in "".join(map(str, outcome.problems)):
            return outcome.problems[0]
        site.world.advance(5)
    return None


def _go_on(site: Site, hooks: int) -> None:
    for _ in range(hooks):
        with suppress(CharmkitError):
            if not site.hook().problems:
                return
        site.world.advance(60)


def _is_back(site: Site) -> bool:
    """Tell whether the node returns to service though the refusal lasts."""
    for _ in range(PATIENCE):
        with suppress(CharmkitError):
            site.hook()
        if site.cordon == (False, "") and site.labels.get("gpu-pool/plugin") == "run":
            return True
        site.world.advance(60)
    return False


def _find_partial(site: Site) -> tuple[int, ...]:
    return tuple(
        gpu.index
        for gpu in site.machine.gpus.read()
        if any(not each.compute for each in gpu.instances)
    )


def _find_wrong(site: Site) -> list[str]:
    expected = {"nvidia.com/mig-2g.12gb": 4}
    checks = {
        f"allocatable {site.allocatable}": site.allocatable == expected,
        f"cordon {site.cordon}": site.cordon == (False, ""),
        "plugin paused": site.labels.get("gpu-pool/plugin") == "run",
        "leave held": not site.leave.is_held,
        "journal left": not site.files.exists("/var/lib/gpu-worker/journal.json"),
        "partial GPU": not _find_partial(site),
        f"wrong resources {site.world.wrong_resources()}": not site.world.wrong_resources(),
    }
    return [name for name, is_right in checks.items() if not is_right]
