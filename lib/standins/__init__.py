# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The simulated world: machines, GPUs, a Kubernetes API, and the other side of relations.

Stand-ins keep state and follow rules that carry their source; they are never packed into a charm.
"""
