# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Releases of Kubernetes that do not go together: workers with servers, snaps with charms. Pure.

Source: kubernetes.io, version skew policy: a kubelet is never newer than its API server, and at
most three minor releases older; Charmed Kubernetes upgrades a charm before its snaps.
"""

import re

from rehearsal.bundle.model import Application
from rehearsal.bundle.rules_relations import Joined
from rehearsal.bundle.verification import Verification, application_path

_RELEASE = re.compile(r"1\.([0-9]{1,3})(?:/.*)?")
MOST_BEHIND = 3
"""Minor releases that a worker may be behind its control plane."""
_SERVER, _NODE = "kubernetes-control-plane", "kubernetes-worker"


def verify_skew(run: Verification, joined: list[Joined]) -> None:
    """Warn of workers that the control plane does not serve, and of snaps newer than the charm."""
    for relation in joined:
        by_charm = {run.charms[name].name: name for name in relation.applications}
        if by_charm.keys() == {_SERVER, _NODE} and relation.endpoints[0].name == "kube-control":
            _pair(run, by_charm[_SERVER], by_charm[_NODE])
    for name, charm in run.charms.items():
        if charm.name in (_SERVER, _NODE):
            _snaps(run, run.bundle.applications[name])


def _pair(run: Verification, server: str, node: str) -> None:
    ours = _minor(run.bundle.applications[node].options.get("channel"))
    theirs = _minor(run.bundle.applications[server].options.get("channel"))
    if ours is None or theirs is None or 0 <= theirs - ours <= MOST_BEHIND:
        return
    what = "newer than" if ours > theirs else f"more than {MOST_BEHIND} releases behind"
    run.warning(
        "skew",
        application_path(run.bundle.applications[node], "options", "channel"),
        f"{node} is of Kubernetes 1.{ours}, {what} {server} of 1.{theirs}",
        f"write channel: 1.{theirs}/stable, as {server} has it",
    )


def _snaps(run: Verification, application: Application) -> None:
    snaps, charm = _minor(application.options.get("channel")), _minor(application.channel)
    if snaps is not None and charm is not None and snaps > charm:
        message = f"the charm is of Kubernetes 1.{charm}, its snaps of 1.{snaps}"
        path = application_path(application, "options", "channel")
        run.warning("skew", path, message, f"write channel: 1.{snaps}/stable for the charm, too")


def _minor(channel: object) -> int | None:
    """Return 35 for ``1.35/stable``, None where no release of Kubernetes is named."""
    match = _RELEASE.fullmatch(channel) if isinstance(channel, str) else None
    return int(match[1]) if match else None
