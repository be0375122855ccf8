# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MetalLB's own processes under the charm's objects, on a real API server."""
