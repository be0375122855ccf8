# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which machines of the model stand for the machines of a bundle. Pure.

Source: deploys onto models that hold something, recorded on Juju 4.0.15 (rd-*, rm-*, rc-*, rp-*).
"""

from collections.abc import Mapping

from rehearsal.bundle.existing import Existing
from rehearsal.bundle.model import Bundle
from rehearsal.errors import RehearsalError


class PlanError(RehearsalError):
    """Juju refuses to plan the bundle onto the model; the message is its own."""


def parse_map(text: str) -> tuple[bool, dict[str, str]]:
    """Return whether ``existing`` was said, and the pairs of ``--map-machines=existing,3=4``.

    Raises:
        PlanError: A part is neither.
    """
    pairs: dict[str, str] = {}
    existing = False
    for part in text.split(",") if text else []:
        ours, equals, theirs = part.partition("=")
        if part == "existing":
            existing = True
        elif equals and ours.isdecimal() and theirs.isdecimal():
            pairs[ours] = theirs
        else:
            raise PlanError(f'--map-machines: "{part}" is neither existing nor ours=theirs')
    return existing, pairs


def map_machines(bundle: Bundle, existing: Existing, text: str = "") -> dict[str, str]:
    """Return the model's machine for each declared one that has one.

    What the words say comes first; then a declared machine is the one on which the unit stands
    that the bundle places there, unless that is taken.

    Args:
        bundle: A merged bundle.
        existing: The model.
        text: Value of ``--map-machines``.

    Raises:
        PlanError: The words cannot be read.
    """
    use_ids, pairs = parse_map(text)
    found = {ours: theirs for ours, theirs in pairs.items() if theirs in existing.machines}
    if use_ids:
        for name in bundle.machines:
            if name in existing.machines:
                found.setdefault(name, name)
    for name in sorted(bundle.machines, key=lambda text: (len(text), text)):
        inferred = _infer(bundle, existing, name, found)
        if name not in found and inferred:
            found[name] = inferred
    return found


def _infer(bundle: Bundle, existing: Existing, machine: str, taken: Mapping[str, str]) -> str:
    for name in sorted(bundle.applications):
        deployed = existing.applications.get(name)
        if deployed is None:
            continue
        places = list(deployed.units.values())
        for index, directive in enumerate(bundle.applications[name].to):
            host = places[index].partition("/")[0] if index < len(places) else ""
            if directive == machine and host and host not in taken.values():
                return host
    return ""


def check_mapping(bundle: Bundle, mapped: Mapping[str, str], hosting: frozenset[str]) -> None:
    """Refuse a bundle that would make a machine for units that stand elsewhere.

    Args:
        bundle: A merged bundle.
        mapped: What `map_machines` returned.
        hosting: Declared machines on which the deploy puts a unit.

    Raises:
        PlanError: With Juju's words.
    """
    for name in bundle.machines:
        owners = sorted(a.name for a in bundle.applications.values() if name in a.to)
        if name not in mapped and name not in hosting and owners:
            raise PlanError(
                "cannot deploy bundle: bundle and machine mapping are inconsistent: need an"
                f' explicit entry mapping bundle machine "{name}" - the target should host'
                f" [{' '.join(owners)}]"
            )
