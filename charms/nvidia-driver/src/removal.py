# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is undone when the charm leaves a machine, and what stays because jobs run on it."""

import dataclasses
import logging

import hostfiles
from charmkit.errors import CharmkitError
from charmkit.host import Holder, Host
from observed import Observed, describe_holders
from record import Memory, Record
from toolkit import is_named_by_containerd

_logger = logging.getLogger(__name__)


def leave_machine(host: Host, memory: Memory, unit: str) -> bool:
    """Give the machine back to its own upgrades; the driver and its services stay.

    Juju calls for this once or several times, in any order with other events; a unit that was only
    standing by leaves everything as it is.

    Args:
        host: The machine.
        memory: The record of the application there.
        unit: The unit that leaves.

    Returns:
        Whether anything was undone.

    Raises:
        NotReadyError: Another process holds dpkg's lock; Juju's next event tries again.
    """
    record = _read(memory)
    if record.unit not in ("", unit) or record.leaving:
        return False
    host.packages.ensure_unheld(record.held)
    host.files.ensure_absent(hostfiles.render_no_upgrades().path)
    memory.write(dataclasses.replace(record, unit=unit, leaving=True, held=(), upgrade=False))
    _logger.info(
        "holds of %d packages lifted; driver, toolkit and services stay", len(record.held)
    )
    return True


def forget_machine(memory: Memory, unit: str) -> bool:
    """Remove the record of a unit whose last hook this is. Return whether there was one."""
    return _read(memory).unit == unit and memory.clear()


def describe_removal(
    observed: Observed, record: Record, holders: tuple[Holder, ...]
) -> dict[str, str]:
    """Return what would stay, be undone and be missed if the charm left the machine now."""
    driver = observed.driver
    stays = [f"driver {driver.version} ({driver.flavour}), loaded or not"] if driver else []
    files = hostfiles.list_files(nvlink5=observed.hardware.has_nvlink5)
    stays += [file.path for file in files if file != hostfiles.render_no_upgrades()]
    if is_named_by_containerd(observed.containerd):
        stays.append("container toolkit, which containerd starts every container with")
    return {
        "stays": "; ".join(stays),
        "undone": f"holds of {len(record.held)} packages; {hostfiles.render_no_upgrades().path}",
        "dies": "nothing: running jobs keep their GPUs",
        "in-use-by": describe_holders(holders) if holders else "nobody",
        "afterwards": "upgrades of the machine may change driver and kernel; nobody compares them",
    }


def _read(memory: Memory) -> Record:
    """Return the record, an empty one where it cannot be read: removal has to go on."""
    try:
        return memory.read()
    except CharmkitError as error:
        _logger.warning("%s; holds of the charm stay", error)
        return Record()
