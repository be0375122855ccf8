# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options as typed values."""

import base64
import binascii
import re
from typing import Any
from urllib.parse import urlsplit

import pydantic

from attributes import Attributes, parse_attributes
from charmkit.config import Options
from idpmetadata import Trust
from placeholders import find_placeholder
from serviceprovider import Choices

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_URL = re.compile(r"https?://[^\s\"'<>\\]+")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_METHODS = frozenset(
    [
        "application_credential",
        "ec2credential",
        "external",
        "kerberos",
        "oauth1",
        "password",
        "token",
        "totp",
    ]
)
"""Ways to log in that Keystone has and that are no federation. Source: Keystone 30.0.0, entry
points of keystone.auth.*; a protocol of such a name would take the way's place."""

_CLOUDS_OWN = frozenset(("admin_domain", "service_domain"))
"""Domains of the cloud's administrators and services. Source: charm-keystone, ADMIN_DOMAIN and
SERVICE_DOMAIN of keystone_utils.py."""

_FORMAT = re.compile(r"[A-Za-z0-9:._/-]{1,255}")
_LABEL = re.compile(r"[^\"\\]{1,100}")
"""The dashboard's charm writes it between quotes into a Python file (local_settings.py)."""

_LONGEST_LIFE = 525_600
"""Minutes: a year."""


