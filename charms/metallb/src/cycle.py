# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Read, check, apply, and look at what MetalLB says. Knows no Juju.

The leader writes; every unit looks and reports. Nothing is written before every check has passed,
so that what ran before goes on running.
"""

import functools
import logging
from dataclasses import dataclass, replace
from typing import Any

from charmkit.addon import Addon
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    InterventionError,
    NotReadyError,
)
from charmkit.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION
from charmkit.kube import Kube
from charmkit.manifests import rendered_hash
from checks import OPTION, check_reserved, check_taken
from config import BGP, L2, MetallbOptions, check_together
from facts import part_of
from kinds import ALL, POOL
from machine import Machine
from objects import ownership, render_all
from observe import (
    Reports,
    Surroundings,
    find_shared_peers,
    read_calico_peers,
    read_cilium_pools,
    read_reports,
    read_served,
    read_surroundings,
)
from pools import Pool
from silence import MOST_SILENT, SILENT_SECONDS, Silence, describe_silence, find_unannounced
from store import Store, digest
from usage import Loss, describe_losses, find_chosen, find_losses, find_steps, find_users
from verdicts import check_surroundings, compare, describe, find_problems

_logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 600
"""How long the webhook may be silent beside a ready controller before a person is asked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reconcile ends with.

    Attributes:
        problems: What the status is to say, gravest first.
        active: Message of the active status.
        renewed: Something changed now, and MetalLB may give or announce addresses in a moment.
    """

    problems: tuple[CharmkitError, ...] = ()
    active: str = ""
    renewed: bool = False


class Cycle:
    """One reconcile of one application's MetalLB."""

    def __init__(
        self, application: str, options: MetallbOptions, kube: Kube, store: Store, now: float
    ) -> None:
        """Args: now: Seconds since 1970."""
        self._application = application
        self._options = options
        self._kube = kube
        self._store = store
        self._now = now
        self._addon = Addon(kube, application, options.namespace, ALL, within=options.namespace)

    @functools.cached_property
    def _objects(self) -> list[dict[str, Any]]:
        """Everything that is to be in the cluster; a hook in which nothing changed needs none."""
        return render_all(self._application, self._options)

    def is_settled(self) -> bool:
        """Say by one read whether nothing changed since the last look without a problem."""
        clean = self._store.read().clean
        return bool(clean) and clean == self._fingerprint()

    def run(self, machine: Machine, *, leads: bool) -> Outcome:
        """Go as far as possible now.

        Args:
            machine: The unit's.
            leads: The unit writes.

        Raises:
            CharmkitError: Something stands against the options, or a gateway failed.
        """
        self._store.change(clean="")
        seen = self.look()
        wanted, chosen = self._options.address_pools, find_chosen(seen.services)
        given = (*seen.pools, *seen.strangers)
        remarks = [check_taken(wanted, machine.taken, given, chosen)]
        renewed = leads and self._apply(seen)
        reports = read_reports(self._kube, self._options.namespace)
        problems = find_problems(self._options, seen, reports, all_answer=machine.all_answer)
        silence = Silence() if problems else self._find_silence(seen, reports)
        problems = problems or silence.problems
        if not problems:
            self._store.change(clean=self._fingerprint(), silent_since=0.0)
        active = describe(self._options, seen, [*remarks, silence.remark])
        return Outcome(problems, active, renewed or silence.is_new)

    def _find_silence(self, seen: Surroundings, reports: Reports) -> Silence:
        """Return what there is to say of served services that nobody announces in layer 2.

        A service whose pods came a moment ago is announced in a moment, so only those count that
        were silent for a while.
        """
        if self._options.mode != L2:
            return Silence()
        pools = self._options.address_pools
        silent = find_unannounced(pools, seen.services, reports.announcements)
        served = read_served(self._kube, silent)[:MOST_SILENT]
        known = self._store.read().silent
        since = {service.name: known.get(service.name, self._now) for service in served}
        self._store.change(silent=since)
        lasting = [one for one in served if self._now - since[one.name] >= SILENT_SECONDS]
        silence = describe_silence(lasting, self._options.interfaces)
        return replace(silence, is_new=len(lasting) < len(served))

    def look(self) -> Surroundings:
        """Return the surroundings, once nothing in them stands against the options.

        Raises:
            ConfigError: Something does.
            CharmkitError: The API does not answer or refuses.
        """
        seen = read_surroundings(self._kube, self._application, self._options.namespace)
        check_together(self._options)
        check_surroundings(self._options, seen)
        for pool in read_cilium_pools(self._kube):
            check_reserved(self._options.address_pools, pool.spans, f"Cilium's pool {pool.name}")
        if self._options.mode == BGP:
            self._check_calico()
        return seen

    def reports(self) -> Reports:
        """Return what MetalLB says of itself."""
        return read_reports(self._kube, self._options.namespace)

    def find_losses(self, seen: Surroundings) -> tuple[Loss, ...]:
        """Return what running services would lose by the options."""
        return find_losses(*compare(self._options, seen), seen.services)

    def _check_calico(self) -> None:
        ours = [(peer.name, peer.address) for peer in self._options.bgp_peers]
        shared = find_shared_peers(ours, read_calico_peers(self._kube))
        if shared is not None:
            name, address, theirs = shared
            raise ConfigError(
                "bgp-peers", f"{name}: Calico has port 179 to {address} ({theirs}), use another"
            )

    def _apply(self, seen: Surroundings) -> bool:
        """Bring the cluster to what the options say; return whether anything was written."""
        losses = self.find_losses(seen)
        if losses and self._store.read().confirmed != digest(losses):
            raise ConfigError(OPTION, describe_losses(losses))
        for pool in find_steps(seen.pools, self._options.address_pools):
            self._shrink(pool)
        try:
            self._bring_pools_first(seen)
            done = self._addon.ensure(self._objects, sweep=True)
        except NotReadyError as error:
            raise self._explain(error) from error
        for what in done:
            _logger.info("applied: %s", what)
        if self._store.read().confirmed:
            self._store.change(confirmed="")
        return bool(done)

    def _bring_pools_first(self, seen: Surroundings) -> None:
        """Make the pools before there is a controller, where addresses come into its care.

        A controller takes the addresses of all services away as long as it finds no pool. Once it
        is there pools come last: its webhook has to let them in, and its repair must not wait.

        Source: MetalLB 0.15.3, controller/service.go, convergeBalancer ("pools are empty").
        """
        users = [find_users(pool, seen.services) for pool in self._options.address_pools]
        if not seen.is_new or not any(users):
            return
        for obj in self._objects:
            if obj["kind"] in (CUSTOM_RESOURCE_DEFINITION.kind, POOL.kind):
                self._write(obj)

    def _write(self, obj: dict[str, Any], *, force: bool = False) -> None:
        kind = POOL if obj["kind"] == POOL.kind else CUSTOM_RESOURCE_DEFINITION
        metadata = {**obj["metadata"], "labels": ownership(self._application)}
        self._kube.apply({**obj, "metadata": metadata}, kind=kind, force=force)

    def _shrink(self, pool: Pool) -> None:
        """Leave a pool what it also has afterwards, so that the others may grow into the rest."""
        namespace = self._options.namespace
        if not pool.spans:
            self._kube.delete(POOL, pool.name, namespace)
            return
        wanted = next(obj for obj in self._objects if _is_pool(obj, pool.name))
        spec = {**wanted["spec"], "addresses": list(map(str, pool.spans))}
        self._write({**wanted, "spec": spec}, force=True)

    def _explain(self, error: NotReadyError) -> CharmkitError:
        """Return in words why nothing could be applied: mostly that the webhook is silent."""
        reports = read_reports(self._kube, self._options.namespace)
        if reports.controller is None:
            return error
        if not reports.controller.done:
            return NotReadyError("MetalLB webhook: its controller is starting, waiting for it")
        since = self._store.read().silent_since or self._now
        self._store.change(silent_since=since)
        if self._now - since < PATIENCE_SECONDS:
            return NotReadyError(f"MetalLB webhook: not ready yet, {error}")
        return InterventionError(
            "MetalLB webhook: silent for 10 minutes, open port 9443 from API servers to pods"
        )

    def _fingerprint(self) -> str:
        """Return what identifies the options and what was applied last; reads one object.

        What a refresh changes in the rendering is not in it: after a refresh everything is seen.
        """
        name, namespace = f"{self._application}-applied", self._options.namespace
        record = self._kube.find(CONFIG_MAP, name, namespace) or {}
        digest_of_cluster = str(part_of(record, "data").get("digest", ""))
        wanted: dict[str, Any] = {
            "options": repr(self._options),
            "servers": self._kube.credentials.servers,
            "applied": digest_of_cluster,
        }
        return rendered_hash([wanted]) if digest_of_cluster else ""


def _is_pool(obj: dict[str, Any], name: str) -> bool:
    return obj["kind"] == POOL.kind and obj["metadata"]["name"] == name
