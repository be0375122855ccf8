# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from gpusite import Site


def test_first_boot(tmp_path: Path):
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    outcome = site.settle()
    print(outcome, site.instances, site.allocatable, site.labels, site.killer.log)
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 8}
    site.assert_in_service()
