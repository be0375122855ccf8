# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a unit waits for, and the service that wakes it. The service itself never acts.

A hook that must wait writes a waits file and returns. The service, as root, reads that file every
few seconds, looks at the topics that it names, and dispatches update-status to the unit when one
of them changed or the deadline passed. Without a waits file a look costs one failed open.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from charmkit.errors import CharmkitError, NotReadyError
from charmkit.files import Files
from charmkit.gateways import Gateways
from charmkit.host import Host
from charmkit.journal import StateFile
from charmkit.services import ServiceSpec, ensure_services

_logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 5.0
"""Between two looks; pods are admitted within seconds of a plugin's return."""

AGAIN_SECONDS = 20.0
"""Until a first look again without a topic: pods take 14 to 23 s whose images are there (seen)."""

_BACKOFF_SECONDS = (30.0, 60.0, 120.0, 300.0)
"""Until the next wake when a woken hook left the same waits, as a unit in error does."""

_SELDOM_SECONDS = (*_BACKOFF_SECONDS, 900.0, 3600.0)
"""The same where no topic could change meanwhile: Juju's update-status looks, too."""

_WAKE_SECONDS = 1800.0
"""juju-exec waits for the machine's lock without limit, and a hook under apt holds it for long."""

Observer = Callable[[], str]
"""Looks at one topic and returns its fingerprint; a `CharmkitError` means it cannot see now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a unit waits for.

    Attributes:
        unit: Name of the unit to wake.
        topics: Fingerprint of each topic as the hook saw it; empty means as it is at first sight.
        until: When to wake at the latest, seconds since 1970; None means never.
        reason: What the unit said it waits for.
    """

    unit: str
    topics: Mapping[str, str] = field(default_factory=dict[str, str])
    until: float | None = None
    reason: str = ""


class Waits:
    """The waits file of an application's unit on this machine."""

    def __init__(self, files: Files, application: str) -> None:
        self._file = StateFile(files, f"/var/lib/{application}/waits.json", schema=1)

    def write(
        self,
        *,
        unit: str,
        topics: Mapping[str, str] | Iterable[str],
        until: float | None,
        reason: str,
    ) -> bool:
        """Say what the unit waits for, see `Wait`; return whether that is new.

        Args:
            unit: Name of the unit to wake.
            topics: Fingerprints taken before the hook read what it decided on, so that no change
                in between is lost; bare names where a late wake does no harm.
            until: When to wake at the latest.
            reason: For people who read the file.

        Raises:
            InterventionError: The disk is full or read-only.
        """
        seen: dict[str, str] = dict.fromkeys(topics, "")
        if isinstance(topics, Mapping):
            seen.update(cast("Mapping[str, str]", topics))
        return self._file.write({"unit": unit, "topics": seen, "until": until, "reason": reason})

    def again(self, unit: str, now: float, reason: str) -> bool:
        """Look again soon while there is a reason to; return whether that is new.

        While the reason stays the same, the first time stands: so wakes come ever more seldom.
        """
        if not reason:
            return self.clear()
        with suppress(CharmkitError):
            waits = self.read()
            if waits is not None and (waits.unit, waits.reason) == (unit, reason):
                return False
        return self.write(unit=unit, topics=(), until=now + AGAIN_SECONDS, reason=reason)

    def clear(self) -> bool:
        """Say that the unit waits for nothing."""
        return self._file.clear()

    def read(self) -> Wait | None:
        """Return what the unit waits for, None when it is nothing.

        Raises:
            CorruptStateError: The file is not what `write` leaves.
            UnsupportedError: A newer charm wrote it.
        """
        return self._file.read_as(Wait)


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the service remembers between two looks; it is lost with a reboot.

    Attributes:
        waits: Identifies the waits file that this is about.
        topics: Fingerprints to compare with.
        wakes: How often the unit was woken for these waits.
        not_before: No further wake for these waits before this time.
    """

    waits: str
    topics: Mapping[str, str]
    wakes: int = 0
    not_before: float = 0.0


def is_due(waits: Wait, seen: Mapping[str, str], now: float) -> bool:
    """Tell whether a unit is to be woken.

    Args:
        waits: What it waits for; a topic without a fingerprint cannot have changed.
        seen: Fingerprints as they are now; topics that could not be seen are left out.
        now: Seconds since 1970.
    """
    if waits.until is not None and now >= waits.until:
        return True
    return any(known and seen.get(topic, known) != known for topic, known in waits.topics.items())


def _observe(observers: Mapping[str, Observer], topics: Iterable[str]) -> dict[str, str]:
    """Return the fingerprints of the topics that can be seen now."""
    seen: dict[str, str] = {}
    for topic in sorted(observers.keys() & topics):
        look = observers[topic]
        try:
            seen[topic] = look()
        except CharmkitError as error:
            _logger.debug("%s cannot be seen: %s", topic, error)
    return seen


def fingerprint(value: Any) -> str:
    """Return a short hash of a JSON value; the order of keys does not matter."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def wake(host: Host, unit: str) -> None:
    """Run the unit's update-status and return when it is done.

    Only root may; the name is needed where a machine has several units; the environment must have
    nothing of Juju's, which `Host.run` sees to (seen with Juju 4.0.15: juju-exec ends with 2 under
    an inherited JUJU_CONTEXT_ID).

    Raises:
        InterventionError: Juju's agent refuses, or the hook failed.
        NotReadyError: The machine's lock was not free in time.
    """
    command = "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch"
    host.run(["/usr/bin/juju-exec", unit, command], timeout=_WAKE_SECONDS)


