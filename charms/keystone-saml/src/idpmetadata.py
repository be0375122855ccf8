# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The identity provider's metadata: parsed safely, verified, reduced to one provider. No network.

XML is read without a DTD, without entities and without network (CVE-2013-1665 and its kin); what
was signed is what is used: after a verification only the element that the signature covers counts.
"""

import datetime
import hashlib
import re
import string
from dataclasses import dataclass
from typing import Any

from lxml import etree as _etree  # pyright: ignore - the library has no types

from charmkit.errors import ConfigError
from idpdescriptor import POST, REDIRECT, SOAP, find_role, read_ends, reduce_descriptor

etree: Any = _etree  # pyright: ignore - the same

LIMIT = 32 * 1024 * 1024
"""Bytes; aggregates of whole federations are larger, and their single providers have URLs."""

_MD = "urn:oasis:names:tc:SAML:2.0:metadata"
_DS = "http://www.w3.org/2000/09/xmldsig#"
_NAMES = {"md": _MD, "ds": _DS}
_BLANKS = f"\ufeff{string.whitespace}"
_DECLARATION = re.compile(r"\A<\?xml\s[^>]*\?>\s*")
_LAST = 253402300799.0
"""The end of the year 9999, in epoch seconds; a time zone may lead beyond it."""
_FLEETING = ("ID", "validUntil", "cacheDuration")


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
        text: What Apache reads: its EntityDescriptor with the part that logins need, and no other.
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
    # Blanks before its declaration make an XML document none; and which bytes it says to be in is
    # not so any more: this is text.
    document = _DECLARATION.sub("", document.lstrip(_BLANKS))
    root = _parse(document, option)
    if trust.certificate:
        root = _verified(document, trust.certificate, option)
    descriptor = _choose(root, entity_id, option)
    role = find_role(descriptor, option)
    within = (role, descriptor, *descriptor.iterancestors())
    ends = [_valid_until(element, option) for element in within]
    expires = min([end for end in ends if end], default=0.0)
    if expires and expires <= now:
        day = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc).date()
        raise ConfigError(option, f"the document was valid until {day}: fetch a newer one")
    return _describe(descriptor, role, expires, option)


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


def _describe(descriptor: Any, role: Any, expires: float, option: str) -> IdentityProvider:
    entity = descriptor.get("entityID", "")
    if not entity.strip():
        raise ConfigError(option, "the provider has no entityID")
    ends = read_ends(role, option)
    if not ends:
        raise ConfigError(option, "the provider has no signing certificate")
    bindings = reduce_descriptor(descriptor, role)
    if not {REDIRECT, POST} & set(bindings):
        raise ConfigError(option, "the provider has no single sign-on for browsers")
    if expires:  # An aggregate's end is its providers' too, and is kept with them.
        end = datetime.datetime.fromtimestamp(expires, datetime.timezone.utc)
        descriptor.set("validUntil", end.isoformat())
    text = etree.tostring(descriptor, encoding="unicode", with_tail=False)
    return IdentityProvider(entity, text, bindings, expires, max(ends))


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
        return min(moment.timestamp(), _LAST)
    except OverflowError as error:
        raise ConfigError(option, f"validUntil {text[:30]!r} is no time") from error
