# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options of the charm as values; a bad one is refused in one line that names it."""

import re
from typing import Annotated, Any

import pydantic

from charmkit.config import ImageRegistry, Options
from classtable import ClassRow, parse_table
from monitors import LEGACY, MODES
from offers import Offer, parse_external

_FOLDER = re.compile(r"(/[A-Za-z0-9._-]+)+")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _table(value: Any) -> Any:
    return parse_table(value) if isinstance(value, str) else value


def _external(value: Any) -> Any:
    return parse_external(value) if isinstance(value, str) else value


def _words(value: Any) -> Any:
    return (
        tuple(dict.fromkeys(value.replace(",", " ").split())) if isinstance(value, str) else value
    )


class CephCsiOptions(Options):
    """What the operator wants. A secret is its identifier; `relations` reads it."""

    storage_classes: Annotated[tuple[ClassRow, ...], pydantic.BeforeValidator(_table)]
    external_clusters: Annotated[tuple[Offer, ...], pydantic.BeforeValidator(_external)]
    external_keys: str | None = pydantic.Field(default=None, repr=False)
    encryption_secret: str | None = pydantic.Field(default=None, repr=False)
    ms_mode: str
    pool_replicas: int
    provisioner_replicas: int
    s3_namespaces: Annotated[tuple[str, ...], pydantic.BeforeValidator(_words)]
    s3_secret: str | None = pydantic.Field(default=None, repr=False)
    kubelet_dir: str
    metrics_port: int
    image_registry: ImageRegistry
    cluster_secret: str | None = pydantic.Field(default=None, repr=False)

    @pydantic.field_validator("ms_mode")
    @classmethod
    def _check_mode(cls, value: str) -> str:
        if value not in MODES:
            raise ValueError(f"must be one of {', '.join(MODES)}, not '{value[:24]}'")
        return value

    @pydantic.field_validator("pool_replicas", "provisioner_replicas")
    @classmethod
    def _check_replicas(cls, value: int) -> int:
        if not 1 <= value <= 10:
            raise ValueError(f"must be from 1 to 10, not {value}")
        return value

    @pydantic.field_validator("metrics_port")
    @classmethod
    def _check_port(cls, value: int) -> int:
        if not 1024 <= value <= 65534:
            raise ValueError(f"must be from 1024 to 65534, not {value}")
        return value

    @pydantic.field_validator("kubelet_dir")
    @classmethod
    def _check_folder(cls, value: str) -> str:
        if not _FOLDER.fullmatch(value.rstrip("/")):
            raise ValueError(f"'{value[:40]}' is no absolute folder")
        return value.rstrip("/")

    @pydantic.field_validator("s3_namespaces")
    @classmethod
    def _check_namespaces(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        bad = [name for name in value if not _NAMESPACE.fullmatch(name)]
        if bad:
            raise ValueError(f"'{bad[0][:40]}' is no name of a namespace")
        return value


DEFAULTS = CephCsiOptions(
    storage_classes=(),
    external_clusters=(),
    ms_mode=LEGACY,
    pool_replicas=3,
    provisioner_replicas=3,
    s3_namespaces=(),
    kubelet_dir="/var/lib/kubelet",
    metrics_port=8680,
    image_registry="",
)
"""What removal and actions see while an option is refused; nothing is applied with them."""
