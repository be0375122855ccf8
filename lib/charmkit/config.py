# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Typed options: a frozen pydantic model, and errors that read `option: reason`."""

from typing import TypeVar

import ops
import pydantic

from charmkit.errors import ConfigError


class Options(pydantic.BaseModel):
    """Base of a charm's options: fields in the order of charmcraft.yaml, dashes as underscores."""

    model_config = pydantic.ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, strict=True
    )


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
