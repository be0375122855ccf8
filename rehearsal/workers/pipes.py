# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What travels between the engine and a worker, and Kubernetes calls over the same pipe."""

from dataclasses import dataclass
from multiprocessing.connection import Connection

import httpx2

from rehearsal.workers.edits import Edits
from standins.units import Event, Outcome, UnitView


@dataclass(frozen=True, slots=True)
class Request:
    """Run one hook; `machine` is the folder of the unit's machine, empty without a world."""

    view: UnitView
    event: Event
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """Run a function of the charm's modules with the gateways of a machine."""

    module: str
    function: str
    arguments: tuple[object, ...]
    machine: str = ""
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Asleep:
    """A service would sleep for so many seconds; its turn is over."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Response:
    """What a hook changed, and how it went."""

    edits: Edits
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One HTTP request to the cluster, made while a hook runs."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class GoalState:
    """The running hook asks for goal-state."""


class PipeTransport(httpx2.BaseTransport):
    """Sends requests to the engine, whose cluster answers them, instead of to a network."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the cluster's answer to one request."""
        headers = dict(request.headers.items())
        self._connection.send(ApiCall(request.method, str(request.url), headers, request.read()))
        status, answered, body = self._connection.recv()
        return httpx2.Response(status, headers=answered, content=body, request=request)
