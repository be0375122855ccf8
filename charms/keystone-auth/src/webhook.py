# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service beside each API server: reads its settings, serves, and follows them as they change.

It runs as a user of its own that systemd makes, without Juju, and holds one secret, the key of its
certificate, which systemd hands it (LoadCredential). The listening socket is systemd's too, so a
restart, as at a refresh, refuses no connection: they wait in the queue.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from authority import Authority
from charmkit.errors import NotReadyError
from gateways import Gateways
from review import Verdict, parse_review, render_answer
from server import REQUEST_SECONDS, Office
from settings import Settings, parse_settings
from upstream import Threaded, Upstream

_logger = logging.getLogger(__name__)

MODULE = "webhook"
"""How `charmkit.services` finds this module."""

CREDENTIAL = "tls.pem"
"""Name under which systemd hands over the certificate with its key."""

_LOOK_SECONDS = 1.0
_BACKLOG = 1024


def settings_path(application: str) -> str:
    """Return where an application's settings are."""
    return f"/etc/{application}/webhook.json"


def main(gateways: Gateways, application: str, unit: str) -> None:
    """Run the service until it is told to stop."""
    del unit
    gateways.serve(settings_path(application), serve)


def answer(gateways: Gateways, application: str, unit: str, body: str) -> str:
    """Answer one TokenReview without a server, as the rehearsal's API server asks.

    Args:
        gateways: The outside.
        application: Whose settings count.
        unit: Ours.
        body: The review, as JSON.

    Raises:
        NotReadyError: There are no settings yet.
        BadReviewError: It is no review.
    """
    del unit
    files = gateways.host().files
    settings = _read(files.path(settings_path(application)))
    asked = parse_review(body.encode())

    async def review() -> Verdict:
        wire = Threaded(gateways.keystone_transport())
        async with Upstream(settings.keystone, "", settings.limits.timeout, wire) as upstream:
            clock = gateways.host().now
            authority = Authority(upstream.ask, settings.naming, settings.limits, clock=clock)
            return await authority.review(asked.token)

    return render_answer(asked.version, asyncio.run(review()))[1].decode()


def serve(path: Path) -> None:
    """Serve by a settings file until SIGTERM.

    Raises:
        NotReadyError: The settings cannot be read.
        OSError: No certificate, or the port is taken.
    """
    asyncio.run(_Service(path, tls_context(), _listen).run())


def tls_context(folder: str = "") -> ssl.SSLContext:
    """Return the server's side of TLS. Raises OSError: there is no certificate."""
    folder = folder or os.environ.get("CREDENTIALS_DIRECTORY", "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(Path(folder) / CREDENTIAL)
    return context


def _listen(port: int) -> socket.socket:
    """Return systemd's socket where it handed one over (sd_listen_fds(3)), or one of our own."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()) and os.environ.get("LISTEN_FDS") == "1":
        inherited = socket.socket(fileno=3)
        if inherited.getsockname()[1] == port:
            return inherited
        inherited.close()
    own = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.bind(("127.0.0.1", port))
    own.listen(_BACKLOG)
    return own


Listen = Callable[[int], socket.socket]
"""Returns the listening socket of a port."""


class _Service:
    """The running service."""

    def __init__(self, path: Path, tls: ssl.SSLContext, listen: Listen) -> None:
        self._path = path
        self._tls = tls
        self._listen = listen
        self._settings = _read(path)
        self._upstream = _connect(self._settings)
        self._office = Office(_staff(self._settings, self._upstream), set())

    async def run(self) -> None:
        """Serve until SIGTERM."""
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        sock = self._listen(self._settings.port)
        server = await loop.create_server(
            self._office.connect,
            sock=sock,
            ssl=self._tls,
            backlog=_BACKLOG,
            ssl_handshake_timeout=REQUEST_SECONDS,
        )
        jobs = [asyncio.ensure_future(job) for job in (self._office.sweep(), self._follow())]
        _logger.info("serving on 127.0.0.1:%d", self._settings.port)
        await stop.wait()
        server.close()
        for job in jobs:
            job.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await job
        await self._upstream.close()

    async def _follow(self) -> None:
        """Follow the settings file; a broken one changes nothing."""
        seen = _stamp(self._path)
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            stamp = _stamp(self._path)
            if stamp == seen:
                continue
            seen = stamp
            try:
                await self._change(_read(self._path))
            except (NotReadyError, OSError) as error:
                _logger.warning("settings stay as they were: %s", error)

    async def _change(self, settings: Settings) -> None:
        """Work by new settings; another port or certificate needs a restart."""
        if settings == self._settings:
            return
        upstream = _connect(settings)
        old, self._upstream = self._upstream, upstream
        self._office.reviewer = _staff(settings, upstream)
        self._settings = settings
        _logger.info("settings changed")
        # Calls under way end within the time limit; their connections go after that.
        asyncio.get_running_loop().call_later(
            settings.limits.timeout * 2, lambda: asyncio.ensure_future(old.close())
        )


def _read(path: Path) -> Settings:
    try:
        return parse_settings(path.read_text())
    except (OSError, ValueError) as error:
        raise NotReadyError(f"{path}: {error}") from error


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_ino)


def _connect(settings: Settings) -> Upstream:
    return Upstream(settings.keystone, settings.ca, settings.limits.timeout)


def _staff(settings: Settings, upstream: Upstream) -> Authority:
    return Authority(upstream.ask, settings.naming, settings.limits)
