# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to systemd: units of the machine. Why not over ``charmlibs.systemd``: decision 0008."""

from charmkit.commands import CommandError, Run
from charmkit.errors import InterventionError

_SYSTEMCTL = "/usr/bin/systemctl"
_ENABLED = ("enabled", "enabled-runtime", "static", "generated", "alias", "indirect")
_START_SECONDS = 90
"""systemd's own limit for a start (DefaultTimeoutStartSec, systemd-system.conf(5))."""


class Systemd:
    """The services of one machine, by unit name (`.service` may be left out).

    What changes something returns whether it did, and raises InterventionError with systemd's
    reason: a unit that does not start or stop, that is masked, or that is not there.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def exists(self, name: str) -> bool:
        """Tell whether systemd knows a unit of that name."""
        return self._show(name)["LoadState"] != "not-found"

    def is_active(self, name: str) -> bool:
        """Tell whether a unit runs, or ran to its end and counts as active."""
        return self._show(name)["ActiveState"] == "active"

    def is_enabled(self, name: str) -> bool:
        """Tell whether a unit starts at boot or by its own trigger."""
        return self._show(name)["UnitFileState"] in _ENABLED

    def ensure_started(self, name: str) -> bool:
        """Start a unit that is not active. Raises InterventionError."""
        state = self._show(name)["ActiveState"]
        if state == "active":
            return False
        if state == "failed":
            self._control("reset-failed", name)
        self._control("start", name)
        return True

    def ensure_stopped(self, name: str) -> bool:
        """Stop a unit that is active, forget a failure. Raises InterventionError."""
        state = self._show(name)["ActiveState"]
        if state in ("inactive", "deactivating", ""):
            return False
        self._control("reset-failed" if state == "failed" else "stop", name)
        return True

    def ensure_enabled(self, name: str) -> bool:
        """Let a unit start at boot, without a `reload`. Raises InterventionError."""
        if self.is_enabled(name):
            return False
        self._control("--no-reload", "enable", name)
        return True

    def ensure_disabled(self, name: str) -> bool:
        """Let a unit no longer start at boot, without a `reload`. Raises InterventionError."""
        if self._show(name)["UnitFileState"] not in ("enabled", "enabled-runtime"):
            return False
        self._control("--no-reload", "disable", name)
        return True

    def restart(self, name: str) -> None:
        """Stop and start a unit, or start it. Raises InterventionError."""
        self._control("restart", name)

    def reload(self) -> None:
        """Let systemd read its unit files again (daemon-reload).

        Running containers may lose their GPUs by it where /dev/char has no links for them, so it
        is called only when a unit file that systemd has read was changed.
        """
        self._run([_SYSTEMCTL, "daemon-reload"])

    def _show(self, name: str) -> dict[str, str]:
        """Return the states of a unit; systemctl answers for an unknown one too."""
        fields = "LoadState,ActiveState,UnitFileState,Result"
        answer = self._run([_SYSTEMCTL, "show", f"--property={fields}", name])
        shown = dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
        return {field: shown.get(field, "") for field in fields.split(",")}

    def _control(self, *arguments: str) -> None:
        verb, name = arguments[-2], arguments[-1]
        try:
            self._run([_SYSTEMCTL, *arguments], timeout=_START_SECONDS + 30)
        except CommandError as error:
            shown = self._show(name)
            if shown["LoadState"] in ("not-found", "masked"):
                reason = shown["LoadState"]
            elif verb in ("start", "restart") and shown["Result"] not in ("", "success"):
                reason = f"{shown['Result']}, see journalctl -u {name}"
            else:
                reason = str(error)
            raise InterventionError(f"{name} does not {verb}: {reason}") from error
