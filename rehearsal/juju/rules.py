# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where Juju 3.6 and Juju 4.0 differ. Pure.

3.6 is what its code says, 4.0 is what a controller of 4.0.15 was seen to do; `docs/truth.md` says
which rule was taken from where.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """The behaviour of one Juju.

    Attributes:
        private_address: Juju keeps `private-address` in every unit's bag.
        leader_settings_changed: Units that do not lead get leader-settings-changed.
        config_changed_runs: How often config-changed runs for one change of the options.
        config_by_digest: A change that was taken back before the hook ran fires nothing, and
            a reset counts as a change.
        container_isolates: A subordinate sees only its own principal.
        leader_hears_itself: The leader gets relation-changed for its own peer application data.
        leave_early: A dying unit is gone for the others before its departed hooks ran, so
            that what it writes in them reaches nobody.
        subordinates_first: A principal waits for its subordinates before it stops.
        subordinate_remove: A subordinate whose relation is removed gets the remove hook.
        broken_forgets: After a restart of the agent, broken has no JUJU_REMOTE_APP and peers
            get a broken too.
        late_peers: A peer's departed may come late or only after a restart of the agent.
        upgrades_in_error: A refresh puts the new code under a unit in error, which then never
            runs upgrade-charm.
        secret_remove_works: A charm can remove its secrets and their revisions.
        base_is_law: Not even --force deploys to a base that the charm does not name.
        secret_remove_repeats: secret-remove may come again for the same revision.
    """

    private_address: bool
    leader_settings_changed: bool
    config_changed_runs: int
    config_by_digest: bool
    container_isolates: bool
    leader_hears_itself: bool
    leave_early: bool
    subordinates_first: bool
    subordinate_remove: bool
    broken_forgets: bool
    late_peers: bool
    upgrades_in_error: bool
    secret_remove_works: bool
    base_is_law: bool
    secret_remove_repeats: bool


JUJU_3 = Rules(
    private_address=True,
    leader_settings_changed=True,
    config_changed_runs=1,
    config_by_digest=True,
    container_isolates=True,
    leader_hears_itself=False,
    leave_early=True,
    subordinates_first=True,
    subordinate_remove=True,
    broken_forgets=False,
    late_peers=False,
    upgrades_in_error=False,
    secret_remove_works=True,
    base_is_law=False,
    secret_remove_repeats=True,
)

JUJU_4 = Rules(
    private_address=False,
    leader_settings_changed=False,
    config_changed_runs=2,
    config_by_digest=False,
    container_isolates=False,
    leader_hears_itself=True,
    leave_early=False,
    subordinates_first=False,
    subordinate_remove=False,
    broken_forgets=True,
    late_peers=True,
    upgrades_in_error=True,
    secret_remove_works=False,
    base_is_law=True,
    secret_remove_repeats=False,
)

RETRY_SECONDS = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
"""Waits before a failed hook runs again; seen up to 40 on 4.0.15, doubled to 5 minutes after."""

UPDATE_STATUS_SECONDS = 300.0
"""Default of update-status-hook-interval, kept with a jitter of 20 % either way."""

LEASE_SECONDS = 30.0
"""Time until a leader that went without a word is replaced; 10 to 42 s were seen."""


def rules_of(version: str) -> Rules:
    """Return the rules of a Juju version such as `3.6.14` or `4.0.15`."""
    return JUJU_4 if int(version.partition(".")[0]) >= 4 else JUJU_3


def retry_seconds(attempts: int) -> float:
    """Return how long to wait after the n-th failure of a hook (n from 1)."""
    return RETRY_SECONDS[min(attempts, len(RETRY_SECONDS)) - 1]
