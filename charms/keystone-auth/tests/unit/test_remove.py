# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What goes and what stays, whatever the order of events and whatever does not answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from controlplane import APP, Deployment

from campus import Campus
from spaces import ORPHANED, PROJECT


@pytest.fixture
def served(deployment: Deployment, campus: Campus) -> Deployment:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    return deployment


def depart(deployment: Deployment, *, last: bool = True) -> None:
    """Let the unit go: a subordinate's relation with its principal breaks."""
    deployment.state = replace(deployment.state, planned_units=0 if last else 2)
    deployment.run(deployment.on.relation_broken(deployment.relation("host")))


def left(deployment: Deployment) -> dict[str, list[str]]:
    kinds = ("RoleBinding", "ResourceQuota", "LimitRange", "ClusterRole", "ClusterRoleBinding")
    return {
        kind: [name for name in deployment.objects(kind) if name.startswith(APP)] for kind in kinds
    }


def test_with_the_last_unit_everything_goes_but_the_namespaces(
    served: Deployment, campus: Campus
) -> None:
    depart(served)
    assert {kind: names for kind, names in left(served).items() if names} == {}
    lab = served.objects("Namespace")[f"gpu-lab-{campus.lab[:8]}"]
    assert lab["metadata"]["labels"][PROJECT] == campus.lab
    assert ORPHANED in lab["metadata"]["labels"]


def test_the_machine_keeps_no_service_no_key_and_no_trust(served: Deployment) -> None:
    depart(served)
    files = served.host.files
    for path in (
        f"/var/lib/{APP}/tls.pem",
        f"/usr/local/share/ca-certificates/{APP}.crt",
        f"/etc/systemd/system/{APP}-webhook.service",
        f"/etc/systemd/system/{APP}-webhook.socket",
        f"/etc/systemd/system/{APP}-webhook.service.d",
        f"/etc/{APP}",
        f"/opt/{APP}",
        f"/var/lib/{APP}/access.json",
    ):
        assert not files.exists(path), path
    assert not served.host.systemd.is_active(f"{APP}-webhook.service")


def test_a_unit_that_is_not_the_last_leaves_the_cluster_as_it_is(served: Deployment) -> None:
    before = left(served)
    depart(served, last=False)
    assert left(served) == before
    assert not served.host.files.exists(f"/var/lib/{APP}/tls.pem")
    assert not served.host.files.exists(f"/var/lib/{APP}/access.json")


@pytest.mark.parametrize("name", ["config_changed", "update_status", "leader_elected", "start"])
def test_no_later_event_begins_again(served: Deployment, name: str) -> None:
    depart(served)
    served.run(getattr(served.on, name)())
    served.run(served.on.stop())
    assert not served.host.files.exists(f"/opt/{APP}")
    assert left(served)["RoleBinding"] == []


def test_a_cluster_that_does_not_answer_keeps_nobody_from_leaving_and_is_tried_again(
    served: Deployment,
) -> None:
    served.gateways.is_cluster_down = True
    depart(served)
    assert left(served)["RoleBinding"] != []
    assert not served.host.files.exists(f"/opt/{APP}")
    served.gateways.is_cluster_down = False
    served.run(served.on.stop())
    assert left(served)["RoleBinding"] == []


def test_the_charm_that_comes_back_takes_up_the_namespaces(
    served: Deployment, campus: Campus
) -> None:
    depart(served)
    served.state = replace(served.state, planned_units=1)
    served.run(served.on.install())
    assert served.sweep()[0] == "active"
    lab = served.objects("Namespace")[f"gpu-lab-{campus.lab[:8]}"]
    assert ORPHANED not in lab["metadata"]["labels"]
    assert served.objects("RoleBinding", f"gpu-lab-{campus.lab[:8]}")


def test_removal_works_with_a_refused_option(served: Deployment) -> None:
    served.configure(gpu_quota="soft")
    depart(served)
    assert left(served)["RoleBinding"] == []


def test_prepare_removal_says_what_stays_and_changes_nothing(
    served: Deployment, campus: Campus
) -> None:
    served.take_accesses()
    found = served.act("prepare-removal")
    assert f"gpu-lab-{campus.lab[:8]}" in found["stays"]
    assert "authn-webhook-endpoint=" in found["then-run"]
    assert [one for one in served.take_accesses() if one.split()[0] not in ("get", "list")] == []


def test_removal_before_anything_was_done_is_quiet(tmp_path: Path, campus: Campus) -> None:
    deployment = Deployment(tmp_path, campus)
    deployment.run(deployment.on.stop())
    assert deployment.take_accesses() == []


def test_the_departure_of_somebody_else_takes_nothing_away(served: Deployment) -> None:
    relation = served.relation("keystone")
    served.run(served.on.relation_departed(relation, remote_unit=0, departing_unit=0))
    assert served.host.files.exists(f"/opt/{APP}")
    assert left(served)["RoleBinding"] != []
