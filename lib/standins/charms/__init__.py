# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Charms of others as plain Python: class `Charm` of the module that bears the charm's name."""
