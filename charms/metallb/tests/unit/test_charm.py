# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The unit as a whole: every event leads to the same end, the second time nothing is written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lbsite import APP, HOME, Deployment

from charmkit import kinds
from kinds import L2_ADVERTISEMENT, POOL

EVENTS = [
    "install",
    "start",
    "config_changed",
    "update_status",
    "upgrade_charm",
    "leader_elected",
]


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


@pytest.fixture
def settled(unit: Deployment) -> Deployment:
    unit.settle()
    unit.calls()
    return unit


def kept(unit: Deployment) -> dict[str, Any]:
    """Return what is in the cluster without what time and versions leave in it."""
    skipped = ("events", "leases", "nodes", "pods")
    return {
        name: {key: obj.get(key) for key in ("spec", "data", "rules", "webhooks", "roleRef")}
        for name, obj in unit.objects().items()
        if not name.startswith(skipped)
    }


def test_a_service_gets_an_address_and_a_node_answers_for_it(settled: Deployment) -> None:
    assert settled.status == ("active", "l2: research 0/41 used")
    assert settled.serve("web") == "10.20.0.200"
    assert settled.run(settled.on.update_status()) == ("active", "l2: research 1/41 used")
    (status,) = settled.world.api.scan("servicel2statuses.metallb.io")
    assert status["status"]["serviceName"] == "web"


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_leads_to_the_same_end(tmp_path: Path, event: str) -> None:
    ends: list[dict[str, Any]] = []
    for number, name in enumerate(("update_status", event)):
        unit = Deployment(tmp_path / str(number))
        unit.run(getattr(unit.on, name)())
        unit.world.advance(20)
        unit.run(getattr(unit.on, name)())
        assert unit.status == ("active", "l2: research 0/41 used")
        ends.append(kept(unit))
    assert ends[0] == ends[1]


def test_relation_events_lead_to_the_same_end(unit: Deployment) -> None:
    unit.run(unit.on.relation_created(unit.cluster))
    unit.run(unit.on.relation_joined(unit.cluster, remote_unit=0))
    unit.run(unit.on.relation_changed(unit.cluster, remote_unit=0))
    unit.world.advance(20)
    status = unit.run(unit.on.relation_changed(unit.host, remote_unit=0))
    assert status == ("active", "l2: research 0/41 used")


@pytest.mark.parametrize("event", EVENTS)
def test_the_second_time_nothing_is_written(settled: Deployment, event: str) -> None:
    settled.serve("web")
    settled.run(getattr(settled.on, event)())
    settled.calls()
    settled.run(getattr(settled.on, event)())
    assert settled.writes() == []


@pytest.mark.parametrize("event", ["config_changed", "start"])
def test_a_hook_in_which_nothing_changed_reads_three_objects_at_most(
    settled: Deployment, event: str
) -> None:
    settled.run(getattr(settled.on, event)())
    assert settled.calls() == ["get configmaps metallb-applied"]
    assert settled.status == ("active", "l2: research 0/41 used")


def test_after_a_bad_value_the_good_one_is_active_at_once(settled: Deployment) -> None:
    before = settled.state.config
    settled.configure(address_pools="research=10.20.0.2")
    assert settled.run(settled.on.config_changed())[0] == "blocked"
    settled.state = replace(settled.state, config=before)
    assert settled.run(settled.on.config_changed()) == ("active", "l2: research 0/41 used")


@pytest.mark.parametrize(
    ("what", "spoil"),
    [
        ("pool", lambda kube: kube.delete(POOL, "research", HOME)),
        ("speaker", lambda kube: kube.delete(kinds.DAEMON_SET, "speaker", HOME)),
        ("role", lambda kube: kube.delete(kinds.CLUSTER_ROLE, f"{HOME}:speaker")),
        ("webhooks", lambda kube: kube.delete(kinds.VALIDATING_WEBHOOKS, HOOKS)),
        (
            "interfaces",
            lambda kube: kube.patch(
                L2_ADVERTISEMENT, APP, {"spec": {"interfaces": ["eth9"]}}, namespace=HOME
            ),
        ),
        (
            "pod security",
            lambda kube: kube.patch(kinds.NAMESPACE, HOME, {"metadata": {"labels": RESTRICTED}}),
        ),
        (
            "replicas",
            lambda kube: kube.patch(
                kinds.DEPLOYMENT, "controller", {"spec": {"replicas": 0}}, namespace=HOME
            ),
        ),
    ],
)
def test_drift_is_mended(settled: Deployment, what: str, spoil: Any) -> None:
    before = kept(settled)
    if what == "interfaces":
        # Somebody else's field that we do not write is theirs; ours come back.
        settled.configure(interfaces="eth0")
        settled.run(settled.on.config_changed())
        before = kept(settled)
    spoil(settled.kube())
    settled.settle()
    assert kept(settled) == before
    assert settled.status[0] == "active"


