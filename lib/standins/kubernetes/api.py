# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The API server: authentication, authorisation, audit, and one function that answers requests."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from standins.kubernetes import discovery, routes, tables
from standins.kubernetes.answers import (
    ApiRequest,
    ApiResponse,
    RefusalError,
    answer,
    not_found,
    not_implemented,
)
from standins.kubernetes.authorization import Authorizer
from standins.kubernetes.calls import Call
from standins.kubernetes.cluster import Cluster
from standins.kubernetes.eviction import check_eviction
from standins.kubernetes.identity import MASTERS, MIN_SECONDS, Identities, Reviewer, User
from standins.kubernetes.routes import Route
from standins.kubernetes.store import timestamp
from standins.kubernetes.verbs import Verbs

ADMIN_TOKEN = "admin-of-the-cluster"  # noqa: S105 - it opens a simulated cluster only
AUDIT_LENGTH = 100_000
TOKEN_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Access:
    """One line of the audit log.

    Attributes:
        resource: As roles spell it, with its group: `nodes`, `daemonsets.apps`, `pods/eviction`;
            the path of a request that is on no resource.
        code: HTTP status of the answer.
    """

    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int


class ApiServer(Cluster):
    """A Kubernetes API in memory.

    Charms come through `handle`, by one of the two fronts; stand-ins in process use the plain
    calls of `Cluster`.
    """

    has_controllers = False
    """Nothing acts on objects by itself here: the world runs controllers and scheduler."""

    def __init__(self, clock: Callable[[], float], *, key: str = "rehearsal") -> None:
        """Start an empty cluster with its first namespaces and roles.

        Args:
            clock: Seconds since the epoch.
            key: Secret by which tokens of ServiceAccounts are signed.
        """
        super().__init__(clock)
        self.audit: deque[Access] = deque(maxlen=AUDIT_LENGTH)
        self.identities = Identities(self.store, clock, key)
        self.identities.add(ADMIN_TOKEN, "admin", (MASTERS,))
        self._authorizer = Authorizer(self.store)
        self._verbs = Verbs(self)

    def add_token(self, token: str, user: str, groups: tuple[str, ...] = ()) -> None:
        """Make a static token stand for a user.

        Args:
            token: What a client sends.
            user: Its name.
            groups: `system:masters` may do everything.
        """
        self.identities.add(token, user, groups)

    def use_reviewer(self, reviewer: Reviewer) -> None:
        """Ask a token webhook about tokens that the cluster does not know."""
        self.identities.reviewer = reviewer

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Return the answer to one request; a refusal is an answer too."""
        route = routes.parse(request.path)
        verb = routes.verb_of(request, route)
        user = None
        try:
            user = self.identities.authenticate(request.headers)
            response = self._answer(request, route, verb, user)
        except RefusalError as refusal:
            response = refusal.response()
        name = user.name if user else ""
        resource = _audited(route) or request.path
        self.audit.append(
            Access(name, verb, resource, route.namespace, route.name, response.status)
        )
        return response

    def is_allowed(self, user: User, verb: str, route: Route) -> bool:
        """Return whether a user may do something to a resource."""
        return self._authorizer.is_allowed(user, verb, route)

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values: objects, the signing key, static tokens."""
        tokens = {
            token: {"user": user.name, "groups": sorted(user.groups)}
            for token, user in self.identities.static.items()
        }
        return {**super().dump(), "key": self.identities.key, "tokens": tokens}

    def load(self, data: dict[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        super().load(data)
        self.identities.key = data.get("key", self.identities.key)
        for token, user in data.get("tokens", {}).items():
            self.identities.add(token, user["user"], tuple(user["groups"]))

    def _answer(self, request: ApiRequest, route: Route, verb: str, user: User) -> ApiResponse:
        if not route.plural:
            self._authorizer.check_path(user, request.path)
            return discovery.answer_path(self.store, request.path)
        self._authorizer.check(user, verb, route)
        call = self._call(request, route, user)
        response = self._dispatch(call, verb)
        if verb in ("get", "list") and tables.is_wanted(request.headers):
            return tables.as_table(response, call.resource, self.clock())
        return response

    def _call(self, request: ApiRequest, route: Route, user: User) -> Call:
        key = f"{route.plural}.{route.group}" if route.group else route.plural
        resource = self.store.find_resource(key)
        if resource is None or resource.version != route.version:
            raise RefusalError(404, "NotFound", "the server could not find the requested resource")

        def may_create() -> None:
            self._authorizer.check(user, "create", route)

        place = route if resource.namespaced else replace(route, namespace="")
        return Call(request, place, resource, user, may_create)

    def _dispatch(self, call: Call, verb: str) -> ApiResponse:
        if verb == "create" and call.route.subresource:
            return self._create_in(call)
        subresource = call.route.subresource
        if subresource not in ("", "status") or verb not in _VERBS:
            raise not_implemented(f"{verb} of {call.route.resource}")
        if subresource and subresource not in call.resource.subresources:
            raise RefusalError(404, "NotFound", "the server could not find the requested resource")
        act = _VERBS[verb]
        if call.request.query.get("dryRun") == "All" and verb not in ("get", "list"):
            with self.store.unchanged():
                return act(self._verbs, call)
        return act(self._verbs, call)

    def _create_in(self, call: Call) -> ApiResponse:
        act = _CREATIONS.get((call.resource.key, call.route.subresource))
        if act is None:
            raise not_implemented(f"create of {call.route.resource}")
        found = self.store.find(call.resource, call.route.namespace, call.route.name)
        if found is None:
            raise not_found(call.resource.plural, call.resource.group, call.route.name)
        return act(self, call, found)

    def _evict(self, call: Call, pod: dict[str, Any]) -> ApiResponse:
        check_eviction(self, pod)
        options = call.body().get("deleteOptions") or {}
        grace = options.get("gracePeriodSeconds")
        self.lifecycle.delete(call.resource, pod, grace=grace)
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return answer({**status, "code": 201}, 201)

    def _issue_token(self, call: Call, account: dict[str, Any]) -> ApiResponse:
        spec = call.body().get("spec") or {}
        seconds = int(spec.get("expirationSeconds") or TOKEN_SECONDS)
        if seconds < MIN_SECONDS:
            raise RefusalError(
                422,
                "Invalid",
                f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
                f"Invalid value: {seconds}: may not specify a duration less than 10 minutes",
            )
        metadata = account["metadata"]
        token, end = self.identities.issue(
            metadata["namespace"], metadata["name"], metadata["uid"], seconds
        )
        document = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "spec": {**spec, "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": timestamp(end)},
        }
        return answer(document, 201)


def _audited(route: Route) -> str:
    if not route.plural:
        return ""
    plural = f"{route.plural}.{route.group}" if route.group else route.plural
    return f"{plural}/{route.subresource}" if route.subresource else plural


_VERBS: Mapping[str, Callable[[Verbs, Call], ApiResponse]] = {
    "get": Verbs.get,
    "list": Verbs.list_objects,
    "create": Verbs.create,
    "update": Verbs.update,
    "patch": Verbs.patch,
    "delete": Verbs.delete,
    "deletecollection": Verbs.delete_collection,
}
"""Verbs that are answered; the others, watch among them, get 501."""

_CREATIONS: Mapping[tuple[str, str], Callable[[ApiServer, Call, dict[str, Any]], ApiResponse]] = {
    ("pods", "eviction"): ApiServer._evict,
    ("serviceaccounts", "token"): ApiServer._issue_token,
}
"""Subresources that are created: an eviction, a token."""
