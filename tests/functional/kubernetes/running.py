# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the tests on real control planes share: skipping, and what is in a cluster."""

import os
import time
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import httpx2
import pytest

from tests.functional.kubernetes import binaries

SMALL = ("etcd", "kube-apiserver", "kube-controller-manager")
WHOLE = (*SMALL, "kube-scheduler")
Seen = TypeVar("Seen")

PASSING = frozenset(
    {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"}
)
"""Resources whose objects come and go by themselves."""


def require(names: Sequence[str]) -> None:
    """Build or find programs; where that cannot be, skip, and fail on a CI machine."""
    missing = binaries.find_missing(names)
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


def eventually(
    probe: Callable[[], bool],
    what: str,
    seconds: float = 30.0,
    saw: Callable[[], object] = lambda: "",
) -> None:
    """Return once a probe says so; what does not come true fails the test, with what was seen."""
    end = time.monotonic() + seconds
    while not probe():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what} {saw()}".rstrip()
        time.sleep(0.05)


def becomes(read: Callable[[], Seen], wanted: Seen, seconds: float = 30.0) -> None:
    """Return once what is read is what is wanted; what it was at last fails the test."""
    end = time.monotonic() + seconds
    while (found := read()) != wanted:
        assert time.monotonic() < end, f"after {seconds:g} s {found}, not {wanted}"
        time.sleep(0.05)


def nothing_stays(left: Callable[[], Collection[str]], seconds: float = 60.0) -> None:
    """Return once nothing is left; what is fails the test by its name."""
    end = time.monotonic() + seconds
    while found := left():
        assert time.monotonic() < end, f"left after {seconds:g} s: {', '.join(sorted(found))}"
        time.sleep(0.05)


def listing(client: httpx2.Client) -> set[str]:
    """Return everything that is in a cluster, of every kind, as ``resource namespace/name``."""
    found: set[str] = set()
    for root, group in _groups(client):
        for resource in client.get(root).json()["resources"]:
            plural = resource["name"]
            key = f"{plural}.{group}" if group else plural
            if "list" not in resource["verbs"] or "/" in plural or key in PASSING:
                continue
            for item in client.get(f"{root}/{plural}").json()["items"]:
                metadata = item["metadata"]
                found.add(f"{key} {metadata.get('namespace', '')}/{metadata['name']}")
    return found


def path_of(client: httpx2.Client, obj: dict[str, object]) -> str:
    """Return the path of an object, as discovery has its kind.

    Raises:
        LookupError: The server serves no such kind.
    """
    version, metadata = str(obj["apiVersion"]), obj["metadata"]
    assert isinstance(metadata, dict)
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    answer = client.get(root)
    for resource in answer.json().get("resources", ()):
        if resource["kind"] == obj["kind"] and "/" not in resource["name"]:
            place = f"/namespaces/{metadata['namespace']}" if resource["namespaced"] else ""
            return f"{root}{place}/{resource['name']}/{metadata['name']}"
    raise LookupError(f"the server serves no {version} {obj['kind']}")


def _groups(client: httpx2.Client) -> list[tuple[str, str]]:
    """Return path and name of every group in its preferred version."""
    groups = client.get("/apis").json()["groups"]
    named = [(f"/apis/{g['preferredVersion']['groupVersion']}", g["name"]) for g in groups]
    return [("/api/v1", ""), *named]
