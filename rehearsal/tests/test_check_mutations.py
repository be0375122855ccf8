# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Single faults of the repository's own bundle are found; damaged text never raises."""

import importlib.util
import shutil
from collections import Counter
from pathlib import Path

import pytest

from rehearsal.bundle.mutations import mutate, run

ROOT = Path(__file__).parents[2]
SEEN_BY_NOBODY = {"relation left out", "value that is text to Juju"}
"""What a file that is right in itself cannot tell: the author may not want the relation, and which
texts an option takes only its charm knows."""


def test_every_second_single_fault_is_found_at_its_path(tmp_path: Path):
    # In copies: the mutations are written beside them, where other tests read at the same time.
    for folder in ("bundles", "overlays"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "charms").symlink_to(ROOT / "charms")
    bundle, overlay = tmp_path / "bundles/charmed-kubernetes.yaml", "overlays/site-example.yaml"
    total: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for mutation, is_found in run(bundle, [tmp_path / overlay], every=2):
        total[mutation.kind] += 1
        missed[mutation.kind] += not is_found
    assert sum(total.values()) >= 300
    assert {kind for kind, count in missed.items() if count} <= SEEN_BY_NOBODY


def test_what_an_overlay_takes_out_has_no_fault_of_its_own():
    faults = list(mutate({"applications": {"keystone": None, "dgx": {"num_units": 2}}}))
    assert {fault.path for fault in faults if "keystone" in str(fault.path)} == set()
    assert [fault.kind for fault in faults if fault.path == "applications.dgx.num_units"]


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_bundles_never_raise(seed: int):
    spec = importlib.util.spec_from_file_location(
        "fuzz_bundle", ROOT / "benchmarks" / "fuzz_bundle.py"
    )
    assert spec is not None
    assert spec.loader is not None
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    assert fuzz.run(1.0, seed) > 10
