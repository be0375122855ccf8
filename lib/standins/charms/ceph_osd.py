# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""ceph-osd as a site sees it: it brings disks to the monitors, and says so.

Source: canonical/ceph-charms 6f66d816, ceph-osd/hooks/ceph_hooks.py, assess_status.
"""

from typing import Any

from standins.units import Event, UnitView


class Charm:
    """A unit of ceph-osd."""

    def handle(self, event: Event, unit: UnitView, world: Any) -> None:
        """Say whether monitors are there for the disks."""
        del world
        if event.name in ("stop", "remove"):
            return
        if not any(relation.remote_units for relation in unit.related("mon")):
            unit.status = ("blocked", "Missing relation: monitor")
            return
        disks = str(unit.config.get("osd-devices") or "").split()
        if not disks:
            unit.status = ("blocked", "No block devices detected using current configuration")
            return
        unit.status = ("active", f"Unit is ready ({len(disks)} OSD)")
