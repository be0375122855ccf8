# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One pytest process tests one charm: every charm has a module `charm` of its own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
