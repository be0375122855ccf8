# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The ceph-csi charm beside a real Ceph cluster and a real API server."""
