# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service provider's keys: made, imported, rotated with an overlap. No Juju.

A rotation has three steps, so that no login fails: `start` publishes the next certificate beside
the current one while the current key still signs; after the identity provider has read the new
metadata `switch` signs with the next key, and the former certificate stays published for answers
under way; `finish` forgets it. mod_auth_mellon holds one private key, so that assertions are
encrypted for the current one only.
"""

import base64
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from charmkit.errors import ConfigError

OPTION = "sp-key"
STEPS = ("start", "switch", "finish")
_BITS = 3072
_DAYS = 3650


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key and its certificate, both PEM."""

    key: str = field(repr=False)
    certificate: str

    @property
    def body(self) -> str:
        """The certificate as metadata carries it: base64 of DER, without lines."""
        lines = self.certificate.strip().splitlines()
        return "".join(line.strip() for line in lines if "-----" not in line)

    def expires(self) -> datetime.datetime:
        """Return when the certificate ends."""
        return x509.load_pem_x509_certificate(self.certificate.encode()).not_valid_after_utc


@dataclass(frozen=True, slots=True)
class KeyRing:
    """All keys of the service provider.

    Attributes:
        current: What signs.
        following: What will sign after the switch; None outside of a rotation.
        former: Certificate that signed before the switch; empty once it is forgotten.
        entity_id: Imported entityID; empty means the charm's own.
    """

    current: KeyPair
    following: KeyPair | None = None
    former: str = ""
    entity_id: str = ""

    def signing(self) -> tuple[str, ...]:
        """Return the certificates to publish for signatures, the current one first."""
        others = [self.following.body] if self.following else []
        others += [KeyPair("", self.former).body] if self.former else []
        return (self.current.body, *others)

    def dump(self) -> dict[str, str]:
        """Return the content of a Juju secret."""
        content = {
            "current-key": self.current.key,
            "current-certificate": self.current.certificate,
        }
        if self.following:
            content["next-key"] = self.following.key
            content["next-certificate"] = self.following.certificate
        if self.former:
            content["former-certificate"] = self.former
        return content


def make_pair(common_name: str, now: float) -> KeyPair:
    """Return a new RSA key with a self-signed certificate.

    Args:
        common_name: What people see in the identity provider's list.
        now: Epoch seconds.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
    return KeyPair(_pem(key), _certificate(key, common_name, now))


def load_ring(content: Mapping[str, str]) -> KeyRing:
    """Return the keys of a secret that `KeyRing.dump` wrote."""
    following = None
    if "next-key" in content:
        following = KeyPair(content["next-key"], content["next-certificate"])
    current = KeyPair(content["current-key"], content["current-certificate"])
    return KeyRing(current, following, content.get("former-certificate", ""))


def import_ring(content: Mapping[str, str], common_name: str, now: float) -> KeyRing:
    """Return the key that an operator brought along.

    Args:
        content: `private-key` (PEM), and optionally `certificate` (PEM) and `entity-id`.
        common_name: For a certificate that has to be made.
        now: Epoch seconds.

    Raises:
        ConfigError: It is no RSA key, or the certificate belongs to another key.
    """
    unknown = sorted(set(content) - {"private-key", "certificate", "entity-id"})
    if unknown:
        raise ConfigError(OPTION, f"{unknown[0]}: only private-key, certificate, entity-id belong")
    text = content.get("private-key", "")
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise ConfigError(OPTION, "private-key is no unencrypted PEM key") from error
    if not isinstance(key, rsa.RSAPrivateKey) or key.key_size < 2048:
        raise ConfigError(OPTION, "private-key must be RSA of 2048 bits or more")
    certificate = content.get("certificate") or _certificate(key, common_name, now)
    _check_certificate(certificate, key)
    return KeyRing(KeyPair(_pem(key), certificate), entity_id=content.get("entity-id", "").strip())


def rotate(ring: KeyRing, step: str, common_name: str, now: float) -> KeyRing:
    """Return the keys after one step of a rotation.

    Raises:
        ValueError: The step does not come now; the reason says which one does.
    """
    if step == "start":
        if ring.following or ring.former:
            raise ValueError(f"a rotation is under way: {next_step(ring)} comes next")
        return replace(ring, following=make_pair(common_name, now))
    if step == "switch":
        if ring.following is None:
            raise ValueError(f"no key to switch to: {next_step(ring)} comes next")
        return KeyRing(ring.following, former=ring.current.certificate, entity_id=ring.entity_id)
    if not ring.former:
        raise ValueError(f"nothing to finish: {next_step(ring)} comes next")
    return replace(ring, former="")


def next_step(ring: KeyRing) -> str:
    """Return the step that comes next."""
    if ring.following:
        return "switch"
    return "finish" if ring.former else "start"


def _pem(key: rsa.RSAPrivateKey) -> str:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


def _certificate(key: rsa.RSAPrivateKey, common_name: str, now: float) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])
    begin = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - datetime.timedelta(hours=1))
        .not_valid_after(begin + datetime.timedelta(days=_DAYS))
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM).decode()


def _check_certificate(text: str, key: rsa.RSAPrivateKey) -> None:
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
    except ValueError as error:
        raise ConfigError(OPTION, "certificate is no PEM certificate") from error
    if certificate.public_key() != key.public_key():
        raise ConfigError(OPTION, "certificate belongs to another key")


def fingerprint(body: str) -> str:
    """Return the SHA-256 fingerprint of a certificate in base64, as tools print it."""
    certificate = x509.load_der_x509_certificate(base64.b64decode(body))
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()
