# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Kernel modules of a simulated machine: modprobe, modinfo, and what /proc and /sys show."""

import re
from collections.abc import Iterator, Sequence

from standins.metal import toolkit
from standins.metal.system import ProgramError, State, System, UnknownProgramError, fault_of

NVIDIA = "nvidia"
DEPENDENT = ("nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem")
"""Modules that come with `nvidia` and need it."""

_DRM, _MODESET = "nvidia_drm", "nvidia_modeset"
"""The first needs the second, and keeps every GPU from a reset (facts: mig-parted#181)."""

SWITCH_CLASS, GPU_CLASSES = "0x0680", ("0x0300", "0x0302")
_DRIVERS = "../../../../bus/pci/drivers"
_USERS = {"nvidia-persistenced": "nv_persistenced", "nvidia-fabricmanager": "nv-fabricmanager"}
"""Services that keep the module in use while they run."""


def modprobe(system: System, argv: Sequence[str]) -> str:
    """Run `modprobe NAME` or `modprobe --remove NAME`."""
    options = [word for word in argv[1:] if word.startswith("-")]
    names = [word.replace("-", "_") for word in argv[1:] if not word.startswith("-")]
    if len(names) != 1 or set(options) - {"--remove", "-r"}:
        raise UnknownProgramError(" ".join(argv))
    with system.store.edit() as state:
        if options:
            unload(system, state, names[0])
        else:
            load(system, state, names[0])
    return ""


def modinfo(system: System, argv: Sequence[str]) -> str:
    """Run `modinfo [-k KERNEL] -F FIELD NAME`."""
    words = list(argv[1:])
    kernel = system.kernel
    if words[:1] == ["-k"]:
        kernel, words = words[1], words[2:]
    if len(words) != 3 or words[0] not in ("-F", "--field"):
        raise UnknownProgramError(" ".join(argv))
    path = find_module(system, kernel, words[2].replace("-", "_"))
    if path is None:
        raise ProgramError(1, f"modinfo: ERROR: Module {words[2]} not found.\n")
    value = _fields(system, path).get(words[1], "")
    return f"{value}\n" if value else ""


def load(system: System, state: State, name: str) -> None:
    """Load a module and what it needs.

    Raises:
        ProgramError: As modprobe says it.
    """
    if name in state["modules"]:
        return
    trouble = fault_of(state, "module", name)
    if trouble:
        raise _not_inserted(name, trouble)
    if name == NVIDIA:
        _check_nvidia(system, state)
    elif name in DEPENDENT:
        load(system, state, _MODESET if name == _DRM else NVIDIA)
    elif name in _SHIPPED and find_module(system, system.kernel, name) is None:
        raise _not_found(system, name)
    state["modules"].append(name)
    if name in (NVIDIA, "nouveau"):
        _bind(system, name)
    if name == _DRM and system.gpus is not None:
        system.gpus.add_holder(_DRM)
    show(system, state)


def rmmod(system: System, argv: Sequence[str]) -> str:
    """Run `rmmod NAME`: that module goes, and nothing that it needed."""
    name = argv[1]
    with system.store.edit() as state:
        if name not in state["modules"]:
            raise ProgramError(1, f"rmmod: ERROR: Module {name} is not currently loaded\n")
        if references(system, state, name):
            raise ProgramError(1, f"rmmod: ERROR: Module {name} is in use\n")
        _remove(system, state, name)
    return ""


def unload(system: System, state: State, name: str) -> None:
    """Unload a module, and what nothing else needs then, as `modprobe --remove` does.

    Raises:
        ProgramError: The module is in use.
    """
    if name not in state["modules"]:
        return
    if references(system, state, name):
        raise ProgramError(1, f"modprobe: FATAL: Module {name} is in use.\n")
    _remove(system, state, name)
    needed = _MODESET if name == _DRM else NVIDIA
    if name in DEPENDENT and not references(system, state, needed):
        unload(system, state, needed)


def _remove(system: System, state: State, name: str) -> None:
    state["modules"].remove(name)
    if name in (NVIDIA, "nouveau"):
        _unbind(system, name)
    if name == _DRM and system.gpus is not None:
        system.gpus.remove_holder(_DRM)
    show(system, state)


