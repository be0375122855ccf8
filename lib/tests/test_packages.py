# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from pathlib import Path

import pytest

from charmkit.commands import CommandError
from charmkit.errors import InterventionError, NotReadyError
from charmkit.packages import Packages
from standins.metal import dpkg
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine

OLD, NOW, NEXT = (f"580.{one}-0ubuntu0.24.04.1" for one in ("159.03", "173.02", "181.04"))
CUDA = "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"
TOOLKIT = "deb https://nvidia.github.io/libnvidia-container/stable/deb/amd64 /"
BASE = ("nvidia-headless-no-dkms-580-server-open", "nvidia-utils-580-server")
KEPT = ("595.91.07", "595.71.05", "590.48.01", "590.44.01")
"""Builds of the branches that say no number, in NVIDIA's repository, newest first."""

MODULES = "linux-modules-nvidia-580-server-open-generic"


@pytest.fixture
def host(tmp_path: Path) -> SimulatedHost:
    return Machine.create(tmp_path, id="0").host


@pytest.fixture
def packages(host: SimulatedHost) -> Packages:
    return host.packages


def driver(packages: Packages, *more: str) -> dict[str, str]:
    return packages.candidates([*BASE, MODULES, *more])


def test_candidates_leave_out_what_no_source_has(packages: Packages) -> None:
    found = packages.candidates(["nvidia-utils-580-server", "nvidia-container-toolkit", "nothing"])
    assert found == {"nvidia-utils-580-server": NOW}
    assert packages.candidates([]) == {}


def test_a_driver_comes_with_its_dependencies_and_nothing_more(packages: Packages) -> None:
    before = packages.installed()
    packages.install(driver(packages))
    fresh = set(packages.installed()) - set(before)
    assert fresh == {
        *BASE,
        MODULES,
        "libnvidia-cfg1-580-server",
        "libnvidia-compute-580-server",
        "linux-modules-nvidia-580-server-open-6.8.0-90-generic",
        "linux-objects-nvidia-580-server-open-6.8.0-90-generic",
        "linux-signatures-nvidia-6.8.0-90-generic",
        "nvidia-compute-utils-580-server",
        "nvidia-firmware-580-server-580.173.02",
        "nvidia-kernel-common-580-server",
        "nvidia-kernel-source-580-server-open",
    }


def test_n16_no_desktop_comes_with_a_server_driver(packages: Packages) -> None:
    packages.install(driver(packages))
    assert "xserver-xorg-core" not in packages.installed()


def test_installing_nothing_is_no_work(packages: Packages, host: SimulatedHost) -> None:
    host.inject("dpkg-lock", text="apt 1")
    packages.install({})


def test_what_is_installed_is_not_refused(packages: Packages) -> None:
    wanted = driver(packages)
    packages.install(wanted)
    assert packages.find_refusal(wanted) is None


def test_a_simulation_changes_nothing(packages: Packages) -> None:
    before = packages.installed()
    assert packages.find_refusal(driver(packages)) is None
    assert packages.installed() == before


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"nvidia-utils-580-server": "580.1"}, "Version '580.1' for .* was not found"),
        ({"nvidia-utils-581-server": "1"}, "Unable to locate package nvidia-utils-581-server"),
        (
            {"nvidia-headless-no-dkms-580-server": NOW, BASE[0]: NOW},
            "nvidia-headless-no-dkms-580-server: conflicts nvidia-headless-.*-open",
        ),
    ],
    ids=["version", "name", "both flavours"],
)
def test_a_refusal_is_apts_own_reason_and_changes_nothing(
    packages: Packages, wanted: dict[str, str], reason: str
) -> None:
    before = packages.installed()
    with pytest.raises(InterventionError, match=reason):
        packages.install(wanted)
    assert packages.installed() == before


def test_n04_a_fabric_manager_of_another_build_is_refused(
    packages: Packages, host: SimulatedHost
) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    host.set_archive_step(1)
    assert packages.installed()["nvidia-kernel-common-580-server"] == OLD
    kept = {"nvidia-kernel-common-580-server": OLD, "nvidia-fabricmanager-580": NOW}
    refusal = packages.find_refusal(kept)
    assert refusal is not None
    assert refusal.startswith("nvidia-fabricmanager-580: depends nvidia-kernel-common-580-server-")


