# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One field of a right bundle with one value after another, as Juju 4.0 takes or refuses it."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.bundle import Finding, check

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
RIGHT: dict[str, Any] = {
    "default-base": "ubuntu@24.04",
    "applications": {
        "easyrsa": {"charm": f"{CHARMS}/easyrsa.charm", "num_units": 1, "to": ["0"]},
        "etcd": {"charm": f"{CHARMS}/etcd.charm", "num_units": 2, "to": ["0", "1"]},
        "sto": {"charm": f"{CHARMS}/sto.charm", "num_units": 1},
        "containerd": {"charm": f"{CHARMS}/containerd.charm"},
        "worker": {"charm": f"{CHARMS}/kubernetes-worker.charm", "num_units": 1},
    },
    "machines": {"0": {}, "1": {}},
    "relations": [
        ["etcd:certificates", "easyrsa:client"],
        ["containerd:containerd", "worker:container-runtime"],
    ],
}


def findings(tmp_path: Path, path: str, value: Any, overlay: str = "") -> list[Finding]:
    """Return what the check says of the right bundle with one value changed."""
    data = copy.deepcopy(RIGHT)
    *steps, last = path.split(".")
    place: Any = data
    for step in steps:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[int(step)]
    place[last] = value
    file = tmp_path / "b.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    overlays: list[Path] = []
    if overlay:
        overlays.append(tmp_path / "o.yaml")
        overlays[0].write_text(overlay)
    return check(file, overlays, juju="4.0")


def verdict(found: list[Finding], path: str) -> str:
    """Return `refused`, `warned` or `accepted`; a finding that counts stands at the path."""
    at = [f for f in found if f"{f.path}.".startswith(f"{path}.") or path.startswith(f.path)]
    if any(finding.severity == "error" for finding in found):
        assert any(finding.severity == "error" for finding in at), found
        return "refused"
    return "warned" if found else "accepted"


def rows(*groups: tuple[str, str, list[Any]]) -> list[Any]:
    """Return a parameter for each value of each group (path, verdict, values)."""
    return [
        pytest.param(path, value, wanted, id=f"{path.rpartition('.')[2]} {value!r}"[:60])
        for path, wanted, values in groups
        for value in values
    ]


def test_the_right_bundle_has_no_findings(tmp_path: Path):
    assert findings(tmp_path, "description", "right") == []


