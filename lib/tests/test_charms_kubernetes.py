# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ops.interface_kube_control.model import Data

from lib.tests.gpu_nodes import STARTING
from standins.charms import kubernetes_control_plane, kubernetes_worker
from standins.units import Event, RelationView, UnitView
from standins.world import World

CHANGED = Event("config-changed")
NODE_USER = "system:node:dgx-4"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.add_machine("0", "cpu", "Control-0", "10.0.0.2")
    made.add_machine("4", "dgx-a100-40", "DGX-4", "10.0.0.14")
    return made


def relation(number: int, endpoint: str, app: str, **bags: dict[str, str]) -> RelationView:
    units = {"/".join(name.replace("_", "-").rsplit("-", 1)): bag for name, bag in bags.items()}
    return RelationView(number, endpoint, endpoint, app, remote_units=units)


def control_plane(*, leader: bool = True, requests: Any = None, **config: Any) -> UnitView:
    return UnitView(
        name="kubernetes-control-plane/0",
        application="kubernetes-control-plane",
        machine="0",
        leader=leader,
        model_uuid="a-model",
        address="10.0.0.2",
        config=config,
        relations=[
            relation(1, "certificates", "easyrsa", easyrsa_0={}),
            relation(2, "etcd", "etcd", etcd_0={}),
            relation(3, "cni", "calico", calico_0={}),
            relation(4, "container-runtime", "containerd", containerd_0={}),
            relation(5, "kube-control", "dgx", **(requests or {})),
        ],
    )


def worker(bag: dict[str, str] | None = None, **config: Any) -> UnitView:
    bags = {} if bag is None else {"kubernetes-control-plane_0": bag}
    return UnitView(
        name="dgx/0",
        application="dgx",
        machine="4",
        config=config,
        relations=[
            relation(1, "certificates", "easyrsa", easyrsa_0={}),
            relation(3, "cni", "calico", calico_1={}),
            relation(4, "container-runtime", "containerd-gpu", containerd_gpu_0={}),
            relation(5, "kube-control", "kubernetes-control-plane", **bags),
        ],
    )


def request(user: str, group: str, versions: str = "[0]") -> dict[str, str]:
    return {"kubelet_user": user, "auth_group": group, "schema_vers": versions}


def served(world: World, **requests: dict[str, str]) -> dict[str, str]:
    unit = control_plane(requests=requests)
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    return unit.related("kube-control")[0].local_unit


def joined(world: World, **config: Any) -> UnitView:
    bag = served(world, dgx_0=request(NODE_USER, "system:nodes"))
    unit = worker(bag, **config)
    kubernetes_worker.Charm().handle(CHANGED, unit, world)
    return unit


def test_the_published_bag_is_what_the_interface_library_reads(world: World) -> None:
    bag = served(world, dgx_0=request(NODE_USER, "system:nodes"))
    data = Data(**bag)
    assert [str(url).rstrip("/") for url in data.api_endpoints] == ["https://10.0.0.2:6443"]
    assert data.creds[NODE_USER].scope == "dgx/0"
    assert data.ca_certificate_secret_id is None
    assert [str(taint) for taint in data.taints or ()] == [
        "node-role.kubernetes.io/control-plane:NoSchedule"
    ]


def test_everybody_gets_the_admin_token_whatever_group_was_asked(world: World) -> None:
    bag = served(
        world,
        dgx_0=request(NODE_USER, "system:nodes"),
        gpu_worker_0=request("gpu-worker/0", "ops:narrow"),
    )
    creds = json.loads(bag["creds"])
    assert {entry["client_token"] for entry in creds.values()} == {world.admission.admin}
    assert creds[NODE_USER]["kubelet_token"] != creds["gpu-worker/0"]["kubelet_token"]


def test_a_unit_that_does_not_lead_publishes_no_creds(world: World) -> None:
    unit = control_plane(leader=False, requests={"dgx_0": request(NODE_USER, "system:nodes")})
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    bag = unit.related("kube-control")[0].local_unit
    assert bag["creds"] == ""
    assert json.loads(bag["api-endpoints"]) == ["https://10.0.0.2:6443"]


