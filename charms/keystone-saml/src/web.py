# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to web pages of the campus: one document by URL, within limits of time and size."""

import time
from urllib.parse import urlsplit

import httpx2

from charmkit.errors import ConfigError, NotReadyError
from keystone import make_context

SECONDS = 15.0
"""For the whole document: a hook holds the machine's lock meanwhile."""


class Web:
    """Where pages come from."""

    def __init__(self, transport: httpx2.BaseTransport | None = None) -> None:
        """Args: transport: What carries requests; None is the network."""
        self._transport = transport

    def read(self, url: str, *, option: str, ca: str = "", proxy: str = "", limit: int) -> str:
        """Return a document.

        Args:
            url: Where it is; redirections are followed, but not from https to http.
            option: Option that the URL comes from, for messages.
            ca: PEM of an authority that is trusted besides the machine's own.
            proxy: URL of a proxy; empty is the straight way.
            limit: Largest size in bytes.

        Raises:
            NotReadyError: It cannot be had now.
            ConfigError: It is too large, no text, or its server is not trusted.
        """
        host = _host(url)
        try:
            content = self._fetch(url, option, ca, proxy, limit)
            return content.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(option, "the document is not UTF-8") from error
        except httpx2.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ConfigError("idp-ca", f"the certificate of {host} is not trusted") from error
            raise NotReadyError(f"{option}: no connection to {host}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            # Not its text: that may quote the URL, and with it a password of a proxy.
            raise NotReadyError(f"{option}: {host}: {type(error).__name__}") from error

    def _fetch(self, url: str, option: str, ca: str, proxy: str, limit: int) -> bytes:
        deadline = time.monotonic() + SECONDS
        context = make_context(ca, "idp-ca")
        with (
            httpx2.Client(
                timeout=SECONDS / 3,
                transport=self._transport,
                trust_env=False,
                verify=context,
                proxy=proxy if proxy and self._transport is None else None,
                follow_redirects=True,
                max_redirects=3,
            ) as client,
            client.stream("GET", url) as answer,
        ):
            if url.startswith("https:") and answer.url.scheme != "https":
                raise ConfigError(option, "it leads from https to http, use another URL")
            if answer.status_code != 200:
                raise NotReadyError(f"{option}: {_host(url)} answers {answer.status_code}")
            content = b""
            for part in answer.iter_bytes():
                content += part
                if len(content) > limit:
                    raise ConfigError(
                        option, f"larger than {limit // 2**20} MiB, use a smaller one"
                    )
                if time.monotonic() > deadline:
                    raise NotReadyError(f"{option}: takes longer than {SECONDS:.0f} s")
            return content


def _host(url: str) -> str:
    """Return host and port of a URL, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2]
