# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import itertools
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from charmkit import watcher
from charmkit.commands import CommandError
from charmkit.errors import CharmkitError, ConfigError, NotReadyError
from charmkit.gateways import Gateways
from charmkit.services import ServiceSpec
from charmkit.watcher import Wait, Waits
from standins.metal.host import ServiceAsleep, SimulatedHost
from standins.metal.machine import Machine

UNIT = "gpu-worker/3"
WAKE = (UNIT, "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch")


class Site:
    """A machine, a clock, and topics that can change."""

    def __init__(self, folder: Path) -> None:
        self.now = 1000.0
        Machine.create(folder, id="0", hardware="cpu")
        self.host = SimulatedHost(folder, lambda: self.now)
        self.waits = Waits(self.host.files, "gpu-worker")
        self.topics = {"pods": "p1", "gpus": "g1"}
        self.looked: list[str] = []

    def observers(self) -> dict[str, Callable[[], str]]:
        def observer(topic: str) -> Callable[[], str]:
            def look() -> str:
                self.looked.append(topic)
                return self.topics[topic]

            return look

        return {topic: observer(topic) for topic in ("pods", "gpus")}

    def poll(self) -> bool:
        return watcher.poll(self.host, "gpu-worker", self.observers())

    def wait(self, *topics: str, until: float | None = None) -> None:
        self.waits.write(
            unit=UNIT,
            topics={topic: self.topics[topic] for topic in topics},
            until=until,
            reason="team-a/train-7 on GPU 3",
        )


