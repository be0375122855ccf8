# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Object storage for selected namespaces: a bucket's endpoint and credentials as objects.

Source: interface s3, versions 0 and 1 (charm-relation-interfaces): access-key, secret-key, bucket,
endpoint, region, tls-ca-chain in the provider's application bag; version 1 has the keys in the
Juju secret that secret-extra names. The keys of the objects are those that AWS's tools read.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from charmkit.addon import PART_OF
from charmkit.errors import CharmkitError, ConflictError, NotReadyError
from charmkit.host import Host
from charmkit.journal import CorruptStateError, StateFile
from charmkit.kinds import CONFIG_MAP, SECRET
from charmkit.kube import Kube
from charmkit.manifests import MANAGED_BY, find_differences, rendered_hash
from fields import items, part
from names import NAMESPACE

S3_NAME = "ceph-s3"
"""Name of the Secret and the ConfigMap in each namespace."""

_NAMESPACES = "namespaces"
NEEDED = ("endpoint", "bucket", "access-key", "secret-key")
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket and who may use it."""

    endpoint: str
    bucket: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    region: str = ""
    ca: str = field(default="", repr=False)


def parse_bucket(content: Mapping[str, str]) -> tuple[Bucket | None, tuple[str, ...]]:
    """Return the bucket of a relation or secret, or None and the keys that are wrong."""
    missing = [name for name in NEEDED if not content.get(name, "").strip()]
    endpoint = content.get("endpoint", "").strip()
    if endpoint and not _is_url(endpoint):
        missing.append("a URL as endpoint")
    if missing:
        return None, tuple(missing)
    bucket = Bucket(
        endpoint=endpoint,
        bucket=content["bucket"].strip(),
        access_key=content["access-key"].strip(),
        secret_key=content["secret-key"].strip(),
        region=content.get("region", "").strip(),
        ca=_chain(content.get("tls-ca-chain", "")),
    )
    return bucket, ()


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _chain(text: str) -> str:
    """Return certificates as one PEM text; providers write a text or a JSON list of texts."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "\n".join(map(str, items(loaded))) or text


def render_bucket(bucket: Bucket, application: str, namespace: str) -> list[Object]:
    """Return the Secret and the ConfigMap of one namespace."""
    labels = {PART_OF: application, MANAGED_BY: application}
    metadata = {"name": S3_NAME, "namespace": namespace, "labels": labels}
    parts = urlsplit(bucket.endpoint)
    keys = {"AWS_ACCESS_KEY_ID": bucket.access_key, "AWS_SECRET_ACCESS_KEY": bucket.secret_key}
    data = {name: base64.b64encode(text.encode()).decode() for name, text in keys.items()}
    settings = {
        "AWS_ENDPOINT_URL": bucket.endpoint,
        "BUCKET_HOST": parts.hostname or "",
        "BUCKET_PORT": str(parts.port or (443 if parts.scheme == "https" else 80)),
        "BUCKET_NAME": bucket.bucket,
        **({"AWS_REGION": bucket.region} if bucket.region else {}),
        **({"ca.crt": bucket.ca} if bucket.ca else {}),
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}
    return [
        {**secret, "data": data},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": settings},
    ]


class Sharing:
    """Hands a bucket to namespaces, and takes it back from those that are named no more.

    Who was given it stands in a ConfigMap beside the drivers too, since the leader changes.
    """

    def __init__(self, host: Host, application: str) -> None:
        self._application = application
        self._file = StateFile(host.files, f"/var/lib/{application}/s3.json", schema=1)

    def ensure(
        self, kube: Kube, bucket: Bucket | None, namespaces: Iterable[str], *, sweep: bool
    ) -> list[CharmkitError]:
        """Make the objects of each namespace be as they should; return what could not be.

        Without a bucket nothing changes in namespaces that are still named: a relation that is
        incomplete for a moment takes nobody's credentials away.
        """
        wanted = tuple(namespaces)
        kept = self._read()
        objects = [
            obj
            for name in wanted
            for obj in (render_bucket(bucket, self._application, name) if bucket else ())
        ]
        digest = rendered_hash(objects) if objects else kept.digest
        if not sweep and digest == kept.digest and set(kept.namespaces) <= set(wanted):
            return []
        known = self.find_namespaces(kube)
        if objects:
            # Before the first of them: after a crash they must be found again.
            known = self._record(kube, known, {*known, *wanted})
        problems = self._apply(kube, objects)
        self._take_back(kube, [name for name in known if name not in wanted])
        known = self._record(kube, known, {name for name in known if name in wanted})
        self._file.write(asdict(_Handed("" if problems else digest, known)))
        return problems

    def find_namespaces(self, kube: Kube) -> tuple[str, ...]:
        """Return who was given the bucket, by this unit or by a leader before it, sorted."""
        record = kube.find(CONFIG_MAP, self._record_name, NAMESPACE)
        text = str(part(record, "data").get(_NAMESPACES, ""))
        return tuple(sorted({*text.split(), *self._read().namespaces}))

    def remove(self, kube: Kube) -> list[str]:
        """Take the bucket back from every namespace; return what was deleted."""
        names = self.find_namespaces(kube)
        self._take_back(kube, names)
        kube.delete(CONFIG_MAP, self._record_name, NAMESPACE)
        self._file.clear()
        return [f"Secret and ConfigMap {name}/{S3_NAME}" for name in names]

    @property
    def _record_name(self) -> str:
        return f"{self._application}-{S3_NAME}"

    def _record(self, kube: Kube, known: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
        """Remember in the cluster who is given the bucket; nothing is written when nobody is."""
        wanted = tuple(sorted(names))
        if wanted == tuple(known):
            return wanted
        if not wanted:
            kube.delete(CONFIG_MAP, self._record_name, NAMESPACE)
            return wanted
        labels = {MANAGED_BY: self._application}  # Not the add-on's, which would prune it.
        metadata = {"name": self._record_name, "namespace": NAMESPACE, "labels": labels}
        data = {_NAMESPACES: " ".join(wanted)}
        record = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        kube.apply(record, force=True)
        return wanted

    def _apply(self, kube: Kube, objects: Iterable[Object]) -> list[CharmkitError]:
        return [problem for obj in objects if (problem := self._apply_one(kube, obj))]

    def _apply_one(self, kube: Kube, obj: Object) -> CharmkitError | None:
        """Apply one object; a namespace that is not there, or an object of others, is a word."""
        place = f"{obj['metadata']['namespace']}/{S3_NAME}"
        kind = SECRET if obj["kind"] == "Secret" else CONFIG_MAP
        found = kube.find(kind, S3_NAME, obj["metadata"]["namespace"])
        if found is not None and not find_differences(obj, found):
            return None
        try:
            kube.apply(obj)
        except NotReadyError:
            return NotReadyError(f"s3-namespaces: {place} cannot be written yet, is it there?")
        except ConflictError:
            return ConflictError(f"{obj['kind']} {place}: belongs to somebody else, remove it")
        return None

    def _take_back(self, kube: Kube, namespaces: Iterable[str]) -> None:
        """Delete what is ours; what somebody made under that name stays."""
        for name in namespaces:
            for kind in (SECRET, CONFIG_MAP):
                found = kube.find(kind, S3_NAME, name)
                if part(found, "metadata", "labels").get(PART_OF) == self._application:
                    kube.delete(kind, S3_NAME, name)

    def _read(self) -> "_Handed":
        try:
            return self._file.read_as(_Handed) or _Handed()
        except CorruptStateError:
            return _Handed()


@dataclass(frozen=True, slots=True)
class _Handed:
    digest: str = ""
    namespaces: tuple[str, ...] = ()