CURE = "to allow it: run confirm-pool-change"
HOOKS = "metallb-webhook-configuration"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def test_what_the_controller_filled_in_outlives_a_sweep(settled: Deployment) -> None:
    settled.configure(interfaces="eth0")
    settled.run(settled.on.config_changed())
    settled.run(settled.on.upgrade_charm())
    hooks = settled.kube().find(kinds.VALIDATING_WEBHOOKS, HOOKS) or {}
    secret = settled.kube().find(kinds.SECRET, "metallb-webhook-cert", HOME) or {}
    assert all(hook["clientConfig"]["caBundle"] for hook in hooks["webhooks"])
    assert set(secret["data"]) == {"tls.crt", "tls.key"}


def test_a_changed_mode_takes_the_old_announcements_away(settled: Deployment) -> None:
    peers = "- {name: tor, peer-address: 10.20.0.1, peer-asn: 64513, my-asn: 64512}"
    settled.configure(mode="bgp", bgp_peers=peers)
    assert settled.run(settled.on.config_changed())[1] == "bgp: research 0/41 used"
    assert settled.world.api.scan("l2advertisements.metallb.io") == []
    (peer,) = settled.world.api.scan("bgppeers.metallb.io")
    assert peer["spec"]["peerAddress"] == "10.20.0.1"


def test_the_leader_makes_the_account_and_no_unit_uses_the_admin_after(
    settled: Deployment,
) -> None:
    settled.world.api.audit.clear()
    settled.run(settled.on.update_status())
    users = {access.user for access in settled.world.api.audit}
    assert users == {f"system:serviceaccount:{HOME}:{APP}"}


def test_nothing_secret_is_in_statuses_bags_or_results(settled: Deployment) -> None:
    settled.act("show-pools")
    bags = [relation.local_unit_data for relation in settled.state.relations]
    texts = [str(bags), settled.status[1], str(settled.context.action_results)]
    assert all("admin-of-the-cluster" not in text for text in texts)


# Changes that take addresses.


def test_a_shrink_below_a_running_service_is_refused_with_its_name(settled: Deployment) -> None:
    settled.serve("web")
    settled.configure(address_pools="research=10.20.0.201-10.20.0.240")
    assert settled.run(settled.on.config_changed()) == (
        "blocked",
        f"address-pools: would take 10.20.0.200 from team-a/web; {CURE}",
    )
    assert settled.address("web") == "10.20.0.200"
    assert settled.settle()[0] == "blocked"
    assert settled.address("web") == "10.20.0.200"


def test_a_confirmed_shrink_is_done_and_needs_no_second_confirmation(settled: Deployment) -> None:
    settled.serve("web")
    settled.configure(address_pools="research=10.20.0.201-10.20.0.240")
    settled.run(settled.on.config_changed())
    results = settled.act("confirm-pool-change")
    assert results == {"allowed": "10.20.0.200 from team-a/web"}
    assert settled.address("web") == "10.20.0.201"
    assert settled.settle() == ("active", "l2: research 1/40 used")


def test_a_confirmation_is_for_one_list_of_losses(settled: Deployment) -> None:
    settled.serve("web")
    settled.serve("api")
    settled.configure(address_pools="research=10.20.0.201-10.20.0.240")
    settled.run(settled.on.config_changed())
    settled.webhook.silent = True
    settled.act("confirm-pool-change")
    settled.webhook.silent = False
    settled.configure(address_pools="research=10.20.0.202-10.20.0.240")
    status = settled.run(settled.on.config_changed())
    assert status[0] == "blocked"
    assert "10.20.0.201 from team-a/api, 10.20.0.200 from team-a/web" in status[1]


def test_nothing_to_confirm_fails_in_words(settled: Deployment) -> None:
    with pytest.raises(Exception, match="nothing to confirm"):
        settled.act("confirm-pool-change")


def test_a_follower_says_who_confirms(settled: Deployment) -> None:
    settled.state = replace(settled.state, leader=False)
    with pytest.raises(Exception, match="is not the leader, run it as metallb/leader"):
        settled.act("confirm-pool-change")


def test_pools_may_exchange_free_ranges(settled: Deployment) -> None:
    halves = "research=10.20.0.200-10.20.0.219;stock=10.20.0.220-10.20.0.240"
    settled.configure(address_pools=halves)
    assert settled.run(settled.on.config_changed())[0] == "active"
    settled.serve("web")
    settled.configure(
        address_pools="research=10.20.0.200/32,10.20.0.230-10.20.0.240;stock=10.20.1.0/28"
    )
    assert settled.run(settled.on.config_changed())[0] == "active"
    assert settled.address("web") == "10.20.0.200"


def test_another_class_is_refused_while_services_have_addresses(settled: Deployment) -> None:
    settled.serve("web")
    settled.configure(load_balancer_class="example.edu/campus")
    assert settled.run(settled.on.config_changed())[0] == "blocked"


def test_a_damaged_memory_is_as_good_as_none(settled: Deployment) -> None:
    settled.machine.host.files.ensure_text("/var/lib/metallb/record.json", "{broken")
    assert settled.run(settled.on.config_changed()) == ("active", "l2: research 0/41 used")
