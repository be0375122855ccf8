# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Service and login program as processes: changes, restarts, logins; without a cluster."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from standins.keystone.api import KeystoneServer
from standins.keystone.http import serve
from tests.functional.keystone_auth.site import ROOT, SOURCES, webhook
from tests.functional.kubernetes.processes import free_ports
from tests.functional.kubernetes.running import eventually

ENOUGH = 8
"""Answers that four clients together wait for before and after a change."""

PATIENCE = 60.0
REFUSED = "refused"
Campus = tuple[KeystoneServer, str, str, str]


@pytest.fixture
def keystone() -> Iterator[Campus]:
    """A Keystone with a project and somebody in it: server, URL, project, user."""
    server = KeystoneServer(time.time)
    server.bootstrap("admin")
    project, user = server.add_project("gpu-lab"), server.add_user("alice", "")
    server.grant("member", user, project)
    with serve(server) as front:
        yield server, front.url, project, user


@pytest.fixture
def clear() -> None:
    """Take the place of the fixture that needs a cluster."""


def review(token: str) -> dict[str, object]:
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    }


async def ask_on(url: str, token: str, stop: asyncio.Event, seen: list[str]) -> None:
    """Ask again and again, each time over a new connection; note who was answered."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    while not stop.is_set():
        async with httpx2.AsyncClient(verify=tls, trust_env=False, timeout=30) as client:
            try:
                answer = (await client.post(url, json=review(token))).json()
                seen.append(answer["status"]["user"]["username"])
            except (httpx2.HTTPError, KeyError) as error:
                seen.append(f"{REFUSED if is_refused(error) else 'cut'}: {error!r}")


def is_refused(error: BaseException | None) -> bool:
    """Whether nobody listened: a TLS handshake that is cut is a ConnectError, too."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__ or error.__context__
    return False


