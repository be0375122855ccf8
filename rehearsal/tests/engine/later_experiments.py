# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The numbered experiments on failures, secrets, storage, teardown and restarts, as verbs."""

import copy
from collections.abc import Callable
from typing import Any

from rehearsal.errors import RunawayError
from rehearsal.juju.applications import Deployment
from rehearsal.tests.engine.conftest import CHARMS
from rehearsal.tests.engine.experiments import (
    attach,
    basic,
    deltas,
    gammas,
    greet,
    settled,
    t2_22,
    t2_23,
    t5_30,
    x71a,
)
from standins.units import Event, HookError, SecretView, UnitView


def fail(event: Event, unit: UnitView) -> None:
    """Fail a hook."""
    raise HookError("told to fail")


def pass_(event: Event, unit: UnitView) -> None:
    """Do nothing."""


def configured(site: Any, name: str = "gamma") -> None:
    """Deploy two gammas and change an option."""
    gammas(site)
    settled(site)
    site.juju.set_config(name, {"greeting": "a"})


def x07b(site: Any) -> None:
    configured(site)
    site.juju.settle()
    site.juju.set_config("gamma", {"greeting": "a"})


def x07c(site: Any) -> None:
    configured(site)
    site.juju.set_config("gamma", {"greeting": "hi"})


def x07e(site: Any) -> None:
    configured(site)
    site.juju.settle()
    site.juju.reset_config("gamma", ["greeting"])


def x07f(site: Any) -> None:
    gammas(site)
    settled(site)
    site.juju.trust("gamma")


def x07g(site: Any) -> None:
    x07f(site)
    settled(site)
    site.juju.trust("gamma", trusted=False)


def x09c(site: Any) -> None:
    def there_and_back(event: Event, unit: UnitView) -> None:
        for relation in unit.related("ring"):
            relation.local_unit["one"] = "1"
            del relation.local_unit["one"]

    site.on("gamma/0", "config-changed", there_and_back)
    configured(site)


def x09e(site: Any) -> None:
    def write_and_fail(event: Event, unit: UnitView) -> None:
        unit.related("ring")[0].local_unit["one"] = "1"
        fail(event, unit)

    gammas(site)
    settled(site)
    site.on("gamma/0", "config-changed", write_and_fail)
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.settle()
    site.juju.advance(6)


def x09f(site: Any) -> None:
    x09e(site)
    site.forget()
    site.on("gamma/0", "config-changed", pass_)
    site.juju.resolved("gamma/0")


def x10(site: Any) -> None:
    gammas(site)
    attach(site)
    settled(site)
    site.write("gamma/0", "config-changed", "ring", one="1")
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.settle()
    site.juju.set_config("sub1", {"greeting": "a"})
    site.juju.settle()
    site.charm.seen = [item for item in site.charm.seen if item[0] != "gamma/0"]
    site.juju.set_config("gamma", {"count": 2})


def count(site: Any, who: str, hook: str, endpoint: str) -> None:
    """Let a hook write a new number each time."""
    numbers: list[int] = []

    def script(event: Event, unit: UnitView) -> None:
        numbers.append(1)
        for relation in unit.related(endpoint):
            relation.local_unit["number"] = str(len(numbers))

    site.on(who, hook, script)


def x11(site: Any) -> None:
    gammas(site)
    count(site, "gamma/0", "act", "ring")
    settled(site)
    site.juju.run_action(["gamma/0"], "act")
    site.juju.run_action(["gamma/0"], "act")
    site.on("gamma/0", "act", fail)
    site.juju.run_action(["gamma/0"], "act")


def x12(site: Any) -> None:
    gammas(site)
    count(site, "gamma/0", "act", "ring")
    settled(site)
    site.juju.run_action(["gamma/0"], "act")
    site.juju.execute(["gamma/0"], ["relation-set", "-r", "ring:0", "more=1"])
    site.on("gamma/0", "config-changed", fail)
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.settle()
    site.juju.advance(6)
    site.juju.run_action(["gamma/0"], "act")
    site.charm.seen = [item for item in site.charm.seen if item[1].action != "juju-exec"]
    site.juju.advance(15)
    site.juju.refresh("gamma", site.model.applications["gamma"].charm)
    site.juju.advance(60)


