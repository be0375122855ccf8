# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A webhook that does what Charmed Kubernetes' own does with what it forwards.

Source: charm-kubernetes-control-plane (main, 2026), templates/auth-webhook.py: 10 s for the custom
endpoint; an answer that is no JSON with `status.authenticated` is a no, whatever its HTTP status;
a yes hands on the whole status; a no is a 200 without any error.
"""

import json
import ssl
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any

import httpx2

from standins.loopback import LoopbackServer

SECONDS = 10.0


class Forwarder(LoopbackServer):
    """An HTTPS server on loopback; a context manager."""

    def __init__(self, target: str, ca: str, certificate: str, key: str) -> None:
        """Listen at a free port.

        Args:
            target: URL that `authn-webhook-endpoint` names.
            ca: File of what the machine trusts.
            certificate: File of the server's own.
            key: File of its key.
        """
        self._client = httpx2.Client(
            verify=ssl.create_default_context(cafile=ca), timeout=SECONDS, trust_env=False
        )
        self._target = target
        self.asked: list[str] = []
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        super().__init__(self._handler(), tls=tls)

    @property
    def url(self) -> str:
        """Where the API server asks."""
        return f"{super().url}/v1"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self._client.close()

    def review(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a review."""
        self.asked.append(asked["apiVersion"])
        try:
            answer = self._client.post(self._target, json=asked).text
            status = json.loads(answer)["status"]
            if status["authenticated"]:
                return {**asked, "status": status}
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):
            pass
        return {**asked, "status": {"authenticated": False}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(outer.review(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's
                return

        return Handler
