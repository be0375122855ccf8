# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Relations across models, within one folder: offers, and what stands for the other model.

An application of another model is here an application with one unit that no status shows among
the applications. Its hooks are those of a stand-in, or nobody's when none is given.
"""

import copy
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.juju import lifecycle, relations, teardown
from rehearsal.juju.applications import find
from rehearsal.juju.entities import Application, Charm, Relation
from rehearsal.juju.holdings import Offer
from rehearsal.juju.model import Model

LOCAL_USER = "admin"


class Offers:
    """The verbs on offers and on what was consumed."""

    def __init__(self, model: Model, kept: Callable[[Any], Any]) -> None:
        """Args: kept: Writes a change down and hands its result on."""
        self._model = model
        self._kept = kept

    def create(self, application: str, endpoints: Sequence[str], name: str = "") -> Offer:
        """Offer endpoints of an application to other models.

        Raises:
            ExistsError: There is an offer of that name; Juju 4.0 cannot update one.
            NotFoundError: No such application or endpoint.
        """
        known = relations.endpoints_of(find(self._model, application).charm)
        offer = Offer(name or application, application, sorted(endpoints))
        if offer.name in self._model.offers:
            raise ExistsError(
                f'offer "{offer.name}" already exists, updating offers is not supported'
            )
        for endpoint in endpoints:
            if endpoint not in known:
                raise NotFoundError(f'endpoint "{endpoint}" not found on "{application}"')
        return self._kept(self._model.put("offers", offer.name, offer))

    def remove(self, name: str, *, force: bool = False) -> None:
        """Remove an offer; with `force` also what other models related to it.

        Raises:
            NotFoundError: There is none.
            UsageError: It is connected and not forced.
        """
        offer = self.find(name)
        users = self._connected(offer)
        if users and not force:
            raise UsageError(f'cannot remove offer "{name}": offer has {len(users)} relations')
        for relation in users:
            far = relation.other_end(offer.application).application
            teardown.remove_application(self._model, far, force=False)
        self._model.drop("offers", name)
        self._kept(None)

    def connect(self, name: str, charm: Charm, endpoint: str = "") -> Relation:
        """Let an application of another model relate to an offer.

        Args:
            name: The offer.
            charm: What the other application is, a stand-in or a charm without code.
            endpoint: Its endpoint; the only one that fits if empty.
        """
        offer = self.find(name)
        count = sum(a.saas.startswith("remote:") for a in self._model.applications.values())
        digest = hashlib.sha256(f"{name}|{count}".encode()).hexdigest()[:32]
        remote = f"remote-{digest}"
        self._make(remote, charm, f"remote:{name}")
        first = f"{offer.application}:{offer.endpoints[0]}"
        second = f"{remote}:{endpoint}" if endpoint else remote
        return self._kept(relations.add(self._model, first, second))

    def consume(self, url: str, charm: Charm, alias: str = "") -> str:
        """Make an application stand for an offer of another model; return its name.

        Args:
            url: Such as `admin/identity.keystone`.
            charm: What the other application is, a stand-in or a charm without code.
            alias: Name in this model; the offer's if empty.

        Raises:
            UsageError: It is no URL of an offer.
            ExistsError: Something has that name.
        """
        model, dot, offer = url.rpartition(".")
        if not dot or not model or not offer:
            raise UsageError("offer URL is missing the name")
        name = alias or offer
        if name in self._model.applications:
            raise ExistsError(f'saas application "{name}" already exists')
        self._make(name, charm, url)
        return self._kept(name)

    def is_consumed(self, url: str) -> bool:
        """Return whether something in the model stands for an offer, under whatever name."""
        return any(found.saas == url for found in self._model.applications.values())

    def remove_saas(self, name: str) -> None:
        """Remove what stands for an offer of another model; none of that name is no error."""
        found = self._model.applications.get(name)
        if found is not None and found.saas:
            teardown.remove_application(self._model, name, force=False)
        self._kept(None)

    def find(self, name: str) -> Offer:
        """Return an offer by name or URL.

        Raises:
            NotFoundError: There is none.
        """
        known = self._model.offers.get(name.rpartition(".")[2])
        if known is None:
            raise NotFoundError(f'"{name}": offer not found')
        return known

    def url_of(self, offer: Offer) -> str:
        """Return the URL of an offer of this model."""
        return f"{LOCAL_USER}/{self._model.settings.name}.{offer.name}"

    def _connected(self, offer: Offer) -> list[Relation]:
        """Return the relations that other models have with an offer."""
        return [
            relation
            for relation in self._model.relations_of(offer.application)
            if relation.end_of(offer.application).endpoint in offer.endpoints
            and self._model.applications[
                relation.other_end(offer.application).application
            ].saas.startswith("remote:")
        ]

    def _make(self, name: str, charm: Charm, url: str) -> None:
        """Create the application that stands for the other model, with its one unit."""
        model = self._model
        copied = copy.deepcopy(charm)
        model.put(
            "applications", name, Application(name, copied, since=model.settings.now, saas=url)
        )
        relations.add_peers(model, name)
        lifecycle.create_unit(model, name, "")