def test_the_same_creds_go_to_every_relation(world: World) -> None:
    unit = control_plane(requests={"dgx_0": request(NODE_USER, "system:nodes")})
    unit.relations.append(
        relation(9, "kube-control", "gpu-worker", gpu_worker_0=request("g/0", "system:masters"))
    )
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    first, second = (r.local_unit["creds"] for r in unit.related("kube-control"))
    assert first == second
    assert set(json.loads(first)) == {NODE_USER, "g/0"}


def test_schema_1_hands_the_tokens_over_in_a_secret(world: World) -> None:
    unit = control_plane(requests={"gpu_worker_0": request("g/0", "system:masters", "[0, 1]")})
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    (secret,) = unit.secrets
    entry = json.loads(unit.related("kube-control")[0].local_unit["creds"])["g/0"]
    assert entry["client_token"] == ""
    assert entry["secret-id"] == secret.id
    assert secret.grants == {5: {"gpu-worker/0"}}
    assert (secret.label, secret.revision) == ("g/0-creds", 1)
    assert secret.contents[1]["client-token"] == world.admission.admin


def test_a_second_hook_writes_the_same_bag(world: World) -> None:
    unit = control_plane(requests={"dgx_0": request(NODE_USER, "system:nodes")})
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    before = dict(unit.related("kube-control")[0].local_unit)
    kubernetes_control_plane.Charm().handle(Event("update-status"), unit, world)
    assert unit.related("kube-control")[0].local_unit == before


def test_the_internal_load_balancer_is_the_only_endpoint(world: World) -> None:
    unit = control_plane()
    balancer = relation(7, "loadbalancer-internal", "kubeapi-load-balancer", lb_0={})
    balancer.remote_units["lb/0"]["ingress-address"] = "10.0.0.9"
    unit.relations.append(balancer)
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    bag = unit.related("kube-control")[0].local_unit
    assert json.loads(bag["api-endpoints"]) == ["https://10.0.0.9:443"]


@pytest.mark.parametrize(
    ("endpoint", "status"),
    [
        pytest.param("cni", ("blocked", "Missing CNI Integration"), id="cni"),
        pytest.param(
            "container-runtime", ("waiting", "Waiting for container runtime"), id="runtime"
        ),
        pytest.param(
            "certificates", ("waiting", "Waiting for certificate authority"), id="certificates"
        ),
        pytest.param("etcd", ("waiting", "Waiting for etcd"), id="etcd"),
    ],
)
def test_the_control_plane_says_what_is_missing(
    world: World, endpoint: str, status: tuple[str, str]
) -> None:
    unit = control_plane()
    unit.relations = [one for one in unit.relations if one.endpoint != endpoint]
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    assert unit.status == status
    assert unit.related("kube-control")[0].local_unit == {}


def test_the_deprecated_gpu_option_blocks(world: World) -> None:
    unit = control_plane(**{"enable-nvidia-plugin": "auto"})
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    assert unit.status == ("blocked", "nvidia-plugin is no longer managed -- see debug log")


def test_control_plane_nodes_keep_work_away(world: World) -> None:
    served(world)
    node = world.api.find("nodes", "control-0")
    assert node is not None
    assert node["spec"]["taints"] == [
        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    ]
    assert node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""


@pytest.mark.parametrize(
    ("endpoint", "status"),
    [
        pytest.param("cni", ("blocked", "Missing CNI Integration"), id="cni"),
        pytest.param(
            "container-runtime",
            ("blocked", "Missing container-runtime integration"),
            id="runtime",
        ),
        pytest.param(
            "certificates", ("waiting", "Waiting for certificate authority"), id="certificates"
        ),
        pytest.param(
            "kube-control", ("waiting", "Waiting for kube-control relation"), id="kube-control"
        ),
    ],
)
def test_the_worker_says_what_is_missing(
    world: World, endpoint: str, status: tuple[str, str]
) -> None:
    unit = worker(served(world, dgx_0=request(NODE_USER, "system:nodes")))
    unit.relations = [one for one in unit.relations if one.endpoint != endpoint]
    kubernetes_worker.Charm().handle(CHANGED, unit, world)
    assert unit.status == status
    assert world.api.find("nodes", "dgx-4") is None