def x12b(site: Any) -> None:
    x12(site)
    site.forget()
    site.juju.resolved("gamma/0")
    site.juju.settle()
    site.juju.advance(6)


def x12c(site: Any) -> None:
    x12b(site)
    site.juju.execute(["gamma/1"], ["relation-set", "-r", "ring:0", "more=1"])
    site.forget()
    site.juju.resolved("gamma/0", retry=False)


def x21(site: Any) -> None:
    gammas(site)
    settled(site)
    for hook in ("x", "y"):
        site.juju.wake("gamma/0", hook)
        site.juju.settle()

    def wake(event: Event, unit: UnitView) -> None:
        for hook in ("z2", "z"):
            site.juju.wake("gamma/0", hook)
        site.on("gamma/0", "config-changed", pass_)

    site.on("gamma/0", "config-changed", wake)
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.settle()
    site.juju.set_config("gamma", {"greeting": "b"})


def x23(site: Any) -> None:
    def reboot(event: Event, unit: UnitView) -> None:
        unit.reboot = "now"
        site.on("gamma/0", "config-changed", pass_)

    gammas(site)
    attach(site)
    site.juju.integrate("gamma:juju-info", "sub2:host")
    settled(site)
    site.on("gamma/0", "config-changed", reboot)
    site.juju.set_config("gamma", {"greeting": "a"})


def x25(site: Any) -> None:
    def die(event: Event, unit: UnitView) -> None:
        site.write("gamma/0", "config-changed", "ring", one="1")
        fail(event, unit)

    gammas(site)
    settled(site)
    site.on("gamma/0", "config-changed", die)
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.settle()
    site.juju.advance(6)


def add_secret(event: Event, unit: UnitView) -> None:
    """Add a secret, grant it to every relation of `site`, and say so in them."""
    grants = {relation.id: {relation.remote_app} for relation in unit.related("site")}
    secret = SecretView("secret:one", unit.application, contents={1: {"key": "one"}})
    secret.grants, secret.label = grants, "sx"
    unit.secrets.append(secret)
    for relation in unit.related("site"):
        relation.local_unit["secret"] = relation.local_app["secret"] = secret.id


def read_secret(event: Event, unit: UnitView) -> None:
    """Read every secret that the unit may read."""
    for secret in unit.secrets:
        secret.get()


def refresh_secret(event: Event, unit: UnitView) -> None:
    """Take the newest revision of every secret."""
    for secret in unit.secrets:
        secret.get(refresh=True)


def revise_secret(event: Event, unit: UnitView) -> None:
    """Make a new revision."""
    for secret in unit.secrets:
        secret.set({"key": str(secret.revision + 1)})


def secrets(site: Any, deltas_: int = 1, name: str = "gamma") -> None:
    """Let a gamma share a secret with deltas that read it."""
    site.deploy(name, charm="gamma", settle=False)
    site.deploy("delta", deltas_, settle=False)
    site.juju.integrate(f"{name}:site", "delta:site")
    settled(site)
    site.on(name, "act", add_secret)
    site.juju.run_action([f"{name}/0"], "act")


def x31b(site: Any) -> None:
    secrets(site)
    site.on("delta", "update-status", read_secret)
    site.on("gamma", "update-status", read_secret)
    for unit in ("delta/0", "gamma/0"):
        site.juju.wake(unit)
    settled(site)
    site.on("gamma", "act", revise_secret)
    site.juju.run_action(["gamma/0"], "act")
    site.charm.seen = [item for item in site.charm.seen if not item[1].action]


def x31a(site: Any) -> None:
    secrets(site)
    site.charm.seen = [item for item in site.charm.seen if not item[1].action]


def x31f(site: Any) -> None:
    secrets(site)

    def expire(event: Event, unit: UnitView) -> None:
        unit.secrets[0].expire = unit.now + 60

    site.on("gamma", "act", expire)
    site.juju.run_action(["gamma/0"], "act")
    settled(site)
    site.juju.advance(61)


