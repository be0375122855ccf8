# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import tempfile
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from charmkit.errors import NotReadyError
from podresources import LIST, Allocation, PodResources, describe


class Kubelet:
    """A gRPC server that answers as a kubelet does: one entry for each device id."""

    def __init__(self, socket: Path, pods: list[dict[str, Any]]) -> None:
        messages = describe()
        self._answer = messages["ListPodResourcesResponse"](pod_resources=pods)
        handler = grpc.unary_unary_rpc_method_handler(
            lambda _request, _context: self._answer,
            request_deserializer=messages["ListPodResourcesRequest"].FromString,
            response_serializer=lambda answer: answer.SerializeToString(),
        )
        _, service, method = LIST.split("/")
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {method: handler}),)
        )
        self.server.add_insecure_port(f"unix://{socket}")
        self.server.start()


TRAINING = {
    "name": "train-7",
    "namespace": "team-a",
    "containers": [
        {
            "name": "main",
            "devices": [
                {"resource_name": "nvidia.com/gpu", "device_ids": ["GPU-3"]},
                {"resource_name": "nvidia.com/gpu", "device_ids": ["GPU-7"]},
            ],
        },
        {"name": "sidecar", "devices": []},
    ],
}
WEB = {"name": "web", "namespace": "team-b", "containers": [{"name": "web"}]}


@pytest.fixture
def socket() -> Iterator[Path]:
    # Not below a folder of pytest: the path of a socket holds 107 bytes.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "kubelet.sock"
        kubelet = Kubelet(path, [TRAINING, WEB])
        yield path
        kubelet.server.stop(grace=None).wait()


def test_a_kubelet_lists_one_entry_for_each_device(socket: Path):
    assert PodResources(str(socket)).list() == (
        Allocation("team-a", "train-7", "nvidia.com/gpu", ("GPU-3",)),
        Allocation("team-a", "train-7", "nvidia.com/gpu", ("GPU-7",)),
    )


def test_a_kubelet_that_is_down_is_worth_waiting_for(tmp_path: Path):
    with pytest.raises(NotReadyError, match="pod-resources socket gives no answer"):
        PodResources(str(tmp_path / "absent.sock")).list()


def test_fields_of_newer_kubelets_are_skipped():
    """cpu_ids is field 3 of ContainerResources and holds packed integers in the real answer."""
    messages = describe()
    container = messages["ContainerResources"](name="main").SerializeToString()
    newer = container + bytes([0x1A, 0x02, 0x04, 0x05])
    assert messages["ContainerResources"].FromString(newer).name == "main"
