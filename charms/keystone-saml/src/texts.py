# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Texts of options and parameters that are JSON or YAML. Pure."""

from typing import Any

from charmkit.document import LONGEST, read_yaml


def read_text(text: str, *, longest: int = LONGEST) -> Any:
    """Return what a text says. Raises ValueError: as `read_yaml`.

    JSON may be indented by tabs, which YAML takes for a mistake; texts of JSON have none.
    """
    plain = text.replace("\t", " ") if text.lstrip()[:1] in ("[", "{") else text
    return read_yaml(plain, longest=longest)
