# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Simulated machines: packages, services, kernel, PCI tree."""
