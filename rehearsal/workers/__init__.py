# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Charm code in processes of its own: one a charm, hooks through ops' own test library."""
