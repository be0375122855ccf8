# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The unit's relations, options and secrets as values; what is published."""

from collections.abc import Mapping

import ops

from assembly import Inputs
from broker import Answer, find_answer, request_id
from cephkey import key_type
from charmkit.access import SECRET_OPTION, find_ways
from charmkit.config import load
from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ConfigError, RelationIncompleteError
from charmkit.files import Files
from config import DEFAULTS, CephCsiOptions
from offers import Offer, read_offer
from s3 import Bucket, parse_bucket

HOST = "host"
KUBE_CONTROL = "kube-control"
CEPH_CLIENT = "ceph-client"
S3 = "s3"

LEAVING = (HOST, KUBE_CONTROL, CEPH_CLIENT, S3)
"""Whichever is left first tells a unit that it goes."""

EXTERNAL_KEYS = "external-keys"
ENCRYPTION = "encryption-secret"
S3_SECRET = "s3-secret"  # noqa: S105 - the option's name

_CLOSED = "cannot be read, run juju grant-secret for it, then sync"


def load_options(charm: ops.CharmBase) -> tuple[CephCsiOptions, ConfigError | None]:
    """Return the options, or the defaults and what is wrong: a bad value stops no clean-up."""
    try:
        return load(charm, CephCsiOptions), None
    except ConfigError as error:
        # Actions still work then, and they work on the same cluster as before.
        identifier = charm.config.get(SECRET_OPTION)
        return DEFAULTS.model_copy(update={"cluster_secret": identifier}), error


def read_inputs(charm: ops.CharmBase, files: Files, *, sweep: bool) -> Inputs:
    """Return what Juju tells about this unit, and ask for access to the cluster."""
    options, refused = load_options(charm)
    problems: list[CharmkitError] = []
    ways = _find_cluster(charm, files, options)
    if isinstance(ways[1], ConfigError):
        problems.append(ways[1])
    offers = [*_related(charm), *_external(charm, options, problems)]
    encryption = _content(charm, options.encryption_secret, ENCRYPTION, problems)
    passphrase = encryption.get("passphrase", "")
    if options.encryption_secret and not passphrase and not problems:
        problems.append(ConfigError(ENCRYPTION, "holds no passphrase, add it to the secret"))
    return Inputs(
        application=charm.app.name,
        unit=charm.unit.name,
        leader=charm.unit.is_leader(),
        sweep=sweep,
        options=options,
        refused=refused,
        passphrase=passphrase,
        offers=tuple(offers),
        buckets=tuple(_buckets(charm, options, problems)),
        problems=tuple(problems),
        ways=ways,
    )


def _find_cluster(
    charm: ops.CharmBase, files: Files, options: CephCsiOptions
) -> tuple[tuple[Credentials, ...], CharmkitError | None]:
    """Return the ways into the cluster; while its secret is closed no other cluster is taken."""
    secret = _find_secret(charm, options.cluster_secret)
    if options.cluster_secret and secret is None:
        return (), ConfigError(SECRET_OPTION, _CLOSED)
    return find_ways(charm, files, endpoint=KUBE_CONTROL, secret=secret)


def user_of(charm: ops.CharmBase) -> str:
    """Return our user in every Ceph cluster that we are related to, without `client.`.

    The application's name alone is that of every other model's application too, and two of them
    on one Ceph cluster would take each other's capabilities away.
    """
    return f"{charm.app.name}-{charm.model.uuid[:8]}"


def publish(charm: ops.CharmBase, requests: Mapping[int, str] | None = None) -> dict[int, Answer]:
    """Say who we are and what we ask for; write only what changes.

    Args:
        charm: The charm.
        requests: What to ask in each relation, as its leader; a unit that does not lead asks for
            nothing, so that no old request of it is carried out again one day.

    Returns:
        What the other side says about each request.
    """
    answers: dict[int, Answer] = {}
    for relation in charm.model.relations[CEPH_CLIENT]:
        if not relation.active:
            continue
        bag = relation.data[charm.unit]
        wanted = {"application-name": user_of(charm), "unit-name": charm.unit.name}
        asked = (requests or {}).get(relation.id, "")
        if asked:
            wanted["broker_req"] = asked
        elif requests is None and "broker_req" in bag and not charm.unit.is_leader():
            del bag["broker_req"]
        bag.update({name: text for name, text in wanted.items() if bag.get(name) != text})
        bags = [dict(relation.data[unit]) for unit in _units(relation)]
        answers[relation.id] = find_answer(request_id(asked), charm.unit.name, bags)
    return answers


def _units(relation: ops.Relation) -> list[ops.Unit]:
    return sorted(relation.units, key=lambda unit: unit.name)