CONSTRAINTS = "applications.sto.constraints"
MACHINE = "machines.0.constraints"
TO = "applications.etcd.to"
DATA = "applications.sto.storage.data"
GPU = "applications.sto.devices.gpu"
SNAPSHOT = "applications.etcd.resources.snapshot"


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    rows(
        ("default-base", "accepted", ["ubuntu@24.04/stable", "ubuntu@24.04/edge"]),
        ("default-base", "refused", [
            "ubuntu", "ubuntu@", "@24.04", "noble", "ubuntu@24.04@x", "ubuntu@24.04/nosuch",
            "centos@9", "debian@12", "Ubuntu@24.04", " ubuntu@24.04", "ubuntu@latest", "ubuntu@24",
            "ubuntu@99.04", "ubuntu@18.04", 24.04, "ubuntu@24.04/stable/x",
        ]),
        ("default-base", "warned", ["", None]),
        ("applications.sto.base", "refused", ["jammy", "ubuntu@20.04", "ubuntu@24.04@x"]),
        ("machines.0.base", "refused", [
            "jammy", "ubuntu", "ubuntu@99.04", "debian@12", "ubuntu@18.04", "Ubuntu@24.04",
        ]),
        ("machines.0.base", "warned", ["ubuntu@22.04"]),
    ),
)  # fmt: skip
def test_bases(path: str, value: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, path, value), path) == wanted


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    rows(
        (CONSTRAINTS, "accepted", [
            "", None, "cores=2", "cores=", "cpu-cores=2", "mem=8.5G", "mem=", "tags=a,b",
            "tags=^a", "tags=", "zones=a", "spaces=alpha", "spaces=", "arch=amd64",
            "image-id=", "root-disk=1T", "arch=", "virt-type=virtual-machine", " cores=2 ",
            "container=lxd",
            "cores=2  mem=4G", "cores=2\n", "cores=2 \n mem=4G", "\tcores=2",
            "cores=18446744073709551615", "mem=1e3M", "mem=.5T",
        ]),
        (CONSTRAINTS, "refused", [
            "cores", "cores=two", "cores=-1", "cores=1.5", "cores = 2", "CORES=2", "image-id=x",
            "cores=2\tmem=4G", "cores=2,mem=4G", "cores=2 cpu-cores=2", "mem=8G mem=9G", "mem=8GB",
            "mem=8g", "mem=-1", "mem=G", "tags=a, b", "spaces=nosuch", "spaces=Bad_Space",
            "spaces=^nosuch", "arch=foo", "arch=AMD64", "arch=amd64,arm64", "container=docker",
            "nested-virtualization=yes", "allocate-public-ip=maybe", "virt-type=nosuch", "foo=1",
            "=2", "cores=18446744073709551616", "cores=\uff12", "cores=2\nmem=4G", 5, ["cores=2"],
            {"cores": 2}, "arch=arm64",
        ]),
        (CONSTRAINTS, "warned", [
            "spaces=^alpha", "mem=8", "cpu-power=100", "instance-type=m1", "root-disk-source=x",
            "allocate-public-ip=true",
        ]),
        (MACHINE, "accepted", ["cores=2 mem=4G", "tags=gpu,^old", "", "mem=4G\n"]),
        (MACHINE, "refused", [
            "cores=two", "spaces=nosuch", {"cores": 2}, "arch=arm64", "image-id=x",
        ]),
    ),
)  # fmt: skip
def test_constraints(path: str, value: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, path, value), path) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("etcd-a2", "accepted"), ("e", "accepted"), ("x" * 200, "accepted"), ("null", "accepted"),
        ("new", "warned"), ("controller", "warned"), ("juju-x", "warned"),
        ("Etcd2", "refused"), ("etcd-2", "refused"), ("etcd_b", "refused"), ("2etcd", "refused"),
        ("-etcd", "refused"), ("etcd-", "refused"), ("etcd.b", "refused"), ("etcd--b", "refused"),
        ("étcd", "refused"), ("etcd b", "refused"), ("7", "refused"), ("", "refused"),
    ],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_names_of_applications(name: str, wanted: str, tmp_path: Path):
    body = {"charm": f"{CHARMS}/sto.charm", "num_units": 0}
    path = f"applications.{name}"
    found = findings(tmp_path, "description", "x")
    data = copy.deepcopy(RIGHT)
    data["applications"][name] = body
    file = tmp_path / "n.yaml"
    file.write_text(yaml.safe_dump(data, allow_unicode=True))
    found = check(file, juju="4.0")
    assert verdict(found, path) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (["1", "0"], "accepted"), ([0, 1], "accepted"), (["lxd:0", "1"], "accepted"),
        (["1", "new"], "accepted"), (["1", "easyrsa"], "accepted"), (["1", "sto/0"], "accepted"),
        (["1", "lxd:sto"], "accepted"), (["1", "lxd:new"], "accepted"),
        (["1"], "warned"), (["1", "containerd"], "warned"),
        (["0", "9"], "refused"), (["1", "sto/1"], "refused"), (["1", "sto/01"], "refused"),
        (["1", "nosuch"], "refused"), (["1", "nosuch/0"], "refused"), (["1", "new/0"], "refused"),
        (["1", "etcd"], "refused"), (["1", "etcd/0"], "refused"), (["1", ""], "refused"),
        (["1", " 0"], "refused"), (["1", "0/lxd/0"], "refused"), (["1", "zone=a"], "refused"),
        (["1", "LXD:0"], "refused"), (["1", "kvm:0"], "refused"), (["1", "docker:0"], "refused"),
        (["1", None], "refused"), (["0", "1", "1"], "refused"), ("1", "refused"),
        ({"a": 1}, "refused"), ([["1"], "0"], "refused"),
    ],
    ids=repr,
)  # fmt: skip
def test_placements(value: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, TO, value), TO) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (2, "accepted"), (2.0, "accepted"), (3, "warned"), (5000, "warned"),
        ("2", "refused"), (True, "refused"), (-1, "refused"), (1, "refused"), (None, "refused"),
        ([2], "refused"), ("two", "refused"), (10**30, "refused"),
    ],
    ids=repr,
)  # fmt: skip
def test_numbers_of_units(value: Any, wanted: str, tmp_path: Path):
    path = "applications.etcd"
    assert verdict(findings(tmp_path, f"{path}.num_units", value), path) == wanted


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    rows(
        (DATA, "accepted", [
            "1G", "rootfs,1G", "rootfs,1,1G", "1,rootfs", "tmpfs,1G", "lxd,1G", "1.5G", 1, "1GiB",
        ]),
        (DATA, "refused", [
            "", None, ",", "2", 5, "0,1G", "-1", "1X", "ebs,1G", "root fs", ["1G"], {"size": 1},
            "1g", "1.5.5G", "1.G", "-1G", "0G", " 1G", "rootfs,loop", "1,1", "1G,2G", "root_fs",
        ]),
        (DATA, "warned", ["loop,1G"]),
        ("applications.etcd.storage.data", "refused", ["rootfs,1G", "lxd,1G", "tmpfs"]),
        ("applications.etcd.storage.data", "warned", ["1G", "loop"]),
        ("applications.sto.storage.many", "accepted", ["2,1G"]),
        ("applications.sto.storage.many", "refused", ["3,1G"]),
        ("applications.sto.storage.nosuch", "refused", ["1G"]),
        ("applications.sto.storage.Data_1", "refused", ["1G"]),
        (GPU, "accepted", ["1,nvidia.com/gpu,a=b", "4,x,a=b;c=d"]),
        (GPU, "refused", [
            "", "1", "0,x,a=b", "9,x,a=b", "1,nvidia.com/gpu", None, ["x"], "nvidia.com/gpu,a=b",
            "y,x,a=b", "1,x,a", "1,x,a=b=c", "1,x,a=b,c=d", "-1,x,a=b",
        ]),
        ("applications.sto.devices.nosuch", "refused", ["1,x,a=b"]),
        ("applications.sto.devices.GPU", "refused", ["1,x,a=b"]),
    ),
)  # fmt: skip
def test_storage_and_devices(path: str, value: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, path, value), path) == wanted


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    rows(
        (SNAPSHOT, "accepted", [f"{CHARMS}/sto.charm"]),
        (SNAPSHOT, "warned", [1, 0]),
        (SNAPSHOT, "refused", ["nosuch", "", "..", 1.5, True, ["a"], {"a": 1}]),
        ("applications.etcd.resources.nosuch", "refused", [1]),
        ("applications.etcd.resources", "refused", [{"": 1}, ["snapshot"], "snapshot"]),
        ("applications.etcd.bindings", "accepted", [None, {}, {"": "alpha"}, {"db": "alpha"}]),
        ("applications.etcd.bindings", "refused", [
            {"nosuch": "alpha"}, {"db": "beta"}, {"": "beta"}, {"db": ""}, {"db": None}, "alpha",
            {"db": 5}, ["db"],
        ]),
        ("applications.etcd.trust", "warned", [True]),
        ("applications.etcd.trust", "accepted", [False, None]),
        ("applications.etcd.trust", "refused", ["true", 1, ["x"]]),
        ("applications.etcd.expose", "accepted", [True, False]),
        ("applications.etcd.expose", "refused", ["yes", 1]),
        ("applications.etcd.annotations", "accepted", [{"a": "b"}, {"a": 1}, {"a": True}, {}]),
        ("applications.etcd.annotations", "refused", [
            {"a": ["b"]}, "a", ["a"], {"a.b": "c"}, {"": "c"}, {" ": "c"}, {None: "c"},
        ]),
        ("machines.0.annotations", "refused", [{"a.b": "c"}, {"": "c"}]),
        ("machines.0.annotations", "accepted", [{"a-b": "c"}, {"a/b c": ""}]),
        ("applications.etcd.channel", "refused", [
            "latest/stable", "3.4/stable", "edge", "stable/fix", "a/b/c/d", 3.4, "Stable",
        ]),
        ("applications.etcd.channel", "warned", ["stable"]),
        ("applications.etcd.channel", "accepted", ["", None]),
        ("applications.etcd.revision", "warned", [0, 3, -1]),
        ("applications.etcd.annotations", "warned", [{"a": None}]),
        ("applications.etcd.offers", "refused", [{"ca": {"endpoints": ["db"]}}]),
        ("applications.etcd.offers", "accepted", [None]),
        ("applications.etcd.exposed-endpoints", "refused", [{"db": {}}, {}]),
        ("applications.etcd.exposed-endpoints", "accepted", [None]),
    ),
)  # fmt: skip
def test_what_else_an_application_has(path: str, value: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, path, value), path) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ([], "warned"),
        ([["etcd:certificates", "easyrsa:client"]], "warned"),
        ([["containerd:containerd", "worker:container-runtime"]], "accepted"),
        ([["containerd", "worker"]], "accepted"),
        ([["worker", "containerd"]], "accepted"),
        ([["etcd"]], "refused"),
        ([["etcd", "easyrsa", "sto"]], "refused"),
        ([["etcd:", "easyrsa:client"]], "refused"),
        ([["etcd:x:y", "easyrsa:client"]], "refused"),
        ([["etcd/0:db", "easyrsa:client"]], "refused"),
        ([["nosuch:db", "easyrsa:client"]], "refused"),
        ([["etcd:cluster", "etcd:cluster"]], "refused"),
        ([["etcd:db", "easyrsa:client"]], "refused"),
        ([["etcd:nosuch", "easyrsa:client"]], "refused"),
        ([["etcd:certificates", "easyrsa:client"], ["easyrsa:client", "etcd:certificates"]],
         "refused"),
        ([["etcd:certificates", "easyrsa:client"], ["etcd", "easyrsa"]], "refused"),
        ([["sto", "easyrsa"]], "refused"),
        ("etcd easyrsa", "refused"),
        (["etcd", "easyrsa"], "refused"),
        ([{"etcd": "easyrsa"}], "refused"),
    ],
    ids=repr,
)  # fmt: skip
def test_relations(value: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, "relations", value), "relations") == wanted


