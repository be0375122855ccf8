# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions answer. Pure."""

import json

from charmkit.host import Holder
from driverset import DriverSet
from observed import Observed
from packagenames import list_held


def describe_driver(observed: Observed, holders: tuple[Holder, ...]) -> dict[str, str]:
    """Return the driver of a machine as `show-driver` prints it; lists are JSON.

    Args:
        observed: The machine.
        holders: Processes that hold a GPU.
    """
    driver, hardware = observed.driver, observed.hardware
    packages = {name: observed.installed[name] for name in list_held(observed.installed)}
    processes = sorted({(holder.pid, holder.command) for holder in holders})
    return {
        "installed": driver.version if driver else "",
        "branch": str(driver.flavour) if driver else "",
        "loaded": observed.loaded,
        "fabric-manager": observed.fabric_version,
        "kernel": observed.kernel,
        "runtime-handler": observed.handler,
        "gpus": json.dumps([f"{gpu.address} 0x{gpu.device:04x}" for gpu in hardware.gpus]),
        "passed-through": json.dumps([gpu.address for gpu in hardware.passed_through]),
        "nvswitches": str(hardware.nvswitches),
        "packages": json.dumps(packages, sort_keys=True),
        "in-use-by": json.dumps([{"pid": pid, "command": command} for pid, command in processes]),
    }


def describe_upgrade(before: DriverSet | None, after: DriverSet | None) -> dict[str, str]:
    """Return what `upgrade-driver` prints: the installed version before and after."""
    return {"from": before.version if before else "", "to": after.version if after else ""}
