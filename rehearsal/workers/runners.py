# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who runs a unit's hook: a charm's own process, a stand-in in this one, or nobody."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from rehearsal.errors import CharmError
from rehearsal.juju.entities import Charm
from rehearsal.juju.standin_files import FOLDER, StandinFiles, noted
from rehearsal.juju.worlds import World
from rehearsal.workers import edits
from rehearsal.workers.hook_tools import execute
from rehearsal.workers.pipes import ApiCall, Call, Request
from rehearsal.workers.worker import Api, CharmProcess, Goals, no_cluster
from standins.units import Event, HookError, Outcome, StandinCharm, UnitView

EXEC = "juju-exec"
"""Name of the action that `juju exec` is."""

NOT_MODELLED = ("unknown", "not modelled")


class Processes:
    """The processes of charms, one for each; models that follow each other may share them."""

    def __init__(self) -> None:
        self._running: dict[str, CharmProcess] = {}

    def of(self, charm: Charm, home: Path, api: Api) -> CharmProcess:
        """Return the process of a charm, which answers to a model from now on."""
        if charm.source not in self._running:
            log = home / "workers" / f"{charm.name}.log"
            self._running[charm.source] = CharmProcess(Path(charm.source), log, api)
        process = self._running[charm.source]
        process.api = api
        return process

    def stop(self) -> None:
        """End all processes, all at the same time."""
        for process in self._running.values():
            process.hang_up()
        for process in self._running.values():
            process.stop()
        self._running.clear()


class Runners:
    """Runs hooks of all charms of a model."""

    def __init__(
        self,
        home: Path,
        world: World,
        standins: Mapping[str, StandinCharm],
        processes: Processes | None = None,
    ) -> None:
        """Args: processes: What outlives the model; if None, they end with it."""
        self._home = home
        self._world = world
        self._standins: dict[str, StandinCharm] = dict(standins)
        self.files = StandinFiles([home / FOLDER, *noted(home)])
        self._own = processes is None
        self._processes = processes or Processes()

    def warm(self, charm: Charm) -> None:
        """Start a charm's process, so that it imports while others work."""
        if charm.kind == "charm":
            self._process(charm).start()

    def run(self, charm: Charm, view: UnitView, event: Event, goal_state: Goals = dict) -> Outcome:
        """Run one hook; the view holds afterwards what the hook changed."""
        if event.action == EXEC:
            return run_command(view, event.params["words"])
        if charm.kind == "standin" or self._is_written(charm):
            return self._run_standin(charm, view, event)
        if charm.kind == "unmodelled":
            view.status = NOT_MODELLED
            return Outcome()
        return self._run_charm(charm, view, event, goal_state)

    def call(self, charm: Charm, machine: str, module: str, function: str, *arguments: Any) -> Any:
        """Run a function of a charm's modules with the gateways of a machine.

        Raises:
            CharmError: It raised, or the charm's process is in a hook that waits for this answer.
        """
        request = Call(module, function, arguments, self.folder(machine), self._world.now)
        return self._process(charm).call(request)

    def folder(self, machine: str) -> str:
        """Return the folder of a machine, empty when nobody simulates it."""
        return str(self._home / "machines" / machine) if machine in self._world.machines else ""

    def stop(self) -> None:
        """End the processes, unless they are shared with other models."""
        if self._own:
            self._processes.stop()

    def _run_charm(self, charm: Charm, view: UnitView, event: Event, goal_state: Goals) -> Outcome:
        """Run a hook in the charm's process; a charm that cannot be imported fails the hook."""
        try:
            request = Request(view, event, self.folder(view.machine))
            response = self._process(charm).run(request, goal_state)
        except CharmError as error:
            return Outcome(failure=str(error))
        edits.apply(response.edits, view)
        return response.outcome

    def _run_standin(self, charm: Charm, view: UnitView, event: Event) -> Outcome:
        """Run a hook of a stand-in in this process."""
        try:
            self._standin(charm.source or charm.name).handle(event, view, self._world)
        except HookError as error:
            return Outcome(failure=str(error) or "hook failed", results=view.results)
        return Outcome(results=view.results, reboot=view.reboot)

    def _process(self, charm: Charm) -> CharmProcess:
        api = no_cluster if self._world.api is None else self._answer
        return self._processes.of(charm, self._home, api)

    def _is_written(self, charm: Charm) -> bool:
        """Return whether a user wrote a stand-in for a charm that has none."""
        return charm.kind == "unmodelled" and self.files.find_file(charm.name) is not None

    def _standin(self, name: str) -> StandinCharm:
        """Return a stand-in: one that was given, that a user wrote, or one of ours."""
        if name not in self._standins:
            written = self.files.load(name)
            if written is not None:
                self._standins[name] = written
                return written
            module = importlib.import_module(f"standins.charms.{name}")
            self._standins[name] = module.Charm()
        return self._standins[name]

    def _answer(self, call: ApiCall) -> tuple[int, dict[str, str], bytes]:
        """Let the world answer one request of a hook."""
        request_type = importlib.import_module("standins.kubernetes.answers").ApiRequest
        parts = urlsplit(call.url)
        headers = {name.lower(): value for name, value in call.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = request_type(call.method, unquote(parts.path), query, headers, call.body)
        front = importlib.import_module("standins.keystone.front")
        response = front.answer(self._world, request, parts.hostname or "")
        return response.status, dict(response.headers), response.body


def run_command(view: UnitView, words: list[str]) -> Outcome:
    """Run a command of `juju exec`; it commits whatever its exit status is."""
    printed = execute(view, words)
    results: dict[str, Any] = {"return-code": printed.code}
    results.update({"stderr": printed.stderr} if printed.stderr else {})
    results.update({"stdout": printed.stdout} if printed.stdout else {})
    return Outcome(results=results, seconds=printed.seconds)
