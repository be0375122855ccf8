# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where the charm's modules are."""

import sys
from pathlib import Path

_HERE = Path(__file__).resolve()
sys.path[:0] = [str(_HERE.parents[2] / "src"), str(_HERE.parent)]
