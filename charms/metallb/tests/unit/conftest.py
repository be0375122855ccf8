# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where the charm's modules are."""

import sys
from pathlib import Path

from hypothesis import settings

_HERE = Path(__file__).resolve()
sys.path[:0] = [str(_HERE.parents[2] / "src"), str(_HERE.parent)]

# Without CI in the environment an example that takes 0.2 s fails, on any busy machine.
settings.register_profile("without-clock", deadline=None)
settings.load_profile("without-clock")
