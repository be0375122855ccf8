# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options as typed values."""

import enum
from typing import Any, TypeVar

import pydantic

from aptsources import check_line
from charmkit.config import Options
from flavours import Branch, Modules, Source, Wish, parse_branch

_AUTO = "auto"
Word = TypeVar("Word", bound=enum.Enum)


class Reboot(str, enum.Enum):
    """Whether the charm may reboot its machine."""

    NEVER = "never"
    WHEN_NEEDED = "when-needed"


class DriverOptions(Options):
    """What the operator asks for, in the order of charmcraft.yaml."""

    driver_branch: Branch | None
    driver_source: Source | None
    kernel_modules: Modules | None
    reboot: Reboot
    max_unavailable: int = pydantic.Field(ge=1)
    repository: str
    repository_key: str

    @property
    def wish(self) -> Wish:
        """What the options say about the driver."""
        return Wish(self.driver_source, self.driver_branch, self.kernel_modules)

    @pydantic.field_validator("driver_branch", mode="before")
    @classmethod
    def _parse_branch(cls, text: Any) -> Branch | None:
        return None if text == _AUTO else parse_branch(str(text))

    @pydantic.field_validator("driver_source", mode="before")
    @classmethod
    def _parse_source(cls, text: Any) -> Source | None:
        return None if text == _AUTO else _parse_word(Source, text, _AUTO)

    @pydantic.field_validator("kernel_modules", mode="before")
    @classmethod
    def _parse_modules(cls, text: Any) -> Modules | None:
        return None if text == _AUTO else _parse_word(Modules, text, _AUTO)

    @pydantic.field_validator("reboot", mode="before")
    @classmethod
    def _parse_reboot(cls, text: Any) -> Reboot:
        return _parse_word(Reboot, text)

    @pydantic.field_validator("repository")
    @classmethod
    def _check_repository(cls, text: str) -> str:
        line = text.strip()
        if line:
            check_line(line)
        return line

    @pydantic.field_validator("repository_key")
    @classmethod
    def _check_key(cls, text: str) -> str:
        key = text.strip()
        if key and "PGP PUBLIC KEY BLOCK" not in key:
            raise ValueError("write an armoured public key, with its first and last line")
        return f"{key}\n" if key else ""


def _parse_word(kind: type[Word], text: Any, *others: str) -> Word:
    """Return a word of an enumeration.

    Raises:
        ValueError: It has no such word; all of them are named.
    """
    words = {str(word.value): word for word in kind}
    if text not in words:
        raise ValueError(f"{text!r} is not one of {', '.join((*others, *words))}")
    return words[text]
