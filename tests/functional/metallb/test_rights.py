# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Least privilege: what the charm and MetalLB did over this suite against what they may."""

from collections.abc import Mapping

import pytest
from lbsite import APP, HOME

from charmkit.account import Grant
from rights import CONTROLLER, SPEAKER, grant_of
from tests.functional.kubernetes.audit import (
    NOBODY,
    TABLES,
    Request,
    count_uses,
    granted,
    table,
    unlawful,
)

PROCESSES: Mapping[str, Grant] = {"controller": CONTROLLER, "speaker": SPEAKER}

OWN: Mapping[str, str] = {
    "get customresourcedefinitions.apiextensions.k8s.io": "observe.read_calico_peers, mode bgp",
    "list bgppeers.crd.projectcalico.org": "observe.read_calico_peers, mode bgp",
    "list ciliumloadbalancerippools.cilium.io": "observe.read_cilium_pools, beside Cilium",
    "delete bgpadvertisements.metallb.io": "Addon.ensure, when mode goes from bgp to l2",
    "delete bgppeers.metallb.io": "Addon.ensure, when mode goes from bgp to l2",
    "delete communities.metallb.io": "Addon.ensure, when mode goes from bgp to l2",
    "get bgpadvertisements.metallb.io": "Addon.ensure, mode bgp",
    "get bgppeers.metallb.io": "Addon.ensure, mode bgp",
    "get communities.metallb.io": "Addon.ensure, mode bgp",
    "create bgpadvertisements.metallb.io": "Addon.ensure, mode bgp",
    "create bgppeers.metallb.io": "Addon.ensure, mode bgp",
    "create communities.metallb.io": "Addon.ensure, mode bgp",
    "patch bgpadvertisements.metallb.io": "Addon.ensure, mode bgp",
    "patch bgppeers.metallb.io": "Addon.ensure, mode bgp",
    "patch communities.metallb.io": "Addon.ensure, mode bgp",
}
"""Rights of the charm itself that no test here used, with the code path that needs each."""


def passed_on() -> dict[str, str]:
    """Return what the account holds to be able to give it to MetalLB (decision 0011)."""
    return {
        f"{entry.verb} {entry.resource}": f"given to the {name}"
        for name, grant in PROCESSES.items()
        for entry in granted(name, grant, HOME)
    }


def of(requests: list[Request], account: str) -> list[Request]:
    user = f"system:serviceaccount:{HOME}:{account}"
    found = [request for request in requests if request.user == user]
    if not found:
        pytest.skip("no other test of this folder ran before")
    return found


def test_the_account_used_nothing_that_it_is_not_granted(requests: list[Request]) -> None:
    assert unlawful(of(requests, APP), granted(APP, grant_of(HOME), HOME)) == []


def test_every_granted_verb_is_used_or_has_a_code_path(
    requests: list[Request], pytestconfig: pytest.Config
) -> None:
    uses = count_uses(of(requests, APP), granted(APP, grant_of(HOME), HOME))
    found = table(uses, {**passed_on(), **OWN})
    pytestconfig.stash[TABLES][APP] = found
    assert [line for line in found.splitlines() if NOBODY in line] == []


def refused(requests: list[Request], process: str) -> list[Request]:
    """Return what a process was refused while its role was bound: a removal takes that first."""
    binding, bound = f"{HOME}:{process}", False
    user = f"system:serviceaccount:{HOME}:{process}"
    found: list[Request] = []
    for request in requests:
        if request.resource.startswith("clusterrolebindings") and request.name == binding:
            bound = request.verb != "delete"
        elif bound and request.user == user and request.code == 403:
            found.append(request)
    return found


@pytest.mark.parametrize("process", PROCESSES)
def test_metallb_was_refused_nothing(requests: list[Request], process: str) -> None:
    assert of(requests, process)
    assert [(r.verb, r.resource, r.name) for r in refused(requests, process)] == []
