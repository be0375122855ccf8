# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The embedded Juju: model, order of events, commit, verbs, status."""
