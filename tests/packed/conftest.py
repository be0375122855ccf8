"""Every file in dist/, unzipped once."""

import os

import pytest

from tests.packed.charmfile import ROOT, PackedCharm, find_python

FILES = sorted((ROOT / "dist").glob("*.charm"))


@pytest.fixture(scope="module", params=FILES, ids=[file.stem for file in FILES])
def packed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> PackedCharm:
    if os.geteuid() != 0:
        pytest.skip("mount namespaces need root")
    charm = PackedCharm(request.param, tmp_path_factory.mktemp("packed"))
    if find_python(charm.release) is None:
        pytest.skip(f"no interpreter of Ubuntu {charm.release} is here")
    return charm
