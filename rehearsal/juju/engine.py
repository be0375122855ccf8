# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The embedded Juju: a model in a folder, and the verbs that change it.

    with Rehearsal(Path(".rehearsal")) as juju:
        juju.deploy(Path("charms/metallb"), units=1)
        juju.settle()
        juju.status_data()

A verb changes the model and returns; `settle` runs hooks until nothing moves. What a verb
returned survives a killed process; what `settle` and `close` returned survives the machine's end.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rehearsal.juju import applications, machinery, status, status_unit, tasks, teardown
from rehearsal.juju.applications import Deployment
from rehearsal.juju.dispatch import Dispatcher
from rehearsal.juju.entities import Charm, Machine, Relation, Unit
from rehearsal.juju.model import Model
from rehearsal.juju.offers import Offers
from rehearsal.juju.passing import Clock
from rehearsal.juju.scheduler import Scheduler
from rehearsal.juju.storages import Storages
from rehearsal.juju.store import Store
from rehearsal.juju.user_secrets import UserSecrets
from rehearsal.juju.watching import Watching
from rehearsal.juju.worlds import EmptyWorld, World
from rehearsal.workers.interrupts import Interrupts
from rehearsal.workers.runners import Processes, Runners
from standins.units import StandinCharm

DEFAULT_START = 1_798_761_600.0
"""Model time at which an empty model begins: 2027-01-01 00:00 UTC."""


