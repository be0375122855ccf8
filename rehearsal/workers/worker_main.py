# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The process that runs one charm: `python -m rehearsal.workers.worker_main CONNECTION FOLDER`.

It imports the charm once and then runs one hook for each request. Juju starts a process for each
hook; here module state of a charm survives between hooks, which charms must not rely on.
"""

import atexit
import contextlib
import importlib
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, cast

import ops
from ops.testing import ActionFailed, State
from scenario.errors import UncaughtCharmError

from rehearsal.charm_files import code_folders, make_root, packed_dependencies, read_metadata
from rehearsal.errors import CharmError
from rehearsal.workers import environment, hooks, scenario_patches, scenario_speed
from rehearsal.workers.pipes import Asleep, Call, GoalState, PipeTransport, Request, Response
from rehearsal.workers.scenario_patches import Hook, HookContext, HookKilledError
from standins.metal.host import ServiceAsleep
from standins.units import Event, UnitView


def load_charm(folder: Path) -> type[ops.CharmBase]:
    """Import src/charm.py and return the charm that it gives to `ops.main`.

    Raises:
        CharmError: There is no charm class, or more than one and none is given to `ops.main`.
    """
    given: list[Any] = []
    main = ops.main
    ops.main = given.append  # type: ignore[assignment]
    try:
        module = importlib.import_module("charm")
    finally:
        ops.main = main
    found = given or [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, ops.CharmBase)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise CharmError(f"{folder}/src/charm.py has {len(found)} charm classes")
    return found[0]


class Worker:
    """Runs the hooks of one charm for units on any machine."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self._connection = connection
        self._root = make_root(folder)
        atexit.register(shutil.rmtree, self._root, ignore_errors=True)
        sys.path[:0] = [str(path) for path in code_folders(folder)]
        sys.path += [str(path) for path in packed_dependencies(folder)]
        os.chdir(self._root)
        charm = load_charm(folder)
        self._charm: Any = type(charm.__name__, (charm,), {"__module__": charm.__module__})
        self._gateways: dict[str, Any] = {}
        self._now = 0.0
        metadata, options, actions = read_metadata(folder)
        self._context = HookContext(
            self._charm,
            meta={
                key: value for key, value in metadata.items() if key not in ("config", "actions")
            },
            config={"options": options},
            actions=actions,
        )
        self._context.hook = Hook()
        scenario_patches.install(self._context, self._root)
        scenario_speed.install()

    def run(self, request: Request) -> Response:
        """Run one hook and return what came of it."""
        view, event = request.view, request.event
        hook = Hook()
        hook.environment = environment.environment_of(view, event, str(self._root))
        hook.address = view.address
        hook.locations = {item.id: item.location for item in view.storages}
        hook.goal_state = self._ask_goal_state
        self._context.clear()
        self._context.hook = hook
        self._prepare(request.machine, view.now)
        self._context.juju_version = view.juju_version
        self._context.app_trusted = view.trust
        started = time.monotonic()
        self._run_hook(view, event, hook)
        hook.outcome.seconds = time.monotonic() - started
        scenario_speed.forget_emitters()
        return Response(hook.edits, hook.outcome)

    def call(self, request: Call) -> Any:
        """Run a function of the charm with the machine's gateways, as its services are run.

        Returns:
            What the function returned, or `Asleep` when it would sleep now.
        """
        self._prepare(request.machine, request.now)
        function = getattr(importlib.import_module(request.module), request.function)
        gateways = getattr(self._charm, "gateways", None)
        try:
            return function(gateways, *request.arguments)
        except ServiceAsleep as pause:
            return Asleep(pause.seconds)

    def leave(self) -> NoReturn:
        """End the process at once: taking its objects apart one by one would take seconds."""
        shutil.rmtree(self._root, ignore_errors=True)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _ask_goal_state(self) -> dict[str, Any]:
        """Ask the engine what the model should be."""
        self._connection.send(GoalState())
        return self._connection.recv()

    def _run_hook(self, view: UnitView, event: Event, hook: Hook) -> None:
        """Run a hook under Scenario; a failure becomes text and leaves only what is immediate."""
        state = hooks.state_of(view)
        outcome = hook.outcome
        try:
            with _hook_exit():
                state = self._context.run(hooks.event_of(self._context, event, state), state)
        except ActionFailed as failed:
            outcome.action_failure = failed.message
            state = cast("State", failed.state)
        except HookKilledError:
            return
        except UncaughtCharmError as error:
            outcome.failure = _charm_traceback(error.__cause__ or error)
            return
        finally:
            outcome.results = dict(self._context.action_results or {})
        if not outcome.failure:
            hooks.read_back(state, view, hook.edits)

    def _prepare(self, machine: str, now: float) -> None:
        """Put the gateways and the GPUs of a machine in place."""
        self._now = now
        if machine and hasattr(self._charm, "gateways"):
            if machine not in self._gateways:
                self._gateways[machine] = _make_gateways(
                    Path(machine), PipeTransport(self._connection), lambda: self._now
                )
            self._charm.gateways = self._gateways[machine]
        if machine and (Path(machine) / "gpus.json").exists():
            nvml = importlib.import_module("standins.nvidia.nvml")
            nvml.install(Path(machine) / "gpus.json")


def _make_gateways(machine: Path, transport: Any, now: Callable[[], float]) -> Any:
    """Return what stands in for the charm's gateways on a machine."""
    return importlib.import_module("standins.gateways").SimulatedGateways(machine, transport, now)


def _charm_traceback(error: BaseException) -> str:
    """Return a traceback that begins where the charm's own code does."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and _is_framework(trace):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).strip()


def _is_framework(trace: TracebackType) -> bool:
    """Return whether a frame is one of ops, Scenario or this package."""
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] in ("ops", "scenario", "contextlib", "rehearsal")


@contextlib.contextmanager
def _hook_exit() -> Iterator[None]:
    """Turn a charm's own exit into the failure that Juju sees."""
    try:
        yield
    except SystemExit as error:
        raise UncaughtCharmError(f"hook exited with {error.code}") from error


def serve(connection: Connection, folder: Path) -> None:
    """Answer requests until the engine hangs up.

    What a charm's module or a call raises ends the process: the traceback is in its log, and the
    engine starts another one for the next hook.
    """
    worker = Worker(connection, folder)
    connection.send("ready")
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            request: Request | Call = connection.recv()
            if isinstance(request, Request):
                connection.send(worker.run(request))
            else:
                connection.send(worker.call(request))
    worker.leave()


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), Path(sys.argv[2]))
