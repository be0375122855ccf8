# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What our request makes on a real Ceph: the user may do what the drivers do, and nothing else.

The drivers' image is not to be had here; these are the calls that they make, through the programs
rbd and ceph, and their configuration parsed as they parse it.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker import find_answer, operations, request, request_id
from caps import Usage
from cephcli import Ceph
from charmkit.files import Files
from charmkit.host import Host
from clusters import Cluster, Memory, look
from deployed import parse_config
from driverset import config_entry
from monitors import LEGACY, parse_monitors
from offers import Offer, read_offer
from tests.functional.ceph import brokerside
from tests.functional.ceph.onenode import OneNode
from tests.functional.kubernetes.running import nothing_stays

Record = Callable[[str], None]
USER = "ceph-csi-0a1b2c3d"
POOL = "ceph-csi-rbd"
USAGE = Usage.of([POOL], ["cephfs"])


@dataclass
class Client:
    """Our user, made by our request, with a keyring of its own."""

    cluster: OneNode
    key: str
    keyring: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        program, *rest = words
        argv = [program, "-n", f"client.{USER}", "--keyring", str(self.keyring), *rest]
        conf = ["-c", str(self.cluster.conf)]
        return subprocess.run(
            [*argv, *conf], capture_output=True, text=True, timeout=120, check=False
        )


def make_client(ceph: OneNode, folder: Path) -> Client:
    ops = operations(USER, USAGE, create=[POOL], replicas=1)
    brokerside.carry_out(ceph, request(ops, ""))  # As microceph: before there is a user.
    key = brokerside.ensure_user(ceph, USER)
    asked = request(ops, key)
    answer = brokerside.carry_out(ceph, asked)
    found = find_answer(request_id(asked), "ceph-csi/0", [{"broker-rsp-ceph-csi-0": answer}])
    assert found.verdict == "done"
    keyring = folder / "keyring"
    keyring.write_text(f"[client.{USER}]\n\tkey = {key}\n")
    return Client(ceph, key, keyring)


