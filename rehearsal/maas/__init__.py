# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The machines of a site: inventory, constraints, and which machine is given."""
