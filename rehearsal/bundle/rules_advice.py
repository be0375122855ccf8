# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules on what facts say of a charm alone: the model that it needs, what only blocks it. Pure."""

from collections.abc import Iterator

from rehearsal.bundle.findings import Path
from rehearsal.bundle.names import find_end
from rehearsal.bundle.rules_relations import Joined
from rehearsal.bundle.verification import Verification, application_path


def verify_assumed(run: Verification) -> None:
    """Report charms for Kubernetes models in a bundle for machines.

    Source: juju apiserver, assertCharmAssumptions; core/assumes/errors.go.
    """
    if run.bundle.kind == "kubernetes":
        return
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        if charm is not None and "k8s-api" in charm.assumes:
            message = f"{charm.name} assumes k8s-api: Juju takes it in a Kubernetes model alone"
            remedy = "move it to a bundle: kubernetes, for a model in the cluster (juju add-k8s)"
            remedy += f"; {charm.advice.instead}" if charm.advice.instead else ""
            path, explains = application_path(application, "charm"), application_path(application)
            at = run.bundle.at(path)
            run.findings.error("assumes", path, message, remedy, at, explains)


def verify_retired(run: Verification, joined: list[Joined]) -> None:
    """Warn of relations and options that a charm keeps for upgrades alone, and is blocked by."""
    known = {relation.index: relation for relation in joined}
    for index, ends in enumerate(run.bundle.relations):
        path: Path = ("relations", index)
        for name, endpoint in _sides(known.get(index), ends):
            charm = run.charms.get(name)
            instead = charm.advice.retired_endpoints.get(endpoint) if charm else None
            if instead:
                message = f"{name} keeps {endpoint} for upgrades alone: related, it stays blocked"
                run.warning("retired", path, message, f"delete the line; {instead}")
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        for option, instead in charm.advice.retired_options.items() if charm else ():
            good = charm.options[option].default if charm and option in charm.options else None
            if run.option(application.name, option).lower() != str(good).lower():
                message = (
                    f"{application.name} keeps {option} for upgrades alone: it stays blocked until"
                    f" that is {good}"
                )
                path = application_path(application, "options", option)
                run.warning("retired", path, message, f"delete the line; {instead}")


def _sides(relation: Joined | None, ends: list[str]) -> Iterator[tuple[str, str]]:
    """Yield application and endpoint of a relation; of an end that is not known, as written."""
    if relation is None:
        yield from (parts for parts in map(find_end, ends) if parts)
        return
    for name, endpoint in zip(relation.applications, relation.endpoints, strict=True):
        yield name, endpoint.name
