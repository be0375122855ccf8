# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One request on a resource: what it carries, and whether it fits where it was sent."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from standins.kubernetes.answers import (
    ApiRequest,
    ApiResponse,
    RefusalError,
    details_of,
)
from standins.kubernetes.identity import User
from standins.kubernetes.resources import Resource
from standins.kubernetes.routes import Route
from standins.kubernetes.store import Object


@dataclass(frozen=True, slots=True)
class Call:
    """One request on a resource, with everything that was found out about it."""

    request: ApiRequest
    route: Route
    resource: Resource
    user: User
    may_create: Callable[[], None]

    @property
    def manager(self) -> str:
        """Field manager: as asked, else the first word of the client's name."""
        agent = self.request.headers.get("user-agent", "unknown")
        return self.request.query.get("fieldManager") or agent.partition("/")[0]

    @property
    def is_strict(self) -> bool:
        """Whether the client wants unknown fields refused."""
        return self.request.query.get("fieldValidation") == "Strict"

    def body(self) -> dict[str, Any]:
        """Return the document that was sent.

        Raises:
            RefusalError: 400, it is no object; 415, it is not JSON or YAML.
        """
        if "protobuf" in self.request.headers.get("content-type", ""):
            raise unsupported("application/json, application/yaml")
        try:
            document = json.loads(self.request.body)
        except ValueError:
            document = _yaml(self.request.body)
        if not isinstance(document, dict):
            raise RefusalError(400, "BadRequest", "the body is not an object")
        return document

    def decoded(self) -> Object:
        """Return the object that was sent, complete with what the path says.

        Raises:
            RefusalError: 400, it is another one than the path names.
        """
        return self.named(self.body(), name=bool(self.route.name))

    def named(self, obj: Object, *, name: bool) -> Object:
        """Return an object that says what it is, where it is and how it is called.

        Args:
            obj: Edited where it leaves something out.
            name: Whether the path names one object.

        Raises:
            RefusalError: 400, the object says something else than the path.
        """
        wanted = (self.resource.api_version, self.resource.kind)
        sent = (obj.setdefault("apiVersion", wanted[0]), obj.setdefault("kind", wanted[1]))
        if sent != wanted:
            raise _mismatch(
                f"the API version in the data ({sent[0]}, Kind={sent[1]}) does not match the "
                f"expected API version ({wanted[0]}, Kind={wanted[1]})"
            )
        metadata = obj.setdefault("metadata", {})
        if name and metadata.setdefault("name", self.route.name) != self.route.name:
            raise _mismatch(
                f"the name of the object ({metadata['name']}) does not match the name on the URL "
                f"({self.route.name})"
            )
        if not self.resource.namespaced:
            metadata.pop("namespace", None)
        elif metadata.setdefault("namespace", self.route.namespace) != self.route.namespace:
            raise _mismatch(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        return obj


def _mismatch(text: str) -> RefusalError:
    return RefusalError(400, "BadRequest", text)


def _yaml(body: bytes) -> Any:
    try:
        return yaml.safe_load(body)
    except yaml.YAMLError as error:
        raise RefusalError(400, "BadRequest", f"error decoding the body: {error}") from error


def generated_name(obj: Object, revision: int) -> str:
    """Return a name for an object that asks for one by generateName.

    Raises:
        RefusalError: 422, it has neither.
    """
    prefix = obj["metadata"].get("generateName")
    if not prefix:
        raise RefusalError(
            422,
            "Invalid",
            f'{obj["kind"]} "" is invalid: metadata.name: Required value: name or generateName '
            "is required",
        )
    digest = hashlib.sha256(f"{prefix}{revision}".encode()).hexdigest()
    return f"{prefix}{digest[:5]}"


def continued(call: Call, forgotten: int) -> int:
    """Return where a list goes on.

    Args:
        call: May carry the token of an earlier page.
        forgotten: Revision up to which nothing is known any more.

    Raises:
        RefusalError: 410, the earlier page is too old.
    """
    start, _, revision = call.request.query.get("continue", "").partition("/")
    if revision and int(revision) <= forgotten:
        raise RefusalError(
            410,
            "Expired",
            "The provided continue parameter is too old to display a consistent list result. "
            "You can start a new list without the continue parameter.",
        )
    return int(start or 0)


def check_version(call: Call, old: Object, new: Object) -> None:
    """Refuse a write that was made from an older object.

    Raises:
        RefusalError: 409.
    """
    asked = new["metadata"].get("resourceVersion")
    if asked and asked != old["metadata"]["resourceVersion"]:
        raise _modified(
            call,
            "the object has been modified; please apply your changes to the latest version and "
            "try again",
        )


def check_preconditions(call: Call, found: Object, wanted: Mapping[str, Any]) -> None:
    """Refuse a delete that means another object.

    Raises:
        RefusalError: 409.
    """
    for field in ("uid", "resourceVersion"):
        if field in wanted and wanted[field] != found["metadata"][field]:
            raise _modified(call, f"the {field} in the precondition does not match")


def _modified(call: Call, text: str) -> RefusalError:
    resource, name = call.resource, call.route.name
    return RefusalError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {resource.key} "{name}": {text}',
        details=details_of(resource.plural, resource.group, name),
    )


def listed(obj: Object, resource: Resource) -> Mapping[str, Any]:
    """Return an item of a list: built-in kinds leave out what the list says already."""
    if "." in resource.group and not resource.group.endswith(".k8s.io"):
        return obj
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def success(call: Call, found: Object) -> dict[str, Any]:
    """Return the Status of a delete that is done."""
    details = details_of(call.resource.plural, call.resource.group, call.route.name)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**details, "uid": found["metadata"]["uid"]},
    }


def unsupported(accepted: str) -> RefusalError:
    """Return the refusal of a body in a format that the resource does not take."""
    return RefusalError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        f"{accepted}",
    )


def with_warnings(response: ApiResponse, warnings: list[str]) -> ApiResponse:
    """Return a response that carries warnings in its header."""
    if not warnings:
        return response
    texts = ", ".join(f"299 - {json.dumps(text)}" for text in warnings)
    return ApiResponse(response.status, response.body, {**response.headers, "warning": texts})
