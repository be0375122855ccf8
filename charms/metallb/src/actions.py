# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions answer. Knows no Juju; a `CharmkitError` becomes the failure of the action."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assembly import Parts
from charmkit.errors import InterventionError
from checks import fitting
from facts import Service
from observe import Surroundings, read_surroundings
from pools import Pool
from removal import Leaving, find_holders, find_strangers
from store import digest
from usage import find_users
from verdicts import explain_address
from waiting import explain_waiting, find_full, find_waiting

Results = dict[str, Any]
Action = Callable[[Parts, Mapping[str, Any]], Results]

_SHOWN = 50
"""Users of a pool that are listed by name."""

_ROOM = 4000
"""Characters of names in a result: Juju hands each over as one argument of a program."""


def show_pools(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return for each pool that is in force its ranges, how much is used, and by whom.

    Raises:
        CharmkitError: The cluster cannot be read.
    """
    del params
    seen = _look(parts)
    found = {pool.name: _describe(pool, seen.services) for pool in _pools(parts, seen)}
    waiting = find_waiting(seen.services, parts.inputs.options.load_balancer_class)
    pools = (*_pools(parts, seen), *seen.strangers)
    full = find_full(pools, seen.services) if waiting else ()
    lines = [
        f"{one.name}: {explain_waiting(one, pools, seen.services, full) or 'see its events'}"
        for one in waiting[:_SHOWN]
    ]
    return {**found, "without-address": _list(lines, len(waiting)) or "nobody"}


def _list(lines: Sequence[str], count: int) -> str:
    """Return lines as one text: as many as Juju takes, and how many of all are left out."""
    more = [f"and {count - _SHOWN} more"] if count > _SHOWN else []
    return "; ".join([*lines[:_SHOWN], *more])


def _pools(parts: Parts, seen: Surroundings) -> Sequence[Pool]:
    """Return the pools that are there, with what the options say of them where they agree."""
    wanted = {pool.name: pool for pool in parts.inputs.options.address_pools}
    same = {pool.name: wanted.get(pool.name) for pool in seen.pools}
    return [
        option if (option := same[pool.name]) and option.spans == pool.spans else pool
        for pool in seen.pools
    ]


def _describe(pool: Pool, services: Sequence[Service]) -> Results:
    users = find_users(pool, services)
    lines = [f"{address} {', '.join(names)}" for address, names in users.items()]
    return {
        "addresses": ", ".join(map(str, pool.spans)),
        "total": pool.size,
        "used": len(users),
        "free": max(pool.size - len(users), 0),
        "by": _list(lines, len(lines)) or "nobody",
    }


def check_address(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return what is known of one address.

    Raises:
        ConfigError: It is none.
        CharmkitError: The cluster cannot be read.
    """
    seen = _look(parts)
    reports = parts.make_cycle().reports()
    return dict(
        explain_address(str(params.get("address", "")), parts.inputs.options, seen, reports)
    )


def confirm_pool_change(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Allow the change that the options ask for, with the losses that it has at this moment.

    Raises:
        InterventionError: Another unit writes, or nothing is to be confirmed.
        CharmkitError: An option is refused, or the cluster cannot be read.
    """
    del params
    inputs = parts.inputs
    if inputs.refused is not None:
        raise inputs.refused
    if not inputs.leader:
        raise InterventionError(f"{inputs.unit} is not the leader, run it as {_leader(inputs)}")
    cycle = parts.make_cycle()
    losses = cycle.find_losses(cycle.look())
    if not losses:
        raise InterventionError("nothing to confirm: the change takes no address from a service")
    parts.store.change(confirmed=digest(losses))
    return {"allowed": _list(list(map(str, losses[:_SHOWN])), len(losses))}


def _leader(inputs: Any) -> str:
    return f"{inputs.application}/leader"


def foretell_removal(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return what stays and what goes when the application is removed.

    Raises:
        CharmkitError: The cluster cannot be read.
    """
    del params
    inputs, seen = parts.inputs, _look(parts)
    holders = find_holders([*seen.pools, *seen.strangers], seen.services)
    leaving = Leaving(inputs.application, inputs.unit, inputs.options.namespace, True, True)
    strangers = find_strangers(parts.connect(), leaving)
    return {
        "services": f"lose their address: {fitting(holders, _ROOM)}"
        if holders
        else "none has one",
        "pools": ", ".join(pool.name for pool in seen.pools) or "none",
        "stays": f"definitions and namespace, for {', '.join(strangers)}" if strangers else "none",
        "goes": f"namespace {inputs.options.namespace}, MetalLB, its definitions and roles"
        if not strangers
        else "MetalLB and its roles",
    }


def _look(parts: Parts) -> Surroundings:
    """Read the cluster; nothing is checked or changed."""
    inputs = parts.inputs
    return read_surroundings(parts.connect(), inputs.application, inputs.options.namespace)