class Outside(Gateways):
    """Gateways of one machine."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host

    def host(self) -> SimulatedHost:
        return self._host


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_what_a_unit_waits_for_is_read_as_it_was_written(site: Site) -> None:
    assert site.waits.read() is None
    site.wait("pods", until=1060.0)
    assert site.waits.read() == Wait(UNIT, {"pods": "p1"}, 1060.0, "team-a/train-7 on GPU 3")
    path = site.host.files.path("/var/lib/gpu-worker/waits.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert site.waits.clear()
    assert site.waits.read() is None


def test_waiting_for_the_same_writes_nothing(site: Site) -> None:
    first = site.waits.write(unit=UNIT, topics=("pods",), until=None, reason="x")
    again = site.waits.write(unit=UNIT, topics=("pods",), until=None, reason="x")
    assert (first, again) == (True, False)


@pytest.mark.parametrize(
    ("seen", "now", "due"),
    [
        ({"pods": "p1", "gpus": "g1"}, 0.0, False),
        ({"pods": "p2", "gpus": "g1"}, 0.0, True),
        ({"gpus": "g1"}, 0.0, False),
        ({"pods": "p1", "gpus": "g1"}, 99.9, False),
        ({"pods": "p1", "gpus": "g1"}, 100.0, True),
        ({"pods": "p1", "gpus": "g1", "node": "n9"}, 0.0, False),
        ({}, 100.0, True),
    ],
    ids=["same", "changed", "unseen", "early", "late", "other topic", "blind and late"],
)
def test_a_unit_is_due_when_a_topic_changed_or_time_is_up(
    seen: dict[str, str], now: float, due: bool
) -> None:
    waits = Wait(UNIT, {"pods": "p1", "gpus": "g1"}, 100.0)
    assert watcher.is_due(waits, seen, now) is due


def test_without_a_deadline_time_alone_wakes_nobody() -> None:
    assert not watcher.is_due(Wait(UNIT, {"pods": "p1"}), {"pods": "p1"}, 1e12)


def test_an_idle_unit_costs_no_look_at_anything(site: Site) -> None:
    assert not site.poll()
    assert site.looked == []


def test_only_the_topics_that_are_waited_for_are_looked_at(site: Site) -> None:
    site.wait("gpus")
    site.poll()
    assert site.looked == ["gpus"]


def test_a_change_wakes_the_unit_by_name(site: Site) -> None:
    site.wait("pods")
    assert not site.poll()
    site.topics["pods"] = "p2"
    assert site.poll()
    assert site.host.take_wakes() == [WAKE]


def test_a_change_between_the_hooks_look_and_the_first_poll_is_not_lost(site: Site) -> None:
    site.wait("pods")
    site.topics["pods"] = "p2"
    assert site.poll()


def test_a_topic_without_a_fingerprint_counts_from_the_first_look(site: Site) -> None:
    site.waits.write(unit=UNIT, topics=("pods",), until=None, reason="x")
    assert not site.poll()
    assert not site.poll()
    site.topics["pods"] = "p2"
    assert site.poll()


def test_there_is_no_second_wake_for_the_same_change(site: Site) -> None:
    site.wait("pods")
    site.topics["pods"] = "p2"
    assert site.poll()
    for _ in range(100):
        site.now += 5
        assert not site.poll()
    assert site.host.take_wakes() == [WAKE]


def test_a_restarted_service_remembers_its_wake(site: Site) -> None:
    site.wait("pods")
    site.topics["pods"] = "p2"
    site.poll()
    again = Site.__new__(Site)
    again.__dict__.update(site.__dict__, host=SimulatedHost(site.host.system.folder, 1005.0))
    assert not again.poll()


@pytest.mark.parametrize(
    ("topics", "gaps"),
    [
        (("pods",), [30.0, 60.0, 120.0, 300.0, 300.0, 300.0]),
        ((), [30.0, 60.0, 120.0, 300.0, 900.0, 3600.0]),
    ],
    ids=["a topic may change", "a deadline alone"],
)
def test_a_deadline_wakes_a_unit_that_stays_in_error_ever_more_seldom(
    site: Site, topics: tuple[str, ...], gaps: list[float]
) -> None:
    site.wait(*topics, until=1000.0)
    woken: list[float] = []
    while site.now < 12000.0:
        if site.poll():
            woken.append(site.now)
        site.now += 5.0
    assert [b - a for a, b in itertools.pairwise(woken)][:6] == gaps


def test_new_waits_are_looked_at_at_once(site: Site) -> None:
    site.wait("pods", until=1000.0)
    assert site.poll()
    site.now += 1
    site.wait("pods", until=1001.0)
    assert site.poll()


def test_a_topic_that_cannot_be_seen_counts_as_unchanged(site: Site) -> None:
    def blind() -> str:
        raise NotReadyError("API server does not answer")

    site.wait("pods")
    assert not watcher.poll(site.host, "gpu-worker", {"pods": blind})


def test_a_topic_that_nobody_observes_wakes_nobody(site: Site) -> None:
    site.wait("pods")
    assert not watcher.poll(site.host, "gpu-worker", {})


def test_waits_that_are_no_use_do_not_stop_the_service(site: Site) -> None:
    site.host.files.ensure_text("/var/lib/gpu-worker/waits.json", "{")
    assert not site.poll()


def test_a_reboot_forgets_what_was_seen_not_what_is_waited_for(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.wait("pods")
    site.topics["pods"] = "p2"
    assert site.poll()
    Machine.open(tmp_path).reboot()
    assert site.poll()


def test_a_wake_that_the_agent_refused_is_made_again(site: Site) -> None:
    class AgentDown(SimulatedHost):
        def run(self, argv: object, *, timeout: float = 60) -> str:
            del timeout
            raise CommandError(["/usr/bin/juju-exec"], 1, "", "ERROR dial unix: no such file")

    site.wait("pods")
    site.topics["pods"] = "p2"
    healthy, site.host = site.host, AgentDown(site.host.system.folder, lambda: site.now)
    assert not site.poll()
    site.host = healthy
    assert not site.poll(), "it comes after a while, not at once"
    site.now += 30
    assert site.poll()
    assert site.host.take_wakes() == [WAKE]


def test_a_pending_wake_takes_further_ones_in(site: Site) -> None:
    for _ in range(3):
        watcher.wake(site.host, UNIT)
    assert site.host.take_wakes() == [WAKE]
    assert site.host.take_wakes() == []


def test_the_loop_looks_and_sleeps(site: Site) -> None:
    site.wait("pods", until=0.0)
    with pytest.raises(ServiceAsleep) as caught:
        watcher.loop(site.host, "gpu-worker", site.observers())
    assert caught.value.seconds == watcher.INTERVAL_SECONDS
    assert site.host.take_wakes() == [WAKE]


def test_a_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    one = watcher.fingerprint({"a": [1, 2], "b": None})
    assert one == watcher.fingerprint({"b": None, "a": [1, 2]})
    assert one != watcher.fingerprint({"a": [2, 1], "b": None})


def test_a_wait_for_the_same_reason_keeps_its_time_and_wakes_ever_more_seldom(site: Site) -> None:
    woken: list[float] = []
    for _ in range(60):
        site.waits.again(UNIT, site.now, "rollout")
        if site.poll():
            woken.append(site.now - 1000)
        site.now += 5
    assert woken == [20.0, 50.0, 110.0, 230.0]
    assert site.waits.again(UNIT, site.now, "another rollout")
    assert site.waits.again(UNIT, site.now, "")
    assert site.waits.read() is None


@pytest.mark.parametrize(
    ("problems", "reason"),
    [
        ([], None),
        ([ConfigError("pools", "overlap")], None),
        ([ConfigError("pools", "overlap"), NotReadyError("pods start")], "pods start"),
    ],
    ids=["nothing", "turn-of-a-person", "both"],
)
def test_a_unit_looks_again_while_something_needs_time(
    site: Site, tmp_path: Path, problems: list[CharmkitError], reason: str | None
) -> None:
    spec = ServiceSpec("gpu-worker", "watch", UNIT)
    (tmp_path / "charm/src").mkdir(parents=True)
    assert watcher.arrange(site.host, tmp_path / "charm", spec, problems) == []
    waits = site.waits.read()
    assert (waits.reason if waits else None) == reason
    assert site.host.systemd.is_active(spec.name)
    site.host.systemd.ensure_stopped(spec.name)
    assert watcher.arrange(site.host, tmp_path / "charm", spec, []) == []
    assert site.waits.read() is None
    assert site.host.systemd.is_active(spec.name)


def test_a_service_without_topics_wakes_at_the_deadline(site: Site) -> None:
    site.waits.again(UNIT, site.now, "rollout")
    site.now += watcher.AGAIN_SECONDS
    with pytest.raises(ServiceAsleep):
        watcher.serve(Outside(site.host), "gpu-worker", UNIT)
    assert site.host.take_wakes() == [WAKE]
