# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""keystone-auth on a real API server."""
