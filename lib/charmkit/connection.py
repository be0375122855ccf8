# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How calls reach an API server: TLS, several servers, time limits, what failures mean.

`charmkit.kube` is its only user. This module alone builds lightkube's clients, pinned to 1.x as
its arguments are used as 1.0 has them; they are typed `Any`, since lightkube's overloads do not
know the resources that `charmkit.kube` makes.
"""

import logging
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import httpx2
import lightkube
import msgspec
from lightkube import KubeConfig
from lightkube.config.models import Cluster, User

from charmkit.credentials import Credentials
from charmkit.errors import NotReadyError
from charmkit.refusals import Action, Answer, error_of, is_status, is_worth_another_try

READ_SECONDS = 5.0
"""How long a read may take over all its attempts: hooks hold the lock of the whole machine."""

WRITE_SECONDS = 15.0
"""How long one write may take: above the 10 s that an API server gives an admission webhook."""

CONNECT_SECONDS = 1.5
PAUSE_SECONDS = 0.5

Result = TypeVar("Result")
Missing = TypeVar("Missing")

_FAILURES = (httpx2.HTTPError, msgspec.MsgspecError)


class Wire(httpx2.BaseTransport):
    """The transport under the clients: verifies servers in memory, limits the time of a request.

    lightkube reads an error body only by its content type and trips over one that is missing or
    wrong; here such an answer of a proxy gets one that says what it is.
    """

    def __init__(self, credentials: Credentials, transport: httpx2.BaseTransport | None) -> None:
        self.seconds = WRITE_SECONDS
        self._credentials = credentials
        self._inner = transport
        self._owned = transport is None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. Raises httpx2 errors and NotReadyError for an unusable CA."""
        inner = self._inner
        if inner is None:
            tls = _tls(self._credentials)
            inner = self._inner = httpx2.HTTPTransport(verify=tls, trust_env=False)
        limits = httpx2.Timeout(self.seconds, connect=min(self.seconds, CONNECT_SECONDS))
        request.extensions = {**request.extensions, "timeout": limits.as_dict()}
        response = inner.handle_request(request)
        if response.status_code >= 400 and not _is_status(response):
            response.headers["Content-Type"] = "text/plain"
        return response

    def close(self) -> None:
        """Close the sockets of a network transport of our own; another one is its owner's."""
        if self._owned and self._inner is not None:
            self._inner.close()
            self._inner = None


class Connection:
    """Calls on one cluster: reads repeated over its servers, writes sent once."""

    def __init__(
        self,
        credentials: Credentials,
        manager: str,
        *,
        transport: httpx2.BaseTransport | None = None,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        """Call nothing; the first request connects. The arguments are those of `Kube`."""
        self._credentials = credentials
        self._manager = manager
        self._read_seconds = read_seconds
        self._wire = Wire(credentials, transport)
        self._clients: dict[str, Any] = {}
        self._servers = list(credentials.servers)
        self.is_proven = len(self._servers) == 1
        """Whether a write needs no look for a server that answers."""

    def read(self, action: Action, call: Callable[[Any], Result]) -> Result:
        """Return what a call that changes nothing returns, tried on one server after the other.

        Raises:
            CharmkitError: No server gave an answer in time, or one refused.
        """
        end = time.monotonic() + self._read_seconds
        failure: Exception = TimeoutError()
        for server in self._attempts(end):
            self._wire.seconds = max(end - time.monotonic(), 0.1)
            try:
                result = call(self._client(server))
            except _FAILURES as error:
                if not _may_pass(error):
                    raise self._meaning(action, error) from error
                failure = error
            else:
                self._prefer(server)
                return result
        raise self._meaning(action, failure) from failure

    def write(self, action: Action, call: Callable[[Any], Result]) -> Result:
        """Return what a call that changes something returns; it is made once.

        It goes to the server that answered last; see `is_proven` for the first write of all.

        Raises:
            CharmkitError: The server refused, or whether it did anything is not known.
        """
        self._wire.seconds = WRITE_SECONDS
        try:
            return call(self._client(self._servers[0]))
        except _FAILURES as error:
            raise self._meaning(action, error) from error

    def close(self) -> None:
        """Close the sockets; the next call opens new ones."""
        self._clients.clear()
        self._wire.close()

    def _attempts(self, end: float) -> Iterator[str]:
        """Yield the servers in turn, with a pause after each round, until the time is over."""
        while True:
            for server in tuple(self._servers):
                yield server
                if time.monotonic() >= end:
                    return
            if time.monotonic() + PAUSE_SECONDS >= end:
                return
            time.sleep(PAUSE_SECONDS)

    def _prefer(self, server: str) -> None:
        self.is_proven = True
        self._servers.remove(server)
        self._servers.insert(0, server)

    def _client(self, server: str) -> Any:
        if server not in self._clients:
            self._clients[server] = self._connect(server)
        return self._clients[server]

    def _connect(self, server: str) -> Any:
        """Build the client of one server; the wire verifies, so that lightkube need not."""
        for library in ("httpx2", "httpcore2"):  # They log each request, at INFO and DEBUG.
            logging.getLogger(library).setLevel(logging.WARNING)
        cluster, user = Cluster(server=server, insecure=True), User(token=self._credentials.token)
        config = KubeConfig.from_one(cluster=cluster, user=user)
        return lightkube.Client(
            config, field_manager=self._manager, trust_env=False, transport=self._wire
        )

    def _meaning(self, action: Action, error: Exception) -> Exception:
        """Return the error of this suite that a failure of a call stands for."""
        if isinstance(error, httpx2.HTTPStatusError):
            return error_of(action, _answer(error), self._credentials)
        servers = ", ".join(self._servers)
        if _is_untrusted(error):
            reason = f"certificate not signed by the CA of {self._credentials.source}"
        elif isinstance(error, msgspec.MsgspecError):
            reason = f"what answers at {servers} is no API server"
        else:
            reason = f"no answer from {servers}"
        return NotReadyError(f"Kubernetes API: {reason}")


def unless_missing(
    call: Callable[[Any], Result], missing: Missing
) -> Callable[[Any], Result | Missing]:
    """Return a call that answers a 404 with a value; every other failure stays a failure."""

    def guarded(client: Any) -> Result | Missing:
        try:
            return call(client)
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404:
                return missing
            raise

    return guarded


def _tls(credentials: Credentials) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=credentials.ca or None)
    except (ssl.SSLError, ValueError) as error:
        raise NotReadyError(f"{credentials.source}: its CA is no certificate") from error


def _is_status(response: httpx2.Response) -> bool:
    is_json = response.headers.get("Content-Type") == "application/json"
    return is_status(response.read()) and is_json


def _answer(error: httpx2.HTTPStatusError) -> Answer:
    return Answer.parse(error.response.status_code, error.response.content)


def _may_pass(error: Exception) -> bool:
    """Return whether another server or a moment may cure a failure of a read."""
    return not isinstance(error, httpx2.HTTPStatusError) or is_worth_another_try(_answer(error))


def _is_untrusted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
