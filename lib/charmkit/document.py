# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""YAML that a person writes into an option, read strictly. Pure.

No key twice, no alias, no surprise of a tag; of bounded length and depth. Each mistake is one line
that names the line of the text.
"""

from collections.abc import Hashable
from typing import Any

import yaml

LONGEST = 65_536
"""Characters of an option: hundreds of pools, classes or layouts, and read in a moment."""

DEEPEST = 20
"""Levels; Keystone's mapping rules, the deepest of what is asked for, have six."""


class StrictLoader(yaml.SafeLoader):
    """YAML that refuses a key which is there twice, where plain YAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping whose keys are words, each there once."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError(f"a key must be one word, line {key.start_mark.line + 1}")
            if key.value in seen:
                raise ValueError(f"'{key.value}' is there twice, line {key.start_mark.line + 1}")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_yaml(text: str, *, longest: int = LONGEST) -> Any:
    """Return what a text says; None where it says nothing.

    Args:
        text: The option.
        longest: Characters that it may have.

    Raises:
        ValueError: It is no YAML, or such as no person writes.
    """
    if len(text) > longest:
        raise ValueError(f"longer than {longest} characters")
    try:
        _check_events(text)
        return yaml.load(text, Loader=StrictLoader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise ValueError(f"line {line} is no YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {str(error).splitlines()[0]}") from error
    except (TypeError, LookupError, AttributeError) as error:
        # What PyYAML's constructors raise for tags that do not fit, such as `!!bool x`.
        raise ValueError("no YAML that can be read") from error


def _check_events(text: str) -> None:
    """Refuse, before anything is built, what would take the memory or the stack.

    An alias is a word in the text, and a few lines of them are gigabytes once they are quoted.
    """
    depth = 0
    parser: Any = yaml.SafeLoader(text)
    while parser.check_event():
        event = parser.get_event()
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"line {line} has a YAML alias (*name), write the value out")
        if depth > DEEPEST:
            raise ValueError(f"line {line} is deeper than {DEEPEST} levels")