class SamlOptions(Options):
    """What the operator asks for, in the order of charmcraft.yaml."""

    idp_name: str
    protocol_name: str
    user_facing_name: str
    idp_metadata: str
    idp_metadata_url: str
    idp_metadata_sha256: str
    idp_metadata_certificate: str
    idp_entity_id: str
    idp_ca: str
    public_url: str
    sp_key: str = ""
    attributes: Attributes
    federation_domain: str = pydantic.Field(min_length=1)
    projects: str
    mapping_rules: str
    authorization_ttl: int = pydantic.Field(ge=0, le=_LONGEST_LIFE)
    admin_secret: str = ""
    keystone_ca: str
    kubectl_login_url: str
    nameid_formats: tuple[str, ...]
    saml_encryption: bool
    subject_confirmation_data_address_check: bool
    authn_requests_signed: bool
    want_assertions_signed: bool
    idp_discovery_service_url: str
    allow_cross_site_cookies: bool

    @property
    def trust(self) -> Trust:
        """How metadata from a URL is verified."""
        return Trust(self.idp_metadata_sha256, self.idp_metadata_certificate)

    @property
    def choices(self) -> Choices:
        """What Apache and the identity provider are told."""
        return Choices(
            self.nameid_formats,
            self.authn_requests_signed,
            self.want_assertions_signed,
            self.saml_encryption,
            self.subject_confirmation_data_address_check,
            self.allow_cross_site_cookies,
            self.idp_discovery_service_url,
        )

    @pydantic.field_validator("idp_name", "protocol_name")
    @classmethod
    def _check_id(cls, text: str) -> str:
        if not _ID.fullmatch(text):
            raise ValueError(f"{text[:30]!r} is no id: letters, digits, dots, dashes, at most 64")
        return text

    @pydantic.field_validator("protocol_name")
    @classmethod
    def _check_protocol(cls, text: str) -> str:
        if text in _METHODS:
            raise ValueError(f"{text} is another way to log in of Keystone's, as in saml2")
        return text

    @pydantic.field_validator("user_facing_name")
    @classmethod
    def _check_label(cls, text: str) -> str:
        if not _LABEL.fullmatch(text) or not text.isprintable() or not text.strip():
            raise ValueError("write 1 to 100 characters, no quotation mark and no backslash")
        return text

    @pydantic.field_validator("idp_entity_id")
    @classmethod
    def _check_entity(cls, text: str) -> str:
        if len(text) > 1024 or not text.isprintable() or " " in text:
            raise ValueError("write the entityID as the metadata has it, at most 1024 characters")
        return text

    @pydantic.field_validator("federation_domain")
    @classmethod
    def _check_domain(cls, text: str) -> str:
        if text.lower() == "federated":
            raise ValueError("Keystone keeps the name Federated for itself, choose another")
        if text.lower() in _CLOUDS_OWN:
            raise ValueError(f"{text} is the cloud's own, as in campus")
        if text != text.strip() or len(text) > 64 or not text.isprintable():
            raise ValueError(f"{text[:30]!r} is no name of a domain, at most 64 characters")
        return text

    @pydantic.field_validator("federation_domain", "user_facing_name")
    @classmethod
    def _check_filled(cls, text: str) -> str:
        left_over = find_placeholder(text)
        if left_over:
            raise ValueError(f"contains unrendered {left_over[:40]}")
        return text

    @pydantic.field_validator("idp_metadata_sha256")
    @classmethod
    def _check_digest(cls, text: str) -> str:
        # sha256sum writes the file's name behind it.
        digest = text.strip().partition(" ")[0].replace(":", "").lower()
        if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise ValueError("write 64 hex digits, as sha256sum prints them")
        return digest

    @pydantic.field_validator("idp_metadata_certificate", "idp_ca", "keystone_ca")
    @classmethod
    def _check_pem(cls, text: str) -> str:
        return _pem(text)

    @pydantic.field_validator("idp_metadata_url")
    @classmethod
    def _check_sources(cls, url: str, others: pydantic.ValidationInfo) -> str:
        if url and others.data.get("idp_metadata"):
            raise ValueError("set it or idp-metadata, not both")
        return url

    @pydantic.field_validator("idp_metadata_certificate")
    @classmethod
    def _check_trust(cls, certificate: str, others: pydantic.ValidationInfo) -> str:
        digest = others.data.get("idp_metadata_sha256")
        if others.data.get("idp_metadata_url") and not certificate and not digest:
            raise ValueError("set it or idp-metadata-sha256, a URL alone proves nothing")
        return certificate

    @pydantic.field_validator("idp_metadata_url", "idp_discovery_service_url", "kubectl_login_url")
    @classmethod
    def _check_url(cls, text: str) -> str:
        if text and not _URL.fullmatch(text):
            raise ValueError("write a URL that begins with https:// or http://")
        if "@" in urlsplit(text).netloc:
            raise ValueError("has a name or a password in it, which everybody can read here")
        return text

    @pydantic.field_validator("kubectl_login_url")
    @classmethod
    def _check_page(cls, text: str) -> str:
        parts = urlsplit(text)
        if text and parts.hostname not in _LOOPBACK:
            raise ValueError("tokens are sent there, write one of localhost")
        if text and not parts.path.startswith("/"):
            raise ValueError("needs a path, as in http://localhost:9990/auth/websso/")
        return text

    @pydantic.field_validator("public_url")
    @classmethod
    def _check_base(cls, text: str) -> str:
        url = text.rstrip("/").removesuffix("/v3")
        parts = urlsplit(url)
        is_plain = not parts.path and not parts.query and "@" not in parts.netloc
        if url and (not _URL.fullmatch(url) or not is_plain):
            raise ValueError(
                "write scheme, host and port alone, such as https://sso.example.edu:5000"
            )
        return url

    @pydantic.field_validator("attributes", mode="before")
    @classmethod
    def _parse_attributes(cls, text: Any) -> Attributes:
        return parse_attributes(str(text))

    @pydantic.field_validator("nameid_formats", mode="before")
    @classmethod
    def _parse_formats(cls, text: Any) -> tuple[str, ...]:
        formats = tuple(part.strip() for part in str(text).split(",") if part.strip())
        for one in formats:
            if not _FORMAT.fullmatch(one):
                raise ValueError(f"{one[:40]!r} is no name of a format")
        if not formats:
            raise ValueError("names no format")
        return formats


def _pem(text: str) -> str:
    """Return PEM text of an option that holds PEM, or PEM in base64."""
    found = text.strip()
    if found and "-----BEGIN CERTIFICATE-----" not in found:
        try:
            found = base64.b64decode("".join(found.split()), validate=True).decode().strip()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError("write PEM certificates, or the same in base64") from error
    if found and "-----BEGIN CERTIFICATE-----" not in found:
        raise ValueError("write PEM certificates, or the same in base64")
    return f"{found}\n" if found else ""
