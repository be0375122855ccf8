# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a hook of a real charm changed in its view, as it travels back from the worker."""

from dataclasses import dataclass, field

from standins.units import SecretView, UnitView


@dataclass(slots=True)
class Edits:
    """The parts of a view that a hook may change; `status` also stands after a failure.

    Attributes:
        bags: Relation id to the unit's and the application's local data.
        secrets: All secrets as the hook left them; None when the hook failed.
        read: Secrets that the hook read, so that it hears of new revisions.
        removed: Secrets and their revisions that the hook removed.
        added: Secrets that the hook added.
        storage: Storage name to how many more the hook asked for.
    """

    bags: dict[int, tuple[dict[str, str], dict[str, str]]] = field(default_factory=dict)
    status: tuple[str, str] | None = None
    app_status: tuple[str, str] | None = None
    workload_version: str | None = None
    ports: set[tuple[str, int]] | None = None
    secrets: list[SecretView] | None = None
    stored: str | None = None
    read: set[str] = field(default_factory=set)
    removed: set[tuple[str, int]] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    storage: dict[str, int] = field(default_factory=dict)


def apply(edits: Edits, view: UnitView) -> None:
    """Write the edits into the view that the engine holds."""
    for relation in view.relations:
        if relation.id in edits.bags:
            relation.local_unit, relation.local_app = edits.bags[relation.id]
    view.status = edits.status or view.status
    view.app_status = edits.app_status
    if edits.workload_version is not None:
        view.workload_version = edits.workload_version
    if edits.ports is not None:
        view.opened_ports = edits.ports
    if edits.secrets is not None:
        view.secrets = edits.secrets
    view.added_storage = edits.storage
    if edits.stored is not None:
        view.stored = edits.stored
