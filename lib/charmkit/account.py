# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm's own account in a cluster: narrow, renewed, cached for the day the relation is gone.

The first contact is an administrator's: it writes a namespace, a ServiceAccount, a cluster role
with exactly the rules that the charm names, a role in its namespace, their bindings, and mints a
token. From then on the charm uses that token. It is cached in a file that root alone reads,
renewed at half of its life, and made again when the rules or the cluster changed or when
`forget_account` was called after a 401 or a 403.

Everything belongs to the cluster role (ownerReferences), so deleting that one object removes the
whole account, which an account may do to itself (`remove_account`).
"""

import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ForbiddenError, NotReadyError
from charmkit.host import Host
from charmkit.journal import CorruptStateError, StateFile
from charmkit.kinds import CLUSTER_ROLE, NAMESPACE
from charmkit.kube import Kube
from charmkit.manifests import MANAGED_BY, rendered_hash
from charmkit.refusals import UnauthorizedError

Object = dict[str, Any]
MakeKube = Callable[[Credentials, str], Kube]

SOURCE = "account"
"""`Credentials.source` of an own account: a 403 then names the role."""

TOKEN_SECONDS = 24 * 3600
"""Life that is asked for; the API server may give another, which is then the one that counts."""

KNOWN_SECONDS = 2.0
PAUSE_SECONDS = 0.05

_GROUP = "rbac.authorization.k8s.io"
_VERSION = f"{_GROUP}/v1"
_FIELDS = {"rules", "cluster", "namespace", "servers", "ca", "token", "expires", "renew"}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a role.

    Attributes:
        resources: As roles spell them: `nodes`, `pods/eviction`.
        verbs: get, list, patch, create, delete; an apply needs patch, and create where it creates.
        group: API group of the resources; empty for core.
        names: The only objects that the rule is for; empty means all.
    """

    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    group: str = ""
    names: tuple[str, ...] = ()

    def manifest(self) -> Object:
        """Return the rule as a role holds it."""
        rule: Object = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return {**rule, "resourceNames": list(self.names)} if self.names else rule


@dataclass(frozen=True, slots=True)
class Grant:
    """What an application may do.

    Attributes:
        cluster: Rules for the whole cluster.
        namespaced: Rules for the application's namespace alone.
    """

    cluster: tuple[Rule, ...]
    namespaced: tuple[Rule, ...] = ()


def ensure_account(
    host: Host,
    application: str,
    grant: Grant,
    *,
    namespace: str,
    ways: Sequence[Credentials],
    make_kube: MakeKube,
) -> Credentials:
    """Return credentials of the application's own account, made or renewed where needed.

    The API is asked nothing in the first half of the cached token's life, and the token is used
    to its end while no way leads into the cluster.

    Args:
        host: Has the clock and the cache.
        application: Name of the account, the roles and the field manager.
        grant: What the account may do.
        namespace: Where the account lives; made when it is not there.
        ways: An administrator's credentials, best first (`charmkit.access.find_credentials`).
        make_kube: The charm's gateway factory, `gateways.kube`.

    Raises:
        CharmkitError: No way in, and no valid token in the cache.
    """
    cache = _cache(host, application)
    kept, now = _recall(cache), host.now()
    rules, cluster = rendered_hash([{"namespace": namespace, **asdict(grant)}]), _cluster_of(ways)
    if kept and (kept["rules"] != rules or cluster not in ("", kept["cluster"])):
        kept = None
    if kept and now < kept["renew"]:
        return _credentials(kept, application, ways)
    try:
        token, expires = _make(application, grant, namespace, ways, make_kube)
    except CharmkitError:
        if not kept or now >= kept["expires"]:
            raise
        _logger.warning("the account of %s could not be renewed yet", application)
        return _credentials(kept, application, ways)
    data = {
        "rules": rules,
        "cluster": cluster,
        "namespace": namespace,
        "servers": list(ways[0].servers),
        "ca": ways[0].ca,
        "token": token,
        "expires": expires,
        "renew": now + (expires - now) / 2,
    }
    cache.write(data)
    own = _credentials(data, application, ways)
    with contextlib.closing(make_kube(own, application)) as kube:
        _wait_until_known(kube, application)
    return own


def _recall(cache: StateFile) -> dict[str, Any] | None:
    """Return the cached account; what is no account is as good as none, it is made again."""
    try:
        kept = cache.read()
    except CorruptStateError:
        return None
    return kept if kept and kept.keys() >= _FIELDS else None


