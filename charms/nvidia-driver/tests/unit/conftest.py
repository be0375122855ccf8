# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A site of one simulated machine with the charm on it, driven event by event."""

import dataclasses
import shutil
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
from charmkit import gpudriver, lease  # noqa: E402
from charmkit.gateways import Gateways  # noqa: E402
from charmkit.gpudriver import DriverState, WorkerState  # noqa: E402
from standins.metal.host import SimulatedHost  # noqa: E402
from standins.metal.machine import Machine  # noqa: E402

METADATA: dict[str, Any] = yaml.safe_load((CHARM / "charmcraft.yaml").read_text())
MACHINE = "4"


class MachineGateways(Gateways):
    """Gateways that lead to one simulated machine, whose clock is the test's."""

    def __init__(self, host: SimulatedHost, now: Callable[[], float]) -> None:
        self._host = host
        host.system.now = now

    def host(self) -> SimulatedHost:
        return self._host


class Site:
    """One machine, one unit of the charm, and Juju's state of it.

    Attributes:
        machine: The simulated machine.
        state: Juju's state after the last event that succeeded.
        relation: The relation with a worker application.
        reboots: File that the stub of `juju-reboot` appends a line to.
    """

    def __init__(self, machine: Machine, reboots: Path, *, unit_id: int = 0) -> None:
        self.machine = machine
        self.now = 1_800_000_000.0
        self.reboots = reboots
        self.relation = testing.Relation(
            "gpu-driver", remote_app_name="gpu-worker", local_unit_data={}, remote_units_data={}
        )
        peers: dict[int, Any] = {} if unit_id == 0 else {0: {}}
        self.fleet = testing.PeerRelation("fleet", peers_data=peers)
        self.host_relation = testing.SubordinateRelation("host", remote_app_name="dgx")
        relations = {self.relation, self.fleet, self.host_relation}
        self.state = testing.State(leader=unit_id == 0, relations=relations)
        self._unit_id = unit_id
        self.context = self._make_context(machine.host)

    def _make_context(self, host: SimulatedHost) -> Any:
        gateways = MachineGateways(host, lambda: self.now)
        charm = type(NvidiaDriverCharm.__name__, (NvidiaDriverCharm,), {"gateways": gateways})
        return testing.Context(charm, meta=METADATA, machine_id=MACHINE, unit_id=self._unit_id)

    def twin(self, *, unit_id: int) -> "Site":
        """Return a second unit of the application on the same machine."""
        return Site(self.machine, self.reboots, unit_id=unit_id)

    def with_host(self, host: SimulatedHost) -> "Site":
        """Return this unit, in the state that it is in, on another view of its machine."""
        other = Site(self.machine, self.reboots, unit_id=self._unit_id)
        other.relation, other.fleet = self.relation, self.fleet
        other.host_relation, other.state = self.host_relation, self.state
        other.context = other._make_context(host)
        return other

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
        """The unit's bag in the relation with workers."""
        return dict(self._relation.local_unit_data)

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

    def know_worker(self, *, machine: str = MACHINE, unit: int = 0, **said: Any) -> None:
        """Let a worker unit have written its bag, without an event."""
        bag = gpudriver.dump_worker(WorkerState(machine, **said))
        units = {**self._relation.remote_units_data, unit: bag}
        self.add_relation(dataclasses.replace(self._relation, remote_units_data=units))

    def hear_worker(self, *, machine: str = MACHINE, unit: int = 0, **said: Any) -> None:
        """Let a worker unit write its bag."""
        self.know_worker(machine=machine, unit=unit, **said)
        self.emit(self.context.on.relation_changed(self._relation, remote_unit=unit))

    def hear_peer(self, number: int, bag: dict[str, str]) -> None:
        """Let another unit of the application write its bag."""
        relation = self.state.get_relation(self.fleet.id)
        peers = {**relation.peers_data, number: bag}  # type: ignore[union-attr]
        self.add_relation(dataclasses.replace(relation, peers_data=peers))
        relation = self.state.get_relation(self.fleet.id)
        self.emit(self.context.on.relation_changed(relation, remote_unit=number))

    def grant(self) -> None:
        """Let the worker of the machine give leave to what is wanted."""
        want = self.published.want
        assert want is not None
        self.hear_worker(granted=want.id)

    def lead(self) -> None:
        """Make the unit the leader, without an event."""
        self.state = dataclasses.replace(self.state, leader=True)

    def follow(self) -> None:
        """Let another unit lead."""
        self.state = dataclasses.replace(self.state, leader=False)

    def is_asking(self) -> bool:
        """Tell whether the unit asks the fleet for a turn, or has it."""
        bag = self.state.get_relation(self.fleet.id).local_unit_data
        return lease.parse_request("nvidia-driver/0", bag) is not None

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

    def add_relation(self, relation: Any) -> None:
        """Put a relation into Juju's state, in the place of what it was before."""
        others = {one for one in self.state.relations if one.id != relation.id}
        self.state = dataclasses.replace(self.state, relations={*others, relation})


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a maker of folders of new machines; each kind is made once, then copied."""
    made: dict[str, Path] = {}

    def make(target: Path, **options: Any) -> Path:
        key = repr(sorted(options.items()))
        if key not in made:
            made[key] = tmp_path_factory.mktemp("machine") / "new"
            Machine.create(made[key], id=MACHINE, **options)
        return Path(shutil.copytree(made[key], target, symlinks=True))

    return make


@pytest.fixture
def site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: Callable[..., Path]
) -> Callable[..., Site]:
    """Return a maker of sites. Hook tools are stubs on PATH, as Juju's are programs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    reboots = tmp_path / "reboots"
    tool = tools / "juju-reboot"
    tool.write_text(f'#!/bin/sh\necho "reboot $*" >> {reboots}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")

    def make(hardware: str = "dgx-a100-40", **options: Any) -> Site:
        folder = machines(tmp_path / "machine", hardware=hardware, **options)
        return Site(Machine.open(folder), reboots)

    return make
