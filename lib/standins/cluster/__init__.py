# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What acts in a cluster by itself: kubelets, device plugin, scheduler, controllers."""
