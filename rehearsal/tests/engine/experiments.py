# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The experiments of the `basic` records and of the first numbered ones, as verbs."""

from collections.abc import Callable
from typing import Any

from standins.units import Event, UnitView


def greet(event: Event, unit: UnitView) -> None:
    """Do what the charms of the `basic` records do in relation-created."""
    for relation in unit.relations:
        if relation.id == event.relation_id:
            relation.local_unit["hello"] = unit.name
            if unit.leader:
                relation.local_app["leader"] = unit.name


def basic(site: Any, alphas: int = 1, *, related: bool = True, attached: bool = False) -> None:
    """Deploy alpha and beta of the `basic` records."""
    for name in ("alpha", "beta", "subby"):
        for endpoint in ("site", "cluster", "host"):
            site.on(name, f"{endpoint}-relation-created", greet)
    site.deploy("alpha", alphas, settle=False)
    site.model.applications["alpha"].leader = "alpha/0"
    site.deploy("beta", settle=False)
    if related:
        site.juju.integrate("alpha:site", "beta:site")
    if attached:
        site.deploy("subby", settle=False)
        site.juju.integrate("alpha", "subby")


def settled(site: Any) -> None:
    """Forget what setting up ran."""
    site.forget()


def t1_02(site: Any) -> None:
    basic(site)
    site.deploy("subby", settle=False)
    settled(site)
    site.juju.integrate("alpha", "subby")


def t1_04(site: Any) -> None:
    basic(site, attached=True)
    settled(site)
    site.add_unit("alpha")


def t1_06(site: Any) -> None:
    basic(site, 2, related=False)
    settled(site)
    site.juju.refresh("alpha", site.model.applications["alpha"].charm)


def t1_07(site: Any) -> None:
    basic(site, 2, attached=True)
    settled(site)
    site.juju.remove_unit("alpha/1")


def t1_11(site: Any) -> None:
    basic(site)
    settled(site)
    site.juju.remove_relation("alpha:site", "beta:site")


def t2_20(site: Any) -> None:
    basic(site, 2, related=False)


def t2_22(site: Any) -> None:
    basic(site, 2)
    settled(site)
    site.juju.remove_unit("alpha/0")
    site.juju.settle()
    site.juju.advance(60)


def t2_23(site: Any) -> None:
    t2_22(site)
    settled(site)
    site.juju.remove_relation("alpha:site", "beta:site")


def t5_30(site: Any) -> None:
    basic(site, 2)
    site.deploy("subby", settle=False)
    site.juju.integrate("beta", "subby")


def t5_31(site: Any) -> None:
    t5_30(site)
    settled(site)
    for machine in ("1", "2"):
        site.juju.reboot(machine)


def t5_34(site: Any) -> None:
    t5_31(site)
    settled(site)
    site.juju.remove_relation("beta", "subby")


def gammas(site: Any) -> None:
    """Deploy the two gammas of the numbered records; gamma/1 leads, as it did there."""
    site.deploy("gamma", 2, settle=False)
    site.model.applications["gamma"].leader = "gamma/1"


def attach(site: Any) -> None:
    """Attach sub1 to gamma, related to a sub2 that is attached to nothing."""
    site.deploy("sub1", settle=False)
    site.deploy("sub2", settle=False)
    site.juju.integrate("sub1:pair", "sub2:pair")
    site.juju.integrate("gamma:juju-info", "sub1:host")


def x03(site: Any) -> None:
    gammas(site)
    settled(site)
    attach(site)


def x09a(site: Any) -> None:
    gammas(site)
    settled(site)
    site.write("gamma/0", "config-changed", "ring", one="1", two="2")
    site.juju.set_config("gamma", {"greeting": "a"})


def x09b(site: Any) -> None:
    x09a(site)
    settled(site)
    site.juju.set_config("gamma", {"greeting": "b"})


def x09d(site: Any) -> None:
    x09a(site)
    settled(site)
    site.write("gamma/0", "config-changed", "ring", one="")
    site.juju.set_config("gamma", {"greeting": "b"})


def x09g(site: Any) -> None:
    gammas(site)
    settled(site)
    site.write_app("gamma", "config-changed", "ring", key="value")
    site.juju.set_config("gamma", {"greeting": "a"})


def x22(site: Any) -> None:
    gammas(site)
    attach(site)
    site.juju.integrate("gamma:juju-info", "sub2:host")
    settled(site)
    site.write("gamma/0", "config-changed", "ring", one="1")
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.settle()
    site.juju.reboot("0")


def x50a(site: Any) -> None:
    gammas(site)
    settled(site)
    site.juju.refresh("gamma", site.model.applications["gamma"].charm)


def x71a(site: Any) -> None:
    site.write_app("gamma", "start", "ring", key="value")
    gammas(site)
    site.model.applications["gamma"].leader = "gamma/0"
    attach(site)
    site.juju.integrate("gamma:site", "sub1:uplink")
    site.juju.settle()
    site.juju.remove_unit("gamma/1")
    settled(site)
    site.add_unit("gamma", "0")


def x90f(site: Any) -> None:
    deltas(site, "gj")
    settled(site)
    site.juju.remove_relation("gj:site", "delta:site")


def deltas(site: Any, name: str) -> None:
    """Deploy two deltas and a gamma under another name, related."""
    site.deploy("delta", 2)
    site.deploy(name, charm="gamma", settle=False)
    site.juju.integrate(f"{name}:site", "delta:site")


def x98a(site: Any) -> None:
    site.deploy("delta", 2)
    settled(site)
    site.deploy("gz", charm="gamma", settle=False)
    site.juju.integrate("gz:site", "delta:site")


def x98b(site: Any) -> None:
    deltas(site, "gz")
    settled(site)
    site.juju.remove_application("gz")


def x100(site: Any) -> None:
    site.write_app("gamma", "start", "site", key="value")
    site.deploy("delta", settle=False)
    site.deploy("gamma", settle=False)
    site.juju.integrate("gamma:site", "delta:site")
    site.juju.integrate("gamma:back", "delta:back")
    settled(site)
    site.add_unit("delta")


EXPERIMENTS: dict[str, Callable[[Any], None]] = {
    "02-deploy-2-units": gammas,
    "03-attach-sub1": x03,
    "09a-unit-data-several-writes": x09a,
    "09b-same-data": x09b,
    "09d-empty-deletes": x09d,
    "09g-app-data": x09g,
    "22-juju-reboot": x22,
    "50a-refresh-with-config": x50a,
    "71a-second-gamma-same-machine": x71a,
    "90f-remove-relation": x90f,
    "98a-deploy-gz": x98a,
    "98b-remove-application-related": x98b,
    "100-add-unit-delta": x100,
    "basic-t1-01-deploy-with-relation": basic,
    "basic-t1-02-subordinate-attach": t1_02,
    "basic-t1-04-add-unit": t1_04,
    "basic-t1-06-refresh": t1_06,
    "basic-t1-07-remove-unit": t1_07,
    "basic-t1-11-remove-relation": t1_11,
    "basic-t2-20-deploy-no-relation": t2_20,
    "basic-t2-22-remove-leader": t2_22,
    "basic-t2-23-remove-relation": t2_23,
    "basic-t5-30-bundle": t5_30,
    "basic-t5-31-reboot-related": t5_31,
    "basic-t5-34-detach-subordinate": t5_34,
}
