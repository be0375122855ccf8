# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The webhook's certificate: made on the machine, for loopback only, trusted by the machine.

It is signed by itself and no authority (CA:FALSE), so whoever trusts it trusts this one key on
127.0.0.1 and nothing else. That is why it may stand in the machine's own trust store, where the
webhook of Charmed Kubernetes looks (it has no option for a CA, and checks nothing where none
fits).
"""

from dataclasses import dataclass

from charmkit.host import Host
from charmkit.journal import StateFile

DAYS = 730
RENEW_SECONDS = 240 * 86400.0
"""Renewed this long before its end: a unit that is asleep over a holiday still serves."""

_OPENSSL = "/usr/bin/openssl"
_UPDATE_TRUST = "/usr/sbin/update-ca-certificates"
_BEGIN = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Where it is on the machine.

    Attributes:
        path: PEM of certificate and key, readable by root alone.
        public: PEM of the certificate, for whoever is to trust it.
    """

    path: str
    public: str


def certificate_of(application: str) -> Certificate:
    """Return where an application's certificate is."""
    return Certificate(
        f"/var/lib/{application}/tls.pem", f"/usr/local/share/ca-certificates/{application}.crt"
    )


def ensure_certificate(host: Host, application: str) -> bool:
    """Make a certificate where there is none or it ends soon. Return whether anything changed.

    Raises:
        InterventionError: openssl or update-ca-certificates fails, or the disk is full.
        NotReadyError: One of them hangs.
    """
    where, files = certificate_of(application), host.files
    state = StateFile(files, f"/var/lib/{application}/certificate.json", schema=1)
    known, now = state.read() or {"until": 0.0}, host.now()
    pem = files.find_text(where.path) or ""
    changed = False
    if _BEGIN not in pem or now > float(known["until"]) - RENEW_SECONDS:
        pem = host.run(certificate_command())
        files.ensure_directory(f"/var/lib/{application}", mode=0o700)
        files.ensure_text(where.path, pem, mode=0o600)
        state.write({"until": now + DAYS * 86400.0})
        changed = True
    if files.ensure_text(where.public, pem[pem.index(_BEGIN) :]):
        host.run([_UPDATE_TRUST])
        changed = True
    return changed


def remove_certificate(host: Host, application: str) -> bool:
    """Remove key and certificate, and what trusts it. Return whether there was any.

    Raises:
        InterventionError: update-ca-certificates fails.
    """
    where, files = certificate_of(application), host.files
    changed = files.ensure_absent(where.path)
    StateFile(files, f"/var/lib/{application}/certificate.json", schema=1).clear()
    if files.ensure_absent(where.public):
        host.run([_UPDATE_TRUST, "--fresh"])
        changed = True
    return changed


def certificate_command() -> list[str]:
    """Return the command that writes a new key and its certificate, to its output alone."""
    return [
        _OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", str(DAYS), "-subj", "/CN=keystone-auth webhook",
        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-addext", "keyUsage=critical,digitalSignature",
        "-addext", "extendedKeyUsage=serverAuth",
        "-keyout", "/dev/stdout", "-out", "/dev/stdout",
    ]  # fmt: skip
