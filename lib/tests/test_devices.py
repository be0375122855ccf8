# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import pytest

from standins.cluster.devices import GRACE, AllocationError, DeviceManager

GPU = "nvidia.com/gpu"
SLICE = "nvidia.com/mig-1g.5gb"


def manager(count: int = 4) -> DeviceManager:
    devices = DeviceManager()
    devices.register("plugin", {GPU: {f"GPU-{n}": True for n in range(count)}}, 0.0)
    return devices


def test_the_lowest_free_devices_are_given_first() -> None:
    devices = manager()
    assert devices.admit("a", {GPU: 2}) == {GPU: ["GPU-0", "GPU-1"]}
    devices.admit("b", {GPU: 1})
    devices.release("a")
    assert devices.admit("c", {GPU: 1}) == {GPU: ["GPU-0"]}


def test_a_plugin_that_is_gone_leaves_capacity_and_what_pods_hold() -> None:
    devices = manager()
    devices.admit("a", {GPU: 1})
    devices.stop(10.0)
    assert devices.counts() == {GPU: (0, 4)}
    assert devices.held == {"a": {GPU: ["GPU-0"]}}


def test_a_resource_without_a_plugin_loses_its_capacity_after_five_minutes() -> None:
    devices = manager()
    devices.stop(10.0)
    assert devices.next_change(10.0) == 10.0 + GRACE
    assert not devices.expire(9.0 + GRACE)
    assert devices.expire(10.0 + GRACE)
    assert devices.counts() == {GPU: (0, 0)}
    assert devices.next_change(10.0 + GRACE) is None


def test_l01_profiles_that_are_gone_stay_at_zero_and_never_vanish() -> None:
    devices = manager()
    devices.stop(10.0)
    devices.register("plugin", {SLICE: {"MIG-0": True, "MIG-1": True}}, 20.0)
    assert devices.counts() == {GPU: (0, 4), SLICE: (2, 2)}
    devices.expire(10.0 + GRACE)
    assert devices.counts() == {GPU: (0, 0), SLICE: (2, 2)}


def test_a_restarted_kubelet_offers_nothing_until_the_plugin_is_back() -> None:
    devices = manager()
    devices.admit("a", {GPU: 2})
    devices.restart(5.0)
    assert devices.counts() == {GPU: (0, 0)}
    devices.register("plugin", {GPU: {f"GPU-{n}": True for n in range(4)}}, 5.1)
    assert devices.admit("b", {GPU: 1}) == {GPU: ["GPU-2"]}


def test_unhealthy_devices_count_as_capacity_only() -> None:
    devices = manager(8)
    assert devices.mark_unhealthy("GPU-3")
    assert devices.mark_unhealthy("GPU-5")
    assert not devices.mark_unhealthy("GPU-5")
    assert devices.counts() == {GPU: (6, 8)}


def test_a_pod_goes_on_with_devices_that_are_no_longer_listed() -> None:
    devices = manager()
    devices.admit("a", {GPU: 4})
    devices.stop(1.0)
    devices.register("plugin", {GPU: {"GPU-9": True}}, 2.0)
    assert devices.held["a"] == {GPU: ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]}
    assert devices.admit("b", {GPU: 1}) == {GPU: ["GPU-9"]}


def test_a_pod_without_devices_is_admitted_by_a_kubelet_that_has_none() -> None:
    assert DeviceManager().admit("a", {}) == {}


REFUSALS = [
    pytest.param(
        "nothing",
        1,
        "Allocate failed due to cannot allocate unregistered device nvidia.com/gpu, which is "
        "unexpected",
        id="never-registered",
    ),
    pytest.param(
        "stopped",
        1,
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
        "nvidia.com/gpu, which is unexpected",
        id="plugin-away",
    ),
    pytest.param(
        "running",
        9,
        "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
        "Requested: 9, Available: 4, which is unexpected",
        id="too-many",
    ),
]


@pytest.mark.parametrize(("plugin", "count", "message"), REFUSALS)
def test_what_cannot_be_given_is_refused_in_the_kubelets_words(
    plugin: str, count: int, message: str
) -> None:
    devices = DeviceManager() if plugin == "nothing" else manager()
    if plugin == "stopped":
        devices.stop(1.0)
    with pytest.raises(AllocationError) as refusal:
        devices.admit("a", {GPU: count})
    assert str(refusal.value) == message
    assert "a" not in devices.held


def test_after_a_boot_a_pod_gets_the_devices_that_it_had() -> None:
    devices = manager()
    devices.admit("a", {GPU: 1})
    devices.admit("b", {GPU: 1})
    devices.restart(9.0)
    devices.register("plugin", {GPU: {f"GPU-{n}": True for n in range(4)}}, 10.0)
    assert devices.admit("b", {GPU: 1}) == {GPU: ["GPU-1"]}


def test_after_a_boot_a_pod_whose_device_is_gone_is_refused() -> None:
    devices = manager()
    devices.admit("a", {GPU: 1})
    devices.restart(9.0)
    devices.register("plugin", {GPU: {"GPU-7": True}}, 10.0)
    with pytest.raises(AllocationError, match="previously allocated devices are no longer"):
        devices.admit("a", {GPU: 1})


def test_the_state_survives_being_written_down() -> None:
    devices = manager()
    devices.admit("a", {GPU: 1})
    devices.stop(3.0)
    again = DeviceManager.load(devices.dump())
    assert again.dump() == devices.dump()
    assert again.counts() == {GPU: (0, 4)}
