# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a bundle asks of a model that a deploy leaves as it is, without a word. Pure.

Source: deploys onto models that hold something, recorded on Juju 4.0.15: re-deploy removes and
moves nothing.
"""

from collections.abc import Iterator, Mapping

from rehearsal.bundle.existing import Deployed, Existing
from rehearsal.bundle.findings import Finding, Path, dotted
from rehearsal.bundle.mapping import map_machines
from rehearsal.bundle.model import Application, Bundle
from rehearsal.counted import counted


def unheeded(bundle: Bundle, existing: Existing, map_text: str = "") -> list[Finding]:
    """Return a warning for each thing that a deploy onto the model does not do.

    Args:
        bundle: A merged bundle without errors.
        existing: The model.
        map_text: Value of ``--map-machines``.
    """
    mapped = map_machines(bundle, existing, map_text)
    found: list[Finding] = []
    for name, application in bundle.applications.items():
        known = existing.applications.get(name)
        if known is not None:
            found += _of_application(application, known, mapped, bundle)
    return found


def _of_application(
    application: Application, known: Deployed, mapped: Mapping[str, str], bundle: Bundle
) -> Iterator[Finding]:
    path: Path = ("applications", application.name)
    count = len(known.units)
    if application.num_units < count:
        kept = f"{counted(count, 'unit')} and keeps {'it' if count == 1 else 'them'}"
        message = f"{application.name} has {kept}"
        yield _warning(bundle, (*path, "num_units"), message, "juju remove-unit")
    if application.is_local and application.charm_path and known.is_local:
        stem = application.charm_path.name.partition("_")[0].removesuffix(".charm")
        if stem != known.charm:
            message = (
                f"{application.name} keeps its charm {known.charm}; the file is not looked at"
            )
            yield _warning(bundle, (*path, "charm"), message, "juju refresh --path")
    for name in sorted(set(known.options) - set(application.options)):
        message = f"the option {name} is set in the model and stays, though the bundle lacks it"
        yield _warning(bundle, (*path, "options", name), message, "juju config --reset")
    machines = list(known.units.values())
    for index, directive in enumerate(application.to[: len(machines)]):
        if directive in bundle.machines and mapped.get(directive) != machines[index]:
            unit = list(known.units)[index]
            message = f"{unit} stays on machine {machines[index]}: nothing is moved"
            yield _warning(bundle, (*path, "to", index), message, "juju add-unit, remove-unit")


def _warning(bundle: Bundle, path: Path, message: str, remedy: str) -> Finding:
    return Finding("warning", "redeploy", dotted(path), message, remedy, bundle.at(path))
