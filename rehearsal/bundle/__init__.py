# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Bundles and overlays: load, verify without a controller, plan. No Juju, no network."""

from rehearsal.bundle.check import check, check_loaded, verify
from rehearsal.bundle.existing import Deployed, Existing
from rehearsal.bundle.findings import Finding, exit_status, render_json, render_text
from rehearsal.bundle.loading import Loaded, load
from rehearsal.bundle.mapping import PlanError
from rehearsal.bundle.model import Application, Bundle, DeclaredMachine, Exposed
from rehearsal.bundle.placing import PlannedMachine, PlannedUnit
from rehearsal.bundle.plan import Plan, PlannedRelation, plan
from rehearsal.bundle.steps import Change
from rehearsal.bundle.unheeded import unheeded

__all__ = [
    "Application",
    "Bundle",
    "Change",
    "DeclaredMachine",
    "Deployed",
    "Existing",
    "Exposed",
    "Finding",
    "Loaded",
    "Plan",
    "PlanError",
    "PlannedMachine",
    "PlannedRelation",
    "PlannedUnit",
    "check",
    "check_loaded",
    "exit_status",
    "load",
    "plan",
    "render_json",
    "render_text",
    "unheeded",
    "verify",
]
