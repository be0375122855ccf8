# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Bundles and overlays: load, verify without a controller, plan. No Juju, no network."""

from rehearsal.bundle.check import check, check_loaded, verify
from rehearsal.bundle.findings import Finding, exit_status, render_json, render_text
from rehearsal.bundle.loading import Loaded, load
from rehearsal.bundle.model import Application, Bundle, DeclaredMachine
from rehearsal.bundle.placing import PlannedMachine, PlannedUnit
from rehearsal.bundle.plan import Change, Plan, PlannedRelation, plan

__all__ = [
    "Application",
    "Bundle",
    "Change",
    "DeclaredMachine",
    "Finding",
    "Loaded",
    "Plan",
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
    "verify",
]
