# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Put the parts of a unit together: the webhook of its machine, and the cluster's objects."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import daemon
import watch
from apiserver import check_endpoint, endpoint_of
from authority import Limits
from charmkit import watcher
from charmkit.account import Grant, Rule, forget_account
from charmkit.addon import Addon, connect
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    ForbiddenError,
    InterventionError,
    NotReadyError,
)
from charmkit.host import Host
from charmkit.kinds import CLUSTER_ROLE, NAMESPACE, NODE
from charmkit.kube import Kube
from charmkit.refusals import UnauthorizedError
from charmkit.services import ServiceSpec
from config import HARD, ISOLATE
from gateways import Gateways
from identity import Naming
from keystone import Keystone, MissingReaderError, tls_of
from objects import Rules, render_all
from ports import NAMESPACE as HOME
from ports import Inputs
from projects import Choice, Project
from rolemap import OWN, find_unknown, foreign_targets
from settings import Settings
from spaces import Layout, State, arrange

Object = dict[str, Any]
_WAITING = (NotReadyError, MissingReaderError)
"""What may end without an event: a rollout, and the step of an administrator of Keystone."""

_RBAC = "rbac.authorization.k8s.io"
_ALL = ("get", "list", "create", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reconcile ends with: problems, gravest first where alike, and the active message."""

    problems: tuple[CharmkitError, ...] = ()
    active: str = ""
    done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """What Keystone and the cluster showed.

    Attributes:
        layout: Namespaces and their projects.
        roles: Of Keystone.
        offered: Resources of NVIDIA that nodes know.
        cut: Those of which there are some.
    """

    layout: Layout
    roles: tuple[str, ...]
    offered: tuple[str, ...]
    cut: tuple[str, ...]


class Parts:
    """The gateways of one unit and what is built on them; nothing is called before it is used."""

    def __init__(self, inputs: Inputs, gateways: Gateways, host: Host) -> None:
        self.inputs = inputs
        self.gateways = gateways
        self.host = host

    def reconcile(self, *, sweep: bool, force: bool = False) -> Outcome:
        """Do everything that can be done now; what cannot is among the problems.

        Args:
            sweep: Look at each object, though all were applied.
            force: Close however many namespaces lost their project.
        """
        inputs = self.inputs
        if inputs.refused is not None:
            return Outcome((inputs.refused,))
        problems: list[CharmkitError] = []
        done: list[str] = []
        active = f"webhook on {endpoint_of(inputs.options.webhook_port)}"
        if inputs.access is not None and inputs.access.is_open:
            active += "; tokens go to Keystone in clear, see check"
        if inputs.no_access is not None:
            problems.append(inputs.no_access)
        try:
            self._serve()
            if inputs.leader and inputs.access is not None:
                done, counts = self._sync(problems, sweep=sweep, force=force)
                active = f"{counts}, {active}"
        except CharmkitError as error:
            problems.append(error)
        asked = check_endpoint(self.host.files, inputs.options.webhook_port)
        problems += [asked] if asked else []
        me = inputs.identity
        spec = ServiceSpec(me.application, watch.MODULE, me.unit)
        problems += watcher.arrange(self.host, inputs.charm_dir, spec, problems, _WAITING)
        return Outcome(tuple(problems), self._silence() or active, tuple(done))

    def settings(self) -> Settings:
        """Return what the webhook runs by. Raises CharmkitError: Keystone is not known."""
        inputs, options = self.inputs, self.inputs.options
        if inputs.access is None:
            raise inputs.no_access or ConfigError("keystone-url", "is not set")
        ca = daemon.ca_path(inputs.identity.application) if inputs.access.ca else ""
        return Settings(
            port=options.webhook_port,
            keystone=inputs.access.url,
            ca=ca,
            user_prefix=options.user_prefix,
            group_prefix=options.group_prefix,
            limits=Limits(
                fresh=options.cache_ttl,
                grace=options.stale_grace,
                refused=options.negative_ttl,
                timeout=options.keystone_timeout,
            ),
        )

    def keystone(self) -> Keystone:
        """Return a session that is not logged in. Raises CharmkitError: no way to Keystone."""
        if self.inputs.access is None:
            raise self.inputs.no_access or ConfigError("keystone-url", "is not set")
        return Keystone(self.inputs.access, self.gateways.keystone_transport())

    def naming(self) -> Naming:
        """Return how users and groups are called."""
        return Naming(self.inputs.options.user_prefix, self.inputs.options.group_prefix)

    def connect(self) -> Kube:
        """Return the cluster as our own account sees it. Raises CharmkitError: no way in."""
        inputs = self.inputs
        return connect(
            self.host,
            inputs.identity.application,
            self.grant(),
            namespace=HOME,
            ways=(inputs.ways, inputs.no_way),
            make_kube=self.gateways.kube,
        )

    def look(self, kube: Kube, *, force: bool = False) -> Sight:
        """Return what is to be in the cluster. Raises CharmkitError."""
        with self.keystone() as keystone:
            keystone.log_in()
            projects, roles = self._projects(keystone), keystone.list_roles()
        namespaces = kube.list(NAMESPACE)
        today = time.strftime("%Y-%m-%d", time.gmtime(self.host.now()))
        template = self.inputs.options.namespace_template
        layout = arrange(projects, namespaces, template, today=today, force=force)
        counts = _count_offered(kube.list(NODE))
        cut = tuple(name for name in sorted(counts) if counts[name])
        return Sight(layout, roles, tuple(sorted(counts)), cut)

    def render(self, sight: Sight) -> tuple[list[Object], list[CharmkitError]]:
        """Return the objects, and what is wrong with single projects."""
        options = self.inputs.options
        objects, problems = render_all(self.rules(), sight.layout.spaces, sight.offered)
        unknown = find_unknown(options.role_map, sight.roles)
        wrong = [ConfigError("role-map", unknown)] if unknown else []
        return objects, [*sight.layout.problems, *wrong, *problems]

    def rules(self) -> Rules:
        """Return what is the same for every project."""
        options = self.inputs.options
        return Rules(
            application=self.inputs.identity.application,
            naming=self.naming(),
            roles=options.role_map,
            hard=options.gpu_quota == HARD,
            default_quota=options.default_quota,
            container_defaults=options.container_defaults,
            isolate=options.network_policy == ISOLATE,
            pod_security=options.pod_security,
        )

    def addon(self, kube: Kube) -> Addon:
        """Return what we keep in the cluster."""
        return Addon(kube, self.inputs.identity.application, HOME)

    def grant(self) -> Grant:
        """Return what our account may do: the calls of this charm, and binding these roles."""
        me = self.inputs.identity.application
        own = tuple(f"{me}-{role}" for role in OWN)
        bound = (*own, *foreign_targets(self.inputs.options.role_map))
        return Grant(
            cluster=(
                Rule(("namespaces",), ("get", "list", "create", "patch")),
                Rule(("nodes",), ("list",)),
                Rule(("resourcequotas", "limitranges"), _ALL),
                Rule(("networkpolicies",), _ALL, "networking.k8s.io"),
                Rule(("rolebindings",), _ALL, _RBAC),
                Rule(("clusterroles",), ("list", "create"), _RBAC),
                Rule(("clusterroles",), ("get",), _RBAC, bound),
                Rule(("clusterroles",), ("patch", "delete", "escalate"), _RBAC, own),
                Rule(("clusterroles",), ("bind",), _RBAC, bound),
            ),
            namespaced=(Rule(("configmaps",), ("get", "create", "patch", "delete")),),
        )

    def _sync(
        self, problems: list[CharmkitError], *, sweep: bool, force: bool
    ) -> tuple[list[str], str]:
        """Keep namespaces, quotas and bindings; return what was done, and how many there are."""
        try:
            kube = self.connect()
            sight = self.look(kube, force=force)
            if sweep:
                self._check_targets(kube)
            objects, wrong = self.render(sight)
            problems += wrong
            done = self.addon(kube).ensure(objects, sweep=sweep or force)
        except (ForbiddenError, UnauthorizedError):
            # The account may have lost its token or its role: it is made again next time.
            forget_account(self.host, self.inputs.identity.application)
            raise
        return done, _describe(sight.layout)

    def _serve(self) -> None:
        """Keep the webhook of this machine as the options say; without Keystone it stays."""
        inputs = self.inputs
        if inputs.access is None:
            return
        me = inputs.identity
        if inputs.access.ca:
            tls_of(inputs.access)  # Before the file: a service that starts anew has to read it.
        daemon.ensure_webhook(
            self.host, inputs.charm_dir, me.application, me.unit, self.settings(), inputs.access.ca
        )

    def _silence(self) -> str:
        """Return that Keystone gives this machine's webhook no answer; empty while it does."""
        seconds = self.gateways.webhook_metrics(self.inputs.options.webhook_port).get(
            "unanswered_seconds", 0.0
        )
        minutes = int(seconds // 60)
        return f"Keystone silent for {minutes} min, known tokens are served" if minutes else ""

    def _projects(self, keystone: Keystone) -> list[Project]:
        selector = self.inputs.options.selector
        query: Mapping[str, str] = {}
        if selector.choice is Choice.TAG:
            query = {"tags": selector.values[0]}
        elif selector.choice is Choice.DOMAIN:
            query = {"domain_id": keystone.find_domain(selector.values[0])}
        return [one for one in keystone.list_projects(query) if selector.takes(one)]

    def _check_targets(self, kube: Kube) -> None:
        """Refuse bindings to roles that are not there: they would grant whatever comes later."""
        for target in foreign_targets(self.inputs.options.role_map):
            if kube.find(CLUSTER_ROLE, target) is None:
                raise InterventionError(
                    f"role-map: the cluster has no ClusterRole {target}, make it"
                )


def _count_offered(nodes: list[Object]) -> Counter[str]:
    """Return how much there is of each resource of NVIDIA that nodes know.

    A kubelet keeps the name of what no plugin offers any more, with 0.

    Source: Kubernetes 1.35.4, pkg/kubelet/nodestatus/setters.go, MachineInfo.
    """
    found: Counter[str] = Counter()
    for node in nodes:
        capacity: Object = node.get("status", {}).get("capacity") or {}
        for name, quantity in capacity.items():
            if name.startswith("nvidia.com/"):
                found[name] += int(quantity) if str(quantity).isdecimal() else 1
    return found


def _describe(layout: Layout) -> str:
    others = [state for state in (State.DISABLED, State.ORPHANED) if layout.count(state)]
    closed = [f"{layout.count(state)} {state.value}" for state in others]
    number = layout.count(State.OPEN)
    return ", ".join([f"{number} project{'s' * (number != 1)}", *closed])
