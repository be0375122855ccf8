# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Max-unavailable over a peer relation: who may drain or reboot now. Pure; works on bags of text.

A unit writes a request into its own bag, the leader writes grants into the application's bag:

    unit bag         lease  = {"number": 4, "beat": 1, "wanted": true, "reason": "driver 580"}
    application bag  leases = {"grants": {"gpu-worker/3": {"number": 4, "beat": 1, "until": 17e8}},
                               "spent": {"gpu-worker/7": 2}, "last": "gpu-worker/3"}

A request is one number of one unit. It is granted once: when its lease runs out because the
holder does not renew it (its machine is dead), the number is spent and the place goes to another;
a holder that comes back sees that its lease is gone and asks again with the next number. Places go
round by unit number, so that no unit waits for more than one turn of each other and no clock of
another machine matters. Times are the leader's; a holder stops `MARGIN_SECONDS` earlier.

The leader asks whether it leads before it reads the bags. Juju refuses the commit of a unit that
lost leadership meanwhile, so of two that believe to lead only one can grant. The leader grants
itself in the same hook: on Juju 3.6 its own writes wake nobody.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

REQUEST_KEY = "lease"
GRANTS_KEY = "leases"

LEASE_SECONDS = 3600.0
"""A lease runs out after an hour without a renewal: longer than a reboot of a DGX takes."""

MARGIN_SECONDS = 120.0
"""How much earlier a holder counts its lease as gone: clocks of two machines differ."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one unit asks for.

    Attributes:
        number: Counts the requests of the unit; never used twice.
        beat: Counts the renewals of this request.
        wanted: False once the unit gave it back.
    """

    unit: str
    number: int
    beat: int = 0
    wanted: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A request that was granted.

    Attributes:
        beat: Renewal that `until` follows from.
        until: When it runs out, seconds since 1970 on the leader's clock.
    """

    unit: str
    number: int
    beat: int
    until: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the leader remembers.

    Attributes:
        grants: Leases, by unit.
        spent: Last request of each unit that ran out without a renewal.
        last: Unit that was granted last; the next one in order comes next.
    """

    grants: tuple[Grant, ...] = ()
    spent: Mapping[str, int] = field(default_factory=dict[str, int])
    last: str = ""


def decide(
    requests: Iterable[Request],
    ledger: Ledger,
    limit: int,
    now: float,
    gone: Collection[str] = (),
) -> Ledger:
    """Return the ledger after one decision: ended leases out, renewals in, free places given.

    A lease whose unit shows no request in these bags stays until it runs out: a new leader may not
    have met all units yet. A limit that was lowered takes no lease away.

    Args:
        requests: Requests of the units whose bags can be read, given back or not.
        ledger: What was decided before.
        limit: Most leases at one time; 0 stops granting.
        now: The leader's time, seconds since 1970.
        gone: Units known to be gone for good (the departing unit of a departed event).
    """
    asked = {request.unit: request for request in requests if request.unit not in gone}
    kept = tuple(
        _renewed(grant, asked.get(grant.unit), now)
        for grant in ledger.grants
        if grant.unit not in gone and not _is_returned(grant, asked)
    )
    ended = {grant.unit: grant.number for grant in kept if grant.until <= now}
    spent = {unit: one for unit, one in {**ledger.spent, **ended}.items() if unit not in gone}
    grants = tuple(grant for grant in kept if grant.until > now)
    holders = {grant.unit for grant in grants}
    open_requests = [
        request
        for unit, request in asked.items()
        if request.wanted and unit not in holders and request.number > spent.get(unit, 0)
    ]
    chosen = _in_turn(open_requests, ledger.last)[: max(0, limit - len(grants))]
    fresh = tuple(Grant(one.unit, one.number, one.beat, now + LEASE_SECONDS) for one in chosen)
    return Ledger(
        grants=tuple(sorted(grants + fresh, key=lambda grant: unit_key(grant.unit))),
        spent=spent,
        last=chosen[-1].unit if chosen else ledger.last,
    )


def grant(
    app_bag: MutableMapping[str, str],
    unit_bags: Mapping[str, Mapping[str, str]],
    limit: int,
    now: float,
    gone: Collection[str] = (),
) -> bool:
    """Decide as the leader and write the decision; return whether it changed.

    Args:
        app_bag: The application's own bag of the peer relation.
        unit_bags: Bags of all units in the relation, the leader's own included.
        limit: Most leases at one time.
        now: Seconds since 1970.
        gone: Units known to be gone for good.
    """
    requests = [_parse_last(unit, bag) for unit, bag in unit_bags.items()]
    before = parse_ledger(app_bag)
    after = decide([one for one in requests if one is not None], before, limit, now, gone)
    if after == before:
        return False
    app_bag[GRANTS_KEY] = dump_ledger(after)
    return True


def ask(
    unit: str,
    unit_bag: MutableMapping[str, str],
    app_bag: Mapping[str, str],
    reason: str,
) -> bool:
    """Ask for a lease, or keep asking; return whether the bag changed.

    A request whose lease ran out, or that was released, is followed by one with the next number.
    """
    request = _parse_last(unit, unit_bag) or Request(unit, 0, wanted=False)
    spent = parse_ledger(app_bag).spent.get(unit, 0)
    if request.wanted and request.number > spent:
        return False
    return _write(unit_bag, Request(unit, max(request.number, spent) + 1, reason=reason))


