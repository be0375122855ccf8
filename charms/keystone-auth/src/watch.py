# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service that wakes the unit when a wait is over, so that no wait costs five minutes.

That is so while something needs time, and while an administrator of Keystone has a step to do,
which no event of Juju announces.
"""

from charmkit import watcher

MODULE = "watch"
"""How `charmkit.services` finds this module."""

main = watcher.serve
