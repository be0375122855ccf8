# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""An embedded Juju: the verbs of the `juju` command on a model that lives in a folder."""
