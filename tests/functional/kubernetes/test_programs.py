# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where the programs come from, and that nothing of a control plane outlives it."""

import os
import socket
from pathlib import Path

import pytest

from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.controlplane import control_plane
from tests.functional.kubernetes.processes import Program, StartError, free_ports, held_ports
from tests.functional.kubernetes.running import require


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Go and with an empty cache; the folder is its PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("FUNCTIONAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def make_program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_without_go_the_missing_program_and_what_would_help_are_named(bare: Path) -> None:
    with pytest.raises(binaries.MissingProgramError) as refusal:
        binaries.find("kube-apiserver")
    text = str(refusal.value)
    assert text.startswith("kube-apiserver is missing: install Go")
    assert "KUBEBUILDER_ASSETS" in text
    assert "PATH" in text
    assert binaries.find_missing(["kube-apiserver"]) == text


def test_without_go_a_program_on_the_path_serves(bare: Path) -> None:
    program = make_program(bare / "kube-apiserver")
    assert binaries.find("kube-apiserver") == program
    assert binaries.find_missing(["kube-apiserver"]) is None


def test_given_programs_come_before_all_others(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_program(bare / "etcd")
    given = make_program(bare.parent / "assets" / "etcd")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given.parent))
    assert binaries.find("etcd") == given


def test_every_program_of_all_modules_is_a_tool() -> None:
    assert set(binaries.tools()) >= {
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
        "kubectl",
        "kubelet",
        "controller",
        "speaker",
        "deviceplugin",
    }


def test_the_programs_are_of_the_minor_that_the_bundle_deploys() -> None:
    bundle = (binaries.ROOT / "bundles" / "charmed-kubernetes.yaml").read_text()
    lock = (binaries.MODULES / "cluster" / "go.mod").read_text()
    assert "channel: 1.35/stable" in bundle
    assert "k8s.io/kubernetes v1.35." in lock


def test_a_program_that_ends_at_once_fails_with_its_last_words(tmp_path: Path) -> None:
    program = Program("sh", ["/bin/sh", "-c", "echo no such luck >&2; exit 3"], tmp_path)
    with pytest.raises(StartError, match="sh ended: no such luck"):
        program.wait_for(lambda: False, 10.0)
    program.stop()


def test_ports_that_are_given_differ() -> None:
    assert len(set(free_ports(8))) == 8


def test_a_program_listens_at_a_port_that_was_kept_for_it() -> None:
    with held_ports(8) as ports:
        assert len(set(ports)) == 8
        with (
            socket.create_server(("127.0.0.1", ports[0])),
            socket.create_connection(("127.0.0.1", ports[0])),
        ):
            pass


def test_a_control_plane_takes_everything_with_it() -> None:
    require(("etcd", "kube-apiserver"))
    with control_plane() as cluster:
        folder, pids = cluster.folder, [program.pid for program in cluster.programs]
        assert len(pids) == 2
        assert (folder / "pki" / "tokens.csv").stat().st_mode & 0o077 == 0
        assert cluster.kubeconfig.stat().st_mode & 0o077 == 0
        with cluster.client() as client:
            version = client.get("/version").json()
        assert (version["major"], version["minor"]) == ("1", "35")
    assert not folder.exists()
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert os.environ.get("KUBECONFIG", "") != str(cluster.kubeconfig)
