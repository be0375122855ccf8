# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Pools that images cannot be in, and what goes on beside them."""

from pathlib import Path

import pytest
from storagesite import Site
from test_cases import CLASSES, put_class

GOOD = "{name: ceph-rbd, kind: rbd, default: true}"
POOL = "ceph-csi-rbd"


def table(row: str) -> str:
    return f"[{GOOD}, {{name: ec, kind: rbd, {row}}}]"


@pytest.mark.parametrize(
    ("flags", "row", "status"),
    [
        (
            ("ec_overwrites",),
            "pool: coded",
            (
                "blocked",
                (
                    "storage-classes: ec: coded is erasure-coded, name it as data-pool beside a "
                    "replicated pool"
                ),
            ),
        ),
        (
            (),
            "data-pool: coded",
            (
                "blocked",
                (
                    "ec: ceph-mon cannot write to it, run ceph osd pool set coded "
                    "allow_ec_overwrites true"
                ),
            ),
        ),
        (
            ("ec_overwrites",),
            "data-pool: coded",
            ("active", "2 classes on ceph-mon, 0 volumes"),
        ),
    ],
    ids=["as the pool", "as a data pool without overwrites", "as a data pool"],
)
def test_an_erasure_coded_pool_is_taken_for_data_alone(
    tmp_path: Path, flags: tuple[str, ...], row: str, status: tuple[str, str]
) -> None:
    site = Site(tmp_path)
    assert site.ceph is not None
    site.ceph.make_coded_pool("coded", *flags)
    site.configure(storage_classes=table(row))
    assert site.talk() == status
    made = set(site.objects(CLASSES))
    assert made == ({"ceph-rbd", "ec"} if status[0] == "active" else {"ceph-rbd"})
    site.update()
    site.calls()
    site.configure()
    assert site.calls()[1] == []


def with_rows(tmp_path: Path, rows: str) -> Site:
    site = Site(tmp_path)
    assert site.ceph is not None
    site.ceph.add_file_system("cephfs")
    site.configure(storage_classes=rows)
    site.talk()
    return site


def flagged(site: Site, pool: str, *flags: str) -> tuple[str, str]:
    assert site.ceph is not None
    site.ceph.set_flags(pool, *flags)
    return site.update()


FULL = "is full, nothing can be written: add OSDs or delete data"
QUOTA = "has reached its quota, nothing can be written: raise it (ceph osd pool set-quota)"


@pytest.mark.parametrize(
    ("pool", "flags", "text"),
    [
        (POOL, ("full",), FULL),
        (POOL, ("full", "full_quota"), QUOTA),
        ("cephfs_data", ("full",), FULL),
        ("cephfs_metadata", ("full", "nearfull"), FULL),
    ],
    ids=["rbd", "quota", "data of a file system", "names of a file system"],
)
def test_a_full_pool_is_said_and_everything_stays(
    tmp_path: Path, pool: str, flags: tuple[str, ...], text: str
) -> None:
    site = with_rows(tmp_path, f"[{GOOD}, {{name: shared, kind: cephfs}}]")
    assert site.status == ("active", "2 classes on ceph-mon, 0 volumes")
    assert flagged(site, pool, *flags) == ("blocked", f"ceph-mon: pool {pool} {text}")
    assert set(site.objects(CLASSES)) == {"ceph-rbd", "shared"}
    assert flagged(site, pool)[0] == "active"


@pytest.mark.parametrize("flag", ["nearfull", "backfillfull"])
def test_a_nearly_full_pool_is_a_warning(tmp_path: Path, flag: str) -> None:
    site = with_rows(tmp_path, f"[{GOOD}]")
    text = f"1 class on ceph-mon, 0 volumes; ceph-mon: pool {POOL} is nearly full"
    assert flagged(site, POOL, flag) == ("active", text)


def test_pools_that_no_class_uses_are_nobodys_affair_here(tmp_path: Path) -> None:
    site = with_rows(tmp_path, f"[{GOOD}]")
    assert flagged(site, "cephfs_data", "full")[0] == "active"


@pytest.mark.parametrize(
    ("pool", "tags", "words"),
    [
        ("cephfs_data", {}, "cephfs_data cephfs data cephfs"),
        ("cephfs_data", {"data": "other"}, "cephfs_data cephfs data cephfs"),
        ("cephfs_metadata", {"data": "cephfs"}, "cephfs_metadata cephfs metadata cephfs"),
    ],
    ids=["no tag", "of another", "of another kind"],
)
def test_a_pool_that_the_capabilities_do_not_find_is_named_with_the_command(
    tmp_path: Path, pool: str, tags: dict[str, str], words: str
) -> None:
    site = with_rows(tmp_path, f"[{GOOD}, {{name: shared, kind: cephfs}}]")
    assert site.ceph is not None
    site.ceph.set_tags(pool, **tags)
    command = f"ceph osd pool application set {words}"
    text = f"shared: capabilities find no pool, run {command}"
    assert site.update() == ("blocked", text)
    assert "shared" in site.objects(CLASSES)
    with site.ceph.edit() as state:
        state["down"] = True
    assert site.talk() == ("blocked", text)  # What was seen is remembered.


def test_a_file_system_that_has_volumes_works_whatever_its_pools_lack(tmp_path: Path) -> None:
    site = with_rows(tmp_path, f"[{GOOD}, {{name: shared, kind: cephfs}}]")
    assert site.ceph is not None
    site.add_volume("pv-1", kind="cephfs", fs="cephfs")
    site.ceph.set_tags("cephfs_data")
    said = "shared: pool cephfs_data lacks tag data=cephfs, by which capabilities may go"
    assert site.update() == ("active", f"2 classes on ceph-mon, 1 volume; {said}")


def test_a_pool_that_no_class_writes_to_needs_no_tag(tmp_path: Path) -> None:
    site = with_rows(tmp_path, f"[{GOOD}, {{name: shared, kind: cephfs}}]")
    assert site.ceph is not None
    site.ceph.ensure_pool("a b", "cephfs")
    with site.ceph.edit() as state:
        state["file_systems"]["cephfs"]["data"].append("a b")
    assert site.update() == ("active", "2 classes on ceph-mon, 0 volumes")


def test_a_table_without_a_default_says_so(tmp_path: Path) -> None:
    site = with_rows(tmp_path, "[{name: ceph-rbd, kind: rbd}]")
    assert site.status == ("active", "1 class on ceph-mon, 0 volumes; no class is default")
    put_class(site, "local-path", default=True)
    assert site.update() == ("active", "1 class on ceph-mon, 0 volumes")