def _related(charm: ops.CharmBase) -> list[Offer]:
    relations = [one for one in charm.model.relations[CEPH_CLIENT] if one.active and one.app]
    offers: list[Offer] = []
    for relation in sorted(relations, key=lambda one: one.id):
        bags = {unit.name: dict(relation.data[unit]) for unit in relation.units}
        name = relation.app.name
        taken = name in {offer.name for offer in offers}
        offers.append(
            read_offer(
                f"{name}-{relation.id}" if taken else name,
                user_of(charm),
                relation.id,
                dict(relation.data[relation.app]),
                bags,
            )
        )
    return offers


def _external(
    charm: ops.CharmBase, options: CephCsiOptions, problems: list[CharmkitError]
) -> list[Offer]:
    if not options.external_clusters:
        return []
    content = _content(charm, options.external_keys, EXTERNAL_KEYS, problems)
    if not options.external_keys:
        problems.append(ConfigError(EXTERNAL_KEYS, "not set, name the secret with the keys"))
    related = {one.app.name for one in charm.model.relations[CEPH_CLIENT] if one.app}
    offers: list[Offer] = []
    for offer in options.external_clusters:
        if offer.name in related:
            reason = f"{offer.name} is a related application, choose another name"
            problems.append(ConfigError("external-clusters", reason))
            continue
        reason = _key_fault(content.get(offer.name, "")) if content else ""
        if reason:
            problems.append(ConfigError(EXTERNAL_KEYS, f"{offer.name} {reason}"))
        if reason or not content:
            continue
        offers.append(with_key(offer, content[offer.name].strip()))
    return offers


def with_key(offer: Offer, key: str) -> Offer:
    """Return an offer with its key."""
    return Offer(offer.name, offer.user, (key,), offer.monitors, offer.fsid)


def _key_fault(key: str) -> str:
    if not key.strip():
        return "has no key in the secret, add it there under that name"
    try:
        key_type(key.strip())
    except ValueError as error:
        return str(error)
    return ""


def _content(
    charm: ops.CharmBase, identifier: str | None, option: str, problems: list[CharmkitError]
) -> dict[str, str]:
    """Return the newest content of a secret option; empty when there is none to be had."""
    if not identifier:
        return {}
    content = _read_secret(charm, identifier)
    if content is None:
        problems.append(ConfigError(option, _CLOSED))
    return content or {}


def _read_secret(charm: ops.CharmBase, identifier: str) -> dict[str, str] | None:
    """Return the newest content of a secret, None when there is none that we may read."""
    secret = _find_secret(charm, identifier)
    try:
        return dict(secret.get_content(refresh=True)) if secret else None
    except (ops.SecretNotFoundError, ops.ModelError):
        return None


def _find_secret(charm: ops.CharmBase, identifier: str | None) -> ops.Secret | None:
    """Return the secret of an option, None when there is none that we may read."""
    if not identifier:
        return None
    try:
        return charm.model.get_secret(id=identifier)
    except (ops.SecretNotFoundError, ops.ModelError, ValueError):
        return None


def _buckets(
    charm: ops.CharmBase, options: CephCsiOptions, problems: list[CharmkitError]
) -> list[Bucket]:
    """Return the bucket of the secret, else that of the relation; none where nobody wants one."""
    if not options.s3_namespaces:
        return []
    if options.s3_secret:
        bucket, missing = parse_bucket(_content(charm, options.s3_secret, S3_SECRET, problems))
        if missing:
            problems.append(ConfigError(S3_SECRET, f"lacks {', '.join(missing)}"))
        return [bucket] if bucket else []
    relation = next((one for one in charm.model.relations[S3] if one.active and one.app), None)
    if relation is None:
        problems.append(ConfigError("s3-namespaces", "no bucket: integrate s3 or set s3-secret"))
        return []
    bucket, missing = parse_bucket(_s3_content(charm, relation))
    if missing:
        problems.append(RelationIncompleteError(S3, missing))
    return [bucket] if bucket else []


def _s3_content(charm: ops.CharmBase, relation: ops.Relation) -> dict[str, str]:
    """Return what the other side says: in its bag, its units' bags, or a secret that it names."""
    content: dict[str, str] = {}
    for unit in _units(relation):
        content.update(relation.data[unit])
    content.update(relation.data[relation.app])
    identifier = content.get("secret-extra", "")
    if identifier:
        extra = _read_secret(charm, identifier)
        return {**content, "access-key": "", "secret-key": "", **(extra or {})}
    return content


def ends(charm: ops.CharmBase) -> bool:
    """Say whether Juju plans no unit of the application any more."""
    return charm.app.planned_units() == 0
