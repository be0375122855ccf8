# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Ceph clusters that are not there: pools, file systems, users with their capabilities."""
