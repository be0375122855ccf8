# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Text tables as `juju` prints them: two spaces between columns, no trailing blanks. Pure."""

from collections.abc import Iterable, Sequence


def render(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table as lines.

    Args:
        header: Titles; the number of columns is theirs.
        rows: Cells; a row may be shorter than the header.
        right: Columns that are flushed right, by index from 0.
    """
    lines = [list(header), *([*row] + [""] * (len(header) - len(row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