class Rehearsal:
    """A model, its world and its charms; one process at a time has it open.

    The world is made of the folder once the model's lock is held, so that no other process writes
    what it reads.
    """

    def __init__(
        self,
        home: Path,
        *,
        world: Callable[[Path], World] | None = None,
        standins: Mapping[str, StandinCharm] | None = None,
        who: str = "rehearse",
        wait: float = 600.0,
        durable: bool = True,
        processes: Processes | None = None,
    ) -> None:
        """Open the model of a folder, an empty one if there is none.

        Args:
            home: The folder.
            world: Makes what is below the charms; machines of no substance if None.
            standins: Stand-ins by name, besides those in `standins.charms`.
            who: What others are told who wait for the model.
            wait: Seconds to wait for another command.
            durable: Outlive a crash of the machine; tests need not.
            processes: Charms' processes that outlive the model, for many models in a row.

        Raises:
            BusyError: Another command has the model.
            FormatError: The folder holds something else, or a newer model.
        """
        self.home = home
        self.store = Store(home, durable=durable)
        self.model: Model = self.store.open(who=who, wait=wait)
        self.world: World = world(home) if world is not None else EmptyWorld()
        self._saved_machines = len(self.world.machines)
        self._align_clocks()
        self.runners = Runners(home, self.world, standins or {}, processes)
        self.dispatcher = Dispatcher(self.store, self.world, self.runners)
        self._interrupts = Interrupts()
        self.scheduler = Scheduler(
            self.model, self.dispatcher.run, self.dispatcher.can_run, self._interrupts.check
        )
        watching = Watching(self.model, self.world, self.runners, self.dispatcher.note)
        self.clock = Clock(self.model, self.world, self.scheduler, self.dispatcher, watching)
        self.secrets = UserSecrets(self.model, self._kept)
        self.storage = Storages(self.model, self._kept)
        self.offers = Offers(self.model, self._kept)

    def __enter__(self) -> "Rehearsal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, make everything durable and give the model back."""
        self.runners.stop()
        self.dispatcher.flush()
        self.store.close()

    def observe(self, observer: Callable[[str], None]) -> None:
        """Have every line of the log told at once, for progress; it is durable by then."""
        self.dispatcher.observer = observer

    def settle(self) -> int:
        """Run hooks, the world and what it wakes until nothing moves; return the hooks run.

        Raises:
            PingPongError: Charms keep answering each other.
        """
        return self._move(self.clock.settle)

    def advance(self, seconds: float) -> int:
        """Let model time pass, with all that falls due in it; return the hooks run."""
        return self._move(lambda: self.clock.advance(seconds))

    def add_machine(
        self,
        *,
        hostname: str = "",
        address: str = "",
        base: str = "ubuntu@24.04",
        constraints: str = "",
        hardware: str = "",
    ) -> Machine:
        """Add the next machine to the model; the world must have it under the same id."""
        details = Machine("", hostname, address, base, constraints, hardware)
        return self._kept(machinery.add_machine(self.model, details))

    def deploy(self, charm: Charm | Path, deployment: Deployment | None = None) -> str:
        """Deploy a charm as an application and return the application's name.

        Args:
            charm: A folder, a packed file, or what is known of a charm without code.
            deployment: Name, options, constraints, machines; defaults as Juju has them.

        Raises:
            ExistsError: There is an application of that name.
            UsageError: An option does not exist or has a wrong type.
        """
        loaded = (
            applications.load(charm, self.home / "charms") if isinstance(charm, Path) else charm
        )
        name = applications.deploy(self.model, loaded, deployment or Deployment())
        self.runners.warm(loaded)
        return self._kept(name)

    def find_standin(self, name: str, *, channel: str = "", revision: int = 0) -> Charm | None:
        """Return a charm of Charmhub that the model's folder `standins` describes, if it does."""
        return self.runners.files.find_charm(name, channel=channel, revision=revision)

    def add_unit(self, application: str, machine: str) -> Unit:
        """Add one unit of an application on a machine."""
        return self._kept(applications.add_unit(self.model, application, machine))

    def integrate(self, first: str, second: str) -> Relation:
        """Relate two endpoints, each `application` or `application:endpoint`."""
        return self._kept(applications.integrate(self.model, first, second))

    def set_config(self, application: str, values: Mapping[str, Any]) -> None:
        """Set options; text is read as the option's type.

        Raises:
            UsageError: An option does not exist or the value does not fit; nothing is set then.
        """
        self._kept(applications.set_config(self.model, application, values))

    def reset_config(self, application: str, names: list[str]) -> None:
        """Set options back to their defaults."""
        self._kept(applications.reset_config(self.model, application, names))

    def set_model_config(self, values: Mapping[str, Any]) -> None:
        """Set options of the model, such as update-status-hook-interval or agent-version."""
        self._kept(machinery.set_model_config(self.model, values))

    def trust(self, application: str, trusted: bool = True) -> None:
        """Give an application access to the cloud, or take it."""
        self._kept(applications.trust(self.model, application, trusted))

    def expose(self, application: str, exposed: bool = True) -> None:
        """Open an application to the world, or close it."""
        self._kept(applications.expose(self.model, application, exposed))

    def refresh(self, application: str, charm: Charm | Path, *, force_units: bool = False) -> None:
        """Let an application run other code; `force_units` puts it under units in error, too."""
        loaded = (
            applications.load(charm, self.home / "charms") if isinstance(charm, Path) else charm
        )
        self._kept(applications.refresh(self.model, application, loaded, force_units=force_units))

    def attach_resource(self, application: str, name: str, file: Path) -> None:
        """Attach a file as a resource of an application; its units run upgrade-charm."""
        self._kept(applications.attach_resource(self.model, application, name, str(file)))

    def run_action(
        self, units: list[str], action: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run an action on units, settle, and return the results as `juju run` prints them.

        A unit may be named `application/leader`.

        Raises:
            NotFoundError: No such unit or action.
        """
        names = tasks.enqueue(self.model, units, action, dict(params or {}))
        self.settle()
        return tasks.results(self.model, names)

    def execute(self, units: list[str], words: list[str]) -> dict[str, Any]:
        """Run a hook tool on units as `juju exec` does, and return the results as it prints them.

        Raises:
            NotFoundError: No such unit.
        """
        names = tasks.enqueue_command(self.model, units, words)
        self.settle()
        return tasks.results(self.model, names)

    def remove_unit(self, unit: str, *, force: bool = False) -> None:
        """Begin to remove a unit; `force` leaves out its hooks."""
        self._kept(teardown.remove_unit(self.model, unit, force=force))

    def remove_relation(self, first: str, second: str) -> None:
        """Begin to remove the relation between two endpoints."""
        self._kept(teardown.remove_relation(self.model, first, second))

    def remove_application(self, application: str, *, force: bool = False) -> None:
        """Begin to remove an application with its units and relations."""
        self._kept(teardown.remove_application(self.model, application, force=force))

    def resolved(self, unit: str, *, retry: bool = True) -> None:
        """Run a unit's failed hook again now, or go on without it."""
        self._kept(teardown.resolved(self.model, unit, retry=retry))

    def reboot(self, machine: str) -> None:
        """Restart a machine; when it is up, every unit that had started runs start."""
        self.dispatcher.reboot(machine)
        self._kept(None)

    def restart_agent(self, machine: str) -> None:
        """Restart Juju's agent of a machine alone: no event but what peers were not told."""
        self._kept(self.dispatcher.restart_agent(machine))

    def wake(self, unit: str, hook: str = "update-status") -> None:
        """Dispatch a hook as `juju-exec` does on the machine."""
        self._kept(machinery.wake(self.model, unit, hook))

    def status_data(self) -> dict[str, Any]:
        """Return the model as `juju status --format json` prints it."""
        return status.status_data(self.model, self.world)

    def show_unit_data(self, *units: str) -> dict[str, Any]:
        """Return units as `juju show-unit --format json` prints them."""
        return status_unit.show_unit_data(self.model, units)

    def debug_log(self) -> list[str]:
        """Return the lines of the log, oldest first."""
        return self.dispatcher.lines()

    def counters(self) -> dict[str, Any]:
        """Return how many hooks ran: in all, by unit and by application, and hooks a second."""
        return self.dispatcher.counters()

    def _move(self, move: Callable[[], int]) -> int:
        """Let hooks run and make durable what they did, also when somebody pressed Ctrl-C."""
        with self._interrupts:
            try:
                return move()
            finally:
                self.dispatcher.flush()
                self.store.sync()

    def _kept(self, result: Any) -> Any:
        """Write a verb's change down, safe from a killed process, and hand its result on.

        A machine that the world has and did not save yet would be lost: the model never knows more
        than the world.
        """
        if len(self.world.machines) != self._saved_machines:
            self.world.save()
            self._saved_machines = len(self.world.machines)
        self.store.append()
        return result

    def _align_clocks(self) -> None:
        """Start an empty model now, and give model and world the same time."""
        settings = self.model.settings
        settings.now = max(settings.now, self.world.now) or DEFAULT_START
        settings.since = settings.since or settings.now
        self.world.now = settings.now
        self.model.touch("settings")
