# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a path asks for: a resource of the API, or something else.

Source: Kubernetes API conventions, "Verbs on Resources" and the paths of API concepts (1.35).
"""

from dataclasses import dataclass

from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.resources import Resource

_READ_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_OWN_SUBRESOURCES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Route:
    """A path, taken apart.

    Attributes:
        group: Empty for core.
        namespace: Empty at cluster scope.
        plural: Empty when the path is no resource, such as `/version`.
        name: Empty for a collection.
    """

    group: str = ""
    version: str = ""
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        """The resource as roles spell it: `pods`, `pods/eviction`."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


def parse(path: str) -> Route:
    """Return the route of a path; one without a plural when it names no resource."""
    parts = [part for part in path.split("/") if part]
    if len(parts) > 2 and parts[0] == "api":
        return _resource_route("", parts[1], parts[2:])
    if len(parts) > 3 and parts[0] == "apis":
        return _resource_route(parts[1], parts[2], parts[3:])
    return Route()


def _resource_route(group: str, version: str, rest: list[str]) -> Route:
    namespace = ""
    own = len(rest) < 3 or (len(rest) == 3 and rest[2] in _OWN_SUBRESOURCES)
    if rest[0] == "namespaces":
        namespace = rest[1] if len(rest) > 1 else ""
        if not own:
            rest = rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    return Route(group, version, namespace, plural, name, subresource)


def path_of(resource: Resource, namespace: str = "", name: str = "") -> str:
    """Return the path of an object, or of all objects of a kind without a name."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    place = f"/namespaces/{namespace}" if resource.namespaced and namespace else ""
    path = f"{root}/{resource.version}{place}/{resource.plural}"
    return f"{path}/{name}" if name else path


def verb_of(request: ApiRequest, route: Route) -> str:
    """Return the verb that roles know for a request."""
    if request.method in ("GET", "HEAD"):
        if request.query.get("watch") in ("true", "1"):
            return "watch"
        return "get" if route.name else "list"
    if request.method == "DELETE":
        return "delete" if route.name else "deletecollection"
    return _READ_VERBS.get(request.method, request.method.lower())