@pytest.mark.parametrize(
    ("overlay", "path", "wanted"),
    [
        ("applications: {etcd: {offers: {ca: {endpoints: [db]}}}}", "", "accepted"),
        ("applications: {etcd: {offers: {Ca_1: {endpoints: [db]}}}}", "etcd.offers", "refused"),
        ("applications: {etcd: {offers: {ca: {endpoints: []}}}}", "etcd.offers", "refused"),
        ("applications: {etcd: {offers: {ca: {endpoints: [no]}}}}", "etcd.offers", "refused"),
        ("applications: {etcd: {offers: {ca: {endpoints: [cluster]}}}}", "etcd.offers", "refused"),
        (
            "applications: {etcd: {offers: {ca: {endpoints: [db], acl: {admin: admin}}}}}",
            "etcd.offers.ca.acl",
            "refused",
        ),
        (
            "applications: {etcd: {offers: {ca: {endpoints: [db], acl: {nobody: read}}}}}",
            "etcd.offers.ca.acl",
            "refused",
        ),
        (
            "applications: {etcd: {offers: {ca: {endpoints: [db], acl: {e@external: own}}}}}",
            "etcd.offers.ca.acl",
            "refused",
        ),
        (
            "applications: {etcd: {offers: {ca: {endpoints: [db], acl: {e@external: read}}}}}",
            "etcd.offers.ca.acl",
            "warned",
        ),
        (
            "applications: {etcd: {exposed-endpoints: {db: {expose-to-cidrs: [10.0.0.0/8]}}}}",
            "",
            "accepted",
        ),
        (
            "applications: {etcd: {exposed-endpoints: {db: {expose-to-cidrs: [10.0.0.1]}}}}",
            "etcd.exposed-endpoints.db",
            "refused",
        ),
        (
            "applications: {etcd: {exposed-endpoints: {no: {expose-to-cidrs: [10.0.0.0/8]}}}}",
            "etcd.exposed-endpoints.no",
            "refused",
        ),
        (
            "applications: {etcd: {exposed-endpoints: {db: {expose-to-spaces: [beta]}}}}",
            "etcd.exposed-endpoints.db",
            "refused",
        ),
        ("applications: {etcd: {exposed-endpoints: {db: {}}}}", "etcd", "warned"),
        ("saas: {far: {url: admin/m.ca}}", "", "accepted"),
        ("saas: {far: {url: 'lab:admin/m.ca'}}", "", "accepted"),
        ("saas: {far: {url: m.ca}}", "", "accepted"),
        (
            ("applications: {etcd: {expose: true,"
            " exposed-endpoints: {db: {expose-to-cidrs: ['::/0']}}}}"),
            "etcd.exposed-endpoints",
            "refused",
        ),
    ],
)  # fmt: skip
def test_offers_and_exposure_of_an_overlay(overlay: str, path: str, wanted: str, tmp_path: Path):
    found = findings(tmp_path, "description", "x", overlay)
    assert verdict(found, f"applications.{path}") == wanted


