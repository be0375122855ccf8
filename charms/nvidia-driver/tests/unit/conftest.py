# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A site of one simulated machine with the charm on it, driven event by event."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ops
import pytest
import yaml
from ops import testing

CHARM = Path(__file__).parents[2]
sys.path.insert(0, str(CHARM / "src"))

from charm import NvidiaDriverCharm  # noqa: E402
from charmkit import gpudriver  # noqa: E402
from charmkit.gpudriver import DriverState, WorkerState  # noqa: E402
from standins.gateways import SimulatedGateways  # noqa: E402
from standins.host import SimulatedHost  # noqa: E402
from standins.machine import Machine  # noqa: E402

METADATA: dict[str, Any] = yaml.safe_load((CHARM / "charmcraft.yaml").read_text())
MACHINE = "4"


class Site:
    """One machine, one unit of the charm, and Juju's state of it.

    Attributes:
        machine: The simulated machine.
        state: Juju's state after the last event that succeeded.
        relation: The relation with a worker application.
        reboots: File that the stub of `juju-reboot` appends a line to.
    """

    def __init__(self, folder: Path, reboots: Path, **hardware: Any) -> None:
        self.machine = Machine.create(folder / "machine", id=MACHINE, **hardware)
        self.now = 1_800_000_000.0
        self.reboots = reboots
        self.relation = testing.Relation(
            "gpu-driver", remote_app_name="gpu-worker", remote_units_data={}
        )
        self.fleet = testing.PeerRelation("fleet")
        self.host_relation = testing.SubordinateRelation("host", remote_app_name="dgx")
        self.state = testing.State(
            leader=True, relations={self.relation, self.fleet, self.host_relation}
        )
        gateways = SimulatedGateways(folder / "machine", None, lambda: self.now)
        charm = type(NvidiaDriverCharm.__name__, (NvidiaDriverCharm,), {"gateways": gateways})
        self.context = testing.Context(charm, meta=METADATA, machine_id=MACHINE)

    @property
    def host(self) -> SimulatedHost:
        """The machine as the charm sees it."""
        return self.machine.host

    @property
    def status(self) -> ops.StatusBase:
        """The unit's status."""
        return self.state.unit_status

    @property
    def published(self) -> DriverState:
        """What the unit says to workers."""
        return gpudriver.parse_driver(self.bag)

    @property
    def bag(self) -> dict[str, str]:
        """The unit's bag in the relation with workers, without Juju's own keys."""
        bag = self.state.get_relation(self.relation.id).local_unit_data
        return {key: value for key, value in bag.items() if not key.endswith("address")}

    def emit(self, event: Any) -> testing.State:
        """Let the unit handle an event; commit what it wrote."""
        self.state = self.context.run(event, self.state)
        return self.state

    def install(self) -> None:
        """Deploy the unit: the events of a new subordinate up to its start."""
        on = self.context.on
        self.emit(on.install())
        self.emit(on.leader_elected())
        self.emit(on.config_changed())
        self.emit(on.start())

    def update(self) -> None:
        """Let five minutes pass."""
        self.now += 300
        self.emit(self.context.on.update_status())

    def configure(self, **options: Any) -> None:
        """Change options; underscores stand for dashes."""
        changed = {name.replace("_", "-"): value for name, value in options.items()}
        self.state = dataclasses.replace(self.state, config={**self.state.config, **changed})
        self.emit(self.context.on.config_changed())

    def hear_worker(self, *, machine: str = MACHINE, unit: int = 0, **said: Any) -> None:
        """Let a worker unit write its bag."""
        relation = self.state.get_relation(self.relation.id)
        bag = gpudriver.dump_worker(WorkerState(machine, **said))
        self._replace(
            dataclasses.replace(
                relation, remote_units_data={**relation.remote_units_data, unit: bag}
            )
        )
        self.emit(self.context.on.relation_changed(self._relation, remote_unit=unit))

    def grant(self) -> None:
        """Let the worker of the machine give leave to what is wanted."""
        want = self.published.want
        assert want is not None
        self.hear_worker(granted=want.id)

    def reboot(self) -> None:
        """Reboot the machine as Juju does after a hook that asked for it."""
        self.machine.reboot()
        self.emit(self.context.on.start())

    def reboots_asked(self) -> int:
        """Return how often the charm asked Juju for a reboot."""
        return len(self.reboots.read_text().splitlines()) if self.reboots.exists() else 0

    @property
    def _relation(self) -> testing.Relation:
        return self.state.get_relation(self.relation.id)  # type: ignore[return-value]

    def _replace(self, relation: Any) -> None:
        others = {one for one in self.state.relations if one.id != relation.id}
        self.state = dataclasses.replace(self.state, relations={*others, relation})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Site]:
    """Return a maker of sites. Hook tools are stubs on PATH, as Juju's are programs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    reboots = tmp_path / "reboots"
    tool = tools / "juju-reboot"
    tool.write_text(f'#!/bin/sh\necho "reboot $*" >> {reboots}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")

    def make(hardware: str = "dgx-a100-40", **options: Any) -> Site:
        return Site(tmp_path / "site", reboots, hardware=hardware, **options)

    return make
