# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Data as juju's client prints it: JSON without blanks, YAML in Go's style. Pure."""

import json
from collections.abc import Callable
from typing import Any

import yaml

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""Characters that Go's encoder writes as numbers."""


def to_json(data: Any) -> str:
    """Return one line of JSON; a float without a fraction has no point."""
    text = json.dumps(plain(data), separators=(",", ":"), ensure_ascii=False)
    for character, escape in ESCAPES.items():
        text = text.replace(character, escape)
    return text


def to_yaml(data: Any) -> str:
    """Return YAML without a newline at its end; text that looks like another type is quoted."""
    text = yaml.dump(
        plain(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False
    )
    return text.rstrip("\n")


def show(data: Any, form: str, tabular: Callable[[], str] | None = None) -> None:
    """Print data in a format: json, yaml, or the text that `tabular` makes."""
    if form == "json":
        print(to_json(data))
    elif form == "yaml" or tabular is None:
        print(to_yaml(data))
    else:
        print(tabular())


def plain(data: Any) -> Any:
    """Return data where floats that are whole numbers are those."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    whole = isinstance(data, float) and data.is_integer() and abs(data) < 1e21
    return int(data) if whole else data


def in_order(data: Any) -> Any:
    """Return data with the keys of all maps in order, as Go prints maps."""
    if isinstance(data, dict):
        return {key: in_order(data[key]) for key in sorted(data)}
    return [in_order(item) for item in data] if isinstance(data, list) else data


def word(value: Any) -> str:
    """Return one value as Go prints it: nothing for none, true and false in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(plain(value))


class _Dumper(yaml.SafeDumper):
    """Writes text as Go's library does."""

    def check_simple_key(self) -> bool:
        """Return whether a key stands on the line of its value: an empty one does, too."""
        is_empty = isinstance(self.event, yaml.ScalarEvent) and self.event.value == ""
        return is_empty or bool(super().check_simple_key())


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value:
        style = "|"
    elif value == "" or dumper.resolve(yaml.ScalarNode, value, (True, False)) != _STR:
        style = '"' if not _is_time(value) else None
    return dumper.represent_scalar(_STR, value, style)


def _is_time(value: str) -> bool:
    return len(value) > 10 and value[4:5] == "-" and value[10:11] in "T "


_STR = "tag:yaml.org,2002:str"
_Dumper.add_representer(str, _text)
_Dumper.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}