def test_n12_another_branch_is_refused_while_the_old_one_is_not_named(packages: Packages) -> None:
    packages.install(driver(packages))
    wanted = packages.candidates(["nvidia-headless-no-dkms-595-server-open"])
    refusal = packages.find_refusal(wanted)
    assert refusal is not None
    assert refusal.startswith("apt would also remove libnvidia-cfg1-580-server, ")


def test_n12_a_branch_is_switched_in_one_transaction(packages: Packages) -> None:
    packages.install(driver(packages))
    old = [name for name in packages.installed() if "nvidia" in name and "580" in name]
    wanted = packages.candidates(
        [
            "nvidia-headless-no-dkms-595-server-open",
            "nvidia-utils-595-server",
            "linux-modules-nvidia-595-server-open-generic",
        ]
    )
    packages.install(wanted, old)
    assert not [name for name in packages.installed() if "580" in name]
    assert packages.installed()["libnvidia-compute-595-server"].startswith("595.91.07-")


def test_n12_a_transitional_name_brings_the_next_branch(packages: Packages) -> None:
    packages.install(packages.candidates(["nvidia-headless-no-dkms-590-server-open"]))
    assert packages.installed()["nvidia-headless-no-dkms-595-server-open"].startswith("595.")


def test_n12_one_package_of_a_set_takes_the_set_along(
    packages: Packages, host: SimulatedHost
) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    host.set_archive_step(1)
    packages.install({"nvidia-compute-utils-580-server": NOW})
    assert packages.installed()["nvidia-headless-no-dkms-580-server-open"] == NOW


def test_n12_a_held_set_is_not_changed_by_one_of_its_members(
    packages: Packages, host: SimulatedHost
) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    packages.ensure_held(name for name in packages.installed() if "nvidia" in name)
    host.set_archive_step(1)
    refusal = packages.find_refusal({"nvidia-headless-no-dkms-580-server-open": NOW})
    assert refusal == (
        "nvidia-headless-no-dkms-580-server-open: depends libnvidia-cfg1-580-server "
        f"(= {NOW}) but {OLD} is to be installed"
    )


def test_n12_a_held_branch_does_not_give_way(packages: Packages) -> None:
    packages.install(driver(packages))
    packages.ensure_held(name for name in packages.installed() if "nvidia" in name)
    wanted = packages.candidates(["nvidia-utils-595-server"])
    refusal = packages.find_refusal(wanted)
    assert refusal == "nvidia-utils-595-server: conflicts nvidia-utils-580-server"


def test_n03_a_hold_does_not_stop_our_own_upgrade(packages: Packages, host: SimulatedHost) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    ours = [name for name in packages.installed() if "nvidia" in name]
    assert packages.ensure_held(ours)
    assert not packages.ensure_held(ours)
    host.set_archive_step(1)
    fresh = packages.candidates(ours)
    packages.install(fresh)
    assert packages.installed()["libnvidia-compute-580-server"] == NOW


def test_n03_held_packages_are_installed_packages(packages: Packages) -> None:
    packages.ensure_held(["linux-image-generic"])
    assert packages.held() == {"linux-image-generic"}
    assert "linux-image-generic" in packages.installed()
    assert packages.ensure_unheld(["linux-image-generic", "mokutil"])
    assert not packages.ensure_unheld(["linux-image-generic"])
    assert packages.held() == frozenset()


def test_n03_a_purge_takes_the_hold_along(packages: Packages) -> None:
    packages.install(driver(packages))
    ours = [name for name in packages.installed() if "nvidia" in name]
    packages.ensure_held(ours)
    packages.install({}, ours)
    assert not [name for name in packages.installed() if "nvidia" in name]
    assert packages.held() == frozenset()


def test_holding_what_is_not_there_is_refused(packages: Packages) -> None:
    with pytest.raises(InterventionError, match="Unable to locate package nothing"):
        packages.ensure_held(["nothing"])


def test_n01_a_night_splits_library_and_module(packages: Packages, host: SimulatedHost) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    host.load_module("nvidia")
    host.set_archive_step(1)
    assert "libnvidia-compute-580-server" in host.upgrade_unattended()
    assert "580.159.03" in host.files.read_text("/proc/driver/nvidia/version")
    assert host.run(["/usr/sbin/modinfo", "-F", "version", "nvidia"]) == "580.173.02\n"
    with pytest.raises(CommandError) as caught:
        host.run(["/usr/bin/nvidia-smi"])
    assert (caught.value.returncode, caught.value.stderr) == (18, "")
    assert "version mismatch" in caught.value.stdout


