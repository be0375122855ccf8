# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions do and answer. No Juju."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import checks
from attributes import Attributes
from campus import Campus
from charmkit.errors import CharmkitError, ConfigError
from charmkit.host import Host
from checks import Fault
from config import SamlOptions
from keystoneconf import PATH, parse_conf
from mapping import OPTION as RULES
from mapping import MappingText, check_mapping, parse_mapping
from relations import Relations
from rules import Outcome, RuleError, evaluate, find_alike
from serviceprovider import list_files, render_metadata
from spkeys import OPTION, fingerprint, next_step, rotate
from table import LONGEST
from texts import read_text

_SHOWN = 200
"""Items of a list that are shown."""

_LARGEST = 30_000
"""Characters of one result."""


def describe_metadata(campus: Campus, options: SamlOptions) -> dict[str, str]:
    """Return the service provider's metadata and what a campus asks for beside it."""
    ring, provider = campus.read_ring(), campus.read_provider()
    encryption = (ring.current.body,) if options.saml_encryption else ()
    return {
        "metadata": render_metadata(provider, options.choices, ring.signing(), encryption),
        "entity-id": provider.entity,
        "assertion-consumer": provider.consumer,
        "fingerprints": json.dumps([fingerprint(body) for body in ring.signing()]),
    }


def apply_federation(campus: Campus, *, dry_run: bool, adopt: bool) -> dict[str, str]:
    """Bring Keystone to what it should be, or say what would be done."""
    provider = campus.read_metadata().provider
    if dry_run:
        return {"would": _listed(campus.prepare(provider, adopt=adopt).steps)}
    return {"done": _listed(campus.apply(provider, adopt=adopt))}


def validate_mapping(
    campus: Campus, options: SamlOptions, attributes: str, rules: str
) -> dict[str, str]:
    """Return what a login with sample attributes would become.

    Args:
        campus: The campus, for its own mapping.
        options: The options.
        attributes: Name to a value or a list of values, as YAML; SAML names and variables both do.
        rules: Rules to try instead of those in use, as YAML; empty tries those in use.

    Raises:
        CharmkitError: The rules cannot be read.
        ValueError: There are no rules, or a parameter is not what it should be.
    """
    sample = make_sample(read_param("attributes", attributes, dict), options.attributes)
    tried: list[Any] = read_param("rules", rules, list) if rules else []
    given = json.dumps(tried) if tried else ""
    mapping = parse_mapping(given) if given else campus.read_mapping(options.federation_domain)
    if mapping is None:
        raise ValueError("there is no mapping: fill the option projects, or give rules")
    findings = check_mapping(mapping, campus.keeper.find_release(), options.attributes)
    results = {"findings": _listed(findings)}
    fatal = next((str(one) for one in findings if one.fatal), "")
    if fatal:
        return {**results, "login": "refused", "reason": fatal}
    alike = find_alike(mapping.rules, sample)
    results |= {"hint": f"{alike}, names are exact"} if alike else {}
    try:
        outcome = evaluate(mapping.rules, sample, mapping.schema_version)
    except RuleError as error:
        return {**results, "login": "refused", "reason": str(error)}
    if not (outcome.groups or outcome.group_ids or outcome.projects or "hint" in results):
        results["hint"] = "in no group and no project, so this login leads nowhere"
    return {**results, "login": "accepted", **_describe(outcome), "rules": _rules(mapping)}


def read_param(name: str, given: str, kind: type[dict[Any, Any]] | type[list[Any]]) -> Any:
    """Return what the text of a parameter says.

    Juju 4.0 hands a map on as Go prints it, `map[a:b]`, so text is what works everywhere.

    Raises:
        ValueError: It says something of another shape.
    """
    shape, example = ("map", "{NAME: VALUE}") if kind is dict else ("list", "[{local: …}]")
    wanted = f"{name} is no {shape}: juju run … --string-args {name}='{example}'"
    try:
        found: Any = read_text(given, longest=LONGEST)
    except ValueError as error:
        raise ValueError(wanted) from error
    if not isinstance(found, kind):
        raise ValueError(wanted)
    return cast("Any", found)


def make_sample(given: Mapping[str, Any], known: Attributes) -> dict[str, str]:
    """Return sample attributes as Apache would set them: our names, values by semicolons."""
    variables = {saml: name for name, saml in known.variables().items()}
    sample: dict[str, str] = {}
    for name, value in given.items():
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        sample[variables.get(name, name)] = ";".join(map(str, values))
    return sample


def rotate_key(
    campus: Campus, options: SamlOptions, relations: Relations, step: str, now: float
) -> dict[str, str]:
    """Carry out one step of a rotation.

    Raises:
        ValueError: It is not this unit's, or not this step's turn.
    """
    if options.sp_key:
        raise ValueError(f"{OPTION}: the key is the operator's own, put another into its secret")
    if not relations.is_leader():
        raise ValueError("only the leader holds the key, run it there")
    ring = rotate(campus.read_ring(), step, campus.common_name, now)
    relations.store_ring(ring)
    results = {
        "next": f"{_NEXT[next_step(ring)]}",
        "fingerprints": json.dumps([fingerprint(body) for body in ring.signing()]),
    }
    if step == "switch" and options.saml_encryption:
        results["warning"] = "assertions that are encrypted for the former key cannot be read"
    return results


