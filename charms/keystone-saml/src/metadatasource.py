# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where the identity provider's metadata comes from, and what is kept when it does not come."""

import dataclasses
import datetime
import hashlib
from dataclasses import dataclass

from charmkit.errors import CharmkitError, ConfigError, NotReadyError
from config import SamlOptions
from idpmetadata import LIMIT, IdentityProvider, Trust, read_metadata
from proxies import Proxies, choose_proxy
from record import Memory, Record
from web import Web

TEXT, URL = "idp-metadata", "idp-metadata-url"
REFRESH = 3600.0
"""Seconds between two looks at the URL, an hour as federations commonly ask for."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is in use.

    Attributes:
        provider: The identity provider.
        note: What an operator should know though all works; empty for nothing.
        problem: What an operator must mend though logins still work.
    """

    provider: IdentityProvider
    note: str = ""
    problem: CharmkitError | None = None


def find_metadata(
    options: SamlOptions, memory: Memory, web: Web, proxies: Proxies, now: float
) -> Metadata:
    """Return the metadata to use: the operator's text, or the newest verified of the URL.

    Args:
        options: The options.
        memory: Where what was verified last is kept.
        web: What fetches a URL.
        proxies: The model's proxy settings.
        now: Epoch seconds.

    Raises:
        CharmkitError: There is none, and none was kept.
    """
    if options.idp_metadata:
        trust = Trust(options.idp_metadata_sha256, options.idp_metadata_certificate)
        return Metadata(_read(options.idp_metadata, trust, TEXT, options, now))
    if not options.idp_metadata_url:
        raise ConfigError(URL, "set it, or idp-metadata, to the identity provider's metadata")
    record, source = memory.read(), _source(options)
    if record.source == source and record.metadata and now < record.fetched + REFRESH:
        return Metadata(_read(record.metadata, Trust(), URL, options, now))
    try:
        return Metadata(_fetch(options, memory, web, proxies, now))
    except CharmkitError as error:
        if not record.metadata:
            raise
        return _kept(record, options, error, now)


def _fetch(
    options: SamlOptions, memory: Memory, web: Web, proxies: Proxies, now: float
) -> IdentityProvider:
    url = options.idp_metadata_url
    proxy = choose_proxy(url, proxies)
    document = web.read(url, option=URL, ca=options.idp_ca, proxy=proxy, limit=LIMIT)
    provider = _read(document, options.trust, URL, options, now)
    record = dataclasses.replace(
        memory.read(), metadata=provider.text, source=_source(options), fetched=now
    )
    memory.write(record)
    return provider


def _kept(record: Record, options: SamlOptions, error: CharmkitError, now: float) -> Metadata:
    """Return what was kept; its own validity is in what was verified then."""
    provider = read_metadata(record.metadata, Trust(), option=URL, now=now)
    if isinstance(error, NotReadyError) and record.source == _source(options):
        moment = datetime.datetime.fromtimestamp(record.fetched, datetime.timezone.utc)
        return Metadata(provider, f"IdP metadata of {moment:%Y-%m-%d %H:%M} kept: {error}")
    return Metadata(provider, problem=error)


def _read(
    document: str, trust: Trust, option: str, options: SamlOptions, now: float
) -> IdentityProvider:
    return read_metadata(document, trust, option=option, entity_id=options.idp_entity_id, now=now)


def _source(options: SamlOptions) -> str:
    parts = (options.idp_metadata_url, options.idp_entity_id, *dataclasses.astuple(options.trust))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