def references(system: System, state: State, name: str) -> int:
    """Return how often a module is in use: by other modules, services, sessions and processes."""
    if fault_of(state, "busy", name):
        return 1
    if name != NVIDIA:
        return int(name == _MODESET and _DRM in state["modules"])
    count = sum(module in DEPENDENT and module != _DRM for module in state["modules"])
    count += sum(
        state["services"].get(service, {}).get("active") == "active" for service in _USERS
    )
    if system.gpus is not None:
        indices = range(len(system.gpus.read()))
        names = {client for index in indices for client in system.gpus.clients(index)}
        count += len(names - {*_USERS, _DRM})
    return count


def boot(system: System, state: State) -> None:
    """Load what udev loads at boot: the driver of the GPUs, unless it is kept from loading."""
    state["modules"] = []
    _unbind(system, NVIDIA)
    _unbind(system, "nouveau")
    if state["nouveau"] and "nouveau" not in state["initramfs"]:
        _try_to_load(system, state, "nouveau")
    if NVIDIA not in blacklisted(system):
        for name in (NVIDIA, *_asked_at_boot(system)):
            _try_to_load(system, state, name)
    show(system, state)


def _asked_at_boot(system: System) -> list[str]:
    """Return the modules beside `nvidia` that systemd loads, as somebody wrote it down."""
    paths = system.files.glob("/etc/modules-load.d/*.conf")
    words = " ".join(system.files.find_text(path) or "" for path in paths).split()
    return [name for name in DEPENDENT if {name, name.replace("_", "-")} & set(words)]


def update_initramfs(system: System, state: State) -> None:
    """Note which modules are kept from loading; nouveau is loaded from the initramfs."""
    state["initramfs"] = sorted(blacklisted(system))


def blacklisted(system: System) -> set[str]:
    """Return the modules that modprobe.d keeps from loading by themselves."""
    found: set[str] = set()
    for folder in ("/etc/modprobe.d", "/usr/lib/modprobe.d", "/run/modprobe.d"):
        for path in system.files.glob(f"{folder}/*.conf"):
            text = system.files.find_text(path) or ""
            found |= set(re.findall(r"^\s*blacklist\s+(\S+)", text, re.MULTILINE))
    return {name.replace("-", "_") for name in found}


_SHIPPED = ("nouveau", "ib_umad", "mlx5_ib")
"""Modules that a package has, beside the driver's own; of others no file is looked for."""

_FOLDERS = (
    "updates/dkms",
    "kernel/*",
    "kernel/drivers/gpu/drm/*",
    "kernel/drivers/infiniband/*",
    "kernel/drivers/infiniband/hw/*",
)


def find_module(system: System, kernel: str, name: str) -> str | None:
    """Return the file of a module for a kernel; what DKMS built comes first, as depmod has it."""
    name = NVIDIA if name in DEPENDENT else name
    for folder in _FOLDERS:
        found = system.files.glob(f"/lib/modules/{kernel}/{folder}/{name}.ko")
        if found:
            return found[-1]
    return None


def pci_functions(system: System, *classes: str) -> Iterator[str]:
    """Yield the sysfs folders of NVIDIA's PCI functions of some classes."""
    for path in system.files.glob("/sys/bus/pci/devices/*"):
        text = system.files.find_text(f"{path}/class") or ""
        vendor = system.files.find_text(f"{path}/vendor") or ""
        if text.strip()[:6] in classes and vendor.strip() == "0x10de":
            yield path


def show(system: System, state: State) -> None:
    """Write /proc/modules."""
    rows = [
        f"{name} 16384 {references(system, state, name)} - Live 0x0000000000000000\n"
        for name in reversed(state["modules"])
    ]
    system.files.ensure_text("/proc/modules", "".join(rows))


