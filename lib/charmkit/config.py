# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Typed options: a frozen pydantic model, and errors that read `option: reason`."""

import re
from typing import Annotated, TypeVar

import ops
import pydantic

from charmkit.errors import ConfigError


class Options(pydantic.BaseModel):
    """Base of a charm's options: fields in the order of charmcraft.yaml, dashes as underscores."""

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, strict=True
    )


_HOST = r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:]+\])(:[1-9][0-9]{0,4})?"
_REGISTRY_LIMIT = 200
_REGISTRY = re.compile(_HOST + r"(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*")


def check_registry(value: str) -> str:
    """Return an image registry: host, port and path, with no scheme and no tag; or empty.

    Raises:
        ValueError: It is none.

    Source: distribution/reference 0.6, grammar of `domain` and `path`.
    """
    if value and (len(value) > _REGISTRY_LIMIT or not _REGISTRY.fullmatch(value)):
        raise ValueError(f"'{value[:60]}' is no registry, as in mirror.example.org:5000/gpu")
    return value


ImageRegistry = Annotated[str, pydantic.AfterValidator(check_registry)]
"""Type of the option `image-registry`."""

OptionsType = TypeVar("OptionsType", bound=Options)


def load(charm: ops.CharmBase, model: type[OptionsType]) -> OptionsType:
    """Return the options of a charm as its model.

    Raises:
        ConfigError: An option has a value that the model refuses; the first one is named.
    """
    raw = {name.replace("-", "_"): value for name, value in charm.config.items()}
    try:
        return model.model_validate(raw)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=True)[0]
        option = str(first["loc"][0]).replace("_", "-") if first["loc"] else "options"
        cause = first.get("ctx", {}).get("error")
        reason = str(cause) if cause is not None else _plain(first["msg"])
        raise ConfigError(option, reason) from error


def _plain(message: str) -> str:
    """Return pydantic's sentence without its capital letter."""
    return message[:1].lower() + message[1:]
