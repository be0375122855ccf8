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
OURS = ("agent-version", "rehearsal-speed")
MADE = ("agent-stream", "logging-config", "resource-tags")
"""Options that a model is made with: they come from the model though nobody set them."""
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


VERSION = re.compile(r"[34]\.\d+(?:\.\d+)*")
"""Versions of Juju that a model can follow; anything else would be taken for 3.6 in silence."""


def _checked(name: str, value: str) -> Any:
    if name == "agent-version" and not VERSION.fullmatch(value):
        raise UsageError(f'agent-version "{value}" is not rehearsed: write 3.6 or 4.0')
    if name in DURATIONS and not DURATION.fullmatch(value):
        said = f"invalid {name.replace('-', ' ')} in model configuration"
        raise UsageError(f"{INVALID}: {said}: time: {_wrong_duration(value)}")
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


def _wrong_duration(value: str) -> str:
    """Return why Go takes no duration. Source: go time/format.go, ParseDuration."""
    shown = f'in duration "{value}"'
    match = re.fullmatch(r"[-+]?[\d.]*\d[\d.]*([a-z]*)", value)
    if match is None:
        return f'invalid duration "{value}"'
    return f'unknown unit "{match[1]}" {shown}' if match[1] else f"missing unit {shown}"


def all_of(settings: Settings) -> dict[str, tuple[Any, str]]:
    """Return every option of a model with its value and where that comes from, by name."""
    found: dict[str, tuple[Any, str]] = {
        name: (value, "model" if name in MADE else "default") for name, value in defaults().items()
    }
    found["agent-version"] = (settings.version, "model")
    found |= {name: (value, "model") for name, value in settings.config.items()}
    return dict(sorted(found.items()))