def shared(site: Any) -> None:
    """Let three deltas hold the first revision of a secret of gj."""
    secrets(site, 3, "gj")
    site.on("delta", "update-status", read_secret)
    for number in range(3):
        site.juju.wake(f"delta/{number}")
    settled(site)
    site.on("gj", "act", revise_secret)


def x61a(site: Any) -> None:
    shared(site)
    site.juju.run_action(["gj/0"], "act")


def x61c(site: Any) -> None:
    x61a(site)
    site.on("delta", "update-status", refresh_secret)
    settled(site)
    for number in range(3):
        site.juju.wake(f"delta/{number}")


def x61e(site: Any) -> None:
    x61c(site)
    settled(site)
    site.juju.run_action(["gj/0"], "act")
    site.juju.run_action(["gj/0"], "act")
    site.charm.seen = [item for item in site.charm.seen if not item[1].action]


def stored(site: Any, name: str) -> None:
    """Deploy a gamma with one storage."""
    machine = site.juju.add_machine().id
    deployment = Deployment(name=name, machines=(machine,), storage={"data": "rootfs,1,10M"})
    site.juju.deploy(copy.deepcopy(CHARMS["gamma"]), deployment)


def x60(site: Any) -> None:
    site.deploy("delta")
    site.forget()
    site.deploy("gj", charm="gamma", settle=False)
    stored(site, "gs")
    for name in ("gamma", "gflat", "gat", "gch"):
        site.deploy(name, charm="gamma", settle=False)
    site.juju.settle()
    for name in ("gj", "delta", "gs"):
        site.juju.set_config(name, {"greeting": "a"})
    site.juju.settle()
    site.juju.integrate("gj:site", "delta:site")
    for _ in range(2):
        site.add_unit("delta")


def x63(site: Any) -> None:
    site.deploy("delta", 3, settle=False)
    stored(site, "gs")
    site.deploy("gj", charm="gamma")
    settled(site)
    for greeting in ("a", "b"):
        site.juju.set_config("delta", {"greeting": greeting})
        site.juju.settle()
    site.juju.set_config("gj", {"greeting": "a"})
    site.juju.settle()
    site.juju.storage.detach("data/0")
    site.juju.settle()
    site.juju.storage.add("gj/0", "data", "rootfs,1,10M")


def x71b(site: Any) -> None:
    x71a(site)
    settled(site)
    site.on("gamma/2", "stop", fail)
    site.juju.remove_unit("gamma/2")
    site.juju.settle()
    site.juju.advance(5)
    site.juju.advance(10)


def x72(site: Any) -> None:
    gammas(site)
    site.model.applications["gamma"].leader = "gamma/0"
    attach(site)
    site.juju.integrate("gamma:site", "sub1:uplink")
    site.juju.settle()
    site.juju.restart_agent("0")
    site.juju.remove_unit("gamma/1")
    site.juju.settle()
    site.add_unit("gamma", "0")
    site.juju.settle()
    site.juju.remove_unit("gamma/2")
    settled(site)
    site.juju.remove_application("gamma")


def x80(site: Any) -> None:
    for name in ("gamma", "sub1", "sub2"):
        site.deploy(name, charm="pairless" if name == "sub2" else name, settle=False)
    site.juju.integrate("gamma:juju-info", "sub1:host")
    site.juju.settle()
    site.juju.integrate("sub1:pair", "sub2:pair")
    try:
        site.juju.settle()
    except RunawayError:
        site.juju.remove_relation("sub1:pair", "sub2:pair")
        seen = site.charm.drain()
        site.events = lambda: seen


def x90a(site: Any) -> None:
    site.deploy("delta", 3)
    site.deploy("gj", charm="gamma")
    settled(site)
    site.juju.set_config("delta", {"greeting": "a"})
    site.juju.settle()
    site.juju.wake("gj/0", "wake")


