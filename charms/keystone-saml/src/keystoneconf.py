# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What keystone.conf on the machine says, as far as a login depends on it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

PATH = "/etc/keystone/keystone.conf"


@dataclass(frozen=True, slots=True)
class KeystoneConf:
    """Options of keystone.conf by section and name; each may be there several times."""

    values: Mapping[tuple[str, str], tuple[str, ...]]

    def last(self, section: str, name: str, default: str = "") -> str:
        """Return the value that counts."""
        return self.values.get((section, name), (default,))[-1]

    def all(self, section: str, name: str) -> tuple[str, ...]:
        """Return every value of an option that may be repeated."""
        return self.values.get((section, name), ())

    def methods(self) -> tuple[str, ...]:
        """Return the authentication methods that Keystone takes."""
        text = self.last("auth", "methods", "external,password,token,mapped")
        return tuple(part.strip() for part in text.split(","))


def parse_conf(text: str) -> KeystoneConf:
    """Return what a keystone.conf says; lines that oslo.config would not read are left out."""
    values: dict[tuple[str, str], tuple[str, ...]] = {}
    section = "DEFAULT"
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            key = (section, name.strip())
            values[key] = (*values.get(key, ()), value.strip())
    return KeystoneConf(values)
