# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keys of annotations, which Juju looks at only when it stores them, half-way through. Pure.

Source: domain/annotation/service of Juju 4.0, validateAnnotations; state/annotations of 3.6.
"""

from collections.abc import Mapping

from rehearsal.bundle.findings import Path
from rehearsal.bundle.verification import Verification, application_path


def verify_annotations(run: Verification) -> None:
    """Check the annotations of applications and machines: no dot in a key, none empty."""
    for application in run.bundle.applications.values():
        _keys(run, application_path(application, "annotations"), application.annotations)
    for name, machine in run.bundle.machines.items():
        _keys(run, ("machines", name, "annotations"), machine.annotations)


def _keys(run: Verification, path: Path, annotations: Mapping[str, str]) -> None:
    for key in annotations:
        if not key.strip():
            run.error("annotations", (*path, key), "the annotation has no name", "name it")
        elif "." in key:
            message = f'the name of the annotation "{key}" contains a dot'
            remedy = f"write {key.replace('.', '-')}"
            run.error("annotations", (*path, key), message, remedy)
