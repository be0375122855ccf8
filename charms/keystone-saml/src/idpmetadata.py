# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The identity provider's metadata: parsed safely, verified, reduced to one provider. No network.

XML is read without a DTD, without entities and without network (CVE-2013-1665 and its kin); what
was signed is what is used: after a verification only the element that the signature covers counts.
"""

import base64
import datetime
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from lxml import etree as _etree  # pyright: ignore - the library has no types

from charmkit.errors import ConfigError

etree: Any = _etree  # pyright: ignore - the same

LIMIT = 32 * 1024 * 1024
"""Bytes; aggregates of whole federations are larger, and their single providers have URLs."""

_MD = "urn:oasis:names:tc:SAML:2.0:metadata"
_DS = "http://www.w3.org/2000/09/xmldsig#"
_NAMES = {"md": _MD, "ds": _DS}
_BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:"
_FLEETING = ("ID", "validUntil", "cacheDuration")
REDIRECT, POST, SOAP = (f"{_BINDING}{name}" for name in ("HTTP-Redirect", "HTTP-POST", "SOAP"))
_SAML2 = "urn:oasis:names:tc:SAML:2.0:protocol"


@dataclass(frozen=True, slots=True)
class Trust:
    """What makes a document trustworthy; empty fields are not checked.

    Attributes:
        sha256: Digest of the whole document, lower-case hex.
        certificate: PEM of the certificate that signed it.
    """

    sha256: str = ""
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """One identity provider.

    Attributes:
        entity_id: Keystone's remote id.
        text: Its EntityDescriptor, as Apache reads it.
        bindings: Bindings of single sign-on that it offers.
        expires: End of its metadata's validity in epoch seconds; 0 when it has none.
        certificate_ends: When its last signing certificate ends, in epoch seconds.
    """

    entity_id: str
    text: str
    bindings: tuple[str, ...]
    expires: float
    certificate_ends: float

    @property
    def has_ecp(self) -> bool:
        """Whether a client without a browser can log in."""
        return SOAP in self.bindings

    @property
    def lasting(self) -> str:
        """The text without what differs each time that a campus signs it: dates, ids, signatures.

        Apache restarts for a new text, and none of this means anything to it.
        """
        root = etree.fromstring(self.text.encode())
        for element in (root, *root.findall("md:IDPSSODescriptor", _NAMES)):
            for name in _FLEETING:
                element.attrib.pop(name, None)
            for signature in element.findall("ds:Signature", _NAMES):
                element.remove(signature)
        return etree.tostring(root, encoding="unicode")


def read_metadata(
    document: str, trust: Trust, *, option: str, entity_id: str = "", now: float = 0.0
) -> IdentityProvider:
    """Return the identity provider of a document.

    Args:
        document: The whole document.
        trust: How it is verified.
        option: Option that the document comes from, for messages.
        entity_id: Which provider of several; empty where there is one.
        now: Epoch seconds.

    Raises:
        ConfigError: It is not XML, not trustworthy, not valid now, or has no such provider.
    """
    _check_digest(document, trust.sha256, option)
    document = document.lstrip()  # Blanks before its declaration make an XML document none.
    root = _parse(document, option)
    if trust.certificate:
        root = _verified(document, trust.certificate, option)
    descriptor = _choose(root, entity_id, option)
    ends = [_valid_until(element, option) for element in (root, descriptor)]
    expires = min([end for end in ends if end], default=0.0)
    if expires and expires <= now:
        day = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc).date()
        raise ConfigError(option, f"the document was valid until {day}: fetch a newer one")
    return _describe(descriptor, expires, option)


def digest_of(document: str) -> str:
    """Return the SHA-256 of a document in hex."""
    return hashlib.sha256(document.encode()).hexdigest()


def _check_digest(document: str, wanted: str, option: str) -> None:
    # A shell takes the last line's end away from a file that is handed over as an option.
    found = [digest_of(text) for text in (document, f"{document}\n")]
    if wanted and wanted not in found:
        raise ConfigError(option, f"its sha256 is {found[0][:16]}..., not {wanted[:16]}...")


def _parse(document: str, option: str) -> Any:
    if document.startswith(("https://", "http://")):
        raise ConfigError(option, "is a URL, set idp-metadata-url to it")
    if re.match(r"(?i)<(!doctype html|html)\b", document):
        raise ConfigError(option, "an HTML page, not metadata: does it want a login?")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        root = etree.fromstring(document.encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ConfigError(option, f"not XML: {str(error).splitlines()[0]}") from error
    if root.getroottree().docinfo.doctype:
        raise ConfigError(option, "the document has a DTD, metadata never does")
    return root


def _verified(document: str, certificate: str, option: str) -> Any:
    """Return the element that a signature of the certificate covers."""
    # Loaded only where a signature is asked for: it takes a tenth of a second.
    from signxml.exceptions import InvalidInput, InvalidSignature
    from signxml.verifier import SignatureConfiguration, XMLVerifier

    verifier: Any = XMLVerifier()
    expected = SignatureConfiguration(location="./", expect_references=1)
    try:
        result: Any = verifier.verify(
            document.encode(), x509_cert=certificate, id_attribute="ID", expect_config=expected
        )
    except (InvalidSignature, InvalidInput, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "forbidden by configuration" in reason:
            reason = "SHA-1, ask the campus for SHA-256" if "SHA1" in reason else "a weak method"
        raise ConfigError(option, f"the signature is not valid: {reason}") from error
    signed = result.signed_xml
    if signed is None or etree.QName(signed).namespace != _MD:
        raise ConfigError(option, "the signature covers no metadata")
    return signed


def _choose(root: Any, entity_id: str, option: str) -> Any:
    tag = f"{{{_MD}}}EntityDescriptor"
    found = [root] if root.tag == tag else list(root.iter(tag))
    found = [one for one in found if one.find("md:IDPSSODescriptor", _NAMES) is not None]
    names = [one.get("entityID", "") for one in found]
    if entity_id:
        found = [one for one in found if one.get("entityID") == entity_id]
    if not found:
        if entity_id:
            known = f"the metadata has {names[0]}" if names else "the metadata has none"
            raise ConfigError("idp-entity-id", f"no {entity_id[:40]}, {known}")
        raise ConfigError(option, "no identity provider in it")
    if len(found) > 1:
        raise ConfigError("idp-entity-id", f"choose one of {len(names)}, such as {names[0]}")
    return found[0]


def _describe(descriptor: Any, expires: float, option: str) -> IdentityProvider:
    entity = descriptor.get("entityID", "")
    role = _find_role(descriptor, option)
    services = role.findall("md:SingleSignOnService", _NAMES)
    bindings = tuple(service.get("Binding", "") for service in services)
    ends = [_end_of(text, option) for text in _certificates(role)]
    if not entity:
        raise ConfigError(option, "the provider has no entityID")
    if not ends:
        raise ConfigError(option, "the provider has no signing certificate")
    if not {REDIRECT, POST} & set(bindings):
        raise ConfigError(option, "the provider has no single sign-on for browsers")
    if expires:  # An aggregate's end is its providers' too, and is kept with them.
        end = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc)
        descriptor.set("validUntil", end.isoformat())
    text = etree.tostring(descriptor, encoding="unicode", with_tail=False)
    return IdentityProvider(entity, text, bindings, expires, max(ends))


def _find_role(descriptor: Any, option: str) -> Any:
    """Return the part of a provider that speaks SAML 2, which may have another for SAML 1.

    Source: lasso, lasso/saml-2.0/provider.c, load_descriptor: only with exactly this word.
    """
    roles = descriptor.findall("md:IDPSSODescriptor", _NAMES)
    spoken = [role.get("protocolSupportEnumeration", "").split() for role in roles]
    for role, words in zip(roles, spoken, strict=True):
        if _SAML2 in words:
            return role
    if any(spoken):
        raise ConfigError(option, "the provider speaks SAML 1 alone, Apache's module does not")
    raise ConfigError(option, "the provider has no protocolSupportEnumeration, Apache needs it")


def _certificates(role: Any) -> Sequence[str]:
    found: list[str] = []
    for key in role.findall("md:KeyDescriptor", _NAMES):
        if key.get("use", "signing") == "signing":
            texts = key.findall(".//ds:X509Certificate", _NAMES)
            found += ["".join((one.text or "").split()) for one in texts]
    return found


def _end_of(body: str, option: str) -> float:
    try:
        certificate = x509.load_der_x509_certificate(base64.b64decode(body))
    except ValueError as error:
        raise ConfigError(option, "a certificate of the provider cannot be read") from error
    return certificate.not_valid_after_utc.timestamp()


def _valid_until(element: Any, option: str) -> float:
    text = str(element.get("validUntil", "")).strip()
    if not text:
        return 0.0
    # ADFS writes seven digits of a second; Python before 3.11 reads three or six alone.
    plain = re.sub(r"\.\d+", "", text).replace("Z", "+00:00")
    try:
        moment = datetime.datetime.fromisoformat(plain)
    except ValueError as error:
        raise ConfigError(option, f"validUntil {text[:30]!r} is no time") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    try:
        return moment.timestamp()
    except OverflowError as error:
        raise ConfigError(option, f"validUntil {text[:30]!r} is no time") from error
