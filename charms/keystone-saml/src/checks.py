# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The action `check`: what could make a login fail, each fault with its fix. Pure."""

import email.utils
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from attributes import GROUPS, REMOTE_ID, USER
from federation import Found, Wanted
from idpmetadata import IdentityProvider
from keystoneconf import KeystoneConf
from mapping import OPTION as RULES
from mentions import Mention
from serviceprovider import Choices, Provider

SKEW = 60.0
"""Seconds ahead that mod_auth_mellon forgives (0.18.1, measured: +45 s ok, +90 s not)."""

_SOON = 30 * 86400.0


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what it is about, what is wrong, what to do."""

    topic: str
    text: str
    fix: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.text}; {self.fix}"


def check_place(provider: Provider, units: int) -> list[Fault]:
    """Return faults of the public name: scheme, several units, entityID.

    Args:
        provider: The service provider.
        units: How many there are to be.
    """
    faults: list[Fault] = []
    if provider.base.startswith("http:"):
        text = f"{provider.base} is not https, cookies and assertions travel in the clear"
        faults.append(Fault("public-url", text, "relate keystone:certificates, or set public-url"))
    if units > 1 and not provider.is_offloaded:
        text = f"{units} units: each may have an entityID of its own, the campus knows one"
        fix = "set public-url to the load balancer's URL, and let it keep a browser at one unit"
        faults.append(Fault("public-url", text, fix))
    own = f"{provider.base}{provider.auth_path}"
    if provider.entity_id and provider.entity_id != own:
        text = f"entityID {provider.entity_id} is not where the service is"
        faults.append(Fault("sp-key", text, "nothing, if the identity provider knows it by that"))
    return faults


def check_catalogue(provider: Provider, urls: Sequence[str]) -> list[Fault]:
    """Return that browsers may know Keystone by another name; what an operator set is meant so.

    Args:
        provider: The service provider.
        urls: Keystone's public endpoints.
    """
    known = {_place(url) for url in urls}
    if provider.is_offloaded or not known or _place(provider.base) in known:
        return []
    text = f"the catalogue says {urls[0]}, the service provider {provider.base}"
    return [Fault("public-url", text, "set public-url to what browsers use")]


def find_address_doubt(provider: Provider, choices: Choices) -> list[str]:
    """Return what a load balancer in front makes of the comparison of addresses."""
    if not (provider.is_offloaded and choices.address_check):
        return []
    seen = "Apache may see the load balancer's address where the campus saw the browser's"
    fix = "if logins end in 400, set subject-confirmation-data-address-check=false"
    return [f"public-url: {seen}; {fix}"]


def _place(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a URL; of a text that is none, nothing."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", "", 0
    return parts.scheme, parts.hostname or "", port or (443 if parts.scheme == "https" else 80)


def check_metadata(idp: IdentityProvider, now: float, key_ends: float) -> list[Fault]:
    """Return what ends soon, and what the identity provider does not offer."""
    faults: list[Fault] = []
    ends = (
        ("IdP metadata", idp.expires, "fetch or publish a newer one"),
        ("IdP certificate", idp.certificate_ends, "ask the campus for its roll-over"),
        ("SP certificate", key_ends, "run rotate-sp-key step=start"),
    )
    for what, moment, fix in ends:
        if moment and moment < now + _SOON:
            faults.append(Fault(what, _ends_in(moment - now), fix))
    if not idp.has_ecp:
        text = "offers no SOAP single sign-on, so that only browsers can log in"
        faults.append(Fault("ECP", text, "nothing, if kubectl logs in by browser"))
    return faults


def check_clock(dates: Iterable[tuple[str, str]], now: float) -> list[Fault]:
    """Return clocks that differ too much.

    Args:
        dates: Name of a server and the Date header of its answer; empty where it gave none.
        now: This machine's clock, epoch seconds.
    """
    faults: list[Fault] = []
    for name, date in dates:
        if not date:
            continue
        try:
            skew = email.utils.parsedate_to_datetime(date).timestamp() - now
        except ValueError:
            continue
        if abs(skew) > SKEW:
            text = f"{name} is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
            faults.append(Fault("clock", text, "let both sides follow NTP"))
    return faults


def check_conf(conf: KeystoneConf, protocol: str, kubectl_url: str) -> list[Fault]:
    """Return faults of keystone.conf."""
    faults: list[Fault] = []
    if protocol not in conf.methods():
        text = f"[auth] methods lacks {protocol}, so each login is 401"
        faults.append(Fault("auth methods", text, "relate keystone-fid-service-provider, wait"))
    remote = conf.last(protocol, "remote_id_attribute") or conf.last(
        "federation", "remote_id_attribute"
    )
    if remote != REMOTE_ID:
        text = f"remote_id_attribute is {remote or 'not set'}, not {REMOTE_ID}"
        faults.append(Fault("remote id", text, "relate keystone-fid-service-provider, wait"))
    trusted = conf.all("federation", "trusted_dashboard")
    if kubectl_url and kubectl_url not in trusted:
        text = f"{kubectl_url} is not trusted (trusted: {', '.join(trusted) or 'none'})"
        faults.append(Fault("trusted dashboards", text, "relate websso-trusted-dashboard"))
    prefix = conf.last("federation", "assertion_prefix")
    if prefix and not (USER.startswith(prefix) and GROUPS.startswith(prefix)):
        text = f"[federation] assertion_prefix {prefix} hides {USER} and {GROUPS}"
        faults.append(Fault("attributes", text, "unset it, the service provider sets its own"))
    if conf.last("cache", "backend") == "dogpile.cache.memory":
        text = "each process has its own cache, so that revoked tokens live on"
        faults.append(Fault("cache", text, "set enable-cache=true on keystone, for memcached"))
    return [*faults, *_check_lives(conf)]


_ADMIN = "admin"
"""On any project it is the role of the cloud's administrators: Keystone's rule admin_required and
those of other services ask for the role alone (launchpad 968696)."""

_OK = "nothing, if that group administers the cloud"


def check_objects(wanted: Wanted, found: Found, missing: Sequence[str]) -> list[Fault]:
    """Return faults of the objects in Keystone.

    Args:
        wanted: What should be there.
        found: What is there.
        missing: Steps that `apply-federation` would take.
    """
    faults = [Fault("federation", step, "run apply-federation") for step in missing]
    faults += [
        Fault("projects", f"{row.name} has {_ADMIN} on {project.name}, so on the whole cloud", _OK)
        for project in wanted.table.projects
        for row in project.groups
        if _ADMIN in row.roles
    ]
    provider = found.provider
    if provider is None:
        return faults
    if not provider.get("enabled"):
        text = f"identity provider {wanted.idp} is disabled in Keystone, so each login is 403"
        faults.append(
            Fault("federation", text, f"openstack identity provider set --enable {wanted.idp}")
        )
    if wanted.remote_id not in (provider.get("remote_ids") or []):
        text = f"Keystone knows {provider.get('remote_ids')}, the metadata says {wanted.remote_id}"
        faults.append(Fault("entity ids", text, "run apply-federation"))
    if not wanted.ttl:
        text = "authorization-ttl is 0: no application credentials, groups in the token only"
        faults.append(Fault("lives", text, "set it to a working day, 720"))
    return faults


def check_mentions(unknown: Iterable[Mention]) -> list[Fault]:
    """Return groups by name that rules give and Keystone has not, which it leaves out."""
    return [
        Fault(
            RULES,
            f"rule {one.rule}: group {one.name}: domain {one.domain} has none, it gives nothing",
            "make it, or correct its name",
        )
        for one in unknown
    ]


def _ends_in(seconds: float) -> str:
    days = round(seconds / 86400)
    if seconds <= 0:
        return "has ended"
    return f"ends in {days} day{'s' * (days != 1)}" if days else "ends today"


def _check_lives(conf: KeystoneConf) -> list[Fault]:
    text = conf.last("token", "expiration", "3600")
    seconds = int(text) if text.isdecimal() else 3600
    if seconds > 8 * 3600:
        what = f"tokens live {seconds // 3600} h, and a logout at the campus does not end them"
        return [Fault("lives", what, "set token-expiration=3600 on keystone")]
    return []
