# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Put the parts of a reconcile together: account, services, pool objects, cycle. Knows no Juju."""

from dataclasses import dataclass
from pathlib import Path

import boot
import topics
import watch
from advertiser import DevicePlugin
from charmkit.account import Grant, Rule, forget_account
from charmkit.addon import connect
from charmkit.credentials import Credentials
from charmkit.errors import (
    CharmkitError,
    ConflictError,
    ForbiddenError,
    RelationIncompleteError,
    RelationMissingError,
)
from charmkit.gpudriver import DriverState
from charmkit.host import Host
from charmkit.kinds import NODE
from charmkit.kube import Kube
from charmkit.refusals import UnauthorizedError
from charmkit.services import ServiceSpec, ensure_services
from charmkit.watcher import Waits
from config import WorkerOptions
from cycle import Cycle, Outcome
from gate import Store
from gateways import Gateways
from hardware import MachineGpus
from holding import CLASS_NAME
from node import Node, parse_node, plan_uncordon
from observed import NAMESPACE
from owner import check_owner, find_others
from ports import Identity, Lease
from worker import Worker

_MODULE = "nvidia"
"""Kernel module that NVML talks to."""

_AGAIN_SECONDS = 300.0
"""When to look again whether another pool has left: its agent may go without a word."""

GRANT = Grant(
    cluster=(
        Rule(("nodes",), ("get", "list", "patch")),
        Rule(("pods",), ("list",)),
        Rule(("pods/eviction",), ("create",)),
        Rule(("daemonsets",), ("list",), "apps"),
        Rule(("runtimeclasses",), ("create",), "node.k8s.io"),
        Rule(("runtimeclasses",), ("get", "patch", "delete"), "node.k8s.io", ("nvidia",)),
        Rule(("priorityclasses",), ("create",), "scheduling.k8s.io"),
        Rule(("priorityclasses",), ("get", "patch", "delete"), "scheduling.k8s.io", (CLASS_NAME,)),
        Rule(("namespaces",), ("get", "patch"), names=(NAMESPACE,)),
    ),
    namespaced=(
        Rule(("daemonsets",), ("get", "create", "patch", "delete"), "apps"),
        Rule(("pods",), ("get", "list", "create", "patch", "delete")),
    ),
)
"""What the account of a pool may do: the calls of this charm and no others, held by a test."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What Juju tells about one unit.

    Attributes:
        identity: Who we are.
        options: What the operator wants; the defaults where an option is refused.
        driver: What the driver of this machine says.
        problems: What is wrong with options and relations; while there is one nothing begins.
        leader: The unit keeps the pool's objects.
        lease: Leave to be out of service.
        ways: Ways into the cluster, best first.
        no_way: Why there is none; None when there is one.
        charm_dir: Where the charm's code is.
    """

    identity: Identity
    options: WorkerOptions
    driver: DriverState
    problems: tuple[CharmkitError, ...]
    leader: bool
    lease: Lease
    ways: tuple[Credentials, ...]
    no_way: CharmkitError | None
    charm_dir: Path


class Parts:
    """The gateways of one unit and what is built on them; nothing is called before it is used."""

    def __init__(self, inputs: Inputs, gateways: Gateways, host: Host) -> None:
        self.inputs = inputs
        self.gateways = gateways
        self.host = host
        self.store = Store(host.files, inputs.identity.application)

    def reconcile(self) -> Outcome:
        """Do everything that can be done now.

        Raises:
            CharmkitError: A gateway failed; the next reconcile goes on from there.
        """
        self._ensure_services()
        try:
            kube = self.connect()
            self._ensure_pool(kube)
            self._refuse_taken(kube)
            return self.make_cycle(kube).run()
        except (ForbiddenError, UnauthorizedError):
            # The account may have lost its token or its role: it is made again next time.
            forget_account(self.host, self.inputs.identity.application)
            raise

    def connect(self) -> Kube:
        """Return the cluster as the pool's own account sees it.

        Raises:
            CharmkitError: No way leads into the cluster, and no account is cached.
        """
        return connect(
            self.host,
            self.inputs.identity.application,
            GRANT,
            namespace=NAMESPACE,
            ways=(self.inputs.ways, self.inputs.no_way),
            make_kube=self.gateways.kube,
        )

    def make_cycle(self, kube: Kube) -> Cycle:
        """Return the cycle of this machine."""
        inputs = self.inputs
        problem = inputs.problems[0] if inputs.problems else None
        return Cycle(
            inputs.identity,
            inputs.options,
            inputs.driver,
            self.host,
            self.make_worker(kube),
            problem,
        )

    def make_worker(self, kube: Kube) -> Worker:
        """Return what reads and changes this machine."""
        gpus, kubelet = self.make_gpus(), self.gateways.pod_resources()
        return Worker(self.inputs.identity, self.host, kube, gpus, kubelet, self.inputs.lease)

    def make_gpus(self) -> MachineGpus:
        """Return the GPUs of this machine, by the numbers of the bus where no others are known.

        Nothing is cut by these: a cycle begins with what it knows of the GPUs.
        """
        usable = self.inputs.driver.ready or self._may_ask_nvml()
        return MachineGpus(self.host, usable=usable, known=self.store.find_known())

    def _may_ask_nvml(self) -> bool:
        """Say whether a closed node may be put back by what NVML says, for want of a driver unit.

        A driver that is there and not ready may be changing the module: then NVML is left alone.
        """
        missing = (RelationMissingError, RelationIncompleteError)
        if not any(isinstance(problem, missing) for problem in self.inputs.problems):
            return False
        return bool(self.store.read_progress().since) and _MODULE in self.host.modules()

    def _ensure_services(self) -> None:
        """Make the watcher run, and the service that restores the layout at boot."""
        me = self.inputs.identity
        watcher = ServiceSpec(me.application, watch.MODULE, me.unit)
        restorer = ServiceSpec(
            me.application,
            boot.MODULE,
            me.unit,
            before=boot.KUBELETS,
            after=boot.DRIVERS,
            oneshot=True,
        )
        ensure_services(self.host, self.inputs.charm_dir, watcher, restorer)

    def _refuse_taken(self, kube: Kube) -> None:
        """Touch no machine whose GPUs another pool has; go on when that has left.

        A cordon of ours that is left there would close the other's node.

        Raises:
            ConflictError: Another pool has them.
        """
        me, host = self.inputs.identity, self.host
        others = find_others(host.files, me.application)
        found = kube.find(NODE, host.node_name()) if others else None
        if found is None:
            return
        node = parse_node(found)
        try:
            check_owner(node, me.application, others)
        except ConflictError as error:
            if node.is_closed_by(me.application):
                kube.patch(NODE, node.name, plan_uncordon())
            self.inputs.lease.release()
            self._wait_for_other(node, error)
            raise

    def _wait_for_other(self, node: Node, error: ConflictError) -> None:
        """Look again when the other pool takes its labels off the node, and now and then."""
        me = self.inputs.identity
        Waits(self.host.files, me.application).write(
            unit=me.unit,
            topics={topics.NODE: topics.see_node(node)},
            until=self.host.now() + _AGAIN_SECONDS,
            reason=str(error),
        )

    def _ensure_pool(self, kube: Kube) -> None:
        """Keep the pool's objects, as its leader, once the platform's handler is known."""
        inputs = self.inputs
        if not inputs.leader or inputs.problems or not inputs.driver.runtime_handler:
            return
        plugin = DevicePlugin(
            application=inputs.identity.application,
            handler=inputs.driver.runtime_handler,
            strategy=inputs.options.strategy,
            registry=inputs.options.image_registry,
        )
        plugin.ensure(kube)
