# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How requests reach an API server: TLS, several servers, time limits, what failures mean.

Knows HTTP and nothing of Kubernetes objects; `charmkit.kube` is its only user. A `Connection`
makes one client for each server and turns every failure of a call into an error of this suite.
"""

import ssl
import time
from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

import httpx2
import msgspec

from charmkit.credentials import Credentials
from charmkit.errors import NotReadyError
from charmkit.refusals import Action, Answer, error_of, is_worth_another_try

READ_SECONDS = 5.0
"""How long a read may take over all its attempts: hooks hold the lock of the whole machine."""

WRITE_SECONDS = 15.0
"""How long one write may take: above the 10 s that an API server gives an admission webhook."""

CONNECT_SECONDS = 1.5
PAUSE_SECONDS = 0.5

Client = TypeVar("Client")
Result = TypeVar("Result")
Missing = TypeVar("Missing")


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
            inner = self._inner = httpx2.HTTPTransport(
                verify=_tls(self._credentials), trust_env=False
            )
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


def _tls(credentials: Credentials) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=credentials.ca or None)
    except (ssl.SSLError, ValueError) as error:
        raise NotReadyError(f"{credentials.source}: its CA is no certificate") from error


def _is_status(response: httpx2.Response) -> bool:
    content = response.read()
    try:
        msgspec.json.decode(content, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return response.headers.get("Content-Type") == "application/json"


class _Status(msgspec.Struct):
    kind: str
    message: str = ""


class Connection(Generic[Client]):
    """Calls on one cluster: reads repeated over its servers, writes sent once."""

    def __init__(
        self,
        credentials: Credentials,
        make_client: Callable[[str, Wire], Client],
        *,
        transport: httpx2.BaseTransport | None = None,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        """Call nothing; the first request connects.

        Args:
            credentials: Where the servers are.
            make_client: Builds the client of one server on the wire.
            transport: Takes the place of the network.
            read_seconds: Longest time of one read with its repetitions.
        """
        self._credentials = credentials
        self._make_client = make_client
        self._read_seconds = read_seconds
        self._wire = Wire(credentials, transport)
        self._clients: dict[str, Client] = {}
        self._servers = list(credentials.servers)
        self._answered = len(self._servers) == 1

    def read(self, action: Action, call: Callable[[Client], Result]) -> Result:
        """Return what a call that changes nothing returns, tried on one server after the other.

        Raises:
            CharmkitError: No server gave an answer in time, or one refused.
        """
        end = time.monotonic() + self._read_seconds
        while True:
            failure = self._read_round(action, call, end)
            if isinstance(failure, _Done):
                return failure.result
            if time.monotonic() + PAUSE_SECONDS >= end:
                self._fail(action, failure)
            time.sleep(PAUSE_SECONDS)

    def write(self, action: Action, call: Callable[[Client], Result]) -> Result:
        """Return what a call that changes something returns; it is made once.

        It goes to the server that answered last; see `is_proven` for the first write of all.

        Raises:
            CharmkitError: The server refused, or whether it did anything is not known.
        """
        self._wire.seconds = WRITE_SECONDS
        try:
            return call(self._client(self._servers[0]))
        except (httpx2.HTTPError, msgspec.MsgspecError) as error:
            self._fail(action, error)

    @property
    def is_proven(self) -> bool:
        """Whether a write needs no look for a server that answers."""
        return self._answered

    def close(self) -> None:
        """Close the sockets; the next call opens new ones."""
        self._clients.clear()
        self._wire.close()

    def _read_round(
        self, action: Action, call: Callable[[Client], Result], end: float
    ) -> "_Done[Result] | Exception":
        failure: Exception = TimeoutError()
        for server in tuple(self._servers):
            self._wire.seconds = max(end - time.monotonic(), 0.1)
            try:
                result = call(self._client(server))
            except (httpx2.HTTPError, msgspec.MsgspecError) as error:
                if not _may_pass(error):
                    self._fail(action, error)
                failure = error
            else:
                self._prefer(server)
                return _Done(result)
            if time.monotonic() >= end:
                break
        return failure

    def _prefer(self, server: str) -> None:
        self._answered = True
        self._servers.remove(server)
        self._servers.insert(0, server)

    def _client(self, server: str) -> Client:
        if server not in self._clients:
            self._clients[server] = self._make_client(server, self._wire)
        return self._clients[server]

    def _fail(self, action: Action, error: Exception) -> NoReturn:
        if isinstance(error, httpx2.HTTPStatusError):
            answer = Answer.parse(error.response.status_code, error.response.content)
            raise error_of(action, answer, self._credentials) from error
        raise NotReadyError(self._unreachable(error)) from error

    def _unreachable(self, error: Exception) -> str:
        servers = ", ".join(self._servers)
        if _is_untrusted(error):
            return (
                f"Kubernetes API: certificate not signed by the CA of {self._credentials.source}"
            )
        if isinstance(error, msgspec.MsgspecError):
            return f"Kubernetes API: what answers at {servers} is no API server"
        return f"Kubernetes API: no answer from {servers}"


def unless_missing(
    call: Callable[[Client], Result], missing: Missing
) -> Callable[[Client], Result | Missing]:
    """Return a call that answers a 404 with a value; every other failure stays a failure."""

    def guarded(client: Client) -> Result | Missing:
        try:
            return call(client)
        except httpx2.HTTPStatusError as error:
            if error.response.status_code == 404:
                return missing
            raise

    return guarded


class _Done(Generic[Result]):
    """The result of a call, apart from a failure that is returned."""

    def __init__(self, result: Result) -> None:
        self.result = result


def _may_pass(error: Exception) -> bool:
    """Return whether another server or a moment may cure a failure of a read."""
    if not isinstance(error, httpx2.HTTPStatusError):
        return True
    answer = Answer.parse(error.response.status_code, error.response.content)
    return is_worth_another_try(answer)


def _is_untrusted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None
