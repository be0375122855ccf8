# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server in memory: state, rules with their source, and two fronts."""
