# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The sequence on a small model of a node: what it promises from every state it may be in."""

import itertools
from dataclasses import dataclass, field, replace

import pytest

from progress import Progress, dump, parse
from recut import RETRY_SECONDS, advance, deadline
from steps import CUT, RESTART, Situation, Step, driver_work

TIMEOUT = 600


@dataclass
class Model:
    """A node, its kubelet and its plugin, reduced to what the sequence looks at."""

    cut: bool = False
    gate: bool = True
    gate_layout: bool = False
    label_runs: bool = True
    plugin: bool = True
    leased: bool = False
    cordoned: bool = False
    ours: bool = False
    starting: bool = False
    unallocated: tuple[str, ...] = ()
    plugin_stops: bool = True
    plugin_starts: bool = True
    faulty: bool = False
    partly: bool = False
    now: float = 1000.0
    wanted: bool = True
    progress: Progress = field(default_factory=Progress)
    done: list[Step] = field(default_factory=list)

    def situation(self) -> Situation:
        return Situation(
            work=CUT if self.wanted and not self.cut else "",
            key="layout",
            now=self.now,
            serving=self.plugin,
            leased=self.leased,
            cordoned=self.cordoned,
            ours=self.ours,
            unallocated=self.unallocated,
            paused=not self.label_runs,
            gate=self.gate,
            gate_right=self.gate and self.gate_layout == self.cut,
            advertised=self.plugin,
            starting=self.starting,
            faulty=self.faulty,
            partly=self.partly,
        )

    def run(self, limit: int = 40) -> "Model":
        """Go on until a step waits; what waits is the last of `done`."""
        for _ in range(limit):
            self.progress, step = advance(self.progress, self.situation(), TIMEOUT)
            self.progress = parse(dump(self.progress))
            self.done.append(step)
            if step is Step.IDLE or not self.apply(step):
                return self
        raise AssertionError(f"no end: {self.done}")

    def apply(self, step: Step) -> bool:
        before = replace(self, done=[])
        effects = {
            Step.LEASE: {"leased": True},
            Step.CORDON: {"cordoned": True, "ours": True},
            Step.PAUSE: {"gate": False, "label_runs": False},
            Step.WAIT_PLUGIN_GONE: {"plugin": not self.plugin_stops},
            Step.CLOSE_GATE: {"gate": False},
            Step.RECUT: {"cut": True},
            Step.OPEN_GATE: {"gate": True, "gate_layout": self.cut},
            Step.RESUME: {"label_runs": True},
            Step.WAIT_ADVERTISED: {"plugin": self.plugin_starts},
            Step.UNTAINT: {"starting": False},
            Step.UNCORDON: {"cordoned": False, "ours": False},
            Step.RELEASE: {"leased": False},
        }
        if step is Step.RECUT:
            assert not self.plugin, "GPUs change while the plugin hands them out"
            assert not self.gate, "GPUs change while the gate is open"
        for name, value in effects.get(step, {}).items():
            setattr(self, name, value)
        return replace(self, done=[]) != before


def in_service(model: Model) -> bool:
    return (
        model.gate
        and model.gate_layout == model.cut
        and model.plugin
        and model.label_runs
        and not (model.ours or model.leased or model.starting)
    )


def test_a_change_of_a_node_in_service_is_framed_by_lease_and_cordon():
    assert Model().run().done == [
        Step.LEASE,
        Step.CORDON,
        Step.PAUSE,
        Step.WAIT_PLUGIN_GONE,
        Step.RECUT,
        Step.OPEN_GATE,
        Step.RESUME,
        Step.WAIT_ADVERTISED,
        Step.UNCORDON,
        Step.RELEASE,
        Step.IDLE,
    ]


def test_a_first_boot_needs_neither_lease_nor_cordon():
    model = Model(gate=False, plugin=False, label_runs=False, starting=True)
    assert model.run().done == [
        Step.RECUT,
        Step.OPEN_GATE,
        Step.RESUME,
        Step.WAIT_ADVERTISED,
        Step.UNTAINT,
        Step.IDLE,
    ]


def test_m19_after_a_reboot_the_gpus_are_cut_behind_the_closed_gate_without_a_cordon():
    model = Model(gate=False, plugin=False)
    assert model.run().done == [Step.RECUT, Step.OPEN_GATE, Step.WAIT_ADVERTISED, Step.IDLE]


def test_nothing_to_do_is_one_look():
    assert Model(cut=True, gate_layout=True).run().done == [Step.IDLE]


STATES = [
    Model(gate=gate, label_runs=runs, plugin=plugin, leased=leased, cordoned=ours, ours=ours)
    for gate, runs, plugin, leased, ours in itertools.product([False, True], repeat=5)
]


@pytest.mark.parametrize("cut", [False, True], ids=["before the cut", "after the cut"])
@pytest.mark.parametrize("since", [0.0, 900.0], ids=["fresh", "resumed"])
@pytest.mark.parametrize("model", STATES, ids=lambda m: "")
def test_every_state_that_a_crash_can_leave_ends_in_service(model: Model, since: float, cut: bool):
    model = replace(model, cut=cut, progress=Progress(since=since), done=[])
    model.run()
    assert in_service(model), model.done
    assert model.cut
    assert model.progress == Progress()