_NEXT = {
    "switch": "give get-sp-metadata to the campus; when it has read it, step=switch",
    "finish": "when the campus signs and encrypts for the new certificate, step=finish",
    "start": "nothing",
}


def run_checks(
    campus: Campus, options: SamlOptions, relations: Relations, host: Host
) -> dict[str, str]:
    """Return everything that could make a login fail, from all that can be looked at."""
    now = host.now()
    faults: list[Fault] = []
    remarks = _check_rules(campus, options)
    try:
        provider = campus.read_provider()
        remarks += checks.find_address_doubt(provider, options.choices)
        faults += checks.check_place(provider, relations.units)
        metadata = campus.read_metadata()
        key_ends = campus.read_ring().current.expires().timestamp()
        faults += checks.check_metadata(metadata.provider, now, key_ends)
        if metadata.note or metadata.problem:
            text = metadata.note or str(metadata.problem)
            faults.append(Fault("IdP metadata", text, "the one that was verified last is used"))
    except CharmkitError as error:
        faults.append(Fault("service provider", str(error), "see the status"))
    conf = host.files.find_text(PATH)
    if conf is not None:
        found = parse_conf(conf)
        faults += checks.check_conf(found, options.protocol_name, options.kubectl_login_url)
    described = describe_faults([*faults, *_check_keystone(campus, now)])
    return {**described, **({"remarks": _listed(remarks)} if remarks else {})}


def _check_rules(campus: Campus, options: SamlOptions) -> list[str]:
    """Return what is hardly meant in an operator's own rules; what is wrong stops them anyhow.

    It is no fault: rules of a site that people log in by may be meant so.
    """
    if not options.mapping_rules.strip():
        return []
    try:
        mapping = parse_mapping(options.mapping_rules)
    except ConfigError:
        return []
    found = check_mapping(mapping, campus.keeper.find_release(), options.attributes)
    return [f"{RULES}: {one}; try it with validate-mapping" for one in found if not one.fatal]


def _check_keystone(campus: Campus, now: float) -> list[Fault]:
    try:
        faults = checks.check_clock([("Keystone", campus.connect().read_server_time())], now)
        faults += _check_catalogue(campus)
        prepared = campus.prepare(campus.read_metadata().provider)
        steps = [str(step) for step in prepared.steps]
        unknown = prepared.federator.find_unknown_groups(prepared.found)
        faults += checks.check_mentions(unknown)
        return [*faults, *checks.check_objects(prepared.wanted, prepared.found, steps)]
    except CharmkitError as error:
        return [Fault("Keystone", str(error), "see the status")]


def _check_catalogue(campus: Campus) -> list[Fault]:
    """Return what the catalogue says otherwise; what keeps it from us is told by the rest."""
    try:
        urls = campus.connect().read_public_urls()
        return checks.check_catalogue(campus.read_provider(), urls)
    except CharmkitError:
        return []


def describe_faults(faults: Iterable[Fault]) -> dict[str, str]:
    """Return faults as an action prints them."""
    texts = [str(fault) for fault in faults]
    return {"result": f"{len(texts)} found" if texts else "ok", "faults": _listed(texts)}


def describe_removal(application: str, options: SamlOptions) -> dict[str, str]:
    """Return what would stay, go and end if the charm were removed."""
    return {
        "goes": "; ".join(list_files(application).values()),
        "stays": f"in Keystone: domain {options.federation_domain} with its groups, projects and "
        f"roles, identity provider {options.idp_name}, mapping and protocol; the Apache module",
        "ends": "campus logins; tokens and application credentials live on until they expire",
        "afterwards": f"openstack identity provider set --disable {options.idp_name} shuts it in "
        "Keystone, too; deployed again, the charm takes its objects up again in the same model",
    }


def _listed(things: Sequence[object]) -> str:
    """Return a list as a person reads it: the first ones, and how many are left out."""
    more = [f"and {len(things) - _SHOWN} more"] if len(things) > _SHOWN else []
    return json.dumps([*map(str, things[:_SHOWN]), *more])


def shorten(results: Mapping[str, str]) -> dict[str, str]:
    """Return results with the end of long ones cut off.

    Juju hands each over as one argument of a program, which Linux ends at 128 KiB.
    """
    return {
        key: text if len(text) <= _LARGEST else f"{text[:_LARGEST]}… ({len(text)} characters)"
        for key, text in results.items()
    }


def _describe(outcome: Outcome) -> Mapping[str, str]:
    return {
        "user": outcome.user,
        "kind": outcome.kind,
        "groups": json.dumps([f"{one.name} ({one.domain})" for one in outcome.groups]),
        "group-ids": json.dumps(outcome.group_ids),
        "projects": json.dumps(dict(outcome.projects)),
        "applied": json.dumps(outcome.applied),
    }


def _rules(mapping: MappingText) -> str:
    return json.dumps(mapping.document(), sort_keys=True)
