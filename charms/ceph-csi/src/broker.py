# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The broker protocol of the interface ceph-client: what is asked for, what was answered. Pure.

One request holds every operation, since a second one would take the place of the first. Its
identifier is a digest of the operations and of the key that they are for: the same request twice
is no work for the other side, and capabilities are asked for again when the user was made anew.
That second request also cures a provider that sets the capabilities before it makes the user
(microceph): it logs the failure and answers with success.

Source: charmhelpers contrib/storage/linux/ceph.py (CephBrokerRq, CephBrokerRsp); ceph-mon
src/ceph_client.py; charm-microceph src/relation_handlers.py and src/ceph_broker.py.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from caps import Usage, as_arguments, capabilities

API_VERSION = 1
Operation = dict[str, Any]
Verdict = Literal["pending", "done", "failed"]

_POOL_DEFAULTS: Mapping[str, Any] = {
    "pg_num": None,
    "crush-profile": None,
    "compression-algorithm": None,
    "compression-mode": None,
    "compression-required-ratio": None,
    "compression-min-blob-size": None,
    "compression-min-blob-size-hdd": None,
    "compression-min-blob-size-ssd": None,
    "compression-max-blob-size": None,
    "compression-max-blob-size-hdd": None,
    "compression-max-blob-size-ssd": None,
    "group": None,
    "max-bytes": None,
    "max-objects": None,
    "group-namespace": None,
    "rbd-mirroring-mode": "pool",
    "weight": None,
}
"""What charmhelpers writes with every create-pool; its absence trips older providers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the other side says about a request.

    Attributes:
        verdict: Whether it was carried out.
        reason: Why it failed; one line, may be empty.
    """

    verdict: Verdict
    reason: str = ""


def operations(
    client: str, usage: Usage, *, create: Iterable[str], replicas: int
) -> list[Operation]:
    """Return the operations of one cluster, in a fixed order.

    Args:
        client: User without `client.`: the application's name.
        usage: What the user needs.
        create: Pools to make where they are not there; others are the site's.
        replicas: Copies of a pool that is made.
    """
    pools = [_create_pool(name, replicas) for name in sorted(set(create))]
    permissions = as_arguments(capabilities(usage))
    return [*pools, {"op": "set-key-permissions", "client": client, "permissions": permissions}]


def request(ops: Sequence[Operation], key: str) -> str:
    """Return the value of `broker_req`; the same text for the same operations and key.

    Args:
        ops: As from `operations`.
        key: Key of the user as far as it is known; empty before it was made.
    """
    keyed = hashlib.sha256(key.encode()).hexdigest() if key else ""
    text = json.dumps([list(ops), keyed], sort_keys=True)
    identifier = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    body = {"api-version": API_VERSION, "ops": list(ops), "request-id": identifier}
    return json.dumps(body, sort_keys=True)


def request_id(text: str) -> str:
    """Return the identifier in a `broker_req`, empty when there is none."""
    found = _object(text).get("request-id")
    return found if isinstance(found, str) else ""


def find_answer(wanted: str, unit: str, bags: Iterable[Mapping[str, str]]) -> Answer:
    """Return what the providers' units say about a request of one of our units.

    Only the Ceph leader answers, and the leader changes: every bag is read, answers to other
    requests are none, and a success outweighs the failure that an earlier leader left behind.

    Args:
        wanted: Identifier of the request.
        unit: Our unit, such as `ceph-csi/0`.
        bags: The unit bags of the other side.
    """
    keys = (f"broker-rsp-{unit.replace('/', '-')}", "broker_rsp")
    answers = [_object(bag.get(key, "")) for bag in bags for key in keys]
    ours = [answer for answer in answers if wanted and answer.get("request-id") == wanted]
    if any(answer.get("exit-code") == 0 for answer in ours):
        return Answer("done")
    failed = next((answer for answer in ours if "exit-code" in answer), None)
    if failed is None:
        return Answer("pending")
    return Answer("failed", " ".join(str(failed.get("stderr") or "no reason given").split()))


def _create_pool(name: str, replicas: int) -> Operation:
    return {
        **_POOL_DEFAULTS,
        "op": "create-pool",
        "name": name,
        "replicas": replicas,
        "app-name": "rbd",
    }


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object; what is none, is empty: the bag is somebody else's text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