def test_d01_an_admins_cordon_is_used_and_never_undone():
    model = Model(cordoned=True).run()
    assert model.cut
    assert model.cordoned
    assert Step.CORDON not in model.done
    assert Step.UNCORDON not in model.done


def test_a_pod_that_waits_for_its_devices_keeps_the_plugin_running():
    model = Model(unallocated=("team-a/train-7",)).run()
    assert model.done[-1] is Step.WAIT_ADMISSION
    assert model.plugin
    assert model.gate
    model.unallocated = ()
    assert in_service(model.run())


def test_a_timeout_puts_everything_back_and_names_what_held_it():
    model = Model(unallocated=("team-a/train-7",)).run()
    model.now += TIMEOUT + 1
    model.run()
    assert not model.cut
    assert (model.cordoned, model.leased) == (False, False)
    assert model.progress.reason == "team-a/train-7 never got its devices"
    assert model.progress.since == 0


def test_a_plugin_that_does_not_stop_is_let_go_on_after_the_timeout():
    model = Model(plugin_stops=False).run()
    assert model.done[-1] is Step.WAIT_PLUGIN_GONE
    model.now += TIMEOUT + 1
    model.run()
    assert model.progress.reason == "the device plugin did not stop"
    assert model.label_runs
    assert model.gate
    assert not model.cut


@pytest.mark.parametrize(
    ("found", "closed"),
    [({"faulty": True}, False), ({"partly": True}, False), ({}, True)],
    ids=["h06_it_ends_at_a_gpu_of_no_use", "it_found_a_device_unwell", "nobody_knows_why"],
)
def test_a_plugin_that_may_never_offer_all_keeps_no_node_closed(found, closed):
    model = Model(**found, plugin_starts=False).run()
    assert model.cordoned
    assert model.done[-1] is Step.WAIT_ADVERTISED
    model.now += TIMEOUT + 1
    model.run()
    assert (model.cordoned, model.leased) == (closed, closed)
    assert model.gate


@pytest.mark.parametrize("faulty", [True, False])
def test_h06_a_node_that_was_never_in_service_is_not_closed_for_ever_by_it(faulty: bool):
    new = {"plugin": False, "plugin_starts": False, "gate": False, "label_runs": False}
    model = Model(faulty=faulty, starting=True, **new).run()
    assert model.starting
    assert deadline(model.progress, TIMEOUT, model.now) == (
        model.now + TIMEOUT if faulty else None
    )
    model.now += TIMEOUT + 1
    assert model.run().starting is not faulty
    assert model.gate
    assert model.progress == Progress()
    assert (model.ours, model.leased) == (False, False)


def test_work_that_was_given_up_rests_and_is_tried_again():
    model = Model(unallocated=("team-a/train-7",)).run()
    model.now += TIMEOUT + 1
    model.run()
    assert deadline(model.progress, TIMEOUT, model.now) == model.now + RETRY_SECONDS
    model.unallocated = ()
    assert model.run().done[-1] is Step.IDLE
    assert not model.cut
    model.now += RETRY_SECONDS
    assert in_service(model.run())
    assert model.cut


def test_another_layout_is_tried_at_once():
    abandoned = Progress(abandoned="cut:layout", reason="held", retry=9999.0)
    _, step = advance(abandoned, replace(Model().situation(), key="other"), TIMEOUT)
    assert step is Step.LEASE


def test_a_wish_that_is_withdrawn_puts_everything_back():
    model = Model(unallocated=("team-a/train-7",)).run()
    model.wanted = False
    model.run()
    assert not model.cut
    assert (model.cordoned, model.leased) == (False, False)


def test_a_plugin_that_offers_something_else_is_restarted():
    seen = replace(Model(cut=True, gate_layout=True).situation(), work=RESTART)
    assert advance(Progress(), seen, TIMEOUT)[1] is Step.LEASE


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({}, Step.LEASE),
        ({"serving": False}, Step.LEASE),
        ({"serving": False, "leased": True, "cordoned": True, "gate": False}, Step.PAUSE),
        (
            {"serving": False, "leased": True, "cordoned": True, "gate": False, "paused": True},
            Step.GRANT,
        ),
        ({"serving": False, "starting": True, "gate": False}, Step.GRANT),
    ],
    ids=[
        "in service",
        "behind a closed gate, pods may still run",
        "closed to new pods",
        "quiet",
        "never in service",
    ],
)
def test_the_driver_gets_its_grant_only_when_nothing_can_run(changes: dict[str, bool], step: Step):
    seen = replace(Model().situation(), work=driver_work("abc"), key="", **changes)
    progress, found = advance(Progress(), seen, TIMEOUT)
    assert found is step
    assert progress.granted == ("abc" if step is Step.GRANT else "")


def test_a_grant_ends_with_the_want():
    progress, _ = advance(Progress(since=1.0, granted="abc"), Model(cut=True).situation(), TIMEOUT)
    assert progress.granted == ""


def test_a_closed_node_is_looked_at_again_when_its_time_is_up():
    assert deadline(Progress(since=1000.0), TIMEOUT, 0.0) == 1600.0
    assert deadline(Progress(), TIMEOUT, 0.0) is None
