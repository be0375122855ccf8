# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The part of an identity provider's metadata that logins need, as Apache can read it. Pure.

lasso passes over a signing key that it cannot load beside another, but of one for encryption, one
in the same KeyInfo or one alone each login is a 500; a part for service providers without its
protocol ends Apache's process. So it is given nothing but what it uses, and all of that is looked
at here.

Source: lasso 2.8.1 and mod_auth_mellon 0.18.1, by their behaviour; lasso/saml-2.0/provider.c.
"""

import base64
from typing import Any, cast
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from lxml import etree as _etree  # pyright: ignore - the library has no types

from charmkit.errors import ConfigError

etree: Any = _etree  # pyright: ignore - the same

_MD = "urn:oasis:names:tc:SAML:2.0:metadata"
_DS = "http://www.w3.org/2000/09/xmldsig#"
_NAMES = {"md": _MD, "ds": _DS}
_DATA, _CERTIFICATE = f"{{{_DS}}}X509Data", f"{{{_DS}}}X509Certificate"
_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:"
REDIRECT, POST, SOAP = (f"{_BINDING}{name}" for name in ("HTTP-Redirect", "HTTP-POST", "SOAP"))
_SAML2 = "urn:oasis:names:tc:SAML:2.0:protocol"
_SIGN_ON = f"{{{_MD}}}SingleSignOnService"
_KEY = f"{{{_MD}}}KeyDescriptor"
_ENDPOINTS = (
    _SIGN_ON,
    *(
        f"{{{_MD}}}{name}Service"
        for name in ("ArtifactResolution", "SingleLogout", "ManageNameID")
    ),
)
_FORMAT = f"{{{_MD}}}NameIDFormat"
_READABLE = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, dsa.DSAPublicKey)
"""Keys that lasso loads; others, such as Ed25519, it passes over or breaks off at."""


def find_role(descriptor: Any, option: str) -> Any:
    """Return the part of a provider that speaks SAML 2, which may have another for SAML 1.

    Raises:
        ConfigError: It has none.
    """
    roles = descriptor.findall("md:IDPSSODescriptor", _NAMES)
    spoken = [role.get("protocolSupportEnumeration", "").split() for role in roles]
    for role, words in zip(roles, spoken, strict=True):
        if _SAML2 in words:
            return role
    if any(spoken):
        raise ConfigError(option, "the provider speaks SAML 1 alone, Apache's module does not")
    raise ConfigError(option, "the provider has no protocolSupportEnumeration, Apache needs it")


def read_ends(role: Any, option: str) -> list[float]:
    """Return when each certificate ends that counts for signing, in epoch seconds.

    A key that cannot be read does not count beside one that can: trust in it is what is lost.

    Raises:
        ConfigError: There are some, and none can be read.
    """
    keys = _readable(role) or _signing(role)
    return [end for key in keys for end in _ends_of(key, option)]


def reduce_descriptor(descriptor: Any, role: Any) -> tuple[str, ...]:
    """Take away what logins do not need; return the bindings of single sign-on that are left."""
    role.set("protocolSupportEnumeration", _SAML2)  # lasso finds no word behind a line's end.
    signing = _readable(role)
    for key in signing:
        _keep_certificates(key)
    for child in list(descriptor):
        if child is not role:
            descriptor.remove(child)
    for child in list(role):
        if child not in signing and child.tag != _FORMAT and not _is_endpoint(child):
            role.remove(child)
    return tuple(service.get("Binding", "") for service in role.findall(_SIGN_ON))


def _keep_certificates(key: Any) -> None:
    """Take away what says the key in another way: lasso reads that first, and may not get on."""
    for info in key.findall("ds:KeyInfo", _NAMES):
        for child in list(info):
            if child.tag != _DATA:
                info.remove(child)
                continue
            for one in list(child):
                if one.tag != _CERTIFICATE:
                    child.remove(one)


def _is_endpoint(child: Any) -> bool:
    """Say whether an element is a place on the web; blanks around it are taken off."""
    if child.tag not in _ENDPOINTS or not child.get("Binding"):
        return False
    for name in {"Location", "ResponseLocation"} & set(child.attrib):
        child.set(name, child.get(name).strip())
    try:
        place = urlsplit(str(child.get("Location", "")))
    except ValueError:
        return False
    return place.scheme in ("https", "http") and bool(place.netloc)


def _signing(role: Any) -> list[Any]:
    return [key for key in role.findall(_KEY) if key.get("use", "signing") == "signing"]


def _readable(role: Any) -> list[Any]:
    """Return the keys for signing that have certificates, all of which can be read."""
    return [key for key in _signing(role) if _bodies(key) and _is_readable(key)]


def _bodies(key: Any) -> list[str]:
    """Return the certificates of a key, without blanks and comments."""
    found = cast("list[Any]", key.findall("ds:KeyInfo/ds:X509Data/ds:X509Certificate", _NAMES))
    return ["".join(str(one.xpath("string()")).split()) for one in found]


def _ends_of(key: Any, option: str) -> list[float]:
    return [_end_of(body, option) for body in _bodies(key)]


def _is_readable(key: Any) -> bool:
    try:
        _ends_of(key, "")
    except ConfigError:
        return False
    return True


def _end_of(body: str, option: str) -> float:
    try:
        certificate = x509.load_der_x509_certificate(base64.b64decode(body, validate=True))
        is_readable = isinstance(certificate.public_key(), _READABLE)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(option, "a certificate of the provider cannot be read") from error
    if not is_readable:
        raise ConfigError(option, "a certificate of the provider has no RSA, EC or DSA key")
    return certificate.not_valid_after_utc.timestamp()
