# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a user may do: roles, cluster roles and their bindings.

Source: Kubernetes documentation, "Using RBAC Authorization" (1.35); texts as a real server gave
them. Not modelled: aggregated roles, the check against escalation, the Node authorizer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from standins.kubernetes.answers import RefusalError, details_of, qualified
from standins.kubernetes.identity import AUTHENTICATED, MASTERS, User
from standins.kubernetes.routes import Route
from standins.kubernetes.store import Store

GROUP = "rbac.authorization.k8s.io"
PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")
DISCOVERY_PATHS = ("/api", "/apis", "/openapi")

Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Grants:
    """What one user has: rules for the whole cluster, and rules by namespace."""

    cluster: tuple[Rule, ...]
    namespaced: Mapping[str, tuple[Rule, ...]]


class Authorizer:
    """Decides by the roles that are in the store now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: dict[User, Grants] = {}
        self._seen = -1

    def check(self, user: User, verb: str, route: Route) -> None:
        """Let a request on a resource pass, or refuse it.

        Raises:
            RefusalError: 403 with the text of a real server.
        """
        if not self.is_allowed(user, verb, route):
            raise _forbidden(user, verb, route)

    def is_allowed(self, user: User, verb: str, route: Route) -> bool:
        """Return whether a user may do something to a resource."""
        if MASTERS in user.groups:
            return True
        grants = self._grants(user)
        rules = grants.cluster
        if route.namespace:
            rules = (*rules, *grants.namespaced.get(route.namespace, ()))
        return any(_covers(rule, verb, route) for rule in rules)

    def check_path(self, user: User, path: str) -> None:
        """Let a request on a path that is no resource pass, or refuse it.

        Raises:
            RefusalError: 403.
        """
        if MASTERS in user.groups or path.startswith(PUBLIC_PATHS):
            return
        if AUTHENTICATED in user.groups and path.startswith(DISCOVERY_PATHS):
            return
        raise RefusalError(
            403, "Forbidden", f'forbidden: User "{user.name}" cannot get path "{path}"'
        )

    def _grants(self, user: User) -> Grants:
        if self._seen != self._store.roles:
            self._cache.clear()
            self._seen = self._store.roles
        if user not in self._cache:
            self._cache[user] = self._collect(user)
        return self._cache[user]

    def _collect(self, user: User) -> Grants:
        cluster: list[Rule] = []
        for binding in self._scan("clusterrolebindings"):
            if _binds(binding, user):
                cluster += self._rules(binding, "")
        namespaced: dict[str, tuple[Rule, ...]] = {}
        for binding in self._scan("rolebindings"):
            if _binds(binding, user):
                namespace = binding["metadata"]["namespace"]
                rules = self._rules(binding, namespace)
                namespaced[namespace] = (*namespaced.get(namespace, ()), *rules)
        return Grants(tuple(cluster), namespaced)

    def _rules(self, binding: Mapping[str, Any], namespace: str) -> Iterable[Rule]:
        reference = binding["roleRef"]
        is_cluster = reference["kind"] == "ClusterRole"
        resource = self._store.find_resource(
            qualified("clusterroles" if is_cluster else "roles", GROUP)
        )
        if resource is None:
            return ()
        role = self._store.find(resource, "" if is_cluster else namespace, reference["name"])
        return (role or {}).get("rules") or ()

    def _scan(self, plural: str) -> Iterable[Mapping[str, Any]]:
        resource = self._store.find_resource(qualified(plural, GROUP))
        return self._store.scan(resource) if resource else ()


def _binds(binding: Mapping[str, Any], user: User) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject["kind"], subject["name"]
        if kind == "ServiceAccount":
            name = f"system:serviceaccount:{subject.get('namespace', '')}:{name}"
        if name in user.groups if kind == "Group" else name == user.name:
            return True
    return False


def _covers(rule: Rule, verb: str, route: Route) -> bool:
    names = rule.get("resourceNames")
    return (
        _has(rule.get("verbs"), verb)
        and _has(rule.get("apiGroups"), route.group)
        and _has_resource(rule.get("resources"), route)
        and (not names or (bool(route.name) and route.name in names))
    )


def _has(values: Any, value: str) -> bool:
    return bool(values) and (value in values or "*" in values)


def _has_resource(values: Any, route: Route) -> bool:
    if _has(values, route.resource):
        return True
    return bool(route.subresource) and f"*/{route.subresource}" in (values or ())


def _forbidden(user: User, verb: str, route: Route) -> RefusalError:
    subject = qualified(route.plural, route.group)
    if route.name:
        subject = f'{subject} "{route.name}"'
    scope = f'in the namespace "{route.namespace}"' if route.namespace else "at the cluster scope"
    return RefusalError(
        403,
        "Forbidden",
        f'{subject} is forbidden: User "{user.name}" cannot {verb} resource "{route.resource}" '
        f'in API group "{route.group}" {scope}',
        details=details_of(route.plural, route.group, route.name),
    )
