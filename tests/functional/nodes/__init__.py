# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Two nodes with real kubelets and containerd, and gpu-worker on them."""
