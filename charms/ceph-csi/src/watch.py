# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service that wakes the unit when a wait is over, so that a rollout costs no five minutes."""

from charmkit import watcher

MODULE = "watch"
"""How `charmkit.services` finds this module."""

main = watcher.serve
