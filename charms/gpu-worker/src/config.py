# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options of the charm as values; a bad one is refused in one line that names it."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic

from charmkit.config import ImageRegistry, Options
from drain import IDLE, POLICIES
from layout import UNLISTED, Layout
from layoutfile import parse_layouts
from strategy import MIXED, NONE, SINGLE

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._+-]*[A-Za-z0-9])?")

STRATEGIES = ("auto", MIXED, SINGLE, NONE)
WHEN_NEEDED = "when-needed"
REBOOTS = ("never", WHEN_NEEDED)


def _parse_layouts(value: Any) -> Any:
    return parse_layouts(value) if isinstance(value, str) else value


def _one_of(words: tuple[str, ...]) -> pydantic.AfterValidator:
    def check(value: str) -> str:
        if value not in words:
            *others, last = words
            raise ValueError(f"must be {', '.join(others)} or {last}, not '{value}'")
        return value

    return pydantic.AfterValidator(check)


def _between(low: int, high: int | None) -> pydantic.AfterValidator:
    def check(value: int) -> int:
        if value < low or (high is not None and value > high):
            limit = f"from {low} to {high}" if high is not None else f"{low} or more"
            raise ValueError(f"must be {limit}, not {value}")
        return value

    return pydantic.AfterValidator(check)


class WorkerOptions(Options):
    """What the operator wants of a pool."""

    mig_profile: str
    mig_layouts: Annotated[Mapping[str, Layout], pydantic.BeforeValidator(_parse_layouts)]
    mig_strategy: Annotated[str, _one_of(STRATEGIES)]
    drain: Annotated[str, _one_of(POLICIES)]
    evict_bare_pods: bool
    reboot: Annotated[str, _one_of(REBOOTS)]
    taint_faulty: bool
    unlisted_gpus: Annotated[str, _one_of(UNLISTED)]
    drain_timeout: Annotated[int, _between(60, 86400)]
    max_unavailable: Annotated[int, _between(1, None)]
    image_registry: ImageRegistry

    @pydantic.field_validator("mig_profile")
    @classmethod
    def _check_profile(cls, value: str) -> str:
        return check_name(value)

    @property
    def strategy(self) -> str:
        """The device plugin's word: auto means mixed, always."""
        return MIXED if self.mig_strategy == "auto" else self.mig_strategy


def check_name(name: str) -> str:
    """Return the name of a layout.

    Raises:
        ValueError: It cannot be one.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{name}' is no name of a layout, as in all-1g.5gb")
    return name


DEFAULTS = WorkerOptions(
    mig_profile="all-disabled",
    mig_layouts={},
    mig_strategy="auto",
    drain=IDLE,
    evict_bare_pods=False,
    reboot="never",
    taint_faulty=False,
    unlisted_gpus="keep",
    drain_timeout=600,
    max_unavailable=1,
    image_registry="",
)
"""What holds while an option is refused: nothing new begins, what is under way is put back."""
