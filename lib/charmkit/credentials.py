# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where an API server is and who we are to it. Pure.

The token stays out of `repr`, so that a traceback or a log of the value cannot carry it.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """What opens a cluster.

    Attributes:
        servers: URLs of the API, in order of preference; at least one.
        token: Bearer token; never shown.
        ca: PEM of the authority that signed the servers' certificates; empty means the
            machine's own trust store.
        user: Name by which the API knows us, as its 403 answers print it.
        source: Where the credentials come from, in an operator's words: `kube-control`, `account`,
            a file or an option.
    """

    servers: tuple[str, ...]
    token: str = field(repr=False)
    ca: str = field(repr=False)
    user: str
    source: str
