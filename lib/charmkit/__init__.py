# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the charms of this suite share: errors, statuses, and gateways to host and cluster.

Nothing in here decides anything about GPUs, load balancers or storage, and nothing in here knows
the rehearsal. The package is copied into every packed charm.
"""
