# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The pool's objects, and that the account may do what the charm does and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import POOL, Site
from gpuunit import Deployment

from advertiser import DevicePlugin, find_image
from assembly import GRANT
from charmkit import kinds
from charmkit.account import Rule

PLUGIN = DevicePlugin(POOL, "nvidia-container-runtime")
ACCOUNT = f"system:serviceaccount:gpu-pool:{POOL}"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, plugin=False)


def container(plugin: dict[str, Any]) -> dict[str, Any]:
    (found,) = plugin["spec"]["template"]["spec"]["containers"]
    return found


def test_the_plugin_waits_behind_the_gate_of_its_pool():
    _, plugin = PLUGIN.render()
    spec = plugin["spec"]["template"]["spec"]
    (gate,) = spec["initContainers"]
    assert "/gate/ready" in gate["args"][0]
    assert {"path": f"/run/{POOL}", "type": "DirectoryOrCreate"} in [
        volume.get("hostPath") for volume in spec["volumes"]
    ]
    assert gate["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]


def test_the_plugin_runs_where_the_pool_lets_it():
    _, plugin = PLUGIN.render()
    spec = plugin["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"gpu-pool/name": POOL, "gpu-pool/plugin": "run"}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["runtimeClassName"] == "nvidia"


def test_a_container_that_asks_for_nothing_gets_nothing():
    env = {e["name"]: e["value"] for e in container(PLUGIN.render()[1])["env"]}
    assert env["DEVICE_LIST_STRATEGY"] == "volume-mounts"
    assert env["DEVICE_ID_STRATEGY"] == "uuid"
    assert env["MIG_STRATEGY"] == "mixed"


@pytest.mark.parametrize("strategy", ["none", "mixed", "single"])
def test_the_plugin_may_see_every_mig_device_whichever_strategy_it_runs_with(strategy: str):
    """Without it the toolkit shows it the GPUs alone: Insufficient Permissions (plugin#399)."""
    _, plugin = DevicePlugin(POOL, "nvidia-container-runtime", strategy).render()
    env = {e["name"]: e["value"] for e in container(plugin)["env"]}
    assert env["NVIDIA_MIG_MONITOR_DEVICES"] == "all"
    assert container(plugin)["securityContext"] == {"privileged": True}


KNOWN = frozenset(
    (
        "CDI_ANNOTATION_PREFIX",
        "CDI_DISABLE_HOOKS",
        "CDI_FEATURE_FLAGS",
        "CONFIG_FILE",
        "CONTAINER_DRIVER_ROOT",
        "DEVICE_DISCOVERY_STRATEGY",
        "DEVICE_ID_STRATEGY",
        "DEVICE_LIST_STRATEGY",
        "DRIVER_ROOT_CTR_PATH",
        "FAIL_ON_INIT_ERROR",
        "GDRCOPY_ENABLED",
        "GDS_ENABLED",
        "IMEX_CHANNEL_IDS",
        "IMEX_REQUIRED",
        "KUBELET_SOCKET",
        "MIG_STRATEGY",
        "MOFED_ENABLED",
        "MPS_ROOT",
        "NVIDIA_CDI_HOOK_PATH",
        "NVIDIA_CTK_PATH",
        "NVIDIA_DEV_ROOT",
        "NVIDIA_DRIVER_ROOT",
        "PASS_DEVICE_SPECS",
        "SHARED_DEVICES_ALLOCATION_POLICY",
        "DP_DISABLE_HEALTHCHECKS",
        "DP_ENABLE_HEALTHCHECKS",
    )
)
"""Variables that k8s-device-plugin 0.20 reads: cmd/nvidia-device-plugin/main.go and
internal/rm/health.go. It passes over any other."""


@pytest.mark.parametrize("strategy", ["mixed", "single", "none"])
def test_every_variable_is_one_that_the_plugin_or_the_runtime_reads(strategy: str):
    env = container(replace(PLUGIN, strategy=strategy).render()[1])["env"]
    assert {e["name"] for e in env if not e["name"].startswith("NVIDIA_")} <= KNOWN
    assert all(isinstance(e["value"], str) for e in env)


def test_h01_a_program_whose_memory_error_was_contained_takes_no_gpu_away():
    env = {e["name"]: e["value"] for e in container(PLUGIN.render()[1])["env"]}
    assert env["DP_DISABLE_HEALTHCHECKS"] == "94"
    assert "DP_ENABLE_HEALTHCHECKS" not in env


def test_shared_objects_carry_no_pools_name():
    first, _ = PLUGIN.render()
    second, _ = DevicePlugin("gpu-worker-mig", "nvidia-container-runtime").render()
    assert first == second
    assert POOL not in str(first)


@pytest.mark.parametrize(
    ("registry", "image"),
    [
        ("", "nvcr.io/nvidia/k8s-device-plugin:v0.20.1"),
        ("mirror.example.org:5000", "mirror.example.org:5000/nvidia/k8s-device-plugin:v0.20.1"),
        ("mirror.example.org/gpu", "mirror.example.org/gpu/nvidia/k8s-device-plugin:v0.20.1"),
    ],
)
def test_an_air_gapped_site_has_the_images_under_their_own_names(registry: str, image: str):
    assert find_image("device-plugin", registry) == image


def test_what_was_applied_is_not_applied_again(site: Site):
    assert PLUGIN.ensure(site.kube())
    assert not PLUGIN.ensure(site.kube())


@pytest.mark.parametrize(
    "changed",
    [replace(PLUGIN, registry="mirror.example.org"), replace(PLUGIN, strategy="none")],
    ids=["registry", "strategy"],
)
def test_another_value_is_applied(changed: DevicePlugin, site: Site):
    PLUGIN.ensure(site.kube())
    assert changed.ensure(site.kube())


def test_what_somebody_edits_is_put_right(site: Site):
    PLUGIN.ensure(site.kube())
    name = PLUGIN.render()[1]["metadata"]["name"]
    patch = {"spec": {"template": {"spec": {"priorityClassName": "low"}}}}
    site.kube().patch(kinds.DAEMON_SET, name, patch, namespace="gpu-pool")
    assert PLUGIN.ensure(site.kube())
    found = site.kube().find(kinds.DAEMON_SET, name, "gpu-pool")
    assert found is not None
    assert found["spec"]["template"]["spec"]["priorityClassName"] == "system-node-critical"


def test_two_pools_share_one_cluster(site: Site):
    PLUGIN.ensure(site.kube())
    other = DevicePlugin("gpu-worker-mig", "nvidia-container-runtime")
    assert other.ensure(site.kube())
    assert not PLUGIN.ensure(site.kube())
    assert not other.ensure(site.kube())


def calls(site: Site) -> set[tuple[str, str]]:
    audit = site.world.api.audit
    return {(a.verb, a.resource) for a in audit if a.user == ACCOUNT}


def granted(rules: tuple[Rule, ...]) -> set[tuple[str, str]]:
    return {
        (verb, f"{resource}.{rule.group}" if rule.group else resource)
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
    }


def test_the_account_may_do_what_the_charm_does_and_nothing_else(tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    unit.settle()
    unit.site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-1g.6gb": 1}, controller=True)
    unit.site.world.advance(10)
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()
    unit.configure(
        mig_profile="all-2g.12gb", image_registry="mirror.example.org", drain="affected"
    )
    unit.settle()
    unit.act("prepare-removal")
    unit.state = replace(unit.state, planned_units=0)
    unit.run(unit.on.stop())
    audit = unit.site.world.api.audit
    assert [a for a in audit if a.user == ACCOUNT and a.code == 403] == []
    own = {("get", "clusterroles.rbac.authorization.k8s.io")}
    own.add(("delete", "clusterroles.rbac.authorization.k8s.io"))
    rules = granted((*GRANT.cluster, *GRANT.namespaced))
    used = calls(unit.site) - own
    creations = {("create", "runtimeclasses.node.k8s.io"), ("create", "daemonsets.apps")}
    creations |= {("create", "priorityclasses.scheduling.k8s.io"), ("create", "pods")}
    assert used <= rules
    assert rules - used - creations == set()


def test_an_apply_that_creates_needs_both_verbs(site: Site, tmp_path: Path):
    """The audit log shows a patch; the API server checks create as well where nothing was."""
    unit = Deployment(Site(tmp_path / "b", plugin=False))
    unit.settle()
    api = unit.site.world.api
    assert api.find("daemonsets.apps", f"{POOL}-device-plugin", "gpu-pool") is not None
    assert ("patch", "daemonsets.apps") in calls(unit.site)
