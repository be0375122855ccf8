# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What ops and Scenario do for each hook and a worker need not: a third of a short hook's time.

Nothing that a charm can see differs. ops 3.9 keeps its events in a database for one hook, even in
memory; it reads the signature of every observer; Scenario copies the whole state, though here each
state is built for one hook and thrown away after it.
"""

import gc
import inspect
import pickle
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import ops
import scenario._runtime as runtime
from ops import framework, storage

Notice = tuple[str, str, str]


class HookStorage:
    """What ops stores between the events of one hook, in the interface of its SQLiteStorage."""

    def __init__(self, filename: str) -> None:
        """Args: filename: Of no use here; there is no file."""
        del filename
        self._snapshots: dict[str, bytes] = {}
        self._notices: list[Notice] = []

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    def commit(self) -> None:
        """Do nothing: everything is kept at once."""

    def save_snapshot(self, handle_path: str, snapshot_data: Any) -> None:
        """Keep what an object is made of, as a copy."""
        self._snapshots[handle_path] = pickle.dumps(snapshot_data)

    def load_snapshot(self, handle_path: str) -> Any:
        """Return a copy of what was kept.

        Raises:
            NoSnapshotError: Nothing was.
        """
        kept = self._snapshots.get(handle_path)
        if kept is None:
            raise storage.NoSnapshotError(handle_path)
        return pickle.loads(kept)  # noqa: S301

    def drop_snapshot(self, handle_path: str) -> None:
        """Forget what was kept; nothing happens when nothing was."""
        self._snapshots.pop(handle_path, None)

    def list_snapshots(self) -> Iterator[str]:
        """Yield the path of everything that is kept, in the order of a database's index."""
        yield from sorted(self._snapshots)

    def save_notice(self, event_path: str, observer_path: str, method_name: str) -> None:
        """Note that an observer is to be told of an event."""
        self._notices.append((event_path, observer_path, method_name))

    def drop_notice(self, event_path: str, observer_path: str, method_name: str) -> None:
        """Forget such a note, however often it was made."""
        gone = (event_path, observer_path, method_name)
        self._notices = [notice for notice in self._notices if notice != gone]

    def notices(self, event_path: str | None = None) -> Iterator[Notice]:
        """Yield the notes, oldest first, of one event or of all."""
        yield from [one for one in self._notices if event_path in (None, "", one[0])]


class Signatures:
    """The module inspect as ops.framework sees it: each method's signature is read once."""

    def __init__(self) -> None:
        self._known: dict[Any, inspect.Signature] = {}

    def signature(self, observer: Callable[..., Any], **options: Any) -> inspect.Signature:
        """Return the signature of a bound method."""
        function = getattr(observer, "__func__", observer)
        if function not in self._known:
            self._known[function] = inspect.signature(observer, **options)
        return self._known[function]

    def __getattr__(self, name: str) -> Any:
        return getattr(inspect, name)


def forget_emitters() -> None:
    """Let go of the frameworks of hooks that are over.

    Every descriptor of events keeps what it bound to an emitter in a dictionary with weak keys,
    whose values hold the key: in a process that lives for one hook nobody sees it.
    """
    for events in _descriptors(ops.Object):
        events._cache.clear()


def _descriptors(cls: type[Any]) -> Iterator[Any]:
    """Yield the descriptors of events of a class and of all below it."""
    found = vars(cls).get("on")
    if isinstance(found, ops.ObjectEvents):
        yield found
    for below in cls.__subclasses__():
        yield from _descriptors(below)


def install() -> None:
    """Put it in place in a worker whose charm is imported."""
    replacements: list[tuple[Any, str, Any]] = [
        (storage, "SQLiteStorage", HookStorage),
        (framework, "inspect", Signatures()),
        (runtime, "copy", SimpleNamespace(deepcopy=lambda state: state)),
    ]
    for owner, name, value in replacements:
        setattr(owner, name, value)
    gc.collect()
    gc.freeze()  # What is loaded now stays: no collection between hooks walks through it again.
    gc.set_threshold(50_000, 20, 50)  # A hook leaves some thousand objects; a machine's are kept.