def watch(
    url: str, token: str, change: Callable[[], None], is_over: Callable[[list[str]], bool]
) -> list[str]:
    """Ask with four clients while something is changed; return what they were answered.

    Args:
        url: The webhook.
        token: What is asked about.
        change: Changes something, once every client can have had an answer.
        is_over: Whether it is enough, by the answers since then.
    """
    seen: list[str] = []

    async def until(probe: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not probe():
            assert time.monotonic() < end, f"after {PATIENCE:g} s the last answers: {seen[-8:]}"
            await asyncio.sleep(0.05)

    async def run() -> None:
        stop = asyncio.Event()
        clients = [asyncio.ensure_future(ask_on(url, token, stop, seen)) for _ in range(4)]
        try:
            await until(lambda: len(seen) >= ENOUGH)
            await asyncio.to_thread(change)
            changed = len(seen)
            await until(lambda: len(seen) >= changed + ENOUGH and is_over(seen[changed:]))
        finally:
            stop.set()
            await asyncio.gather(*clients)

    asyncio.run(run())
    return seen


def replace_settings(folder: Path, old: str, new: str) -> None:
    """Change the text of the settings, which are there whole at any time."""
    path, fresh = folder / "webhook.json", folder / "fresh.json"
    assert old in path.read_text()
    fresh.write_text(path.read_text().replace(old, new))
    fresh.replace(path)


def test_other_settings_are_followed_without_a_dropped_request(
    tmp_path: Path, keystone: Campus
) -> None:
    server, url, project, user = keystone
    token = server.token(user, ("project", project))

    def change() -> None:
        replace_settings(tmp_path, '"user_prefix": "keystone:"', '"user_prefix": "campus:"')

    def is_over(answers: list[str]) -> bool:
        return set(answers[-ENOUGH:]) == {"campus:Default:alice"}

    with webhook(tmp_path, url) as (where, _):
        seen = watch(where, token, change, is_over)
    assert set(seen) == {"keystone:Default:alice", "campus:Default:alice"}
    assert seen[0].startswith("keystone:")
    assert seen[-1].startswith("campus:")


def test_settings_that_are_wrong_change_nothing(tmp_path: Path, keystone: Campus) -> None:
    server, url, project, user = keystone
    token = server.token(user, ("project", project))

    def change() -> None:
        replace_settings(tmp_path, '"user_prefix": "keystone:"', '"user_prefix": "system:"')
        said = tmp_path / "webhook.log"
        eventually(lambda: "settings stay as they were" in said.read_text(), "it has looked")

    with webhook(tmp_path, url) as (where, _):
        assert set(watch(where, token, change, bool)) == {"keystone:Default:alice"}


@contextlib.contextmanager
def started(folder: Path, sock: socket.socket) -> Iterator[None]:
    """Run the service with a socket that somebody else opened, as systemd does."""
    run = (
        f"import os, pathlib; os.dup2({sock.fileno()}, 3);"
        " os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1');"
        f" import webhook; webhook.serve(pathlib.Path({str(folder / 'webhook.json')!r}))"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCES, "CREDENTIALS_DIRECTORY": str(folder)}
    command = [sys.executable, "-c", run]
    process = subprocess.Popen(command, env=environment, pass_fds=[sock.fileno()])
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_a_restart_refuses_nobody_since_the_socket_is_systemds(
    tmp_path: Path, keystone: Campus
) -> None:
    server, url, project, user = keystone
    token = server.token(user, ("project", project))
    with webhook(tmp_path, url):
        pass  # It wrote settings and certificate.
    port = json.loads((tmp_path / "webhook.json").read_text())["settings"]["port"]
    with (
        socket.create_server(("127.0.0.1", port), backlog=1024) as sock,
        contextlib.ExitStack() as stack,
    ):
        stack.enter_context(started(tmp_path, sock))

        def restart() -> None:
            stack.pop_all().close()
            time.sleep(1.0)
            stack.enter_context(started(tmp_path, sock))

        def is_over(answers: list[str]) -> bool:
            return answers.count("keystone:Default:alice") >= ENOUGH

        seen = watch(f"https://127.0.0.1:{port}/webhook", token, restart, is_over)
    wrong = [text for text in seen if text != "keystone:Default:alice"]
    # What the process had accepted when it ended may be cut, at each client once; none is refused.
    assert [text for text in wrong if text.startswith(REFUSED)] == []
    assert len(wrong) <= 4


PROGRAM = ROOT / "charms/keystone-auth/src/client/kubectl_keystone.py"
BROWSER = """
import sys, time, urllib.parse, urllib.request
where = urllib.parse.urlsplit(sys.argv[1])
origin = urllib.parse.parse_qs(where.query)["origin"][0]
token = open({token!r}).read()
for form, headers in (
    (b"token=stolen", {{"Origin": "https://evil.example.org"}}),
    (urllib.parse.urlencode({{"token": token}}).encode(), {{}}),
):
    try:
        urllib.request.urlopen(urllib.request.Request(origin, data=form, headers=headers))
    except urllib.error.HTTPError as error:
        assert error.code == 403
"""


def log_in(home: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(PROGRAM), *arguments]
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH",)}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, "HOME": str(home), **environment},
    )


def test_a_login_in_the_browser_gives_kubectl_a_token_and_is_remembered(
    tmp_path: Path, keystone: Campus
) -> None:
    server, url, project, user = keystone
    unscoped = tmp_path / "unscoped"
    unscoped.write_text(server.token(user))
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER.format(token=str(unscoped)))
    port = free_ports(1)[0]
    arguments = [f"--keystone={url}", f"--project={project}", f"--port={port}"]
    done = log_in(tmp_path, *arguments, BROWSER=f"{sys.executable} {browser} %s &")
    assert done.returncode == 0, done.stderr
    credential = json.loads(done.stdout)
    assert credential["kind"] == "ExecCredential"
    assert credential["status"]["expirationTimestamp"].endswith("Z")
    record = server.tokens.find(credential["status"]["token"])
    assert record is not None
    assert record["scope"] == ["project", project]
    (cached,) = (tmp_path / ".kube/cache/keystone").iterdir()
    assert cached.stat().st_mode & 0o777 == 0o600
    again = log_in(tmp_path, *arguments, BROWSER="/bin/false")
    assert json.loads(again.stdout) == credential
    assert log_in(tmp_path, *arguments, "--logout").returncode == 0
    assert list((tmp_path / ".kube/cache/keystone").iterdir()) == []


def test_a_project_that_keystone_refuses_is_named(tmp_path: Path, keystone: Campus) -> None:
    _, url, _, _ = keystone
    done = log_in(
        tmp_path,
        f"--keystone={url}",
        "--project=0123",
        OS_APPLICATION_CREDENTIAL_ID="none",
        OS_APPLICATION_CREDENTIAL_SECRET="none",
    )
    assert done.returncode == 1
    assert "Keystone refuses project 0123 (401)" in done.stderr
