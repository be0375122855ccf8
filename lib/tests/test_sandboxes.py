# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import pytest

from charmkit.files import Files
from standins.charms.toml import render
from standins.cluster.sandboxes import CONTAINERD, Runtimes, awaited_files, find_obstacle

NVIDIA = "nvidia-container-runtime"


def pod(command: str = "", *, mount: str = "/gate", kind: str = "", sub_path: str = "") -> Any:
    where = {"name": "gate", "mountPath": mount}
    if sub_path:
        where["subPath"] = sub_path
    volume = {"name": "gate", "hostPath": {"path": "/run/gpu-worker", "type": kind}}
    init = [{"name": "gate", "command": ["sh", "-c", command], "volumeMounts": [where]}]
    return {
        "spec": {"containers": [{"name": "main"}], "initContainers": init, "volumes": [volume]}
    }


@pytest.mark.parametrize(
    ("waiting", "paths"),
    [
        pytest.param(
            pod("until [ -e /gate/ready ]; do sleep 1; done"), ["/run/gpu-worker/ready"], id="e"
        ),
        pytest.param(
            pod("while ! test -f /gate/a/b-c.json; do :; done"),
            ["/run/gpu-worker/a/b-c.json"],
            id="f",
        ),
        pytest.param(pod("cat /gateway/ready"), [], id="longer-name"),
        pytest.param(
            pod("test -e /gate/ready", sub_path="x"), ["/run/gpu-worker/x/ready"], id="sub"
        ),
        pytest.param(pod("true"), [], id="nothing"),
        pytest.param({"spec": {"containers": []}}, [], id="no-init"),
    ],
)
def test_an_init_container_waits_for_what_its_command_names(
    waiting: Any, paths: list[str]
) -> None:
    assert awaited_files(waiting) == paths


def obstacle(files: Files, wanted: Any, handler: str = "") -> tuple[str, str] | None:
    found = find_obstacle(wanted, files, Runtimes.read(files), handler)
    return (found.reason, found.path) if found else None


def test_a_pod_passes_one_obstacle_after_the_other(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.ensure_text(CONTAINERD, render(NVIDIA))
    wanted = pod("test -e /gate/ready", kind="Directory")
    assert obstacle(files, wanted) == ("ContainerCreating", "/run/gpu-worker")
    files.ensure_directory("/run/gpu-worker")
    assert obstacle(files, wanted) == ("ContainerCreating", f"/usr/bin/{NVIDIA}")
    files.ensure_text(f"/usr/bin/{NVIDIA}", "")
    assert obstacle(files, wanted) == ("PodInitializing", "/run/gpu-worker/ready")
    files.ensure_text("/run/gpu-worker/ready", "{}")
    assert obstacle(files, wanted) is None


def test_a_handler_that_containerd_does_not_know_is_named(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.ensure_text(CONTAINERD, render(NVIDIA))
    files.ensure_text(f"/usr/bin/{NVIDIA}", "")
    found = find_obstacle(pod(), files, Runtimes.read(files), "nvidia")
    assert found is not None
    assert 'no runtime for "nvidia" is configured' in found.message
    assert obstacle(files, pod(), NVIDIA) is None


def test_a_machine_without_a_configuration_runs_plain_containers(tmp_path: Path) -> None:
    runtimes = Runtimes.read(Files(tmp_path))
    assert runtimes.default == "runc"
    assert not runtimes.is_nvidia("")
    assert obstacle(Files(tmp_path), pod()) is None


def test_folders_of_the_kubelet_are_always_there(tmp_path: Path) -> None:
    wanted = pod(kind="Directory")
    wanted["spec"]["volumes"][0]["hostPath"]["path"] = "/var/lib/kubelet/device-plugins"
    assert obstacle(Files(tmp_path), wanted) is None


def test_a_gate_of_another_boot_is_no_gate(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.ensure_text("/proc/sys/kernel/random/boot_id", "second\n")
    wanted = pod('until grep -qs "$(cat /proc/sys/kernel/random/boot_id)" /gate/ready; do :; done')
    files.ensure_text("/run/gpu-worker/ready", '{"boot": "first"}')
    assert obstacle(files, wanted) == ("PodInitializing", "/run/gpu-worker/ready")
    files.ensure_text("/run/gpu-worker/ready", '{"boot": "second"}')
    assert obstacle(files, wanted) is None
