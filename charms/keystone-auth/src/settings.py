# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the webhook has to know, as a file that holds no secret. Pure.

The charm writes it, the service reads it again when it changed; requests under way are finished
by what was there before.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

import msgspec

from authority import Limits
from identity import Naming, check_prefix

SCHEMA: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the service runs by.

    Attributes:
        port: On 127.0.0.1.
        keystone: URL of the Identity API with its version, as in https://host:5000/v3.
        ca: File with the authorities that may have signed Keystone's certificate; empty means the
            machine's own.
        user_prefix: See `identity.Naming`.
        group_prefix: See there.
        limits: How long answers count.
    """

    port: int
    keystone: str
    ca: str
    user_prefix: str
    group_prefix: str
    limits: Limits

    @property
    def naming(self) -> Naming:
        """The prefixes."""
        return Naming(self.user_prefix, self.group_prefix)


class _File(msgspec.Struct, frozen=True):
    schema: Literal[1]
    settings: Settings


_DECODER = msgspec.json.Decoder(_File)


def dump_settings(settings: Settings) -> str:
    """Return the text of the file."""
    data = {"schema": SCHEMA, "settings": asdict(settings)}
    return json.dumps(data, sort_keys=True, indent=1) + "\n"


def parse_settings(text: str) -> Settings:
    """Return what the file says; prefixes are checked here too, whoever wrote it.

    Raises:
        ValueError: It is not what `dump_settings` of this version writes.
    """
    try:
        found = _DECODER.decode(text)
    except msgspec.MsgspecError as error:
        raise ValueError("no settings of this version") from error
    check_prefix(found.settings.user_prefix)
    check_prefix(found.settings.group_prefix)
    return found.settings
