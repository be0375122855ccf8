# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The keys of one test cluster: an authority, certificates of servers and users, kubeconfigs."""

import base64
import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(days=7)
"""A cluster of a rehearsal may stand for some days; one of a test lives for minutes."""

SLACK = timedelta(minutes=5)


class Authority:
    """Signs for one cluster, in one folder: ``ca.crt``, ``NAME.crt``, ``NAME.key``."""

    def __init__(self, folder: Path) -> None:
        """Make the authority's key and certificate in a folder that root alone reads."""
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        self.folder = folder
        self._key = self._new_key("ca")
        self._name = _subject("test-cluster-ca", ())
        self._sign("ca", self._name, self._key, x509.BasicConstraints(ca=True, path_length=None))

    @property
    def certificate(self) -> str:
        """PEM of the authority's certificate."""
        return (self.folder / "ca.crt").read_text()

    def server(self, name: str, hosts: Sequence[str]) -> None:
        """Make the certificate of a server for DNS names and IP addresses."""
        key = self._new_key(name)
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        self._sign(name, _subject(name, ()), key, usage, names)

    def client(self, name: str, user: str, groups: Sequence[str] = ()) -> None:
        """Make the certificate of a user of the API."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        self._sign(name, _subject(user, groups), self._new_key(name), usage)

    def key_pair(self, name: str) -> None:
        """Make a key and its public half, ``NAME.pub``: what tokens are signed with."""
        public = self._new_key(name).public_key()
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        (self.folder / f"{name}.pub").write_bytes(
            public.public_bytes(serialization.Encoding.PEM, form)
        )

    def kubeconfig(self, name: str, server: str) -> Path:
        """Write and return the kubeconfig of a user that `client` made."""
        path = self.folder / f"{name}.kubeconfig"
        user = {
            "client-certificate-data": self._encoded(f"{name}.crt"),
            "client-key-data": self._encoded(f"{name}.key"),
        }
        cluster = {"server": server, "certificate-authority-data": self._encoded("ca.crt")}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document))
        return path

    def _new_key(self, name: str) -> EllipticCurvePrivateKey:
        key = generate_private_key(SECP256R1())
        path = self.folder / f"{name}.key"
        path.touch(mode=0o600)
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return key

    def _sign(
        self,
        name: str,
        subject: x509.Name,
        key: EllipticCurvePrivateKey,
        *extensions: x509.ExtensionType,
    ) -> None:
        now = datetime.now(timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .issuer_name(self._name)
            .subject_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SLACK)
            .not_valid_after(now + LIFE)
        )
        for extension in extensions:
            critical = isinstance(extension, x509.BasicConstraints)
            builder = builder.add_extension(extension, critical=critical)
        signed = builder.sign(self._key, hashes.SHA256())
        (self.folder / f"{name}.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def _encoded(self, file: str) -> str:
        return base64.b64encode((self.folder / file).read_bytes()).decode()


def _subject(user: str, groups: Sequence[str]) -> x509.Name:
    """A user as Kubernetes reads one: common name, and an organization for each group."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
