# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What dpkg does to a simulated machine: files, units, kernel modules, states. And its queries."""

from collections.abc import Sequence

from standins.metal import kernel
from standins.metal.archive import Package, find_package
from standins.metal.resolver import Change
from standins.metal.system import ProgramError, State, System, UnknownProgramError, fault_of

_UNITS = "/usr/lib/systemd/system"
_UPDATES = "/var/lib/dpkg/updates"
_HEADERS = "linux-headers-"
_INTERRUPTED = (
    "E: dpkg was interrupted, "
    "you must manually run 'dpkg --configure -a' to correct the problem. \n"
)


def apply(system: System, state: State, change: Change) -> None:
    """Carry out a transaction; a package that fails stops it and stays half configured.

    Raises:
        ProgramError: A fault was injected for one of the packages.
    """
    for name in change.remove:
        _remove(system, state, name)
    for package in change.install:
        if package.name in state["packages"]:
            _remove_files(system, state, package.name)
        state["packages"][package.name] = [package.version, "iF"]
        _unpack(system, state, package)
    for package in change.install:
        _configure(system, state, package)
    _configure_rest(system, state)


def check_interrupted(system: System) -> None:
    """Refuse to work on what a power loss interrupted, as apt does.

    Raises:
        ProgramError: dpkg was interrupted.
    """
    if system.files.glob(f"{_UPDATES}/[0-9]*"):
        raise ProgramError(100, _INTERRUPTED)


def interrupt(system: System) -> None:
    """Leave what a power loss in the middle of dpkg leaves."""
    system.files.ensure_text(f"{_UPDATES}/0001", "")


def dpkg(system: System, argv: Sequence[str]) -> str:
    """Run `dpkg --configure -a`."""
    if list(argv[1:]) != ["--configure", "-a"]:
        raise UnknownProgramError(" ".join(argv))
    with system.store.edit() as state:
        for path in system.files.glob(f"{_UPDATES}/*"):
            system.files.ensure_absent(path)
        _configure_rest(system, state)
    return ""


def dpkg_query(system: System, argv: Sequence[str]) -> str:
    """Run `dpkg-query -W -f FORMAT`; only the format that the gateway uses is known."""
    if list(argv[1:3]) != ["-W", "-f"] or len(argv) != 4 or "Status-Abbrev" not in argv[3]:
        raise UnknownProgramError(" ".join(argv))
    state = system.store.read()
    lines: list[str] = []
    for name, (version, status) in sorted(state["packages"].items()):
        desired = "h" if name in state["held"] else "i"
        lines.append(f"{desired}{status[1]} \t{name}\tamd64\t{version}\n")
    return "".join(lines)


def _remove(system: System, state: State, name: str) -> None:
    _remove_files(system, state, name)
    del state["packages"][name]
    state["held"] = [held for held in state["held"] if held != name]


def _remove_files(system: System, state: State, name: str) -> None:
    package = _package(state, name)
    for path in package.files:
        system.files.ensure_absent(path)
    for unit in package.units:
        system.files.ensure_absent(f"{_UNITS}/{unit}.service")
    if package.module is not None:
        system.files.ensure_absent(package.module.path)
    if package.builds:
        for path in system.files.glob("/lib/modules/*/updates/dkms/nvidia.ko"):
            system.files.ensure_absent(path)
    if package.library and system.gpus is not None:
        system.gpus.set_driver(library="")


def _unpack(system: System, state: State, package: Package) -> None:
    for path, text in package.files.items():
        mode = 0o755 if "/bin/" in path or "/sbin/" in path else 0o644
        system.files.ensure_text(path, text, mode=mode)
    for unit, traits in package.units.items():
        kind = "oneshot" if traits.get("oneshot") else "simple"
        text = f"[Service]\nType={kind}\nExecStart=/usr/bin/{unit}\n"
        system.files.ensure_text(f"{_UNITS}/{unit}.service", text)
    if package.library and system.gpus is not None:
        system.gpus.set_driver(library=package.upstream)


def _configure(system: System, state: State, package: Package) -> None:
    fault = fault_of(state, "package", package.name)
    if fault:
        raise ProgramError(
            100,
            f"dpkg: error processing package {package.name} (--configure):\n {fault}\n"
            "E: Sub-process /usr/bin/dpkg returned an error code (1)\n",
        )
    module = package.module
    if module is not None:
        text = module_text(package.upstream, module.license, signed=module.signed)
        system.files.ensure_text(module.path, text)
    _build_for(system, state, package)
    for unit, traits in package.units.items():
        if traits.get("enabled") and unit not in state["enabled"]:
            state["enabled"].append(unit)
    if any("/modprobe.d/" in path for path in package.files) or package.reboot:
        kernel.update_initramfs(system, state)
    if package.reboot:
        system.files.ensure_text("/run/reboot-required", "*** System restart required ***\n")
    state["packages"][package.name] = [package.version, "ii"]


def _configure_rest(system: System, state: State) -> None:
    """Configure what an earlier run left half configured, as every run of dpkg does."""
    for name, (_, status) in list(state["packages"].items()):
        if status != "ii":
            _configure(system, state, _package(state, name))


def _package(state: State, name: str) -> Package:
    version: str = state["packages"][name][0]
    return find_package(state["release"], state["step"], name, version)


def _build_for(system: System, state: State, package: Package) -> None:
    """Build the modules of a package, or of all that are installed for headers that came later.

    Source: dkms, /etc/kernel/header_postinst.d/dkms.
    """
    names = list(state["packages"]) if package.name.startswith(_HEADERS) else [package.name]
    for one in (_package(state, name) for name in names):
        if one.builds:
            _build(system, one)


def _build(system: System, package: Package) -> None:
    """Build the module by DKMS for every kernel whose headers are there."""
    text = module_text(package.upstream, package.builds, signed=False)
    for headers in system.files.glob("/usr/src/linux-headers-*"):
        kernel = headers.rsplit("/linux-headers-", 1)[1]
        system.files.ensure_text(f"/lib/modules/{kernel}/updates/dkms/nvidia.ko", text)


def module_text(version: str, license_name: str, *, signed: bool) -> str:
    """Return what stands for the content of a kernel module: the fields of modinfo."""
    signer = "signer: Canonical Ltd. Kernel Module Signing\n" if signed else ""
    return f"version: {version}\nlicense: {license_name}\n{signer}"