def _check_nvidia(system: System, state: State) -> None:
    path = find_module(system, system.kernel, NVIDIA)
    if path is None:
        raise _not_found(system, NVIDIA)
    fields = _fields(system, path)
    trusted = "signer" in fields or state.get("mok")
    if state["secure_boot"] and not trusted:
        raise _not_inserted(NVIDIA, "Key was rejected by service")
    functions = pci_functions(system, *GPU_CLASSES)
    free = [one for one in functions if not system.files.find_link(f"{one}/driver")]
    if not free or not _drives(system, open_modules="GPL" in fields["license"]):
        raise _not_inserted(NVIDIA, "No such device")


def _drives(system: System, *, open_modules: bool) -> bool:
    """Tell whether a flavour of the modules drives at least one of the chips.

    Source: open modules from Turing on (compute capability 7.5), closed ones up to Hopper (9).
    """
    chips = [gpu.model.compute_capability for gpu in system.gpus.read()] if system.gpus else []
    return any(chip >= (7, 5) if open_modules else chip < (10, 0) for chip in chips)


def _bind(system: System, name: str) -> None:
    """Give the driver every function that has none, and make what it shows of them."""
    for path in pci_functions(system, *GPU_CLASSES):
        _take(system, path, name)
    if name == "nouveau":
        return
    for path in pci_functions(system, SWITCH_CLASS):
        _take(system, path, "nvidia-nvswitch")
        address = path.rsplit("/", 1)[1]
        system.files.ensure_text(
            f"/proc/driver/nvidia-nvswitch/devices/{address}/information", f"BDF: {address}\n"
        )
    fields = _fields(system, find_module(system, system.kernel, NVIDIA) or "")
    system.files.ensure_text("/proc/driver/nvidia/version", _version_text(fields))
    if system.gpus is not None:
        system.gpus.set_driver(loaded=fields["version"])
        nodes = [f"nvidia{gpu.index}" for gpu in system.gpus.read()]
        for node in ("nvidiactl", "nvidia-uvm", *nodes):
            system.files.ensure_text(f"/dev/{node}", "", mode=0o666)
    toolkit.follow_rules(system)


def _take(system: System, path: str, driver: str) -> None:
    if not system.files.find_link(f"{path}/driver"):
        system.files.ensure_link(f"{path}/driver", f"{_DRIVERS}/{driver}")


def _unbind(system: System, name: str) -> None:
    names = {name, "nvidia-nvswitch"} if name == NVIDIA else {name}
    for path in pci_functions(system, SWITCH_CLASS, *GPU_CLASSES):
        bound = (system.files.find_link(f"{path}/driver") or "").rsplit("/", 1)[-1]
        if bound in names:
            system.files.ensure_absent(f"{path}/driver")
    if name == NVIDIA:
        for path in ("/proc/driver/nvidia", "/proc/driver/nvidia-nvswitch"):
            system.files.ensure_absent(path)
        for path in system.files.glob("/dev/nvidia*"):
            system.files.ensure_absent(path)
        if system.gpus is not None:
            system.gpus.set_driver(loaded="")


def _version_text(fields: dict[str, str]) -> str:
    """Return /proc/driver/nvidia/version as each flavour writes it."""
    version = fields["version"]
    if "GPL" in fields["license"]:
        kind = f"NVIDIA UNIX Open Kernel Module for x86_64  {version}"
    else:
        kind = f"NVIDIA UNIX x86_64 Kernel Module  {version}"
    return f"NVRM version: {kind}  Release Build  (builder)\nGCC version:  gcc 13\n"


def _fields(system: System, path: str) -> dict[str, str]:
    rows = (system.files.find_text(path) or "").splitlines()
    return dict(row.split(": ", 1) for row in rows if ": " in row)


def _try_to_load(system: System, state: State, name: str) -> None:
    try:
        load(system, state, name)
    except ProgramError:
        return


def _not_inserted(name: str, reason: str) -> ProgramError:
    return ProgramError(1, f"modprobe: ERROR: could not insert '{name}': {reason}\n")


def _not_found(system: System, name: str) -> ProgramError:
    folder = f"/lib/modules/{system.kernel}"
    return ProgramError(1, f"modprobe: FATAL: Module {name} not found in directory {folder}\n")
