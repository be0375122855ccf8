# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Scenario as Juju's hook tools: the places in which ops-scenario 8.9 differs, closed.

Only the worker's own process is changed. What is replaced, and why:

- the folder and the metadata of the charm are read once, not written and parsed for each event;
- the environment is Juju's: JUJU_DEPARTING_UNIT may be the local unit, an application-level
  relation-changed has no unit, every variable of a real hook is there;
- juju-reboot is recorded, and with --now ends the hook;
- network-get answers for container-scoped endpoints, with the unit's own address;
- goal-state, secret-remove of one revision, storage-add and resource-get answer as Juju does;
- status, workload version and log are noted at once, since no failure takes them back;
- states come from the engine and are consistent, so that they are not checked again.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ops
import ops.hookcmds._other as hookcmds
import scenario._consistency_checker as checker
import scenario._ops_main_mock as ops_main
import scenario._runtime as runtime
from ops.hookcmds import Error
from ops.testing import Context
from scenario.mocking import _MockModelBackend

from rehearsal.workers.edits import Edits
from standins.units import Outcome


class HookKilledError(BaseException):
    """juju-reboot --now: the hook ends here and none of its code may catch it."""


class Hook:
    """The hook that runs now: its environment, and what cannot be taken back."""

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self.address = ""
        self.locations: dict[str, str] = {}
        self.edits = Edits()
        self.outcome = Outcome()
        self.goal_state: Callable[[], dict[str, Any]] = dict


class HookContext(Context[ops.CharmBase]):
    """A Scenario context that lives as long as the worker and knows the running hook."""

    hook: Hook

    def clear(self) -> None:
        """Forget what the last event left: Scenario only ever adds."""
        for history in (
            self.juju_log,
            self.app_status_history,
            self.unit_status_history,
            self.workload_version_history,
            self.removed_secret_revisions,
            self.emitted_events,
            self.action_logs,
        ):
            history.clear()
        self.action_results = None
        self._action_failure_message = None


class HookBackend(_MockModelBackend):
    """Hook tools with what Scenario leaves out."""

    @property
    def _hook(self) -> Hook:
        context: Any = self._context
        return context.hook

    def reboot(self, now: bool = False) -> None:
        """Record juju-reboot; `now` ends the hook, an action may not reboot."""
        if self._event.action:
            raise ops.ModelError("ERROR juju-reboot is not supported when running an action.")
        self._hook.outcome.reboot = "now" if now else "after"
        if now:
            raise HookKilledError

    def status_set(self, status: Any, message: str = "", *, is_app: bool = False) -> None:
        """Note a status at once."""
        super().status_set(status, message, is_app=is_app)
        if is_app:
            self._hook.edits.app_status = (status, message)
        else:
            self._hook.edits.status = (status, message)

    def application_version_set(self, version: str) -> None:
        """Note the workload version at once."""
        super().application_version_set(version)
        self._hook.edits.workload_version = version

    def juju_log(self, level: str, message: str) -> None:
        """Keep a log line, also of a hook that fails later."""
        self._hook.outcome.log.append((level, message))

    def action_log(self, message: str) -> None:
        """Keep a line of an action's own log."""
        super().action_log(message)
        self._hook.outcome.action_log.append(message)

    def secret_add(self, *args: Any, **kwargs: Any) -> str:
        """Note a new secret."""
        name = super().secret_add(*args, **kwargs)
        self._hook.edits.added.add(name)
        return name

    def secret_get(self, *, peek: bool = False, **kwargs: Any) -> dict[str, str]:
        """Note that a secret was read: who only peeks does not hear of new revisions."""
        content = super().secret_get(peek=peek, **kwargs)
        if not peek:
            self._hook.edits.read.add(self._get_secret(kwargs.get("id"), kwargs.get("label")).id)
        return content

    def secret_remove(self, id: str, *, revision: int | None = None) -> None:  # noqa: A002
        """Note which revision of which secret is removed.

        A secret that was added in the same hook fails the hook on Juju 4.0. Source: issue 22524.
        """
        found = self._get_secret(id)
        super().secret_remove(id, revision=revision)
        if revision is not None:
            self._hook.edits.removed.add((found.id, revision))
        elif found.id in self._hook.edits.added and self._context.juju_version.startswith("4."):
            self._hook.outcome.failure = f"cannot remove secret {found.id!r}: not found"

    def storage_add(self, name: str, count: int = 1) -> None:
        """Note what storage-add asks for."""
        super().storage_add(name, count)
        wanted = self._hook.edits.storage
        wanted[name] = wanted.get(name, 0) + count

    def storage_get(self, storage_name_id: str, attribute: str) -> str:
        """Return where storage is mounted on the machine."""
        del attribute
        return self._hook.locations[storage_name_id]

    def _storage_event_details(self) -> tuple[int, str]:
        """Return number and place of the storage of the event."""
        identifier = self._hook.environment["JUJU_STORAGE_ID"]
        return int(identifier.rpartition("/")[2]), self._hook.locations[identifier]

    def resource_get(self, resource_name: str) -> str:
        """Return the file of a resource.

        Raises:
            ops.ModelError: Nobody attached one.
        """
        if not any(item.name == resource_name for item in self._state.resources):
            raise ops.ModelError(f'ERROR resource "{resource_name}" not found')
        return super().resource_get(resource_name)

    def network_get(self, binding_name: str, relation_id: int | None = None) -> dict[str, Any]:
        """Return the unit's own address for every endpoint, container-scoped ones too."""
        del binding_name, relation_id
        address = self._hook.address
        return {
            "bind-addresses": [
                {
                    "interface-name": "eth0",
                    "addresses": [{"value": address, "hostname": "", "cidr": f"{address}/24"}],
                }
            ],
            "egress-subnets": [f"{address}/32"],
            "ingress-addresses": [address],
        }


def _run_tool(context: HookContext) -> Callable[..., str]:
    """Return what runs the hook tools that only `ops.hookcmds` knows: goal-state."""

    def run(*words: str, **_: Any) -> str:
        if words[0] != "goal-state":
            raise Error(returncode=1, cmd=list(words), stderr=f"{words[0]}: use ops.Model")
        return json.dumps(context.hook.goal_state())

    return run


def install(context: HookContext, root: Path) -> None:
    """Put the replacements in place for a worker's one charm.

    Args:
        context: The context that every event of the worker runs in.
        root: Folder with the charm's files and its metadata.yaml, config.yaml, actions.yaml.
    """
    meta = ops.CharmMeta.from_yaml(
        (root / "metadata.yaml").read_text(),
        (root / "actions.yaml").read_text(),
        (root / "config.yaml").read_text(),
    )

    @contextlib.contextmanager
    def charm_root(self: Any) -> Iterator[Path]:
        del self
        yield root

    replacements: list[tuple[Any, str, Any]] = [
        (runtime.Runtime, "_virtual_charm_root", charm_root),
        (runtime.Runtime, "_get_event_env", lambda *_, **__: dict(context.hook.environment)),
        (ops_main.Ops, "_load_charm_meta", lambda self: meta),
        (ops_main, "_MockModelBackend", HookBackend),
        (hookcmds, "run", _run_tool(context)),
        (checker, "check_consistency", lambda *_, **__: None),
    ]
    for owner, name, value in replacements:
        setattr(owner, name, value)