def x90b(site: Any) -> None:
    site.deploy("delta", 3)
    settled(site)
    site.on("delta/1", "config-changed", fail)
    site.juju.set_config("delta", {"greeting": "a"})
    site.juju.settle()
    site.juju.wake("delta/1", "wake")
    site.on("delta/1", "config-changed", pass_)
    site.juju.settle()
    site.juju.advance(5)


def x90c(site: Any) -> None:
    secrets(site, name="gj")
    settled(site)
    site.on("gj", "act", lambda event, unit: unit.secrets.clear())
    site.juju.run_action(["gj/0"], "act")
    site.juju.set_config("gj", {"greeting": "a"})


def x90d(site: Any) -> None:
    deltas(site, "gj")
    site.add_unit("delta")
    site.deploy("gs", charm="gamma")
    settled(site)
    for unit in ("delta/0", "delta/1", "delta/1", "delta/0", "gj/0", "gj/0"):
        site.juju.run_action([unit], "act")
    site.juju.remove_application("gs")
    number = site.model.relations_of("gj")[-1].id
    site.juju.execute(["delta/2"], ["relation-set", "-r", str(number), "a=1"])
    site.charm.seen = [item for item in site.charm.seen if item[1].action != "juju-exec"]
    site.write("delta/2", "site-relation-departed", "site", last="words")
    site.juju.remove_unit("delta/2")


def x95(site: Any) -> None:
    x90d(site)
    settled(site)
    for number in ("0", "1"):
        site.juju.restart_agent(number)


def x97(site: Any) -> None:
    stored(site, "gj")
    site.juju.settle()
    site.juju.restart_agent("0")
    settled(site)
    site.on("gj", "stop", fail)
    site.juju.remove_application("gj")
    site.juju.settle()
    site.juju.advance(6)
    site.juju.remove_application("gj", force=True)


def x103(site: Any) -> None:
    site.deploy("delta", 2, settle=False)
    site.model.applications["delta"].leader = "delta/1"
    site.deploy("gamma", settle=False)
    site.juju.integrate("gamma:site", "delta:site")
    site.juju.integrate("gamma:back", "delta:back")
    site.juju.settle()
    site.juju.restart_agent("0")
    settled(site)
    site.juju.remove_unit("delta/0")


def x50b(site: Any) -> None:
    gammas(site)
    settled(site)
    site.juju.set_config("gamma", {"greeting": "a"})
    site.juju.refresh("gamma", site.model.applications["gamma"].charm)


def x50c(site: Any) -> None:
    def refresh(event: Event, unit: UnitView) -> None:
        site.juju.refresh("gamma", site.model.applications["gamma"].charm)
        site.on("gamma/0", "config-changed", pass_)

    gammas(site)
    settled(site)
    site.on("gamma/0", "config-changed", refresh)
    site.juju.set_config("gamma", {"greeting": "a"})


def x50d(site: Any) -> None:
    def once(event: Event, unit: UnitView) -> None:
        site.on("gamma/0", "upgrade-charm", pass_)
        fail(event, unit)

    gammas(site)
    settled(site)
    site.on("gamma/0", "upgrade-charm", once)
    site.juju.refresh("gamma", site.model.applications["gamma"].charm)
    site.juju.settle()
    site.juju.advance(6)


def x52(site: Any) -> None:
    gammas(site)
    attach(site)
    site.juju.integrate("gamma:site", "sub1:uplink")
    site.juju.integrate("gamma:juju-info", "sub2:host")
    site.juju.settle()
    site.juju.restart_agent("0")
    settled(site)
    for relation in site.model.relations_of("gamma"):
        if relation.end_of("gamma").endpoint in ("site", "ring"):
            words = ["relation-set", "-r", str(relation.id), "a=1"]
            site.juju.execute(["gamma/0"], words)
    site.juju.settle()
    site.charm.seen = [item for item in site.charm.seen if not item[1].action]
    site.juju.remove_relation("gamma:juju-info", "sub2:host")


def t1_03(site: Any) -> None:
    basic(site, 2)
    settled(site)
    site.juju.set_config("alpha", {"greeting": "a"})


def t1_08(site: Any) -> None:
    basic(site, 2, attached=True)
    site.juju.settle()
    site.juju.remove_unit("alpha/1")
    settled(site)
    site.add_unit("alpha", "1")


