# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The sites of these tests, deployed once each; every test works on a copy of the folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal import bundle, tour
from rehearsal.cli import openstack
from rehearsal.site import Site

ROLE_ADD = "role add --system all --user keystone-auth reader"


def deploy(place: Path, name: str, *overlays: str) -> Path:
    """Deploy a bundle of the repository in a folder and return the home of its model."""
    for folder in ("bundles", "overlays"):
        shutil.copytree(tour.ROOT / folder, place / folder)
    shutil.copytree(Path(__file__).parent / "bundles", place / "bundles", dirs_exist_ok=True)
    (place / "charms").symlink_to(tour.ROOT / "charms")  # The sources, whatever lies in dist.
    loaded = bundle.load(place / "bundles" / name, [place / "overlays" / one for one in overlays])
    assert loaded.bundle is not None
    with Site(place / "home") as site:
        site.deploy(loaded.bundle, bundle.plan(loaded.bundle), lambda _: None)
        site.juju.settle()
    return place / "home"


def copied(home: Path, folder: Path) -> Iterator[Site]:
    """Open a copy of a home; at no moment of the test may a node have offered what is not there.

    Heartbeats of charms (update-status) come weekly, so that whatever moves moves by itself.
    """
    copy = Path(shutil.copytree(home, folder / "home", symlinks=True))
    with Site(copy) as opened:
        opened.juju.set_model_config({"update-status-hook-interval": "168h"})
        wrong: list[object] = []
        opened.juju.observe(lambda _: wrong.extend(opened.world.wrong_resources()))
        yield opened
        assert wrong == []
        assert opened.world.wrong_resources() == []


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference bundle, settled: three DGX with whole GPUs, one with seven slices a GPU."""
    return deploy(tmp_path_factory.mktemp("site"), tour.BUNDLE.name, tour.OVERLAY.name)


@pytest.fixture
def site(deployed: Path, tmp_path: Path) -> Iterator[Site]:
    yield from copied(deployed, tmp_path)


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab bundle, settled: one machine with two A30, cut into eight slices."""
    home = deploy(tmp_path_factory.mktemp("lab"), "lab.yaml")
    with Site(home) as site:
        site.juju.set_config("gpu-worker", {"mig-profile": "all-1g.6gb"})
        site.juju.settle()
    return home


@pytest.fixture
def lab(lab_home: Path, tmp_path: Path) -> Iterator[Site]:
    yield from copied(lab_home, tmp_path)


@pytest.fixture(scope="session")
def campus_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A control plane, a worker and Keystone, settled, and with the administrator's one step."""
    home = deploy(tmp_path_factory.mktemp("campus"), "campus.yaml")
    with Site(home) as site:
        openstack.run(site.world.keystone, ROLE_ADD.split())
        site.juju.run_action(["keystone-auth/leader"], "sync")
    return home


@pytest.fixture
def campus_site(campus_home: Path, tmp_path: Path) -> Iterator[Site]:
    yield from copied(campus_home, tmp_path)
