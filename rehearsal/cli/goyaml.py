# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""YAML that is none, as Go's library complains of it. Pure.

Source: gopkg.in/yaml.v2 decode.go (fail), and the parser and scanner's own sentences.
"""

import re
from typing import Any

import yaml

from rehearsal.errors import UsageError

_SAID = (
    (r"expected the node content, but found .*", "did not find expected node content"),
    (r"expected (',' or '[\]}]'), but got .*", r"did not find expected \1"),
    (r"expected '<document start>', but found .*", "did not find expected <document start>"),
    (r"mapping values are not allowed here", "mapping values are not allowed in this context"),
    (r"found character .* that cannot start any token",
     "found character that cannot start any token"),
)  # fmt: skip
"""What the library here says, and what Go's says."""


def load(text: str) -> Any:
    """Return what YAML means.

    Raises:
        UsageError: It is none.
    """
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"yaml: {_complaint(error)}") from error


def _complaint(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return "control characters are not allowed"
    problem = str(error.problem)
    for pattern, said in _SAID:
        problem = re.sub(f"^{pattern}$", said, problem)
    if problem.startswith("expected <block end>"):
        wanted = "'-' indicator" if "collection" in str(error.context) else "key"
        problem = f"did not find expected {wanted}"
    line = error.problem_mark.line if error.problem_mark else 0
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    if not line and error.context_mark:
        line = error.context_mark.line
    return f"line {line}: {problem}" if line else problem
