# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who may do what: MetalLB's two processes, and the charm's own account. Pure.

Kubernetes lets nobody write a role with rights that the writer has not. So the charm's account has
those of the controller and the speaker too: it may make their pods anyway, and with them use
whatever they may (decision 0011). Nothing here is a wildcard.

Source: what MetalLB 0.15.3 and 0.16.1 ask for (config/rbac/role.yaml); `*` there is spelled out.
"""

from collections.abc import Sequence

from charmkit.account import Grant, Rule
from kinds import DEFINITIONS, WEBHOOKS

_GROUP = "metallb.io"
_RBAC = "rbac.authorization.k8s.io"
_APPS = "apps"
_EXTENSIONS = "apiextensions.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_CALICO = "crd.projectcalico.org"
_CILIUM = "cilium.io"

_READ = ("get", "list", "watch")
_KEEP = ("get", "list", "create", "patch", "delete")
_OWN = (*_READ, "create", "update", "patch", "delete")
_STATUS = ("get", "update", "patch")
_EVENTS = Rule(("events",), ("create", "patch"))
_STATES = (
    Rule(("configurationstates",), _OWN, _GROUP),
    Rule(("configurationstates/status",), _STATUS, _GROUP),
)
"""MetalLB watches these, and ServiceL2Statuses, in all namespaces (internal/k8s/k8s.go)."""

_CONFIGURATION = Rule(
    (
        "ipaddresspools",
        "l2advertisements",
        "bgpadvertisements",
        "bgppeers",
        "bfdprofiles",
        "communities",
    ),
    _READ,
    _GROUP,
)

CALICO_DEFINITION = "bgppeers.crd.projectcalico.org"
CILIUM_DEFINITION = "ciliumloadbalancerippools.cilium.io"
_OF_OTHERS = (CALICO_DEFINITION, CILIUM_DEFINITION)

CONTROLLER = Grant(
    cluster=(
        Rule(("services", "namespaces", "nodes"), _READ),
        Rule(("services/status",), ("update",)),
        _EVENTS,
        Rule(("validatingwebhookconfigurations",), ("list", "watch"), _ADMISSION),
        Rule(
            ("validatingwebhookconfigurations",),
            ("get", "update", "patch"),
            _ADMISSION,
            (WEBHOOKS,),
        ),
        Rule(("customresourcedefinitions",), ("list", "watch"), _EXTENSIONS),
        Rule(("customresourcedefinitions",), ("get", "update", "patch"), _EXTENSIONS, DEFINITIONS),
        *_STATES,
    ),
    namespaced=(
        Rule(("secrets",), _OWN),
        Rule(("deployments",), ("get",), _APPS, ("controller",)),
        Rule(("pods",), ("get", "list")),
        _CONFIGURATION,
        Rule(("ipaddresspools/status",), ("update",), _GROUP),
    ),
)

SPEAKER = Grant(
    cluster=(
        Rule(("services", "endpoints", "nodes", "namespaces"), _READ),
        Rule(("endpointslices",), _READ, "discovery.k8s.io"),
        _EVENTS,
        *_STATES,
        Rule(("servicel2statuses",), _OWN, _GROUP),
        Rule(("servicel2statuses/status",), _STATUS, _GROUP),
    ),
    namespaced=(
        Rule(("pods",), ("get", "list")),
        Rule(("secrets", "configmaps"), _READ),
        _CONFIGURATION,
        Rule(("servicebgpstatuses",), _OWN, _GROUP),
        Rule(("servicebgpstatuses/status",), _STATUS, _GROUP),
    ),
)


def grant_of(namespace: str) -> Grant:
    """Return what the charm's account may do, with MetalLB in a namespace."""
    roles = (f"{namespace}:controller", f"{namespace}:speaker")
    own = (
        Rule(("nodes", "services", "namespaces"), ("list",)),
        Rule(("servicecidrs",), ("get", "list"), "networking.k8s.io"),
        Rule(("namespaces",), ("get", "patch"), names=(namespace,)),
        Rule(("customresourcedefinitions",), ("list", "create"), _EXTENSIONS),
        Rule(("customresourcedefinitions",), ("get", "patch", "delete"), _EXTENSIONS, DEFINITIONS),
        Rule(("customresourcedefinitions",), ("get",), _EXTENSIONS, _OF_OTHERS),
        Rule(("bgppeers",), ("list",), _CALICO),
        Rule(("ciliumloadbalancerippools",), ("list",), _CILIUM),
        Rule(("validatingwebhookconfigurations",), ("list", "create"), _ADMISSION),
        Rule(
            ("validatingwebhookconfigurations",),
            ("get", "patch", "delete"),
            _ADMISSION,
            (WEBHOOKS,),
        ),
        Rule(("clusterroles", "clusterrolebindings"), ("list", "create"), _RBAC),
        Rule(("clusterroles", "clusterrolebindings"), ("get", "patch", "delete"), _RBAC, roles),
    )
    within = (
        Rule(("serviceaccounts", "configmaps", "secrets", "services"), _KEEP),
        Rule(("roles", "rolebindings"), _KEEP, _RBAC),
        Rule(("deployments", "daemonsets"), _KEEP, _APPS),
        Rule(
            (
                "ipaddresspools",
                "l2advertisements",
                "bgpadvertisements",
                "bgppeers",
                "communities",
            ),
            _KEEP,
            _GROUP,
        ),
    )
    return Grant(
        cluster=_without_repeats((*own, *CONTROLLER.cluster, *SPEAKER.cluster)),
        namespaced=_without_repeats((*within, *CONTROLLER.namespaced, *SPEAKER.namespaced)),
    )


def _without_repeats(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    return tuple(dict.fromkeys(rules))