def test_n01_held_packages_survive_the_night(packages: Packages, host: SimulatedHost) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    packages.ensure_held(name for name in packages.installed() if "nvidia" in name)
    host.set_archive_step(1)
    assert not [name for name in host.upgrade_unattended() if "nvidia" in name]


def test_n01_the_blacklist_of_unattended_upgrades_is_obeyed(
    packages: Packages, host: SimulatedHost
) -> None:
    host.set_archive_step(0)
    packages.install(driver(packages))
    text = 'Unattended-Upgrade::Package-Blacklist { "nvidia-"; "libnvidia-"; "linux-"; };\n'
    host.files.ensure_text("/etc/apt/apt.conf.d/99-gpu", text)
    host.set_archive_step(2)
    assert host.upgrade_unattended() == ()


def test_a_locked_dpkg_needs_time_not_a_person(packages: Packages, host: SimulatedHost) -> None:
    host.inject("dpkg-lock", text="unattended-upgr 4711")
    wanted = driver(packages)
    with pytest.raises(NotReadyError, match=r"dpkg is locked by unattended-upgr \(pid 4711\)"):
        packages.install(wanted)
    with pytest.raises(NotReadyError, match="locked"):
        packages.ensure_held(["mokutil"])
    with pytest.raises(NotReadyError, match="locked"):
        packages.refresh()
    host.clear_faults()
    packages.install(wanted)


@pytest.mark.parametrize(
    ("stderr", "holder"),
    [
        (
            (
                "E: Could not get lock /var/lib/apt/lists/lock. "
                "It is held by process 7 (apt-get)\n"
                "E: Unable to lock directory /var/lib/apt/lists/\n"
            ),
            "apt-get (pid 7)",
        ),
        (
            (
                "E: Could not get lock /var/lib/dpkg/lock - open (11: Resource temporarily "
                "unavailable)\n"
            ),
            "another process",
        ),
        (
            "dpkg: error: dpkg frontend lock was locked by another process with pid 8\n",
            "process 8",
        ),
    ],
    ids=["apt 2.4", "apt without a name", "dpkg"],
)
def test_every_wording_of_a_lock_needs_time(stderr: str, holder: str) -> None:
    def run(argv: Sequence[str], *, timeout: float = 60) -> str:
        del timeout
        raise CommandError(argv, 100, "", stderr)

    with pytest.raises(NotReadyError) as caught:
        Packages(run, None).find_refusal({"x": "1"})  # type: ignore[arg-type]
    assert str(caught.value) == f"dpkg is locked by {holder}"


def test_a_package_that_fails_is_named_and_completed_later(
    packages: Packages, host: SimulatedHost
) -> None:
    host.inject("package", "nvidia-utils-580-server", "post-installation script: exit status 10")
    with pytest.raises(InterventionError) as caught:
        packages.install(driver(packages))
    assert str(caught.value) == (
        "nvidia-utils-580-server: post-installation script: exit status 10"
    )
    assert "nvidia-utils-580-server" not in packages.installed()
    host.clear_faults()
    packages.install(driver(packages))
    assert packages.installed()["nvidia-utils-580-server"] == NOW


def test_what_a_power_loss_interrupted_is_completed_first(
    packages: Packages, host: SimulatedHost
) -> None:
    dpkg.interrupt(host.system)
    assert packages.find_refusal(driver(packages)) == (
        "dpkg was interrupted, you must manually run 'dpkg --configure -a' "
        "to correct the problem. "
    )
    packages.install(driver(packages))
    assert packages.installed()[MODULES]


def test_a_failed_refresh_needs_time(packages: Packages, host: SimulatedHost) -> None:
    host.inject("apt-update", text="Failed to fetch https://example.com/apt")
    with pytest.raises(NotReadyError, match="Failed to fetch"):
        packages.refresh()


