# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How the cluster asks a charm of the control plane about a token that it does not know.

On Charmed Kubernetes each API server asks the charm's own webhook, which asks the one that the
option authn-webhook-endpoint names. Here it is found by that endpoint: a charm's service named
webhook that runs on a machine whose file names its port. The first machine that can answer does.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from rehearsal.errors import CharmError
from rehearsal.juju.engine import Rehearsal
from rehearsal.juju.entities import Charm
from standins.boots import Service
from standins.charms.kubernetes_control_plane import WEBHOOK
from standins.world import World

_ENDPOINT = re.compile(r"^CUSTOM_AUTHN_ENDPOINT = '([^']+)'$", re.MULTILINE)
_MODULE = "webhook"
_PORT = "webhook-port"
_LOOPBACK = "127.0.0.1"


class Reviews:
    """The token webhook of the cluster's control plane."""

    def __init__(self, juju: Rehearsal, world: World) -> None:
        self._juju = juju
        self._world = world

    def ask(self, token: str) -> Mapping[str, Any]:
        """Return the status of the token's review; empty when nobody answers."""
        for charm, service in self._services():
            review = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token},
            }
            place = (service.application, service.unit, json.dumps(review))
            try:
                answer = self._juju.runners.call(charm, service.machine, _MODULE, "answer", *place)
            except CharmError:
                continue
            return json.loads(answer)["status"]
        return {}

    def _services(self) -> Iterator[tuple[Charm, Service]]:
        """Yield the webhooks that are asked and can be, by machine."""
        for machine_id, machine in self._world.machines.items():
            if not machine.powered:
                continue
            found = _ENDPOINT.search(machine.host.files.find_text(WEBHOOK) or "")
            endpoint = urlsplit(found[1]) if found else None
            if endpoint is None or endpoint.hostname != _LOOPBACK:
                continue
            for service in self._world.services(machine_id):
                charm = self._charm_at(service, endpoint.port)
                if charm is not None:
                    yield charm, service

    def _charm_at(self, service: Service, port: int | None) -> Charm | None:
        """Return the charm of a service that listens on a port, None when it does not."""
        application = self._juju.model.applications.get(service.application)
        if service.module != _MODULE or application is None:
            return None
        option = application.charm.options.get(_PORT, {})
        listens = application.config.get(_PORT, option.get("default"))
        return application.charm if listens == port else None
