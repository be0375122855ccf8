# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A simulated Keystone v3: state as JSON, federation, revocation, faults, two fronts."""
