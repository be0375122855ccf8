# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The plan for a machine's packages: mostly nothing, otherwise one whole transaction."""

from collections.abc import Mapping, Sequence

import pytest

from charmkit.errors import InterventionError
from flavours import Branch, Modules, Wish
from hardware import Gpu, Hardware
from observed import Observed
from offers import Offers
from selection import plan_transaction

KERNEL = "6.8.0-90-generic"
DGX = Hardware((Gpu("0000:07:00.0", 0x20B0),), nvswitches=6)


def driver(version: str, kernel: str = KERNEL, number: int = 580) -> dict[str, str]:
    """Return a server driver with open modules as the archive has it."""
    full, series = f"{version}-0ubuntu0.24.04.1", f"{number}-server"
    names = (
        f"libnvidia-compute-{series}",
        f"nvidia-utils-{series}",
        f"nvidia-compute-utils-{series}",
        f"nvidia-headless-no-dkms-{series}-open",
        f"nvidia-kernel-source-{series}-open",
        f"nvidia-fabricmanager-{number}",
        f"libnvidia-nscq-{number}",
    )
    modules = {
        f"linux-{kind}-nvidia-{series}-open-{kernel}": f"6.8.0-90.91+{version}"
        for kind in ("modules", "objects")
    }
    return {**dict.fromkeys(names, full), **modules}


class Apt:
    """Package lists: what they say now, and what they say once they are fetched again."""

    def __init__(self, old: Mapping[str, str], new: Mapping[str, str] | None = None) -> None:
        self._lists = dict(old)
        self._new = dict(old if new is None else new)
        self.asked = False

    def __call__(self, names: Sequence[str], *, fresh: bool) -> Offers:
        self.asked = True
        if fresh:
            self._lists = self._new
        return Offers({name: self._lists[name] for name in names if name in self._lists})


OLD, NEW = "580.159.03", "580.173.02"


def machine(installed: Mapping[str, str], *, loaded: str = "", kernel: str = KERNEL) -> Observed:
    modules = {"nvidia": 2} if loaded else {}
    return Observed(DGX, kernel, "b00t", installed, modules, loaded)


def test_a_driver_that_is_right_needs_no_question_to_apt() -> None:
    apt = Apt(driver(NEW))
    observed = machine(driver(OLD), loaded=OLD)
    assert plan_transaction(Wish(), observed, upgrade=False, offer=apt) is None
    assert not apt.asked


def test_a_new_machine_gets_the_whole_set_of_fresh_lists() -> None:
    plan = plan_transaction(Wish(), machine({}), upgrade=False, offer=Apt({}, driver(NEW)))
    assert plan is not None
    wanted = {name: one for name, one in driver(NEW).items() if "source" not in name}
    assert plan.install == {name: one for name, one in wanted.items() if "objects" not in name}
    assert (plan.remove, plan.is_disruptive) == ((), False)


def test_an_upgrade_names_every_part_that_is_installed() -> None:
    observed = machine(driver(OLD), loaded=OLD)
    plan = plan_transaction(Wish(), observed, upgrade=True, offer=Apt(driver(NEW)))
    assert plan is not None
    assert plan.install == driver(NEW)
    assert plan.is_disruptive


def test_an_upgrade_to_what_is_there_is_none() -> None:
    observed = machine(driver(NEW), loaded=NEW)
    assert plan_transaction(Wish(), observed, upgrade=True, offer=Apt(driver(NEW))) is None


def test_what_is_missing_is_looked_for_in_fresh_lists_when_the_old_ones_lack_it() -> None:
    installed = driver(NEW)
    manager = installed.pop("nvidia-fabricmanager-580")
    plan = plan_transaction(
        Wish(), machine(installed, loaded=NEW), upgrade=False, offer=Apt(driver(OLD), driver(NEW))
    )
    assert plan is not None
    assert plan.install == {"nvidia-fabricmanager-580": manager}
    assert not plan.is_disruptive, "nobody can run CUDA without it"


def test_a_fabric_manager_of_running_jobs_goes_with_leave_alone() -> None:
    installed = driver(NEW)
    for part in ("nvidia-fabricmanager", "libnvidia-nscq"):
        del installed[f"{part}-580"]
        installed[part] = f"{NEW}-1"
    plan = plan_transaction(
        Wish(), machine(installed, loaded=NEW), upgrade=False, offer=Apt(driver(NEW))
    )
    assert plan is not None
    assert set(plan.remove) == {"nvidia-fabricmanager", "libnvidia-nscq"}
    assert plan.is_disruptive, "it ends the CUDA jobs of all GPUs"


def test_what_no_list_has_is_named() -> None:
    installed = driver(NEW)
    del installed["nvidia-fabricmanager-580"]
    observed = machine(installed, loaded=NEW)
    with pytest.raises(InterventionError, match=rf"no fabricmanager {NEW} .*candidate {OLD}"):
        plan_transaction(Wish(), observed, upgrade=False, offer=Apt(driver(OLD)))


def test_a_kernel_without_modules_moves_the_set_to_the_build_that_has_them() -> None:
    kernel = "6.8.0-101-generic"
    observed = machine(driver(OLD), kernel=kernel)
    plan = plan_transaction(Wish(), observed, upgrade=False, offer=Apt(driver(NEW, kernel)))
    assert plan is not None
    assert plan.target.version == NEW
    assert plan.install["libnvidia-compute-580-server"].startswith(NEW)
    assert not plan.is_disruptive


@pytest.mark.parametrize(
    ("loaded", "disruptive"), [("535.288.01", True), ("", False)], ids=["loaded", "not-loaded"]
)
def test_another_branch_removes_the_old_one_and_disturbs_whoever_uses_it(
    loaded: str, disruptive: bool
) -> None:
    old = driver("535.288.01", number=535)
    wish = Wish(branch=Branch(580), modules=Modules.OPEN)
    plan = plan_transaction(
        wish, machine(old, loaded=loaded), upgrade=False, offer=Apt({**old, **driver(NEW)})
    )
    assert plan is not None
    assert set(plan.remove) == set(old)
    assert plan.is_disruptive is disruptive
