# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""systemd of a simulated machine: units are files, states are in `host.json`.

A unit of ours (with a section `[X-Charmkit]`) that starts is noted; the rehearsal runs its module.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from charmkit.services import SECTION
from standins.metal import kernel
from standins.metal.system import ProgramError, State, System, UnknownProgramError, fault_of

_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system")
_FAILED = (
    "Job for {0}.service failed because the control process exited with error code.\n"
    'See "systemctl status {0}.service" and "journalctl -xeu {0}.service" for details.\n'
)
_FABRIC, _PERSISTENCED = "nvidia-fabricmanager", "nvidia-persistenced"


@dataclass(frozen=True, slots=True)
class StartedService:
    """A service of ours that systemd started: the rehearsal runs its module.

    Attributes:
        name: Name of the systemd unit, without `.service`.
        unit: Name of the Juju unit.
        at_boot: It was started by a boot, not by a hook.
    """

    name: str
    application: str
    module: str
    unit: str
    oneshot: bool
    at_boot: bool


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit file, as far as it matters here."""

    name: str
    oneshot: bool = False
    remains: bool = False
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    own: tuple[str, str, str] | None = None


def systemctl(system: System, argv: Sequence[str]) -> str:
    """Run systemctl with one verb and, mostly, one unit."""
    options = [word for word in argv[1:] if word.startswith("-")]
    verb, *names = [word for word in argv[1:] if not word.startswith("-")]
    names = [name.removesuffix(".service") for name in names]
    if verb == "show":
        return _show(system, names[0], options)
    with system.store.edit() as state:
        if verb == "daemon-reload":
            state["reloads"] = state.get("reloads", 0) + 1
            return ""
        action = _VERBS.get(verb)
        if action is None:
            raise UnknownProgramError(" ".join(argv))
        for name in names:
            action(system, state, name)
    return ""


def find_unit(system: System, name: str) -> Unit | None:
    """Return a unit by its name without `.service`; None when there is no file."""
    for folder in _FOLDERS:
        text = system.files.find_text(f"{folder}/{name}.service")
        if text is not None:
            return parse_unit(name, text)
    return None


def parse_unit(name: str, text: str) -> Unit:
    """Return what a unit file says."""
    settings: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif "=" in line:
            key, value = line.split("=", 1)
            settings.setdefault(f"{section}.{key}", []).extend(value.split())

    def first(key: str) -> str:
        return next(iter(settings.get(key, [])), "")

    own = None
    if f"{SECTION}.Application" in settings:
        own = first(f"{SECTION}.Application"), first(f"{SECTION}.Module"), first(f"{SECTION}.Unit")
    return Unit(
        name=name,
        oneshot=first("Service.Type") == "oneshot",
        remains=first("Service.RemainAfterExit") == "yes",
        before=tuple(one.removesuffix(".service") for one in settings.get("Unit.Before", [])),
        after=tuple(one.removesuffix(".service") for one in settings.get("Unit.After", [])),
        own=own,
    )


def boot(system: System, state: State) -> None:
    """Start the enabled units, each after those that it must wait for; failures stay failures."""
    state["services"], state["started"] = {}, []
    for unit in boot_order(system, state["enabled"]):
        with contextlib.suppress(ProgramError):
            start(system, state, unit.name, at_boot=True)


def boot_order(system: System, names: Sequence[str]) -> list[Unit]:
    """Return the units in the order in which they start; ties stay as they are enabled."""
    found = [find_unit(system, name) for name in names]
    waiting = [unit for unit in found if unit is not None]
    ordered: list[Unit] = []
    while waiting:
        ready = [unit for unit in waiting if not _predecessors(unit, waiting)]
        chosen = ready[0] if ready else waiting[0]
        ordered.append(chosen)
        waiting.remove(chosen)
    return ordered


def start(system: System, state: State, name: str, *, at_boot: bool = False) -> None:
    """Start a unit that is not active.

    Raises:
        ProgramError: There is no such unit, it is masked, or it fails.
    """
    unit = find_unit(system, name)
    if name in state["masked"]:
        raise ProgramError(1, f"Failed to start {name}.service: Unit {name}.service is masked.\n")
    if unit is None:
        text = f"Failed to start {name}.service: Unit {name}.service not found.\n"
        raise ProgramError(5, text)
    if _state(state, name)["active"] == "active":
        return
    if fault_of(state, "service", name) or not _can_run(system, state, name):
        state["services"][name] = {"active": "failed", "result": "exit-code"}
        raise ProgramError(1, _FAILED.format(name))
    lasting = not unit.oneshot or unit.remains
    active = "active" if lasting else "inactive"
    state["services"][name] = {"active": active, "result": "success"}
    _hold_gpus(system, name, held=lasting)
    kernel.show(system, state)
    if unit.own is not None:
        state["started"].append([name, *unit.own, unit.oneshot, at_boot])


def stop(system: System, state: State, name: str) -> None:
    """Stop a unit; nothing happens to one that is not active."""
    if find_unit(system, name) is None and name not in state["services"]:
        raise ProgramError(5, f"Failed to stop {name}.service: Unit {name}.service not loaded.\n")
    state["services"][name] = {"active": "inactive", "result": "success"}
    state["started"] = [row for row in state["started"] if row[0] != name]
    _hold_gpus(system, name, held=False)
    kernel.show(system, state)


def own_services(system: System) -> list[StartedService]:
    """Return the services of ours that are active and run all the time, by name."""
    active: list[StartedService] = []
    for name, row in sorted(system.store.read()["services"].items()):
        unit = find_unit(system, name)
        if row["active"] == "active" and unit is not None and unit.own and not unit.oneshot:
            active.append(StartedService(name, *unit.own, oneshot=False, at_boot=False))
    return active


def _show(system: System, name: str, options: Sequence[str]) -> str:
    """Answer `systemctl show --property=A,B NAME`; an unknown unit is no failure."""
    state = system.store.read()
    unit, row = find_unit(system, name), _state(state, name)
    loaded = "masked" if name in state["masked"] else "loaded" if unit else "not-found"
    file_state = "" if unit is None else "enabled" if name in state["enabled"] else "disabled"
    values = {
        "LoadState": loaded,
        "ActiveState": row["active"],
        "UnitFileState": "masked" if name in state["masked"] else file_state,
        "Result": row["result"],
    }
    wanted = [word.split("=", 1)[1] for word in options if word.startswith("--property=")]
    fields = wanted[0].split(",") if wanted else list(values)
    return "".join(f"{field}={values[field]}\n" for field in fields)


def _restart(system: System, state: State, name: str) -> None:
    if name in state["services"]:
        stop(system, state, name)
    start(system, state, name)


def _enable(system: System, state: State, name: str) -> None:
    if find_unit(system, name) is None:
        text = f"Failed to enable unit: Unit file {name}.service does not exist.\n"
        raise ProgramError(1, text)
    if name in state["masked"]:
        raise ProgramError(1, f"Failed to enable unit: Unit file {name}.service is masked.\n")
    if name not in state["enabled"]:
        state["enabled"].append(name)


def _disable(system: System, state: State, name: str) -> None:
    del system
    state["enabled"] = [enabled for enabled in state["enabled"] if enabled != name]


def _mask(system: System, state: State, name: str) -> None:
    _disable(system, state, name)
    state["masked"].append(name)


def _unmask(system: System, state: State, name: str) -> None:
    del system
    state["masked"] = [masked for masked in state["masked"] if masked != name]


def _reset_failed(system: System, state: State, name: str) -> None:
    del system
    if _state(state, name)["active"] == "failed":
        state["services"][name] = {"active": "inactive", "result": "success"}


_VERBS: dict[str, Callable[[System, State, str], None]] = {
    "start": start,
    "stop": stop,
    "restart": _restart,
    "enable": _enable,
    "disable": _disable,
    "mask": _mask,
    "unmask": _unmask,
    "reset-failed": _reset_failed,
}


def _state(state: State, name: str) -> dict[str, str]:
    return state["services"].get(name, {"active": "inactive", "result": "success"})


def _predecessors(unit: Unit, waiting: Sequence[Unit]) -> bool:
    others = [other for other in waiting if other.name != unit.name]
    return any(other.name in unit.after or unit.name in other.before for other in others)


def _can_run(system: System, state: State, name: str) -> bool:
    """Tell whether one of NVIDIA's services finds what it needs; all others run."""
    if name == _PERSISTENCED:
        return kernel.NVIDIA in state["modules"]
    if name != _FABRIC:
        return True
    loaded = system.gpus.machine().driver.loaded if system.gpus is not None else ""
    ours = [one for one in system.installed(state).values() if _FABRIC in one.units]
    matches = [one.upstream for one in ours] == [loaded]
    return bool(loaded) and matches and _has_fabric(system, state)


def _has_fabric(system: System, state: State) -> bool:
    """Tell whether there are switches to manage: NVSwitches, or NVLink 5 and its own manager.

    NVLink 5 is managed through ib_umad, which nothing loads by itself (gpu-operator#2781).
    """
    if next(kernel.pci_functions(system, kernel.SWITCH_CLASS), None):
        return True
    adapters = system.files.glob("/sys/class/infiniband/*/device/vpd")
    managed = any("SW_MNG" in (system.files.find_text(path) or "") for path in adapters)
    ready = "ib_umad" in state["modules"]
    return managed and ready and system.files.exists("/opt/nvidia/nvlsm/sbin/nvlsm")


def _hold_gpus(system: System, name: str, *, held: bool) -> None:
    """Let the persistence daemon hold the GPUs, which keeps those before Hopper from a reset.

    Whatever service ends lets go of what it held.
    """
    if system.gpus is None:
        return
    if not held:
        system.gpus.remove_holder(name.removesuffix(".service"))
    elif name == _PERSISTENCED:
        system.gpus.add_holder(name)
