# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What outlives a hook: services that run from a copy of the charm, with or without Juju's agent.

The charm's code is copied to `/opt/<application>/<hash>`, the link `current` is swapped, and a
systemd unit runs `python3 -m charmkit.services MODULE APPLICATION UNIT` from there. The unit file
stays the same over refreshes, so systemd seldom has to read its units again.
"""

import hashlib
import importlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from charmkit.files import Files
from charmkit.gateways import Gateways
from charmkit.host import Host

SECTION = "X-Charmkit"
"""Section of our unit files that systemd ignores (systemd.unit(5): names that begin with X-)."""

_UNITS = "/etc/systemd/system"
_PARTS = ("src", "lib", "venv", "version")
"""What a packed charm runs from: its code, the shared package, its dependencies, its version."""

_ONESHOT = "Type=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=300"
_LASTING = "Type=simple\nRestart=always\nRestartSec=10"

_PACKAGES = "venv/lib/python3*/site-packages"
"""Where charmcraft's `charm`, `python` and `uv` plugins put dependencies."""


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A service of one application.

    Attributes:
        application: Name of the application, which owns `/opt/<application>`.
        module: Module of the charm with `main(gateways, application, unit)`.
        unit: Name of the unit, such as `gpu-worker/0`.
        before: Units that wait for this one at boot.
        after: Units that a oneshot waits for at boot, where they are there.
        oneshot: It runs once at boot and never from a hook; others run all the time.
        own_user: systemd makes an account for it while it runs; otherwise it runs as root.
    """

    application: str
    module: str
    unit: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    oneshot: bool = False
    own_user: bool = False

    @property
    def name(self) -> str:
        """Name of its systemd unit."""
        return f"{self.application}-{self.module}.service"


def ensure_services(host: Host, charm_dir: Path, *specs: ServiceSpec) -> bool:
    """Make services run from a copy of the charm as it is now. Return whether anything changed.

    A service that runs all the time is started, and restarted when its code or its unit changed;
    a oneshot is only enabled.

    Raises:
        InterventionError: The disk is full, or systemd does not start one.
    """
    payload = payload_hash(charm_dir)
    changed = [_ensure(host, charm_dir, spec, payload) for spec in specs]
    return any(changed)


def ensure_removed(host: Host, application: str) -> bool:
    """Stop and remove every service of an application, and its copies.

    systemd forgets the units by itself; it is not told to read all units again, see `reload`.

    Raises:
        InterventionError: systemd does not stop one of them.
    """
    changed = False
    for path in _own_units(host.files, application):
        name = PurePath(path).name
        host.systemd.ensure_stopped(name)
        host.systemd.ensure_disabled(name)
        changed = host.files.ensure_absent(path) or changed
    return host.files.ensure_absent(f"/opt/{application}") or changed


def payload_hash(charm_dir: Path) -> str:
    """Return what identifies the code of a charm: its own files, and which dependencies it has.

    Dependencies count by name and version (their dist-info), since reading all of them would cost
    a hook more than everything else that it does.
    """
    digest = hashlib.sha256()
    for path in _own_files(charm_dir):
        digest.update(str(path.relative_to(charm_dir)).encode() + b"\0" + path.read_bytes())
    for path in sorted(charm_dir.glob(f"{_PACKAGES}/*.dist-info")):
        digest.update(path.name.encode() + b"\0")
    return digest.hexdigest()[:16]


def render_unit(files: Files, spec: ServiceSpec) -> str:
    """Return the systemd unit of a service whose payload is there already."""
    home = f"/opt/{spec.application}/current"
    path = ":".join([f"{home}/src", f"{home}/lib", *files.glob(f"{home}/{_PACKAGES}")])
    return f"""[Unit]
Description={spec.module} of {spec.application}
Before={" ".join(spec.before)}
{"After=" + " ".join(spec.after) if spec.oneshot else "StartLimitIntervalSec=0"}

[Service]
{_ONESHOT if spec.oneshot else _LASTING}
DynamicUser={"yes" if spec.own_user else "no"}
WorkingDirectory={home}
Environment=PYTHONPATH={path}
ExecStart=/usr/bin/python3 -m charmkit.services {spec.module} {spec.application} {spec.unit}

[Install]
WantedBy=multi-user.target

[{SECTION}]
Application={spec.application}
Module={spec.module}
Unit={spec.unit}
"""


def run_service(arguments: list[str]) -> None:
    """Run a module of the payload, `MODULE APPLICATION UNIT`, with its charm's own `Gateways`."""
    module_name, application, unit = arguments
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    module = importlib.import_module(module_name)
    module.main(getattr(module, "Gateways", Gateways)(), application, unit)


def _ensure(host: Host, charm_dir: Path, spec: ServiceSpec, payload: str) -> bool:
    home = f"/opt/{spec.application}"
    changed = host.files.ensure_copy(charm_dir, _PARTS, f"{home}/{payload}")
    changed = host.files.ensure_link(f"{home}/current", payload) or changed
    known = host.systemd.exists(spec.name)
    rewritten = host.files.ensure_text(f"{_UNITS}/{spec.name}", render_unit(host.files, spec))
    if rewritten and known and not spec.oneshot:  # That one is read at the next boot.
        host.systemd.reload()
    changed = host.systemd.ensure_enabled(spec.name) or rewritten or changed
    if not spec.oneshot:
        changed = _ensure_running(host, spec, payload, rewritten=rewritten) or changed
    return _remove_old(host.files, home, payload) or changed


def _own_files(charm_dir: Path) -> Iterator[Path]:
    for part in ("src", "lib"):
        for path in sorted((charm_dir / part).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    if (charm_dir / "version").is_file():
        yield charm_dir / "version"


def _ensure_running(host: Host, spec: ServiceSpec, payload: str, *, rewritten: bool) -> bool:
    """Start it, or restart it when it runs other code; the mark is written after it runs."""
    mark = f"/opt/{spec.application}/{spec.module}.started"
    if rewritten or (host.files.find_text(mark) or "").strip() != payload:
        host.systemd.restart(spec.name)
        return host.files.ensure_text(mark, payload + "\n") or True
    return host.systemd.ensure_started(spec.name)


def _remove_old(files: Files, home: str, payload: str) -> bool:
    """Remove copies that nothing starts from any more, and what a power loss left of one."""
    changed = False
    for path in [*files.glob(f"{home}/*"), *files.glob(f"{home}/.*")]:
        if path not in (f"{home}/{payload}", f"{home}/current") and files.path(path).is_dir():
            changed = files.ensure_absent(path) or changed
    return changed


def _own_units(files: Files, application: str) -> list[str]:
    """Return our unit files of exactly this application: names of two may begin alike."""
    paths = files.glob(f"{_UNITS}/{application}-*.service")
    mark = f"Application={application}"
    return [path for path in paths if mark in (files.find_text(path) or "").splitlines()]


if __name__ == "__main__":
    run_service(sys.argv[1:])
