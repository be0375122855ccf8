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

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

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
        reason: For people who read the bag.
    """

    number: int
    beat: int
    wanted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A request that was granted.

    Attributes:
        number: Number of the request.
        beat: Renewal that `until` follows from.
        until: When it runs out, seconds since 1970 on the leader's clock.
    """

    number: int
    beat: int
    until: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the leader remembers.

    Attributes:
        grants: Leases by unit.
        spent: Last request of each unit that ran out without a renewal.
        last: Unit that was granted last; the next one in order comes next.
    """

    grants: Mapping[str, Grant] = field(default_factory=dict[str, Grant])
    spent: Mapping[str, int] = field(default_factory=dict[str, int])
    last: str = ""


_REQUEST = TypeAdapter(Request)
_LEDGER = TypeAdapter(Ledger)


def decide(
    requests: Mapping[str, Request],
    ledger: Ledger,
    limit: int,
    now: float,
    gone: Collection[str] = (),
) -> Ledger:
    """Return the ledger after one decision: ended leases out, renewals in, free places given.

    A lease whose unit shows no request in these bags stays until it runs out: a new leader may not
    have met all units yet. A limit that was lowered takes no lease away.

    Args:
        requests: Last requests, by unit, of the units whose bags can be read.
        ledger: What was decided before.
        limit: Most leases at one time; 0 stops granting.
        now: The leader's time, seconds since 1970.
        gone: Units known to be gone for good (the departing unit of a departed event).
    """
    kept = {
        unit: _renewed(grant, requests.get(unit), now)
        for unit, grant in ledger.grants.items()
        if unit not in gone and not _is_returned(grant, requests.get(unit))
    }
    ended = {unit: grant.number for unit, grant in kept.items() if grant.until <= now}
    spent = {unit: one for unit, one in {**ledger.spent, **ended}.items() if unit not in gone}
    grants = {unit: grant for unit, grant in kept.items() if unit not in ended}
    asking = [
        unit
        for unit, request in requests.items()
        if unit not in gone
        and unit not in grants
        and request.wanted
        and request.number > spent.get(unit, 0)
    ]
    chosen = _in_turn(asking, ledger.last)[: max(0, limit - len(grants))]
    for unit in chosen:
        grants[unit] = Grant(requests[unit].number, requests[unit].beat, now + LEASE_SECONDS)
    ordered = {unit: grants[unit] for unit in sorted(grants, key=_unit_key)}
    return Ledger(ordered, spent, chosen[-1] if chosen else ledger.last)


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
        limit: As in `decide`.
        now: As in `decide`.
        gone: As in `decide`.
    """
    last = {unit: _parse_last(bag) for unit, bag in unit_bags.items()}
    requests = {unit: request for unit, request in last.items() if request is not None}
    before = parse_ledger(app_bag)
    after = decide(requests, before, limit, now, gone)
    if after == before:
        return False
    app_bag[GRANTS_KEY] = _LEDGER.dump_json(after).decode()
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
    request = _parse_last(unit_bag)
    number = request.number if request else 0
    spent = parse_ledger(app_bag).spent.get(unit, 0)
    if request and request.wanted and number > spent:
        return False
    return _write(unit_bag, Request(max(number, spent) + 1, 0, True, reason))


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
    request = _parse_last(unit_bag)
    if request is None or not request.wanted:
        return False
    return _write(unit_bag, replace(request, wanted=False))


def is_held(
    unit: str, unit_bag: Mapping[str, str], app_bag: Mapping[str, str], now: float
) -> bool:
    """Tell whether a unit may act now: its present request is granted and has time left."""
    held = _find_grant(unit, unit_bag, app_bag)
    return held is not None and now < held.until - MARGIN_SECONDS


def holders(app_bag: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units that have a lease, by number."""
    return tuple(parse_ledger(app_bag).grants)


def parse_request(unit: str, bag: Mapping[str, str]) -> Request | None:
    """Return the open request in a unit's bag; None when it asks for nothing."""
    del unit  # The bag is the unit's.
    request = _parse_last(bag)
    return request if request is not None and request.wanted else None


def parse_ledger(app_bag: Mapping[str, str]) -> Ledger:
    """Return what the leader wrote; an empty ledger for a bag that is empty or no use."""
    try:
        return _LEDGER.validate_json(app_bag.get(GRANTS_KEY) or "{}")
    except ValueError:
        return Ledger()


def _parse_last(bag: Mapping[str, str]) -> Request | None:
    """Return the last request in a bag, given back or not; None when the bag is no use."""
    try:
        return _REQUEST.validate_json(bag.get(REQUEST_KEY, ""))
    except ValueError:
        return None


def _find_grant(
    unit: str, unit_bag: Mapping[str, str], app_bag: Mapping[str, str]
) -> Grant | None:
    """Return the grant of a unit's present request, run out or not."""
    request, held = parse_request(unit, unit_bag), parse_ledger(app_bag).grants.get(unit)
    same = request is not None and held is not None and request.number == held.number
    return held if same else None


def _write(bag: MutableMapping[str, str], request: Request) -> bool:
    bag[REQUEST_KEY] = _REQUEST.dump_json(request).decode()
    return True


def _unit_key(unit: str) -> tuple[str, int]:
    """Return what sorts units by number: `gpu-worker/9` comes before `gpu-worker/10`."""
    application, _, number = unit.rpartition("/")
    return application, int(number) if number.isdecimal() else 0


def _in_turn(units: Iterable[str], last: str) -> list[str]:
    """Return units by number, beginning after the one that was granted last."""
    start = _unit_key(last)
    return sorted(units, key=lambda unit: (_unit_key(unit) <= start, _unit_key(unit)))


def _is_returned(grant: Grant, request: Request | None) -> bool:
    return request is not None and (request.number > grant.number or not request.wanted)


def _renewed(grant: Grant, request: Request | None, now: float) -> Grant:
    """Return a grant with more time when its holder renewed it before it ran out."""
    same = request is not None and request.number == grant.number
    if request is None or not same or request.beat == grant.beat or grant.until <= now:
        return grant
    return Grant(grant.number, request.beat, now + LEASE_SECONDS)
