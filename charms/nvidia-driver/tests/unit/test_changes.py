# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A driver that changes below running machines: who is asked, what is done, what is never done."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

from charmkit.gpudriver import WantKind

MakeSite = Callable[..., Any]
NEWER, THERE = "580.181.04", "580.173.02"
REASON = f"driver {NEWER} installed, {THERE} loaded"


def upgrade_by_night(dgx: Any) -> None:
    """Let user space and fabric manager be upgraded though they were held, as users have seen."""
    packages = dgx.host.packages
    packages.ensure_unheld(packages.held())
    dgx.host.set_archive_step(2)
    names = [name for name in packages.installed() if "580" in name]
    packages.install(packages.candidates(names))


def run_job(dgx: Any) -> None:
    dgx.machine.gpus.add_process(dgx.machine.gpus.read()[0].uuid, 4711)


@pytest.fixture
def dgx(site: MakeSite) -> Any:
    """Return a DGX whose driver was upgraded below its loaded module."""
    machine = site()
    machine.install()
    upgrade_by_night(machine)
    return machine


def test_n01_a_split_of_library_and_module_is_told_and_nothing_is_reinstalled(dgx: Any) -> None:
    dgx.hear_worker()
    before = dgx.host.packages.installed()
    dgx.update()
    assert dgx.status == ops.BlockedStatus(
        f"{REASON}: reboot needed, or wait for gpu-worker to drain"
    )
    assert (dgx.published.ready, dgx.published.reason) == (False, REASON)
    assert dgx.host.packages.installed() == before
    assert dgx.reboots_asked() == 0


def test_n01_a_reboot_by_a_person_ends_it(dgx: Any) -> None:
    dgx.update()
    dgx.reboot()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")
    assert dgx.published.want is None


def test_the_worker_is_asked_first_for_the_mildest_step(dgx: Any) -> None:
    dgx.hear_worker(holds=("team-a/train-7",))
    dgx.configure(reboot="when-needed")
    assert dgx.status == ops.WaitingStatus(f"{REASON}: waiting for team-a/train-7")
    want = dgx.published.want
    assert (want.kind, want.reason) == (WantKind.UNLOAD, REASON)
    assert dgx.published.loaded_version == THERE


def test_a_granted_unload_puts_the_installed_driver_into_the_kernel_without_a_reboot(
    dgx: Any,
) -> None:
    dgx.hear_worker()
    dgx.grant()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")
    assert dgx.published.loaded_version == NEWER
    assert dgx.published.want is None
    assert dgx.host.systemd.is_active("nvidia-fabricmanager")
    assert dgx.reboots_asked() == 0


def test_a_grant_of_an_old_want_is_none(dgx: Any) -> None:
    dgx.hear_worker(granted=f"unload-{THERE}-00000000")
    assert dgx.published.loaded_version == THERE


def test_a_worker_that_has_not_said_where_it_is_might_be_the_one_to_ask(dgx: Any) -> None:
    dgx.hear_worker(machine="", unit=3)
    dgx.configure(reboot="when-needed")
    assert dgx.status == ops.WaitingStatus(f"{REASON}: waiting for gpu-worker to say where it is")


def test_a_grant_of_another_machine_is_none(dgx: Any) -> None:
    dgx.hear_worker()
    want = dgx.published.want
    dgx.hear_worker(machine="5", unit=7, granted=want.id)
    assert dgx.published.loaded_version == THERE


def test_d03_who_holds_a_gpu_after_the_drain_is_named_and_the_reboot_is_asked_for(
    dgx: Any,
) -> None:
    run_job(dgx)
    dgx.configure(reboot="when-needed")
    dgx.hear_worker()
    dgx.grant()
    assert dgx.published.want.kind is WantKind.REBOOT
    assert dgx.status == ops.WaitingStatus(f"{REASON}: waiting for gpu-worker to drain")
    assert dgx.published.loaded_version == THERE


def test_d03_without_the_right_to_reboot_the_holder_is_in_the_status(dgx: Any) -> None:
    run_job(dgx)
    dgx.hear_worker()
    dgx.grant()
    assert dgx.status == ops.BlockedStatus(
        f"{REASON}: reboot needed, GPU held by python3 (pid 4711)"
    )
    assert dgx.published.want is None


def granted_reboot(dgx: Any) -> None:
    run_job(dgx)
    dgx.configure(reboot="when-needed")
    dgx.hear_worker()
    dgx.grant()
    dgx.grant()


def test_a_granted_reboot_is_asked_of_juju_once_and_heals(dgx: Any) -> None:
    granted_reboot(dgx)
    assert dgx.status == ops.WaitingStatus(f"{REASON}: rebooting")
    assert dgx.reboots_asked() == 1
    dgx.machine.gpus.remove_process(4711)
    dgx.reboot()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")
    assert dgx.reboots_asked() == 1


def test_a_reboot_that_juju_did_not_carry_out_is_told(dgx: Any) -> None:
    granted_reboot(dgx)
    dgx.update()
    assert dgx.status == ops.BlockedStatus(
        f"{REASON}: the reboot did not happen, reboot the machine"
    )
    assert dgx.reboots_asked() == 1


def test_a_second_reboot_for_the_same_version_never_happens(dgx: Any) -> None:
    granted_reboot(dgx)
    dgx.host.inject("module", "nvidia", "Unknown symbol in module")
    dgx.reboot()
    assert isinstance(dgx.status, ops.BlockedStatus)
    assert "Unknown symbol in module" in dgx.status.message
    for _ in range(3):
        dgx.update()
        dgx.hear_worker(granted="anything")
    assert dgx.reboots_asked() == 1


def test_without_a_worker_nothing_happens_while_a_process_holds_a_gpu(dgx: Any) -> None:
    run_job(dgx)
    dgx.configure(reboot="when-needed")
    assert dgx.status == ops.WaitingStatus(
        f"{REASON}: waiting for python3 (pid 4711) to leave the GPU"
    )
    dgx.machine.gpus.remove_process(4711)
    dgx.update()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")


def test_without_a_worker_an_idle_machine_waits_for_its_turn(dgx: Any) -> None:
    dgx.follow()
    dgx.configure(reboot="when-needed")
    assert dgx.status == ops.WaitingStatus(f"{REASON}: waiting for its turn in the fleet")
    dgx.lead()
    dgx.update()
    assert dgx.status == ops.ActiveStatus(f"driver {NEWER} (580-server-open)")


def test_a_machine_that_waits_for_a_process_keeps_no_other_from_its_turn(dgx: Any) -> None:
    run_job(dgx)
    dgx.update()
    assert not dgx.is_asking()
    dgx.machine.gpus.remove_process(4711)
    dgx.follow()
    dgx.update()
    assert dgx.is_asking()


def test_a_turn_is_given_back_when_the_driver_matches(dgx: Any) -> None:
    dgx.update()
    assert dgx.published.ready
    assert not dgx.is_asking()


def test_what_a_boot_leaves_out_of_the_modules_that_cuda_needs_is_loaded(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.machine.reboot()
    assert "nvidia_uvm" not in dgx.host.modules()
    dgx.emit(dgx.context.on.start())
    assert "nvidia_uvm" in dgx.host.modules()
    dgx.host.inject("module", name="nvidia_uvm", text="it is not loaded twice")
    dgx.update()
    assert dgx.published.ready
