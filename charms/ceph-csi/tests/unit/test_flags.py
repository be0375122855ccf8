# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is rendered is what the pinned programs read: an unknown flag ends them at every start.

The sidecars' flags were read in their sources at the pinned tags. The driver's were read in its
source of October 2024 (commit 52fcb7b0, between 3.12 and 3.13) and, as far as they are used, in
the manifests of 3.16.0; that driver was run with them (docs/truth.md).
"""

from collections.abc import Iterator
from typing import Any

import pytest

from cephcli import FileSystem
from classes import render_class
from classtable import MOUNTERS, NBD_FEATURES, ClassRow
from clusters import Cluster
from driverset import Wanted, find_images, render_drivers
from monitors import MODES, Monitor
from names import DRIVERS
from wanted import Class

READ_AT = {
    "driver": "v3.16.0",
    "provisioner": "v6.0.0",
    "attacher": "v4.10.0",
    "resizer": "v2.0.0",
    "snapshotter": "v8.4.0",
    "registrar": "v2.15.0",
}
"""Another version is pinned only after its flags, roles and parameters were read."""

_LEADS = (
    "v csi-address timeout version kube-api-qps kube-api-burst leader-election http-endpoint"
    " leader-election-namespace leader-election-lease-duration leader-election-renew-deadline"
    " leader-election-retry-period metrics-path retry-interval-start retry-interval-max"
    " feature-gates"
)
FLAGS = {
    "driver": "v type endpoint drivername drivernamespace nodeid pluginpath stagingpath"
    " clustername setmetadata instanceid pidlimit controllerserver nodeserver domainlabels"
    " metricsport metricspath polltime timeout rbdhardmaxclonedepth rbdsoftmaxclonedepth"
    " enableprofiling csi-addons-endpoint",
    "provisioner": f"{_LEADS} extra-create-metadata prevent-volume-mode-conversion"
    " default-fstype immediate-topology strict-topology worker-threads",
    "attacher": f"{_LEADS} default-fstype resync reconcile-sync worker-threads max-entries",
    "resizer": f"{_LEADS} handle-volume-inuse-error resync-period workers extra-modify-metadata",
    "snapshotter": f"{_LEADS} extra-create-metadata worker-threads snapshot-name-prefix",
    "registrar": "v csi-address timeout version plugin-registration-path http-endpoint mode"
    " kubelet-registration-path",
}
GATES = {"provisioner": {"HonorPVReclaimPolicy", "Topology"}}

PARAMETERS = {
    "rbd": {"clusterID", "pool", "dataPool", "imageFeatures", "mounter", "mapOptions"},
    "cephfs": {"clusterID", "fsName", "pool", "mounter"},
}
"""Of a StorageClass, besides `encrypted`. Source: the driver, internal/rbd/rbd_util.go and
controllerserver.go, internal/cephfs/store/volumeoptions.go."""

SECRET_USES = {"provisioner", "controller-expand", "node-stage"}
"""Calls for which the driver reads a Secret. Source: GetSecrets() in its servers."""

CLUSTER = Cluster(
    name="ceph-mon",
    fsid="ffd296d4-7790-8387-4120-3e56f9787fb5",
    user="ceph-csi",
    key="",
    monitors=(Monitor("10.0.0.1"),),
    file_systems=(FileSystem("cephfs", ("data",)),),
    pools=("kube", "coded"),
)


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    images = find_images("")
    assert {name: image.rpartition(":")[2] for name, image in images.items()} == READ_AT
    programs = {image: name for name, image in images.items()}
    wanted = Wanted(tuple(DRIVERS), (), {}, snapshots=True)
    for obj in render_drivers(wanted):
        if obj["kind"] in ("Deployment", "DaemonSet"):
            for container in obj["spec"]["template"]["spec"]["containers"]:
                yield programs[container["image"]], container


def test_every_flag_is_one_that_the_pinned_program_knows() -> None:
    seen: set[str] = set()
    for program, container in containers():
        seen.add(program)
        given = dict(text.removeprefix("--").partition("=")[::2] for text in container["args"])
        assert set(given) <= set(FLAGS[program].split()), program
        gates = {one.partition("=")[0] for one in given.get("feature-gates", "").split(",") if one}
        assert gates <= GATES.get(program, set())
    assert seen == set(READ_AT)


def test_claims_that_wait_for_their_pod_are_served_though_nodes_have_no_topology() -> None:
    drivers = [one["args"] for program, one in containers() if program == "driver"]
    assert not any("domainlabels" in text for args in drivers for text in args)
    provisioners = [one["args"] for program, one in containers() if program == "provisioner"]
    assert len(provisioners) == len(DRIVERS)
    for args in provisioners:
        (gates,) = [text for text in args if text.startswith("--feature-gates=")]
        assert "Topology=false" in gates.partition("=")[2].split(",")


def test_every_variable_of_a_flag_is_set_for_its_container() -> None:
    for _program, container in containers():
        names = {one["name"] for one in container.get("env", [])}
        used = {text.split("$(")[1].split(")")[0] for text in container["args"] if "$(" in text}
        assert used <= names


ROWS = [
    *(
        ClassRow("a", "rbd", pool="kube", mounter=mounter, features=features, encrypted=encrypted)
        for mounter in ("", *MOUNTERS["rbd"])
        for features in ((), ("layering",), ("layering", "exclusive-lock", *NBD_FEATURES))
        for encrypted in (False, True)
    ),
    ClassRow("a", "rbd", pool="kube", data_pool="coded", fs_type="xfs"),
    *(
        ClassRow("a", "cephfs", file_system="cephfs", mounter=mounter, pool=pool, encrypted=sealed)
        for mounter in ("", *MOUNTERS["cephfs"])
        for pool in ("", "data")
        for sealed in (False, True)
    ),
]


@pytest.mark.parametrize("mode", MODES)
def test_every_parameter_is_one_that_the_driver_reads_and_none_is_empty(mode: str) -> None:
    for row in ROWS:
        parameters = render_class(Class(row, CLUSTER), "ceph-csi", mode, default=False)[
            "parameters"
        ]
        assert all(parameters.values()), row
        prefix = "csi.storage.k8s.io/"
        own = {name for name in parameters if not name.startswith(prefix)}
        assert own <= {*PARAMETERS[row.kind], "encrypted"}
        uses = {
            name.removeprefix(prefix).removesuffix("-secret-name")
            for name in parameters
            if name.endswith("-secret-name")
        }
        assert uses == SECRET_USES