def renew(
    unit: str, unit_bag: MutableMapping[str, str], app_bag: Mapping[str, str], now: float
) -> bool:
    """Ask for more time when half of it is over; return whether the bag changed.

    Every write of a bag is an event for every peer, so renewals are rare.
    """
    request, held = parse_request(unit, unit_bag), _find_grant(unit, unit_bag, app_bag)
    if request is None or held is None or request.beat != held.beat:
        return False  # Nothing to renew, or a renewal that the leader has not seen.
    if held.until - now > LEASE_SECONDS / 2:
        return False
    return _write(unit_bag, replace(request, beat=request.beat + 1))


def release(unit_bag: MutableMapping[str, str]) -> bool:
    """Give the lease back, or stop asking; return whether the bag changed."""
    request = parse_request("", unit_bag)
    if request is None:
        return False
    return _write(unit_bag, replace(request, wanted=False))


def is_held(
    unit: str, unit_bag: Mapping[str, str], app_bag: Mapping[str, str], now: float
) -> bool:
    """Tell whether a unit may act now: its present request is granted and has time left."""
    held = _find_grant(unit, unit_bag, app_bag)
    return held is not None and now < held.until - MARGIN_SECONDS


def holders(app_bag: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units that have a lease, by number; a waiting unit names them in its status."""
    return tuple(grant.unit for grant in parse_ledger(app_bag).grants)


def find_expiry(app_bag: Mapping[str, str]) -> float | None:
    """Return when the first lease runs out; until then nothing changes by time alone."""
    return min((grant.until for grant in parse_ledger(app_bag).grants), default=None)


def parse_request(unit: str, bag: Mapping[str, str]) -> Request | None:
    """Return the open request of a unit; None when it asks for nothing or its bag is no use."""
    request = _parse_last(unit, bag)
    return request if request is not None and request.wanted else None


def _parse_last(unit: str, bag: Mapping[str, str]) -> Request | None:
    """Return the last request of a unit, given back or not."""
    raw = _load(bag.get(REQUEST_KEY, ""))
    try:
        number, beat = int(raw["number"]), int(raw["beat"])
        return Request(unit, number, beat, raw["wanted"] is True, str(raw["reason"]))
    except (KeyError, TypeError, ValueError):
        return None


def parse_ledger(app_bag: Mapping[str, str]) -> Ledger:
    """Return what the leader wrote; an empty ledger for a bag that is empty or no use."""
    raw = _load(app_bag.get(GRANTS_KEY, ""))
    try:
        grants = tuple(
            Grant(unit, int(row["number"]), int(row["beat"]), float(row["until"]))
            for unit, row in raw.get("grants", {}).items()
        )
        spent = {str(unit): int(number) for unit, number in raw.get("spent", {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return Ledger()
    ordered = tuple(sorted(grants, key=lambda grant: unit_key(grant.unit)))
    return Ledger(ordered, spent, str(raw.get("last", "")))


def dump_ledger(ledger: Ledger) -> str:
    """Return a ledger as the application's bag has it."""
    grants = {
        one.unit: {"number": one.number, "beat": one.beat, "until": one.until}
        for one in ledger.grants
    }
    content = {"grants": grants, "spent": dict(ledger.spent), "last": ledger.last}
    return json.dumps(content, sort_keys=True)


def unit_key(unit: str) -> tuple[str, int]:
    """Return what sorts units by number: `gpu-worker/9` comes before `gpu-worker/10`."""
    application, _, number = unit.rpartition("/")
    return application, int(number) if re.fullmatch(r"\d+", number) else 0


def _in_turn(requests: Iterable[Request], last: str) -> list[Request]:
    """Return requests by unit number, beginning after the unit that was granted last."""
    start = unit_key(last)
    return sorted(requests, key=lambda one: (unit_key(one.unit) <= start, unit_key(one.unit)))


def _is_returned(grant: Grant, asked: Mapping[str, Request]) -> bool:
    """Tell whether the holder's bag says that it gave the lease back."""
    request = asked.get(grant.unit)
    return request is not None and (request.number > grant.number or not request.wanted)


def _renewed(grant: Grant, request: Request | None, now: float) -> Grant:
    """Return a grant with more time when its holder renewed it before it ran out."""
    same = request is not None and request.number == grant.number
    if request is None or not same or request.beat == grant.beat or grant.until <= now:
        return grant
    return Grant(grant.unit, grant.number, request.beat, now + LEASE_SECONDS)


def _find_grant(
    unit: str, unit_bag: Mapping[str, str], app_bag: Mapping[str, str]
) -> Grant | None:
    """Return the grant of a unit's present request, run out or not."""
    request = parse_request(unit, unit_bag)
    if request is None:
        return None
    grants = parse_ledger(app_bag).grants
    return next((one for one in grants if (one.unit, one.number) == (unit, request.number)), None)


def _write(bag: MutableMapping[str, str], request: Request) -> bool:
    content = {key: value for key, value in asdict(request).items() if key != "unit"}
    bag[REQUEST_KEY] = json.dumps(content, sort_keys=True)
    return True


def _load(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
