# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who may enter the cluster of a world: its authority's certificate and its tokens."""

import hashlib
from importlib import resources

from standins.kubernetes.api import ApiServer

ADMIN_GROUP = "system:masters"


class Admission:
    """Tokens of one cluster; the same user has the same token in every run of a model."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self.admin = self.grant("admin", ADMIN_GROUP)

    @property
    def authority(self) -> str:
        """PEM of the certificate that the API's certificates are signed with."""
        return resources.files("standins").joinpath("data/cluster-ca.crt").read_text()

    def grant(self, user: str, group: str) -> str:
        """Return the token of a user, and let the API know it.

        Args:
            user: Name of the user.
            group: Group that the user is in; empty for none.

        Source: the form `user::random` is that of Charmed Kubernetes' token webhook.
        """
        digest = hashlib.sha256(f"{user}/{group}".encode()).hexdigest()[:32]
        token = f"{user}::{digest}"
        self._api.add_token(token, user, (group,) if group else ())
        return token