def t1_09(site: Any) -> None:
    t1_08(site)
    settled(site)
    site.juju.remove_unit("alpha/2")


def t1_10(site: Any) -> None:
    t1_09(site)
    settled(site)
    site.juju.reboot("0")


def t2_21(site: Any) -> None:
    basic(site, 2, related=False)
    settled(site)
    site.juju.integrate("alpha:site", "beta:site")


def t2_24(site: Any) -> None:
    t2_23(site)
    settled(site)
    site.juju.integrate("alpha:site", "beta:site")


def t2_25(site: Any) -> None:
    t2_22(site)
    settled(site)
    site.juju.expose("alpha")


def t2_27(site: Any) -> None:
    t2_24(site)
    settled(site)
    site.juju.remove_application("alpha")


def t5_32(site: Any) -> None:
    basic(site, 2)
    settled(site)
    site.on("alpha/1", "config-changed", fail)
    site.juju.set_config("alpha", {"greeting": "a"})
    site.juju.settle()
    site.juju.advance(5)


def t5_33(site: Any) -> None:
    t5_32(site)
    site.on("alpha/1", "config-changed", pass_)
    site.forget()
    site.juju.resolved("alpha/1")


def t5_35(site: Any) -> None:
    t5_30(site)
    site.juju.offers.create("alpha", ["site"])
    settled(site)
    relation = site.juju.offers.connect("alpha", CHARMS["beta"])
    remote = relation.other_end("alpha").application
    site.on(remote, "site-relation-created", greet)


LATER: dict[str, Callable[[Any], None]] = {
    "07b-config-set-same": x07b,
    "07c-config-there-and-back": x07c,
    "07d-set-to-default": configured,
    "07e-reset-when-equal-default": x07e,
    "07f-trust": x07f,
    "07g-trust-off": x07g,
    "09c-data-there-and-back": x09c,
    "09e-failing-hook-data": x09e,
    "09f-resolved": x09f,
    "10-config-timing": x10,
    "11-actions-flush": x11,
    "12-failure-retries": x12,
    "12b-resolved-still-failing": x12b,
    "12c-resolved-no-retry": x12c,
    "21-juju-exec-timing": x21,
    "23-juju-reboot-now": x23,
    "25-jujud-killed-mid-hook": x25,
    "31a-granted": x31a,
    "31b-set-new-revision": x31b,
    "31f-expired": x31f,
    "50b-config-and-refresh": x50b,
    "50c-refresh-during-hook": x50c,
    "50d-upgrade-charm-fails": x50d,
    "52-remove-relation-sub2": x52,
    "60-c4-add-units": x60,
    "61a-secret-changed": x61a,
    "61c-all-refreshed": x61c,
    "61e-two-new-revisions": x61e,
    "63-secret-option-storage": x63,
    "71b-stop-fails": x71b,
    "72-remove-application-principal": x72,
    "80-one-sided-container-pair": x80,
    "90a-wake-while-lock-held": x90a,
    "90b-error-and-wake": x90b,
    "90c-secret-remove-in-hook": x90c,
    "90d-departing-data": x90d,
    "95-agent-restart": x95,
    "97-remove-application-stop-fails-force": x97,
    "103-remove-non-leader-peer-departed": x103,
    "basic-t1-03-config-changed": t1_03,
    "basic-t1-03e-config-reset": t1_03,
    "basic-t1-05b-config-repeat": t1_03,
    "basic-t1-08-add-unit-to-1": t1_08,
    "basic-t1-09-remove-unit-shared-machine": t1_09,
    "basic-t1-10-reboot": t1_10,
    "basic-t2-21-integrate-late": t2_21,
    "basic-t2-24-reintegrate": t2_24,
    "basic-t2-25-expose": t2_25,
    "basic-t2-27-remove-application-related": t2_27,
    "basic-t5-32-hook-error": t5_32,
    "basic-t5-33-resolved": t5_33,
    "basic-t5-35-cmr-offerer": t5_35,
}
