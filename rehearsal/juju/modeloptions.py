# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Options of a model: which there are, their defaults, and what fits them. Pure but for one file.

Source: `juju model-config --format json` of a controller of 4.0.15.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from rehearsal.errors import UsageError
from rehearsal.juju.entities import Settings

DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|0")
DURATIONS = ("update-status-hook-interval", "max-status-history-age", "lxd-snap-refresh-interval")
OURS = ("agent-version", "rehearsal-speed", "logging-config")
INVALID = "making updated model configuration: building new model config with removed attributes"


@cache
def defaults() -> Mapping[str, Any]:
    """Return every option with its default."""
    path = resources.files("rehearsal") / "data" / "model-config.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def is_known(name: str) -> bool:
    """Return whether there is such an option."""
    return name in defaults() or name in OURS


def checked(values: Mapping[str, str]) -> dict[str, Any]:
    """Return options with values of their types.

    Raises:
        UsageError: A value does not fit; none is set then.
    """
    return {name: _checked(name, value) for name, value in values.items()}


def _checked(name: str, value: str) -> Any:
    if name in DURATIONS and not DURATION.fullmatch(value):
        said = f"invalid {name.replace('-', ' ').replace('hook ', 'hook ')} in model configuration"
        said = said.replace("update status hook interval", "update status hook interval")
        raise UsageError(f'{INVALID}: {said}: time: invalid duration "{value}"')
    default = defaults().get(name)
    if isinstance(default, bool):
        if value.lower() not in ("true", "false", "1", "0", "t", "f"):
            raise UsageError(f'{INVALID}: {name}: expected bool, got string("{value}")')
        return value.lower() in ("true", "1", "t")
    if isinstance(default, int):
        if not value.lstrip("+-").isdigit():
            raise UsageError(f'{INVALID}: {name}: expected number, got string("{value}")')
        return int(value)
    return value


def all_of(settings: Settings) -> dict[str, tuple[Any, str]]:
    """Return every option of a model with its value and where that comes from, by name."""
    found: dict[str, tuple[Any, str]] = {
        name: (value, "default") for name, value in defaults().items()
    }
    found["agent-version"] = (settings.version, "model")
    found |= {name: (value, "model") for name, value in settings.config.items()}
    return dict(sorted(found.items()))
