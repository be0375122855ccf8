# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One unit's work: its Apache, and where it leads, the objects in Keystone.

Both parts begin with the same facts and fail apart: while one waits for an option the other works.
"""

from collections.abc import Callable
from dataclasses import dataclass

from attributes import REMOTE_ID
from charmkit.errors import CharmkitError, ConfigError, NotReadyError, RelationMissingError
from charmkit.host import Host
from config import SamlOptions
from federation import NEW, Found, Step, Wanted, plan, wanted_grants
from federator import Federator
from gateways import Gateways
from idpmetadata import IdentityProvider
from keeper import Keeper, render
from keystone import Keystone
from mapping import OPTION as RULES
from mapping import MappingText, build_mapping, check_mapping, parse_mapping
from metadatasource import Metadata, find_metadata
from objections import NAME, check
from record import Memory
from relations import FRONT, Relations, model_proxies
from serviceprovider import Provider
from spkeys import OPTION as KEY
from spkeys import KeyRing, import_ring, make_pair
from table import OPTION as TABLE
from table import parse_table
from web import Web


@dataclass(frozen=True, slots=True)
class Prepared:
    """What would be done in Keystone: the steps, and what they were planned from."""

    wanted: Wanted
    found: Found
    steps: tuple[Step, ...]
    federator: Federator


class Campus:
    """The login of one campus at one Keystone, as one unit sees it."""

    def __init__(
        self, gateways: Gateways, host: Host, relations: Relations, options: SamlOptions
    ) -> None:
        self._gateways = gateways
        self._host = host
        self._relations = relations
        self._options = options
        self.keeper = Keeper(host, relations.application)
        self.memory = Memory(host.files, relations.application)
        self._keystone: Keystone | None = None

    def close(self) -> None:
        """Close what is open to Keystone."""
        if self._keystone is not None:
            self._keystone.close()

    def run(self) -> tuple[list[CharmkitError], str]:
        """Do all that can be done; return what stands in the way, and what to say otherwise."""
        _, other = _attempt(self._federate)
        if isinstance(other, ConfigError) and other.option == NAME:
            return [other], ""  # Apache goes on with the name under which logins work.
        note, problem = _attempt(self._serve)
        if problem is None or other is None or str(problem) == str(other):
            return [one for one in (problem or other,) if one is not None], note
        return [problem, other], note

    def read_provider(self) -> Provider:
        """Return the service provider's place.

        Raises:
            RelationMissingError: No relation with keystone.
            RelationIncompleteError: keystone has not said where it is.
        """
        base = self._options.public_url or self._relations.read_front().url
        entity = self.read_ring().entity_id
        return Provider(
            base,
            self._options.idp_name,
            self._options.protocol_name,
            entity,
            is_offloaded=bool(self._options.public_url),
        )

    def read_ring(self) -> KeyRing:
        """Return the keys: those of the operator, or the application's own, made when missing.

        Raises:
            ConfigError: The operator's secret is refused.
            NotReadyError: The leader has not made the key yet.
        """
        name = self.common_name
        if self._options.sp_key:
            content = self._relations.read_secret(self._options.sp_key, KEY)
            return import_ring(content, name, self._host.now())
        ring = self._relations.find_ring()
        if ring is None:
            if not self._relations.is_leader():
                raise NotReadyError(f"{KEY}: waiting for the leader to make it")
            ring = KeyRing(make_pair(name, self._host.now()))
            self._relations.store_ring(ring)
        return ring

    @property
    def common_name(self) -> str:
        """Name in the certificate."""
        return f"{self._relations.application} {self._options.idp_name}"

    def read_metadata(self) -> Metadata:
        """Return the identity provider's metadata that is in use. Raises CharmkitError."""
        web = Web(self._gateways.keystone_transport())
        now = self._host.now()
        return find_metadata(self._options, self.memory, web, model_proxies(), now)

    def connect(self) -> Keystone:
        """Return Keystone as its administrator, once. Raises CharmkitError; sends nothing yet."""
        if self._keystone is None:
            access = self._relations.find_admin(self._options.admin_secret)
            transport = self._gateways.keystone_transport()
            self._keystone = Keystone(access, self._options.keystone_ca, transport)
        return self._keystone

    def read_mapping(self, domain_id: str) -> MappingText | None:
        """Return the mapping: the operator's own, or the table's; None without either.

        Raises:
            ConfigError: It is refused, with the number of the rule.
        """
        if not self._options.mapping_rules.strip():
            table = parse_table(self._options.projects)
            return build_mapping(table, domain_id) if table.claims() else None
        mapping = parse_mapping(self._options.mapping_rules)
        found = check_mapping(mapping, self.keeper.find_release())
        fatal = [finding for finding in found if finding.fatal]
        if fatal:
            raise ConfigError(RULES, str(fatal[0]))
        return mapping

    def prepare(self, provider: IdentityProvider, *, adopt: bool = False) -> Prepared:
        """Return what would be done in Keystone; nothing is written. Raises CharmkitError."""
        options = self._options
        wanted = Wanted(
            self._relations.mark,
            options.federation_domain,
            options.idp_name,
            options.protocol_name,
            provider.entity_id,
            options.authorization_ttl,
            parse_table(options.projects),
            self.read_mapping(NEW),
            adopt,
            self.keeper.find_release(),
        )
        federator = Federator(self.connect(), wanted)
        recorded = self._relations.read_grants()
        domain = federator.read_domain()
        wanted = self._with_domain(wanted, domain["id"] if domain else NEW)
        federator = federator.with_wanted(wanted)
        found = federator.read(domain, recorded)
        check(wanted, found)
        return Prepared(wanted, found, tuple(plan(wanted, found, recorded)), federator)

    def apply(self, provider: IdentityProvider, *, adopt: bool = False) -> tuple[Step, ...]:
        """Bring Keystone to what it should be; return what was done. Raises CharmkitError."""
        prepared = self.prepare(provider, adopt=adopt)
        done = prepared.steps
        if any(step.kind == "domain" for step in done):
            # Ids of the mapping are those of the domain: it comes first, and the rest after it.
            prepared.federator.apply(done[:1], prepared.found)
            prepared = self.prepare(provider, adopt=adopt)
            done = (*done[:1], *prepared.steps)
        prepared.federator.apply(prepared.steps, prepared.found)
        found = prepared.found
        if prepared.steps:
            found = prepared.federator.read(found.domain)
        self._relations.store_grants(wanted_grants(prepared.wanted, found))
        return done

    def _with_domain(self, wanted: Wanted, domain_id: str) -> Wanted:
        return wanted.with_mapping(self.read_mapping(domain_id))

    def _serve(self) -> str:
        self._relations.publish_dashboard(self._options.kubectl_login_url)
        if not self._relations.has_front():
            raise RelationMissingError(FRONT)
        self.keeper.install()
        ring, provider = self.read_ring(), self.read_provider()
        metadata = self.read_metadata()
        content = render(
            self._relations.application,
            provider,
            self._options.choices,
            ring,
            self._options.attributes,
            metadata.provider.lasting,
        )
        is_known = self._relations.read_nonce() == content.nonce
        self.keeper.write(content, is_known=is_known)
        options = self._options
        protocol, label = options.protocol_name, options.user_facing_name
        self._relations.publish_front(protocol, REMOTE_ID, content.nonce)
        self._relations.publish_websso(protocol, options.idp_name, label)
        if metadata.problem is not None:
            raise metadata.problem
        return metadata.note or f"{metadata.provider.entity_id} as {options.idp_name}"

    def _federate(self) -> str:
        if not self._relations.is_leader():
            return ""
        is_empty = not parse_table(self._options.projects).projects
        if not is_empty or self._options.mapping_rules.strip() or self._relations.read_grants():
            self.apply(self.read_metadata().provider)
        if is_empty and not self._options.mapping_rules.strip():
            raise ConfigError(TABLE, "empty, so nobody gets in: name projects, groups and roles")
        return ""


def _attempt(part: Callable[[], str]) -> tuple[str, CharmkitError | None]:
    """Return what a part says, or why it could not be done."""
    try:
        return part(), None
    except CharmkitError as problem:
        return "", problem