@pytest.mark.parametrize("line", [CUDA, TOOLKIT], ids=["cuda", "toolkit"])
def test_the_toolkit_comes_from_nvidia_once_its_lists_are_fetched(
    packages: Packages, line: str
) -> None:
    assert packages.ensure_repository("nvidia", line, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
    assert packages.candidates(["nvidia-container-toolkit"]) == {}
    packages.refresh()
    packages.install(packages.candidates(["nvidia-container-toolkit"]))
    assert packages.installed()["nvidia-container-toolkit-base"] == "1.20.0-1"


def test_a_repository_is_bound_to_its_own_key(packages: Packages, host: SimulatedHost) -> None:
    packages.ensure_repository("nvidia", TOOLKIT, "KEY\n")
    source = host.files.read_text("/etc/apt/sources.list.d/nvidia.list")
    assert source.startswith("deb [signed-by=/etc/apt/keyrings/nvidia.asc] https://")
    assert host.files.read_text("/etc/apt/keyrings/nvidia.asc") == "KEY\n"
    assert not packages.ensure_repository("nvidia", TOOLKIT, "KEY\n")


def test_options_of_a_source_stay(packages: Packages, host: SimulatedHost) -> None:
    packages.ensure_repository("site", "deb [arch=amd64] https://mirror.example.com /", "KEY\n")
    source = host.files.read_text("/etc/apt/sources.list.d/site.list")
    assert source == (
        "deb [signed-by=/etc/apt/keyrings/site.asc arch=amd64] https://mirror.example.com /\n"
    )


def test_a_mirror_that_the_machine_trusts_needs_no_key(
    packages: Packages, host: SimulatedHost
) -> None:
    packages.ensure_repository("site", "deb https://mirror.example.com /", "")
    assert "signed-by" not in host.files.read_text("/etc/apt/sources.list.d/site.list")


def test_b200_needs_nvidias_own_packages_without_a_suffix(packages: Packages) -> None:
    packages.ensure_repository("cuda", CUDA, "KEY\n")
    packages.refresh()
    wanted = packages.candidates(["nvidia-open", "nvidia-fabricmanager", "nvlsm"])
    assert wanted["nvidia-open"] == "595.91.07-1ubuntu1"
    packages.install(wanted)
    assert packages.installed()["nvidia-dkms-open"] == "595.91.07-1ubuntu1"


def test_n04_nvidias_repository_keeps_builds_that_only_their_exact_versions_bring(
    packages: Packages, host: SimulatedHost
) -> None:
    packages.ensure_repository("cuda", CUDA, "KEY\n")
    packages.refresh()
    table = host.run(["/usr/bin/apt-cache", "policy", "nvidia-dkms-open"])
    assert "  Candidate: 595.91.07-1ubuntu1\n" in table
    rows = [line.split()[0] for line in table.splitlines() if line.startswith("     5")]
    assert rows == [f"{one}-1ubuntu1" for one in KEPT]
    old = f"{KEPT[-1]}-1ubuntu1"
    refusal = packages.find_refusal({"nvidia-dkms-open": old})
    assert refusal is not None
    assert refusal.startswith(f"nvidia-dkms-open: depends nvidia-kernel-common (= {old}) but ")
    names = ("nvidia-dkms-open", "nvidia-kernel-common", "nvidia-firmware")
    packages.install(dict.fromkeys(names, old))
    assert packages.installed()["nvidia-firmware"] == old
    table = host.run(["/usr/bin/apt-cache", "policy", "nvidia-firmware"])
    assert f" *** {old} 500\n" in table
    assert "        100 /var/lib/dpkg/status\n" in table


def test_two_universes_exclude_each_other(packages: Packages) -> None:
    packages.install(driver(packages))
    packages.ensure_repository("cuda", CUDA, "KEY\n")
    packages.refresh()
    refusal = packages.find_refusal(packages.candidates(["nvidia-open"]))
    assert refusal is not None
    assert "libnvidia-compute-580-server" in refusal


def test_weeks_later_the_archive_has_another_build(
    packages: Packages, host: SimulatedHost
) -> None:
    host.set_archive_step(2)
    assert packages.candidates(["nvidia-utils-580-server"]) == {"nvidia-utils-580-server": NEXT}


def test_foreign_architectures_are_left_out() -> None:
    rows = (
        "ii \tlibc6\tamd64\t2.39\n"
        "ii \tlibc6\ti386\t2.38\n"
        "hi \theld\tall\t1\n"
        "rc \tremoved\tamd64\t1\n"
        "iF \tbroken\tamd64\t1\n"
    )
    packages = Packages(lambda argv, timeout=60: rows, None)  # type: ignore[arg-type]
    assert packages.installed() == {"libc6": "2.39", "held": "1"}
