# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The way to an API that refuses one call, in the words of a real server.

What a charm's tests put between its gateway and the API: it notes every call, so that a test can
refuse each of them in turn.
"""

import re

import httpx2

SAYS: dict[str, tuple[int, str]] = {
    "403": (403, 'x "y" is forbidden: User "u" cannot {verb} resource "x" in API group ""'),
    "403 by a webhook": (403, 'admission webhook "policy.example.edu" denied the request: no'),
    "400 by a webhook": (400, 'admission webhook "policy.example.edu" denied the request: no'),
    "409": (409, 'Operation cannot be fulfilled on x "y": the object has been modified'),
    "422": (422, 'X "y" is invalid: spec.z: Invalid value: "a": field is immutable'),
    "429": (429, "too many requests, try again later"),
    "500": (500, "etcdserver: request timed out"),
    "503": (503, "apiserver is shutting down"),
    "time-out": (0, ""),
}
"""What a call is answered with: a code, 0 for none, and a text. Source: Kubernetes 1.35.4."""

WRITES = ("POST", "PUT", "PATCH", "DELETE")
_VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}
_LIST = re.compile(r"/(api|apis/[^/]+)/[^/]+/(namespaces/[^/]+/)?[^/]+")
_NAMED = re.compile(r"(ceph-csi-(rbd|cephfs)-)[-0-9a-f]{36}")


def place_of(request: httpx2.Request) -> str:
    """Return what a call is for, such as `PATCH /api/v1/namespaces/a/secrets/b`."""
    path = _NAMED.sub(r"\1FSID", request.url.path)
    return f"{request.method} {path}"


def verb_of(request: httpx2.Request) -> str:
    """Return the verb as roles spell it."""
    read = "list" if _LIST.fullmatch(request.url.path) else "get"
    return _VERBS.get(request.method, read)


class Refusing(httpx2.BaseTransport):
    """Notes each call, and refuses those to one place."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self._place = self._answer = ""
        self.places: list[str] = []
        """Every call, as `place_of` gives it, in order."""

    def refuse(self, place: str, answer: str) -> None:
        """Refuse every call to a place from now on.

        Args:
            place: As `place_of` gives it; empty refuses nothing.
            answer: A key of `SAYS`.
        """
        self._place, self._answer = place, answer

    def find_refusable(self, answer: str) -> list[str]:
        """Return the places that were called and can get an answer, each once, in order.

        A read is tried again until its time is over, but where it is forbidden.
        """
        at_once = answer.startswith("403")
        places = dict.fromkeys(self.places)
        return [place for place in places if at_once or place.split()[0] in WRITES]

    def choose(self, answer: str, stride: int) -> list[str]:
        """Return each `stride`-th of `find_refusable`, from another one on for each answer.

        Raises:
            LookupError: No call that was made can get this answer, so nothing would be tried.
        """
        places = self.find_refusable(answer)
        if not places:
            raise LookupError(f"no call to answer with {answer}")
        start = 5 * list(SAYS).index(answer) % min(stride, len(places))
        return places[start::stride]

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on, or refuse it."""
        place = place_of(request)
        self.places.append(place)
        if place != self._place:
            return self._inner.handle_request(request)
        code, text = SAYS[self._answer]
        if not code:
            raise httpx2.ReadTimeout("no answer", request=request)
        message = text.format(verb=verb_of(request))
        status = {"kind": "Status", "status": "Failure", "message": message, "code": code}
        return httpx2.Response(code, json=status)