@pytest.mark.parametrize(
    ("saas", "wanted"),
    [
        ({"far": {"url": "admin/m"}}, "refused"),
        ({"far": {"url": "admin/m.ca:client"}}, "refused"),
        ({"far": {"url": ""}}, "refused"),
        ({"far": {"url": "admin/M.ca"}}, "refused"),
        ({"far": {"url": "admin/m_1.ca"}}, "refused"),
        ({"far": {"url": "admin/m.Ca"}}, "refused"),
        ({"far": {"url": "admin/m.ca-1"}}, "refused"),
        ({"far": {"url": "admin/m.1ca"}}, "refused"),
        ({"far": {"url": "admin/m.ca "}}, "refused"),
        ({"far": {"url": "admin/m/ca"}}, "refused"),
        ({"far": {"url": ":admin/m.ca"}}, "refused"),
        ({"far": {"url": "admin/m-1.ca-b"}}, "accepted"),
        ({"far": {"url": "admin@external/m.ca"}}, "accepted"),
        ({"far": {}}, "refused"),
        ({"far": None}, "refused"),
        ({"Far_1": {"url": "admin/m.ca"}}, "refused"),
        ({"etcd": {"url": "admin/m.ca"}}, "refused"),
        ({"far": "admin/m.ca"}, "refused"),
        ({}, "accepted"),
        (None, "accepted"),
    ],
    ids=repr,
)
def test_saas(saas: Any, wanted: str, tmp_path: Path):
    assert verdict(findings(tmp_path, "saas", saas), "saas") == wanted