def poll(host: Host, application: str, observers: Mapping[str, Observer]) -> bool:
    """Look once, and wake the unit when it is due. Return whether it was woken.

    A wake is remembered before it is made, so that a service that is killed meanwhile does not
    make it twice; wakes that leave the same waits behind come ever more seldom, and one that
    Juju's agent refused is made again after a while.
    """
    try:
        waits = Waits(host.files, application).read()
    except CharmkitError as error:
        _logger.warning("waits of %s: %s", application, error)
        return False
    if waits is None:
        return False
    store = StateFile(host.files, f"/run/charmkit/{application}.json", schema=1)
    memory, now = _recall(store, waits), host.now()
    if now < memory.not_before:
        return False
    seen = _observe(observers, waits.topics)
    if is_due(replace(waits, topics=memory.topics), seen, now):
        woken = _after_wake(memory, seen, now)
        store.write(asdict(woken))
        if _try_to_wake(host, waits):
            return True
        store.write(asdict(replace(woken, topics=memory.topics)))
        return False
    if first := {topic: seen[topic] for topic in seen if not memory.topics[topic]}:
        store.write(asdict(replace(memory, topics={**memory.topics, **first})))
    return False


def loop(host: Host, application: str, observers: Mapping[str, Observer]) -> None:
    """Look again and again, as a service; never returns."""
    while True:
        poll(host, application, observers)
        host.sleep(INTERVAL_SECONDS)


def serve(gateways: Gateways, application: str, _unit: str) -> None:
    """Be the `main` of a service without topics: it wakes at deadlines and asks nothing."""
    loop(gateways.host(), application, {})


def arrange(
    host: Host,
    charm_dir: Path,
    spec: ServiceSpec,
    problems: Sequence[CharmkitError],
    waiting: type[CharmkitError] | tuple[type[CharmkitError], ...] = NotReadyError,
) -> list[CharmkitError]:
    """Keep a service whose `main` is `serve`, and look again while something needs time.

    A person's turn needs no wake, and what another charm owes comes with an event of its own.

    Args:
        host: The machine.
        charm_dir: Where the charm's code is.
        spec: The service, of the unit that is to look again.
        problems: What stands in the way of the unit.
        waiting: Which of them may go without an event.

    Returns:
        What stands in the way of the service; nothing mostly.
    """
    reason = next((str(one) for one in problems if isinstance(one, waiting)), "")
    try:
        ensure_services(host, charm_dir, spec)
        Waits(host.files, spec.application).again(spec.unit, host.now(), reason)
    except CharmkitError as error:
        return [error]
    return []


def _try_to_wake(host: Host, waits: Wait) -> bool:
    _logger.info("waking %s: %s", waits.unit, waits.reason)
    try:
        wake(host, waits.unit)
    except CharmkitError as error:
        _logger.warning("%s was not woken: %s", waits.unit, error)
        return False
    return True


def _recall(store: StateFile, waits: Wait) -> _Memory:
    """Return what is remembered about these waits; other waits begin anew."""
    identity = fingerprint([waits.unit, dict(waits.topics), waits.until, waits.reason])
    with suppress(CharmkitError):
        data = store.read()
        if data is not None and data["waits"] == identity:
            return _Memory(**data)
    return _Memory(waits=identity, topics=dict(waits.topics))


def _after_wake(memory: _Memory, seen: Mapping[str, str], now: float) -> _Memory:
    steps = _BACKOFF_SECONDS if memory.topics else _SELDOM_SECONDS
    step = steps[min(memory.wakes, len(steps) - 1)]
    topics = {**memory.topics, **seen}
    return replace(memory, topics=topics, wakes=memory.wakes + 1, not_before=now + step)
