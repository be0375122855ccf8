# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The rehearsal on a real API server: the tour, the real scheduler, and every verb of kubectl."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal import realapi, tour
from rehearsal.errors import UsageError
from rehearsal.site import Site
from standins.kubernetes.wire import Server
from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.running import WHOLE, eventually, require

NAMESPACE = "team-b"
WAITING = ("big-0", "big-1")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The folder of an empty model with a real API server."""
    require((*WHOLE, "kubectl"))
    realapi.start(tmp_path / "model")
    yield tmp_path / "model"
    realapi.stop(tmp_path / "model")


def kubectl(home: Path, *words: str) -> str:
    server = Server.find(home)
    assert server is not None
    environment = {**os.environ, "KUBECONFIG": server.kubeconfig}
    argv = [str(binaries.find("kubectl")), *words]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pod(home: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        kubectl(home, "get", "pod", name, "-n", NAMESPACE, "-o", "json")
    )
    return found


def is_waiting_for(home: Path, name: str, resource: str) -> bool:
    """Return whether the scheduler has said that no node has enough of a resource for a pod."""
    conditions = pod(home, name)["status"].get("conditions") or ()
    return [
        one["reason"] == "Unschedulable" and f"Insufficient {resource}" in one["message"]
        for one in conditions
    ] == [True]


def test_the_tour_passes_and_waiting_pods_are_bound_after_the_change(home: Path) -> None:
    with Site(home) as site:
        story = tour.Tour(site)
        tour.deploy(story)
        for name in WAITING:
            site.world.run_pod(name, NAMESPACE, {tour.BIGGER: 1})
        story.settle("pods that ask for larger slices")
        for name in WAITING:
            eventually(
                lambda name=name: is_waiting_for(home, name, tour.BIGGER),
                f"{name} waits",
                saw=lambda name=name: pod(home, name)["status"],
            )
        tour.grow(story)
        tour.recut(story)
        for name in WAITING:
            eventually(
                lambda name=name: "nodeName" in pod(home, name)["spec"],
                f"{name} is bound",
                saw=lambda name=name: pod(home, name)["status"],
            )
        story.settle("pods that were bound")
        for name in WAITING:
            found = pod(home, name)
            assert found["spec"]["nodeName"] == story.node_of("dgx-mig/0")
            assert found["status"]["phase"] == "Running"
        tour.lose_power(story)


def test_every_verb_of_kubectl_works(home: Path) -> None:
    with Site(home) as site:
        site.world.run_pod("p", NAMESPACE)
    assert "p " in kubectl(home, "get", "pods", "-n", NAMESPACE)
    assert "KIND:       DaemonSet" in kubectl(home, "explain", "daemonset.spec")
    assert kubectl(home, "auth", "can-i", "delete", "nodes").strip() == "yes"

    def described() -> str:
        return kubectl(home, "describe", "pod", "p", "-n", NAMESPACE)

    eventually(lambda: "default-scheduler" in described(), "the scheduler's event", saw=described)
    kubectl(home, "label", "pod", "p", "-n", NAMESPACE, "a=b")
    kubectl(home, "wait", "--for=create", "pod/p", "-n", NAMESPACE)
    with Site(home) as site:
        found = site.world.api.find("pods", "p", NAMESPACE)
        assert found is not None
        assert found["metadata"]["labels"] == {"a": "b"}


def rehearse(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from rehearsal.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", program, *words, "--home", str(home)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120)


def test_a_model_whose_server_ended_says_so_and_can_be_destroyed(home: Path) -> None:
    assert rehearse(home, "status").returncode == 0
    server = Server.find(home)
    assert server is not None
    realapi.stop(home)
    assert not Path(f"/proc/{server.pid}").exists()
    done = rehearse(home, "status")
    assert done.returncode == 1
    assert done.stderr.startswith("ERROR ")
    assert f"{server.url} does not answer" in done.stderr
    assert "destroy-model and deploy again" in done.stderr
    assert rehearse(home, "destroy-model", "rehearsal", "--no-prompt").returncode == 0
    assert not (home / "api.json").exists()


def test_a_real_api_is_for_a_new_model(home: Path) -> None:
    with Site(home) as site:
        site.juju.settle()
        site.world.save()
    with pytest.raises(UsageError, match="is for a new model"):
        realapi.start(home)