@pytest.fixture(scope="module")
def client(ceph: OneNode, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return make_client(ceph, tmp_path_factory.mktemp("client"))


def test_the_second_request_has_set_the_capabilities(ceph: OneNode, client: Client) -> None:
    (found,) = ceph.ask("auth", "get", f"client.{USER}")
    assert client.key
    assert f"profile rbd pool={POOL}" in found["caps"]["osd"]
    assert "allow rwx" not in found["caps"]["osd"]


ALLOWED_RBD = (
    f"rbd create {POOL}/csi-vol-1 --size 64 --image-feature layering",
    f"rbd info {POOL}/csi-vol-1",
    f"rbd ls {POOL}",
    f"rbd snap create {POOL}/csi-vol-1@s1",
    f"rbd snap protect {POOL}/csi-vol-1@s1",
    f"rbd clone {POOL}/csi-vol-1@s1 {POOL}/csi-vol-2",
    f"rbd resize {POOL}/csi-vol-2 --size 128",
    f"rbd flatten {POOL}/csi-vol-2",
    f"rbd clone {POOL}/csi-vol-1@s1 {POOL}/csi-vol-3",
    f"ceph rbd task add flatten {POOL}/csi-vol-3",
    f"rbd image-meta set {POOL}/csi-vol-2 csi.storage.k8s.io/pvc/name claim",
    f"rbd create {POOL}/csi-vol-4 --size 64 --image-feature layering",
    f"rbd snap create {POOL}/csi-vol-4@s1",
    f"rbd snap protect {POOL}/csi-vol-4@s1",
    f"rbd snap unprotect {POOL}/csi-vol-4@s1",
    f"rbd snap rm {POOL}/csi-vol-4@s1",
    f"rbd trash mv {POOL}/csi-vol-4",
    f"rbd trash ls {POOL}",
    f"rados -p {POOL} setomapval csi.volumes.default csi.volume.pvc-1 uuid",
    f"rados -p {POOL} listomapkeys csi.volumes.default",
    f"rados -p {POOL} setomapval csi.snaps.default csi.snap.snapshot-1 uuid",
    f"rados -p {POOL} rmomapkey csi.snaps.default csi.snap.snapshot-1",
    f"rados -p {POOL} setomapval csi.volume.uuid csi.imagename csi-vol-1",
    f"rados -p {POOL} rm csi.volume.uuid",
    "ceph rbd task list",
    "ceph osd blocklist ls",
)
ALLOWED_CEPHFS = (
    "ceph fs ls",
    "ceph fs dump",
    "ceph fs volume ls",
    "ceph fs subvolumegroup create cephfs csi",
    "ceph fs subvolumegroup ls cephfs",
    "ceph fs subvolume create cephfs csi-vol-1 --group_name csi --size 1073741824",
    "ceph fs subvolume ls cephfs --group_name csi",
    "ceph fs subvolume getpath cephfs csi-vol-1 --group_name csi",
    "ceph fs subvolume info cephfs csi-vol-1 --group_name csi",
    "ceph fs subvolume resize cephfs csi-vol-1 2147483648 --group_name csi --no_shrink",
    "ceph fs subvolume metadata set cephfs csi-vol-1 csi.storage.k8s.io/pv/name pvc-1 csi",
    "ceph fs subvolume snapshot create cephfs csi-vol-1 s1 --group_name csi",
    "ceph fs subvolume snapshot ls cephfs csi-vol-1 --group_name csi",
    "ceph fs subvolume snapshot info cephfs csi-vol-1 s1 --group_name csi",
    (
        "ceph fs subvolume snapshot clone cephfs csi-vol-1 s1 csi-vol-2 --group_name csi"
        " --target_group_name csi"
    ),
    "ceph fs clone status cephfs csi-vol-2 --group_name csi",
    "ceph fs subvolume create cephfs csi-vol-3 --group_name csi --pool_layout cephfs_data",
    "ceph fs subvolume snapshot create cephfs csi-vol-3 s1 --group_name csi",
    "ceph fs subvolume snapshot metadata set cephfs csi-vol-3 s1 csi.ceph.com/x y csi",
    "ceph fs subvolume snapshot rm cephfs csi-vol-3 s1 --group_name csi --force",
    "ceph fs subvolume rm cephfs csi-vol-3 --group_name csi --force --retain-snapshots",
    "rados -p cephfs_meta -N csi setomapval csi.volumes.default csi.volume.pvc-1 uuid",
    "rados -p cephfs_meta -N csi setomapval csi.snaps.default csi.snap.snapshot-1 uuid",
    "rados -p cephfs_meta -N csi setomapval csi.volume.uuid csi.volname pvc-1",
    "rados -p cephfs_meta -N csi rm csi.volume.uuid",
)
"""What the drivers ask for, in their order. Source: the monitor's and the manager's logs of a
driver of October 2024 that was run with these capabilities (docs/truth.md)."""

REFUSED = (
    "rbd create other/csi-vol-1 --size 64",
    "rbd ls other",
    "rados -p other put x /etc/passwd",
    "ceph rbd task add trash remove other/1",
    "ceph osd pool create evil 8",
    "ceph osd pool rm other other --yes-i-really-really-mean-it",
    "ceph fs volume create evil",
    "ceph fs volume rm cephfs --yes-i-really-mean-it",
    "ceph fs subvolume ls another",
    "ceph auth get-or-create client.evil mon 'allow *'",
    "ceph auth get client.admin",
    f"ceph auth caps client.{USER} mon allow",
    "ceph auth ls",
    "ceph config-key ls",
    "ceph config set global mon_max_pg_per_osd 1",
    "ceph osd set noout",
    "ceph osd out 0",
    "ceph mgr module disable volumes",
    "ceph orch host ls",
)


@pytest.mark.parametrize("table", [ALLOWED_RBD, ALLOWED_CEPHFS], ids=["rbd", "cephfs"])
def test_everything_that_a_driver_does_succeeds(client: Client, table: tuple[str, ...]) -> None:
    outcomes = {words: client.run(*words.split()) for words in table}
    failed = {w: done.stderr[-300:] for w, done in outcomes.items() if done.returncode}
    assert failed == {}


def test_an_image_in_the_trash_is_removed_by_the_manager(client: Client) -> None:
    image = f"{POOL}/csi-vol-trash"
    assert client.run("rbd", "create", image, "--size", "64").returncode == 0
    identity = json.loads(client.run("rbd", "info", image, "--format", "json").stdout)["id"]
    assert client.run("rbd", "trash", "mv", image).returncode == 0
    done = client.run("ceph", "rbd", "task", "add", "trash", "remove", f"{POOL}/{identity}")
    assert done.returncode == 0, done.stderr

    def left() -> list[str]:
        trash = client.run("rbd", "trash", "ls", POOL)
        assert trash.returncode == 0, trash.stderr
        return [line for line in trash.stdout.splitlines() if identity in line]

    nothing_stays(left)


@pytest.mark.parametrize("words", REFUSED)
def test_everything_else_is_refused(client: Client, words: str) -> None:
    done = client.run(*words.split())
    assert done.returncode != 0
    assert "EACCES" in done.stderr or "not permitted" in done.stderr or "EPERM" in done.stderr


def offer_of(ceph: OneNode, *keys: str) -> Offer:
    bags = {
        f"ceph-mon/{index}": {"auth": "cephx", "key": key, "ceph-public-address": ceph.address}
        for index, key in enumerate(keys)
    }
    return read_offer("ceph-mon", USER, 1, {}, bags)


def seen(ceph: OneNode, folder: Path, *keys: str) -> Cluster:
    """Return the cluster as the charm's own gateway sees it on this machine."""
    host = Host(Files(folder))

    def make(offer: Offer, key: str) -> Ceph:
        return Ceph(_Rooted(folder), "ceph-csi", offer, key)

    memory = Memory(host, "ceph-csi")
    (cluster,), problems = look([offer_of(ceph, *keys)], memory, make, sweep=True)
    assert problems == []
    return cluster


class _Rooted(Host):
    """This machine, with the charm's own files below a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Files(folder))
        self._folder = folder

    def run(self, argv: object, *, timeout: float = 60) -> str:
        words = [str(word) for word in argv]  # type: ignore[attr-defined]
        conf = self.files.path(words[words.index("--conf") + 1])
        text = conf.read_text().replace("keyring = /var", f"keyring = {self._folder}/var")
        conf.write_text(text)
        words[words.index("--conf") + 1] = str(conf)
        return super().run(words, timeout=timeout)


def test_the_gateway_finds_identity_monitors_file_systems_and_pools(
    ceph: OneNode, client: Client, tmp_path: Path
) -> None:
    cluster = seen(ceph, tmp_path, client.key)
    assert cluster.fsid == ceph.fsid
    assert cluster.monitors == parse_monitors(ceph.address)
    assert [one.name for one in cluster.file_systems] == ["cephfs"]
    assert {POOL, "other"} <= set(cluster.pools)


@pytest.fixture
def coded(ceph: OneNode) -> Iterator[str]:
    """An erasure-coded pool: on one OSD it never gets ready, and `rbd` may wait for it."""
    ceph.ceph("osd", "pool", "create", "coded", "1", "1", "erasure")
    yield "coded"
    ceph.ceph("config", "set", "mon", "mon_allow_pool_delete", "true")
    ceph.ceph("osd", "pool", "delete", "coded", "coded", "--yes-i-really-really-mean-it")


def test_erasure_coded_pools_are_known_from_others(
    ceph: OneNode, client: Client, coded: str, tmp_path: Path
) -> None:
    cluster = seen(ceph, tmp_path, client.key)
    assert (cluster.coded, cluster.rigid) == ((coded,), (coded,))


@pytest.fixture
def small(ceph: OneNode) -> Iterator[str]:
    """A pool that has reached its quota of one object."""
    ceph.ceph("osd", "pool", "create", "small", "1")
    ceph.ceph("osd", "pool", "application", "enable", "small", "rbd")
    ceph.ceph("osd", "pool", "set-quota", "small", "max_objects", "1")
    # No second one: once the monitor has counted the first, a client waits for ever.
    ceph.run(["rados", "--pool", "small", "put", "one", str(ceph.conf)])
    yield "small"
    ceph.ceph("config", "set", "mon", "mon_allow_pool_delete", "true")
    ceph.ceph("osd", "pool", "delete", "small", "small", "--yes-i-really-really-mean-it")


def test_a_pool_that_reached_its_quota_is_seen_with_the_users_own_capabilities(
    ceph: OneNode, client: Client, small: str, tmp_path: Path
) -> None:
    until = time.monotonic() + 60
    while not (full := seen(ceph, tmp_path, client.key).full) and time.monotonic() < until:
        time.sleep(1)
    assert full == {small: "quota"}


def test_a_pool_of_a_file_system_without_its_tag_is_seen_and_cured_as_the_status_says(
    ceph: OneNode, client: Client, tmp_path: Path
) -> None:
    assert seen(ceph, tmp_path, client.key).untagged == ()
    ceph.ceph("osd", "pool", "application", "rm", "cephfs_data", "cephfs", "data")
    (tag,) = seen(ceph, tmp_path, client.key).untagged
    ceph.ceph("osd", "pool", "application", "set", *str(tag).split())
    assert seen(ceph, tmp_path, client.key).untagged == ()


def test_the_drivers_configuration_is_what_they_parse(
    ceph: OneNode, client: Client, tmp_path: Path
) -> None:
    entry = config_entry(seen(ceph, tmp_path, client.key), LEGACY)
    text = json.dumps([entry])
    (parsed,) = parse_config({"data": {"config.json": text}})
    assert parsed["clusterID"] == ceph.fsid
    assert len(parsed["clusterID"]) <= 36
    hosts = ",".join(parsed["monitors"])  # The driver hands them to rbd as -m.
    done = client.run("rbd", "-m", hosts, "ls", POOL)
    assert done.returncode == 0, done.stderr


def test_a_moved_monitor_is_followed(moving: OneNode, tmp_path: Path, times: Record) -> None:
    key = make_client(moving, tmp_path).key
    before = seen(moving, tmp_path / "a", key)
    begin = time.monotonic()
    moving.move_monitor()
    moved = time.monotonic() - begin
    begin = time.monotonic()
    after = seen(moving, tmp_path / "b", key)
    seen_seconds = time.monotonic() - begin
    times(f"monitor moved in {moved:.1f} s, seen by the charm in {seen_seconds:.1f} s")
    assert after.fsid == before.fsid
    assert after.monitors == parse_monitors(moving.address)
    assert after.monitors != before.monitors


def test_a_rotated_key_is_taken_from_the_bag_that_has_it(
    ceph: OneNode, client: Client, tmp_path: Path, times: Record
) -> None:
    old = client.key
    fresh = ceph.run(["ceph-authtool", "--gen-print-key"]).strip()
    text = ceph.ceph("auth", "get", f"client.{USER}")
    assert old in text
    ring = tmp_path / "import"
    ring.write_text(text.replace(old, fresh))
    ceph.ceph("auth", "import", "-i", str(ring))
    begin = time.monotonic()
    cluster = seen(ceph, tmp_path, old, fresh)
    times(f"rotated key found in {time.monotonic() - begin:.1f} s")
    assert cluster.key == fresh
    client.key = fresh
    client.keyring.write_text(f"[client.{USER}]\n\tkey = {fresh}\n")
    assert client.run("rbd", "ls", POOL).returncode == 0