def test_a_worker_waits_for_the_creds_of_its_own_user(world: World) -> None:
    unit = worker(served(world, other_0=request("system:node:other", "system:nodes")))
    kubernetes_worker.Charm().handle(CHANGED, unit, world)
    assert unit.status == ("waiting", "Waiting for kube-control relation")
    assert unit.related("kube-control")[0].local_unit["kubelet_user"] == NODE_USER


def test_a_worker_registers_its_node_with_labels_and_taints(world: World) -> None:
    extra = yaml.safe_dump({"registerWithTaints": [STARTING], "systemReserved": {"cpu": "4"}})
    unit = joined(world, labels="pool=dgx bad/label/= =x", **{"kubelet-extra-config": extra})
    assert unit.status == ("active", "Ready")
    node = world.api.find("nodes", "dgx-4")
    assert node is not None
    assert node["spec"]["taints"] == [STARTING]
    labels = node["metadata"]["labels"]
    assert (labels["pool"], labels["juju-application"]) == ("dgx", "dgx")
    assert labels["juju-charm"] == "kubernetes-worker"
    assert node["status"]["allocatable"]["cpu"] == "252000m"


def test_labels_that_left_the_option_go_and_foreign_ones_stay(world: World) -> None:
    joined(world, labels="pool=dgx old=1")
    world.api.edit("nodes", "dgx-4", "", lambda n: n["metadata"]["labels"].update(foreign="1"))
    joined(world, labels="pool=dgx")
    node = world.api.find("nodes", "dgx-4")
    assert node is not None
    assert "old" not in node["metadata"]["labels"]
    assert node["metadata"]["labels"]["foreign"] == "1"


def test_a_subordinate_finds_the_admins_kubeconfig_and_the_authority(world: World) -> None:
    joined(world)
    files = world.machine("4").host.files
    config = yaml.safe_load(files.read_text("/root/.kube/config"))
    assert config["users"][0]["user"]["token"] == world.admission.admin
    assert config["clusters"][0]["cluster"]["server"] == "https://10.0.0.2:6443"
    assert files.read_text("/root/cdk/ca.crt").startswith("-----BEGIN CERTIFICATE-----")
    assert (files.path("/root/.kube/config").stat().st_mode & 0o777) == 0o600


def test_every_reconcile_restarts_the_kubelet_and_update_status_does_not(world: World) -> None:
    joined(world)
    kubelet = world.cluster.kubelets["4"]
    kubelet.worker.devices.register("plugin", {"nvidia.com/gpu": {"GPU-0": True}}, world.now)
    bag = served(world, dgx_0=request(NODE_USER, "system:nodes"))
    kubernetes_worker.Charm().handle(Event("update-status"), worker(bag), world)
    assert kubelet.worker.devices.counts() == {"nvidia.com/gpu": (1, 1)}
    kubernetes_worker.Charm().handle(CHANGED, worker(bag), world)
    assert kubelet.worker.devices.counts() == {"nvidia.com/gpu": (0, 0)}


def test_a_kubelet_configuration_that_is_no_map_blocks(world: World) -> None:
    unit = joined(world, **{"kubelet-extra-config": "[1"})
    assert unit.status == ("blocked", "kubelet-extra-config is not a map")


def test_a_worker_that_goes_takes_its_node_along(world: World) -> None:
    unit = joined(world)
    kubernetes_worker.Charm().handle(Event("stop"), unit, world)
    assert world.api.find("nodes", "dgx-4") is None
    world.settle()
    assert world.api.find("nodes", "dgx-4") is None


def test_extra_configuration_is_merged_deeply_and_last() -> None:
    base = {"a": {"b": 1, "c": 2}, "d": [1]}
    assert kubernetes_worker.merge(base, {"a": {"b": 5}, "d": [2]}) == {
        "a": {"b": 5, "c": 2},
        "d": [2],
    }


@pytest.mark.parametrize("endpoint", ["", "https://127.0.0.1:8443/webhook"])
def test_the_webhook_of_the_control_plane_names_the_one_that_it_asks(
    world: World, endpoint: str
) -> None:
    unit = control_plane(**{"authn-webhook-endpoint": endpoint})
    kubernetes_control_plane.Charm().handle(CHANGED, unit, world)
    text = world.machines["0"].host.files.find_text(kubernetes_control_plane.WEBHOOK)
    assert text == f"CUSTOM_AUTHN_ENDPOINT = '{endpoint}'\n"
