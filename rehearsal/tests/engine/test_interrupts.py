# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Ctrl-C is held back until it does no harm, and is never lost."""

import signal
from collections.abc import Callable, Iterator, Sequence

import pytest

from rehearsal.workers.interrupts import Interrupts


@pytest.fixture(autouse=True)
def a_terminal() -> Iterator[None]:
    """Hear Ctrl-C, also where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def settle(interrupts: Interrupts, *hooks: Sequence[Callable[[], None]]) -> None:
    """Run hooks, each some steps, as a model that settles does."""
    with interrupts:
        for number, hook in enumerate(hooks):
            if number:
                interrupts.check()
            for step in hook:
                step()


def test_it_waits_for_the_end_of_a_hook() -> None:
    done: list[str] = []
    first = (press, lambda: done.append("commit"))
    with pytest.raises(KeyboardInterrupt):
        settle(Interrupts(), first, (lambda: done.append("next hook"),))
    assert done == ["commit"]


def test_in_the_last_hook_it_is_heard_after_that() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        settle(Interrupts(), (press, lambda: done.append("commit")))
    assert done == ["commit"]


def test_a_second_one_gets_through_at_once() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        settle(Interrupts(), (press, press, lambda: done.append("commit")))
    assert done == []


def test_an_error_is_not_hidden_by_it() -> None:
    def fail() -> None:
        raise ValueError("of the hook")

    with pytest.raises(ValueError, match="of the hook"):
        settle(Interrupts(), (press, fail))


def test_it_is_heard_once() -> None:
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        settle(interrupts, (press,))
    done: list[str] = []
    settle(interrupts, (), (lambda: done.append("hook"),))
    assert done == ["hook"]
