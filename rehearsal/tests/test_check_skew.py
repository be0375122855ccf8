# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Releases of Kubernetes that go together, or do not (kubernetes.io, version skew policy)."""

from pathlib import Path

import pytest

from rehearsal.bundle import check

TEXT = """
default-base: ubuntu@24.04
applications:
  cp: {charm: kubernetes-control-plane, channel: CHARM, num_units: 1, options: {channel: SERVER}}
  gpu: {charm: kubernetes-worker, channel: 1.35/stable, num_units: 1, options: {channel: NODE}}
relations:
- [gpu:kube-control, cp:kube-control]
"""


@pytest.mark.parametrize(
    ("charm", "server", "node", "said"),
    [
        ("1.35/stable", "1.35/stable", "1.35/stable", {}),
        ("1.35/stable", "1.35/stable", "1.35/edge", {}),
        ("1.35/stable", "1.35/stable", "1.32/stable", {}),
        ("1.35/stable", "latest/stable", "1.35/stable", {}),
        ("1.35/stable", "1.35/stable", "stable", {}),
        ("1.35/stable", "1.34/stable", "1.35/stable", {"gpu": "newer than cp of 1.34"}),
        ("1.35/stable", "1.9/stable", "1.10/stable", {"gpu": "newer than cp of 1.9"}),
        ("1.35/stable", "'1.35'", "1.31/stable", {"gpu": "more than 3 releases behind cp"}),
        ("1.34/stable", "1.35/stable", "1.35/stable", {"cp": "charm is of Kubernetes 1.34"}),
        ("latest/edge", "1.35/stable", "1.35/stable", {}),
    ],
)
def test_workers_are_not_newer_than_their_control_plane(
    charm: str, server: str, node: str, said: dict[str, str], tmp_path: Path
):
    text = TEXT.replace("CHARM", charm).replace("SERVER", server).replace("NODE", node)
    (tmp_path / "b.yaml").write_text(text)
    found = [finding for finding in check(tmp_path / "b.yaml") if finding.rule == "skew"]
    assert [f.path for f in found] == [f"applications.{name}.options.channel" for name in said]
    assert all(part in f.message for f, part in zip(found, said.values(), strict=True))
