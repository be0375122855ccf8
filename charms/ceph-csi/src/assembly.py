# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one unit works with: inputs from Juju, its account in the cluster, its gateways."""

from dataclasses import dataclass, field

from cephcli import Ceph
from charmkit.account import Grant, Rule, forget_account
from charmkit.addon import connect
from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ForbiddenError
from charmkit.gateways import Gateways
from charmkit.host import Host
from charmkit.kube import Kube
from charmkit.refusals import UnauthorizedError
from config import CephCsiOptions
from driverset import (
    CONTROLLER_CLUSTER,
    CONTROLLER_NAMESPACED,
    NODE_CLUSTER,
    NODE_NAMESPACED,
)
from names import ADOPTED_SECRETS, DRIVERS, NAMESPACE
from offers import Offer
from s3 import S3_NAME, Bucket

_RBAC = "rbac.authorization.k8s.io"
_STORAGE = "storage.k8s.io"
_SNAPSHOT = "snapshot.storage.k8s.io"
_KEEP = ("get", "list", "create", "patch", "delete")
_ROLES = ("ceph-csi-node", "ceph-csi-controller")
_OTHERS = ("csi-rbdplugin", "csi-cephfsplugin")
_CONTROLLERS = tuple(f"{name}-provisioner" for name in _OTHERS)

GRANT = Grant(
    cluster=(
        Rule(("nodes", "persistentvolumes"), ("list",)),
        Rule(("namespaces",), ("get", "patch"), names=(NAMESPACE,)),
        Rule(("storageclasses",), _KEEP, _STORAGE),
        Rule(("csidrivers",), ("list", "create"), _STORAGE),
        Rule(("csidrivers",), ("get", "patch", "delete"), _STORAGE, tuple(DRIVERS.values())),
        Rule(("daemonsets",), ("list",), "apps"),
        Rule(("daemonsets",), ("get", "delete"), "apps", _OTHERS),
        Rule(("deployments",), ("get", "delete"), "apps", _CONTROLLERS),
        Rule(("customresourcedefinitions",), ("get",), "apiextensions.k8s.io"),
        Rule(("volumesnapshotclasses",), _KEEP, _SNAPSHOT),
        Rule(("volumesnapshotcontents",), ("list",), _SNAPSHOT),
        Rule(("clusterroles", "clusterrolebindings"), ("list", "create"), _RBAC),
        Rule(("clusterroles", "clusterrolebindings"), ("get", "patch", "delete"), _RBAC, _ROLES),
        Rule(("secrets", "configmaps"), ("create",)),
        Rule(("secrets",), ("get", "patch", "delete"), names=(*ADOPTED_SECRETS, S3_NAME)),
        Rule(("configmaps",), ("get", "patch", "delete"), names=(S3_NAME,)),
        *NODE_CLUSTER,
        *CONTROLLER_CLUSTER,
    ),
    namespaced=(
        Rule(("secrets", "configmaps", "serviceaccounts", "services"), _KEEP),
        Rule(("daemonsets", "deployments"), _KEEP, "apps"),
        Rule(("roles", "rolebindings"), _KEEP, _RBAC),
        Rule(("pods", "persistentvolumeclaims"), ("get", "create", "patch", "delete")),
        *NODE_NAMESPACED,
        *CONTROLLER_NAMESPACED,
    ),
)
"""What the charm's account may do: its own calls, and every rule of the drivers' roles.

The API lets nobody write a role with rules that they do not hold. The verb `escalate` would lift
that for good; holding the drivers' rules gives the account no more than the drivers' pods have,
which it makes (decision 0012).
"""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What Juju tells about one unit.

    Attributes:
        application: Name of the application.
        unit: Name of the unit.
        leader: The unit writes what the cluster has.
        sweep: Compare everything with what is there.
        options: What the operator wants; the defaults where an option is refused.
        refused: Why the options are refused; None when they are good.
        passphrase: For encrypted volumes; empty for none.
        offers: Ceph clusters that are offered, the oldest first.
        buckets: Object storage that is offered; at most one.
        problems: What is wrong with secrets and relations.
        ways: Ways into the Kubernetes cluster, best first, or why there is none.
    """

    application: str
    unit: str
    leader: bool
    sweep: bool
    options: CephCsiOptions
    refused: CharmkitError | None
    passphrase: str = field(repr=False)
    offers: tuple[Offer, ...]
    buckets: tuple[Bucket, ...]
    problems: tuple[CharmkitError, ...]
    ways: tuple[tuple[Credentials, ...], CharmkitError | None]


class Parts:
    """The gateways of one unit; nothing is called before it is used."""

    def __init__(self, inputs: Inputs, gateways: Gateways) -> None:
        self.inputs = inputs
        self.gateways = gateways
        self.host: Host = gateways.host()
        self._kube: Kube | None = None

    @property
    def kube(self) -> Kube:
        """The Kubernetes cluster as the charm's own account sees it.

        Raises:
            CharmkitError: No way leads into it, and no account is cached.
        """
        if self._kube is None:
            self._kube = connect(
                self.host,
                self.inputs.application,
                GRANT,
                namespace=NAMESPACE,
                ways=self.inputs.ways,
                make_kube=self.gateways.kube,
            )
        return self._kube

    def make_ceph(self, offer: Offer, key: str) -> Ceph:
        """Return a Ceph cluster, seen with one key."""
        return Ceph(self.host, self.inputs.application, offer, key)

    def forget_refused(self, error: CharmkitError) -> None:
        """Forget the account when it lost its token or its role: it is made again next time."""
        if isinstance(error, (ForbiddenError, UnauthorizedError)):
            forget_account(self.host, self.inputs.application)
