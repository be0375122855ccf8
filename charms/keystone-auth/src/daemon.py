# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The webhook as a service of the machine: its files, its socket, its start.

The socket belongs to systemd, so a restart drops no connection; the key is handed over by it too,
so the service's own account need not read root's files. A second unit and a drop-in beside the
unit that `charmkit.services` writes see to both.
"""

from pathlib import Path

import webhook
from certificate import certificate_of, ensure_certificate
from charmkit.host import Host
from charmkit.services import ServiceSpec, ensure_removed, ensure_services
from settings import Settings, dump_settings

_UNITS = "/etc/systemd/system"


def ensure_webhook(
    host: Host, charm_dir: Path, application: str, unit: str, settings: Settings, ca: str
) -> bool:
    """Make the webhook serve by these settings. Return whether anything changed.

    Args:
        host: The machine.
        charm_dir: Where the charm's code is.
        application: Ours.
        unit: Ours.
        settings: What it runs by; its `ca` is where `ca` is put.
        ca: PEM of the authority of Keystone; empty for none.

    Raises:
        CharmkitError: A file cannot be written or systemd does not start it.
    """
    files = host.files
    spec = ServiceSpec(application, webhook.MODULE, unit, own_user=True)
    renewed = ensure_certificate(host, application)
    changed = files.ensure_text(settings.ca, ca) if ca else _forget_ca(host, application)
    changed = (
        files.ensure_text(webhook.settings_path(application), dump_settings(settings)) or changed
    )
    known = host.systemd.exists(spec.name)
    drop_in = files.ensure_text(_drop_in(spec), _render_drop_in(spec))
    moved = files.ensure_text(_socket_path(spec), _render_socket(spec, settings.port))
    if known and (drop_in or moved):
        host.systemd.reload()
    if known and (drop_in or moved or renewed):
        # Another port, or another key: the socket goes with its service, and comes back with it.
        host.systemd.ensure_stopped(spec.name)
    if known and moved:
        host.systemd.ensure_stopped(_socket(spec))
    ensured = ensure_services(host, charm_dir, spec)
    return ensured or changed or renewed or drop_in or moved


def remove_webhook(host: Host, application: str) -> bool:
    """Stop it and remove its files; the certificate is removed apart. Return whether it was there.

    Raises:
        InterventionError: systemd does not stop it.
    """
    spec = ServiceSpec(application, webhook.MODULE, "", own_user=True)
    changed = ensure_removed(host, application)
    if host.files.exists(_socket_path(spec)):
        host.systemd.ensure_stopped(_socket(spec))
        changed = host.files.ensure_absent(_socket_path(spec))
    for path in (f"{_UNITS}/{spec.name}.d", f"/etc/{application}"):
        changed = host.files.ensure_absent(path) or changed
    return changed


def ca_path(application: str) -> str:
    """Return where the authority of Keystone is put."""
    return f"/etc/{application}/keystone-ca.crt"


def _forget_ca(host: Host, application: str) -> bool:
    return host.files.ensure_absent(ca_path(application))


def _socket(spec: ServiceSpec) -> str:
    return f"{spec.name.removesuffix('.service')}.socket"


def _socket_path(spec: ServiceSpec) -> str:
    return f"{_UNITS}/{_socket(spec)}"


def _drop_in(spec: ServiceSpec) -> str:
    return f"{_UNITS}/{spec.name}.d/webhook.conf"


def _render_socket(spec: ServiceSpec, port: int) -> str:
    return f"""[Unit]
Description=Port of {spec.module} of {spec.application}

[Socket]
ListenStream=127.0.0.1:{port}
Backlog=1024
NoDelay=yes
"""


def _render_drop_in(spec: ServiceSpec) -> str:
    """Return what the service has beyond charmkit's unit: its socket, the key, limits.

    Source: systemd.exec(5) LoadCredential (since 247; Ubuntu 22.04 has 249).
    """
    return f"""[Unit]
Requires={_socket(spec)}
After={_socket(spec)}

[Service]
LoadCredential={webhook.CREDENTIAL}:{certificate_of(spec.application).path}
LimitNOFILE=4096
MemoryMax=256M
RestartSec=1
CapabilityBoundingSet=
PrivateDevices=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
"""