def find_account(host: Host, application: str) -> Credentials | None:
    """Return the cached account, None when there is none or its token has ended."""
    kept = _recall(_cache(host, application))
    if kept is None or host.now() >= kept["expires"]:
        return None
    return _credentials(kept, application, ())


def forget_account(host: Host, application: str) -> bool:
    """Drop the cached token, after a 401 or a 403: the account will be made again."""
    return _cache(host, application).clear()


def remove_account(kube: Kube, host: Host, application: str) -> bool:
    """Delete the account with its roles, which is the last thing that it can do, and its cache.

    Raises:
        CharmkitError: The API did not delete it; the cache is kept.
    """
    gone = kube.delete(CLUSTER_ROLE, application)
    _cache(host, application).clear()
    return gone


def _cache(host: Host, application: str) -> StateFile:
    return StateFile(host.files, f"/var/lib/{application}/access.json", schema=1)


def _cluster_of(ways: Sequence[Credentials]) -> str:
    """Return what tells a cluster from another: its authority, or its servers without one."""
    if not ways:
        return ""
    text = "".join(ways[0].ca.split()) or " ".join(sorted(ways[0].servers))
    return rendered_hash([{"cluster": text}])


def _credentials(
    kept: Mapping[str, Any], application: str, ways: Sequence[Credentials]
) -> Credentials:
    servers = ways[0].servers if ways else tuple(kept["servers"])
    user = f"system:serviceaccount:{kept['namespace']}:{application}"
    return Credentials(servers, kept["token"], kept["ca"], user, SOURCE)


def _make(
    application: str,
    grant: Grant,
    namespace: str,
    ways: Sequence[Credentials],
    make_kube: MakeKube,
) -> tuple[str, float]:
    """Return a token and its end, by the first way that the API knows: one may be stale."""
    refusal = NotReadyError("no way into the cluster yet")
    for way in ways:
        kube = make_kube(way, application)
        try:
            return _write(kube, application, grant, namespace)
        except UnauthorizedError as error:
            refusal = error
        finally:
            kube.close()
    raise refusal


def _write(kube: Kube, application: str, grant: Grant, namespace: str) -> tuple[str, float]:
    if kube.find(NAMESPACE, namespace) is None:
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    kube.apply(_cluster_role(application, grant), force=True)
    role = kube.find(CLUSTER_ROLE, application)
    if role is None:
        raise NotReadyError(f"clusterroles {application}: deleted while it was made")
    for obj in _owned(application, grant, namespace, role["metadata"]["uid"]):
        kube.apply(obj, force=True)
    return kube.create_token(application, namespace, TOKEN_SECONDS)


def _wait_until_known(kube: Kube, application: str) -> None:
    """Return once the API servers have heard of the roles, or after a moment.

    Each server learns of a new binding by its own watch, milliseconds later (2 to 8 ms were
    measured on one server); without this the first call of the account would be refused.
    """
    end = time.monotonic() + KNOWN_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(ForbiddenError, UnauthorizedError):
            kube.find(CLUSTER_ROLE, application)
            return
        time.sleep(PAUSE_SECONDS)


def _cluster_role(application: str, grant: Grant) -> Object:
    own = Rule(("clusterroles",), ("get", "delete"), _GROUP, (application,))
    rules = [rule.manifest() for rule in (*grant.cluster, own)]
    return {**_head("ClusterRole", application), "rules": rules}


def _owned(application: str, grant: Grant, namespace: str, uid: str) -> list[Object]:
    """Return what hangs on the cluster role, in the order in which it is made."""
    subject = {"kind": "ServiceAccount", "name": application, "namespace": namespace}

    def owned(kind: str, version: str = _VERSION, **place: str) -> Object:
        owner = {"apiVersion": _VERSION, "kind": "ClusterRole", "name": application, "uid": uid}
        return _head(kind, application, version, ownerReferences=[owner], **place)

    def binding(kind: str) -> Object:
        reference = {"apiGroup": _GROUP, "kind": kind, "name": application}
        return {"roleRef": reference, "subjects": [subject]}

    rules = [rule.manifest() for rule in grant.namespaced]
    account = owned("ServiceAccount", "v1", namespace=namespace)
    return [
        {**account, "automountServiceAccountToken": False},
        {**owned("Role", namespace=namespace), "rules": rules},
        {**owned("RoleBinding", namespace=namespace), **binding("Role")},
        {**owned("ClusterRoleBinding"), **binding("ClusterRole")},
    ]


def _head(kind: str, application: str, version: str = _VERSION, **metadata: Any) -> Object:
    labels = {MANAGED_BY: application}
    metadata = {"name": application, "labels": labels, **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
