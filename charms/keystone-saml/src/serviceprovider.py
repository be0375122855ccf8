# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service provider: its names, its metadata, what Apache is told. Pure.

Wire format of keystone-saml-mellon 5dee7e8, so that an identity provider that knows the old charm
knows this one: paths, entityID, bindings and files are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import jinja2

FOLDER = "/etc/apache2/mellon"
GROUP = "www-data"
_TEMPLATES = Path(__file__).parent / "templates"
_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_TEMPLATES),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - Apache's syntax; values in XML go through the filters below
)
_ENVIRONMENT.filters |= {"xml": escape, "xmlattr": quoteattr}


@dataclass(frozen=True, slots=True)
class Provider:
    """Where the service provider is.

    Attributes:
        base: Public URL of Keystone with scheme and port, without a slash at the end.
        idp: Id of the identity provider in Keystone.
        protocol: Id of the protocol in Keystone.
        entity_id: An imported entityID; empty means the one that follows from the paths.
        is_offloaded: Whether something in front of Apache may speak another scheme or port.
    """

    base: str
    idp: str
    protocol: str
    entity_id: str = ""
    is_offloaded: bool = False

    @property
    def auth_path(self) -> str:
        """Path that answers a login with an unscoped token."""
        return f"/v3/OS-FEDERATION/identity_providers/{self.idp}/protocols/{self.protocol}/auth"

    @property
    def mellon_path(self) -> str:
        """Path below which mod_auth_mellon answers."""
        return f"{self.auth_path}/mellon"

    @property
    def websso_paths(self) -> tuple[str, str]:
        """Paths of a browser's login: by protocol, and by provider and protocol."""
        federation = "/v3/auth/OS-FEDERATION"
        return (
            f"{federation}/websso/{self.protocol}",
            f"{federation}/identity_providers/{self.idp}/protocols/{self.protocol}/websso",
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that needs a login."""
        return (self.auth_path, *self.websso_paths)

    @property
    def entity(self) -> str:
        """EntityID by which the identity provider knows us."""
        return self.entity_id or f"{self.base}{self.auth_path}"

    @property
    def consumer(self) -> str:
        """Where the identity provider sends the browser with its answer."""
        return f"{self.base}{self.mellon_path}/postResponse"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the options say about the conversation with the identity provider."""

    nameid_formats: tuple[str, ...]
    requests_signed: bool
    assertions_signed: bool
    encryption: bool
    address_check: bool
    cross_site_cookies: bool
    discovery_url: str = ""


def list_files(application: str) -> dict[str, str]:
    """Return the paths of the files, by what they hold."""
    kinds = {"idp": "idp-meta.{}.xml", "sp": "sp-meta.{}.xml", "key": "sp-pk.{}.pem"}
    kinds["location"] = "sp-location.{}.conf"
    return {kind: f"{FOLDER}/{name.format(application)}" for kind, name in kinds.items()}


def render_metadata(
    provider: Provider, choices: Choices, signing: Sequence[str], encryption: Sequence[str]
) -> str:
    """Return the metadata document that the identity provider is given.

    Args:
        provider: The service provider.
        choices: The options.
        signing: Base64 certificates; two while a key is rotated.
        encryption: Base64 certificates that assertions may be encrypted for.
    """
    return _ENVIRONMENT.get_template("sp-metadata.xml").render(
        provider=provider, choices=choices, signing=signing, encryption=encryption
    )


def render_locations(
    provider: Provider,
    choices: Choices,
    files: Mapping[str, str],
    variables: Mapping[str, str],
) -> str:
    """Return the part of Apache's configuration that keystone includes.

    Args:
        provider: The service provider.
        choices: The options.
        files: As `list_files` returns them.
        variables: Name in Keystone's environment to the SAML attribute.
    """
    return _ENVIRONMENT.get_template("sp-location.conf").render(
        provider=provider, choices=choices, files=files, variables=variables
    )
