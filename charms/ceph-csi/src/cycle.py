# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A reconcile: look, ask, plan, apply, report. Knows no Juju.

`look` works out what to ask of Ceph clusters; the charm publishes that and brings the answers;
`reconcile` applies what can be applied. Only the leader gets here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import wanted
from assembly import Parts
from broker import Answer, operations, request
from cephcli import ensure_program
from charmkit.errors import (
    CharmkitError,
    InterventionError,
    NotReadyError,
    RelationIncompleteError,
)
from classes import find_lost_classes
from classtable import ClassRow
from clusters import Cluster, look
from clusters import Memory as ClusterMemory
from deployed import parse_config
from fields import counted
from keeper import Keeper
from offers import Offer
from plan import Scene, Target, find_faults, find_obstacles, find_warnings, plan_target, usable
from rollout import find_unready
from s3 import Sharing
from surroundings import Memory, Surroundings, read_surroundings

NO_CLUSTER = (
    "no Ceph cluster: integrate ceph-client (this model or an offer), "
    "or set external-clusters and external-keys"
)


@dataclass(frozen=True, slots=True)
class View:
    """What was seen before anything is asked of a Ceph cluster or applied.

    Attributes:
        around: The Kubernetes cluster.
        applied: Digest of what was applied last.
        clusters: Ceph clusters that answer.
        rows: Classes, each with the name of its cluster.
        requests: What to ask in each relation, by its number.
        problems: What stands in the way of some of it.
    """

    around: Surroundings
    applied: str
    clusters: tuple[Cluster, ...]
    rows: tuple[ClassRow, ...]
    requests: Mapping[int, str]
    problems: tuple[CharmkitError, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reconcile leaves: problems, and the message while there is none."""

    problems: tuple[CharmkitError, ...] = ()
    active: str = ""


class Cycle:
    """One run over everything."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._inputs = parts.inputs
        self._memory = Memory(parts.host, parts.inputs.application)

    def look(self) -> View:
        """Look around, and work out what to ask.

        The volumes come first: what they use must be in every request.

        Raises:
            CharmkitError: The Kubernetes API cannot be read, and never could before.
        """
        parts, inputs = self._parts, self._inputs
        around, applied = self._memory.recall()
        if around is None or inputs.sweep:
            around = read_surroundings(parts.kube, inputs.application, parts.host.now())
            self._memory.keep(around, applied)
        offers = tuple(offer for offer in inputs.offers if not offer.missing)
        clusters, problems = self._look_into(offers)
        table = inputs.options.storage_classes
        rows, faults = wanted.choose_rows(table, inputs.offers, clusters, inputs.application)
        requests = self._requests(rows, clusters, around)
        return View(around, applied, clusters, rows, requests, (*problems, *faults))

    def _look_into(
        self, offers: tuple[Offer, ...]
    ) -> tuple[tuple[Cluster, ...], list[CharmkitError]]:
        if not offers:
            return (), []
        parts = self._parts
        try:
            ensure_program(parts.host)
        except CharmkitError as error:
            return (), [error]
        memory = ClusterMemory(parts.host, self._inputs.application)
        names = [offer.name for offer in self._inputs.offers]
        memory.forget_all_but(names)
        clusters, problems = look(offers, memory, parts.make_ceph, sweep=self._inputs.sweep)
        clusters, strange = wanted.split_strangers(offers, clusters)
        clusters, twins = wanted.find_twins(clusters)
        return clusters, [*problems, *strange, *twins]

    def _requests(
        self,
        rows: Sequence[ClassRow],
        clusters: Sequence[Cluster],
        around: Surroundings,
    ) -> dict[int, str]:
        seen = {cluster.name: cluster for cluster in clusters}
        found: dict[int, str] = {}
        for offer in self._inputs.offers:
            if offer.relation >= 0:
                cluster = seen.get(offer.name)
                ops = operations(
                    offer.user,
                    wanted.usage_of(offer.name, rows, cluster, around.volumes),
                    create=wanted.pools_to_make(offer.name, rows),
                    replicas=self._inputs.options.pool_replicas,
                )
                key = cluster.key if cluster else next(iter(offer.keys), "")
                found[offer.relation] = request(ops, key)
        return found

    def reconcile(self, view: View, answers: Mapping[int, Answer]) -> Outcome:
        """Apply what can be applied.

        Args:
            view: From `look`.
            answers: What each relation says about its request.

        Raises:
            CharmkitError: The Kubernetes API failed; the next reconcile goes on from there.
        """
        waiting = _find_waiting(self._inputs.offers, answers)
        known = {str(entry["clusterID"]) for entry in view.around.config}
        clusters = tuple(
            one for one in view.clusters if one.name not in waiting or one.fsid in known
        )
        classes, faults = wanted.resolve_classes(view.rows, clusters)
        problems = [*self._inputs.problems, *view.problems, *waiting.values()]
        complete = not problems and not faults and len(clusters) == len(self._inputs.offers)
        scene = Scene(
            application=self._inputs.application,
            options=self._inputs.options,
            passphrase=self._inputs.passphrase,
            clusters=clusters,
            classes=classes,
            complete=complete,
            stamps=self._stamps(view, answers),
        )
        problems += faults
        if not self._inputs.offers:
            problems.append(InterventionError(NO_CLUSTER))
        return self._apply(scene, view, problems)

    def _stamps(self, view: View, answers: Mapping[int, Answer]) -> dict[str, str]:
        """Return what stands for key and capabilities of each cluster, by fsid.

        It changes only when the cluster has carried the request out: then what makes volumes is
        restarted, since it keeps sessions with the old capabilities.
        """
        found: dict[str, str] = {}
        for cluster in view.clusters:
            answer = answers.get(cluster.relation)
            if cluster.relation < 0 or (answer is not None and answer.verdict == "done"):
                text = f"{cluster.user} {cluster.key} {view.requests.get(cluster.relation, '')}"
                found[cluster.fsid] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return found

    def _apply(self, scene: Scene, view: View, problems: list[CharmkitError]) -> Outcome:
        around = view.around
        obstacles = find_obstacles(scene, around)
        if obstacles:
            return Outcome((*obstacles, *problems))
        target = plan_target(usable(scene), around)
        if not target.objects and not around.config:
            # Nothing was ever here, and nothing is to be yet.
            return Outcome((*problems, *find_faults(scene, around)), "nothing is asked for")
        keeper = Keeper(self._parts.kube, scene.application, snapshots=around.snapshots)
        if view.applied == target.digest and not self._inputs.sweep:
            keeper.confirm(target)
        else:
            around, target = self._keep(keeper, scene, around, problems)
        problems += find_faults(scene, around)
        problems += find_lost_classes(around.classes, _known(target))
        problems += find_unready(self._parts.kube, scene.application)
        problems += self._hand_out_buckets()
        warnings = find_warnings(scene, around, target.default)
        return Outcome(tuple(problems), describe(scene, around, warnings))

    def _keep(
        self, keeper: Keeper, scene: Scene, around: Surroundings, problems: list[CharmkitError]
    ) -> tuple[Surroundings, Target]:
        """Apply everything on a fresh look; what was applied is remembered when all was."""
        kube, application = self._parts.kube, scene.application
        if not self._inputs.sweep:
            around = read_surroundings(kube, application, self._parts.host.now())
        for obstacle in find_obstacles(scene, around):
            raise obstacle  # Somebody else came meanwhile: nothing of theirs is overwritten.
        scene, unready = self._with_groups(usable(scene))
        target = plan_target(scene, around)
        left = keeper.apply(scene, target, around)
        problems += [*unready, *left]
        around = replace(
            around,
            classes=keeper.read_classes(around),
            config=_config(target),
            stamps=target.stamps,
        )
        self._memory.keep(around, "" if unready or left else target.digest)
        return around, target

    def _with_groups(self, scene: Scene) -> tuple[Scene, list[CharmkitError]]:
        """Make the subvolume groups; return the scene without classes that have none yet."""
        offers = {offer.name: offer for offer in self._inputs.offers}
        problems: list[CharmkitError] = []
        without: set[tuple[str, str]] = set()
        for cluster, system in _systems(scene):
            ceph = self._parts.make_ceph(offers[cluster.name], cluster.key)
            try:
                ceph.ensure_subvolume_group(system)
            except CharmkitError as error:
                problems.append(error)
                without.add((cluster.name, system))
        kept = tuple(
            c for c in scene.classes if (c.cluster.name, c.row.file_system) not in without
        )
        return replace(scene, classes=kept, complete=scene.complete and not without), problems

    def _hand_out_buckets(self) -> list[CharmkitError]:
        inputs = self._inputs
        bucket = next(iter(inputs.buckets), None)
        sharing = Sharing(self._parts.host, inputs.application)
        namespaces = inputs.options.s3_namespaces
        return sharing.ensure(self._parts.kube, bucket, namespaces, sweep=inputs.sweep)


def _systems(scene: Scene) -> list[tuple[Cluster, str]]:
    found = {
        (one.cluster.name, one.row.file_system): one.cluster
        for one in scene.classes
        if one.row.kind == "cephfs"
    }
    return [(cluster, system) for (_, system), cluster in sorted(found.items())]


def _find_waiting(
    offers: Sequence[Offer], answers: Mapping[int, Answer]
) -> dict[str, CharmkitError]:
    """Return why an offer cannot be used, or not wholly, by its name."""
    found = {offer.name: _problem_of(offer, answers) for offer in offers}
    return {name: problem for name, problem in found.items() if problem is not None}


def _problem_of(offer: Offer, answers: Mapping[int, Answer]) -> CharmkitError | None:
    if offer.missing:
        words = [*offer.missing[:-1], f"{offer.missing[-1]} from {offer.name}"]
        return RelationIncompleteError("ceph-client", words)
    if offer.relation < 0:
        return None
    answer = answers.get(offer.relation, Answer("pending"))
    if answer.verdict == "failed":
        return InterventionError(f"ceph-client: {offer.name} refuses: {answer.reason}")
    if answer.verdict == "pending":
        return RelationIncompleteError("ceph-client", [f"broker-rsp from {offer.name}"])
    return None


def _config(target: Target) -> list[dict[str, Any]]:
    found = next((one for one in target.objects if "config.json" in one.get("data", {})), None)
    return parse_config(found)


def _known(target: Target) -> list[str]:
    return [str(entry["clusterID"]) for entry in _config(target)]


def describe(scene: Scene, around: Surroundings, warnings: Sequence[str]) -> str:
    """Return the active message: how much there is, and what is worth a word."""
    clusters = ", ".join(cluster.name for cluster in scene.clusters)
    classes, volumes = len(scene.classes), len(around.volumes)
    text = f"{counted(classes, 'class', 'es')} on {clusters}, {counted(volumes, 'volume')}"
    return str(NotReadyError("; ".join([text, *warnings])))
