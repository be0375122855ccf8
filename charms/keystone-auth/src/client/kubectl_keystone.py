#!/usr/bin/env python3
# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Log in to Kubernetes with a campus account: a credential plugin of kubectl.

kubectl runs it by what the kubeconfig says; it prints an ExecCredential. A login goes through the
browser (Keystone's WebSSO), or by an application credential where OS_APPLICATION_CREDENTIAL_ID
and OS_APPLICATION_CREDENTIAL_SECRET are set. The token is kept, in a file that only its user
reads, until shortly before it ends. Needs Python 3.9 and no package; --logout forgets the token.
"""

import argparse
import datetime
import hashlib
import http.server
import json
import os
import pathlib
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from typing import Any

CALLBACK = "/auth/websso/"
LARGEST_FORM = 64 * 1024
LOGIN_SECONDS = 180
MARGIN_SECONDS = 60


def main() -> int:
    """Print a credential, or why there is none."""
    options = _options()
    cache = _cache_path(options)
    if options.logout:
        cache.unlink(missing_ok=True)
        return 0
    try:
        credential = _cached(cache) or _log_in(options, cache)
    except (OSError, ValueError, KeyError) as error:
        print(f"kubectl-keystone: {error}", file=sys.stderr)  # noqa: T201 - the user's terminal
        return 1
    print(json.dumps(credential))  # noqa: T201 - what kubectl reads
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Log in to Kubernetes with a campus account.")
    parser.add_argument("--keystone", required=True, help="URL that ends in /v3")
    parser.add_argument("--project", required=True, help="id of the project")
    parser.add_argument("--identity-provider", default="")
    parser.add_argument("--protocol", default="saml2")
    parser.add_argument("--ca", default="", help="file of authorities; empty: the machine's own")
    parser.add_argument(
        "--port", type=int, default=9990, help="on localhost, as Keystone trusts it"
    )
    parser.add_argument("--logout", action="store_true")
    return parser.parse_args()


def _log_in(options: argparse.Namespace, cache: pathlib.Path) -> dict[str, Any]:
    identifier = os.environ.get("OS_APPLICATION_CREDENTIAL_ID")
    if identifier:
        secret = os.environ.get("OS_APPLICATION_CREDENTIAL_SECRET", "")
        method = {"id": identifier, "secret": secret}
        identity = {"methods": ["application_credential"], "application_credential": method}
        auth: dict[str, Any] = {"identity": identity}
    else:
        token = _browse(options)
        scope = {"project": {"id": options.project}}
        auth = {"identity": {"methods": ["token"], "token": {"id": token}}, "scope": scope}
    token, ends = _ask(options, auth)
    credential: dict[str, Any] = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token, "expirationTimestamp": ends},
    }
    cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = cache.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        json.dump(credential, stream)
    fresh.replace(cache)
    return credential


def _ask(options: argparse.Namespace, auth: dict[str, Any]) -> tuple[str, str]:
    """Return a token for the project and when it ends, as Kubernetes reads times."""
    body = json.dumps({"auth": auth}).encode()
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked in _base
        f"{_base(options)}/auth/tokens?nocatalog",
        data=body,
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30, context=_tls(options)) as answer:  # noqa: S310
            document, token = json.load(answer), answer.headers["X-Subject-Token"]
    except urllib.error.HTTPError as error:
        raise ValueError(f"Keystone refuses project {options.project} ({error.code})") from error
    moment = datetime.datetime.strptime(document["token"]["expires_at"][:19], "%Y-%m-%dT%H:%M:%S")
    return token, moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _browse(options: argparse.Namespace) -> str:
    """Return the unscoped token that the browser brings from Keystone's login."""
    found: list[str] = []
    base = urllib.parse.urlsplit(_base(options))

    class Callback(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            origin = self.headers.get("Origin", "null")
            ours = origin in ("null", f"{base.scheme}://{base.netloc}")
            if self.path != CALLBACK or not ours or not 0 < length <= LARGEST_FORM:
                self.send_error(403)
                return
            form = urllib.parse.parse_qs(self.rfile.read(length).decode("ascii", "replace"))
            found.extend(form.get("token", [])[:1])
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"You are logged in. Close this window and go back to the terminal.")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's
            """Keep quiet."""

    with http.server.HTTPServer(("127.0.0.1", options.port), Callback) as server:
        server.timeout = 1
        url = _websso(options)
        print(f"kubectl-keystone: log in at {url}", file=sys.stderr)  # noqa: T201
        webbrowser.open(url)
        end = time.monotonic() + LOGIN_SECONDS
        while not found and time.monotonic() < end:
            server.handle_request()
    if not found:
        raise ValueError("nobody logged in within 3 minutes")
    return found[0]


def _websso(options: argparse.Namespace) -> str:
    origin = urllib.parse.quote(f"http://localhost:{options.port}{CALLBACK}", safe="")
    provider = urllib.parse.quote(options.identity_provider, safe="")
    protocol = urllib.parse.quote(options.protocol, safe="")
    path = f"/auth/OS-FEDERATION/websso/{protocol}"
    if provider:
        path = f"/auth/OS-FEDERATION/identity_providers/{provider}/protocols/{protocol}/websso"
    return f"{_base(options)}{path}?origin={origin}"


def _base(options: argparse.Namespace) -> str:
    if not options.keystone.startswith(("https://", "http://")):
        raise ValueError("--keystone is no URL")
    return str(options.keystone).rstrip("/")


def _tls(options: argparse.Namespace) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=options.ca or None)


def _cache_path(options: argparse.Namespace) -> pathlib.Path:
    what = f"{options.keystone}\n{options.project}\n{options.identity_provider}"
    what += os.environ.get("OS_APPLICATION_CREDENTIAL_ID", "")
    name = hashlib.sha256(what.encode()).hexdigest()[:16]
    return pathlib.Path.home() / ".kube" / "cache" / "keystone" / f"{name}.json"


def _cached(cache: pathlib.Path) -> "dict[str, Any] | None":
    try:
        if cache.stat().st_mode & 0o077:
            return None
        credential = json.loads(cache.read_text())
        ends = datetime.datetime.strptime(
            credential["status"]["expirationTimestamp"], "%Y-%m-%dT%H:%M:%SZ"
        ).replace(tzinfo=datetime.timezone.utc)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return credential if ends.timestamp() - time.time() > MARGIN_SECONDS else None


if __name__ == "__main__":
    sys.exit(main())
