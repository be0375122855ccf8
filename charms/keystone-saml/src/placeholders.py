# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a template leaves behind where nobody filled it in. Pure."""

import re

_VARIABLE = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_]\w*|\{\{.*?\}\}|%[A-Z_]{3,}%|@[A-Z_]{3,}@|<[A-Z_]{3,}>"
)


def find_placeholder(text: str) -> str:
    """Return the first variable of any templating in a text; empty for none."""
    found = _VARIABLE.search(text)
    return found[0] if found else ""
