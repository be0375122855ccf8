# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How a charm gets into a cluster, and its own narrow account there."""

from charmkit.credentials import Credentials

__all__ = ["Credentials"]
