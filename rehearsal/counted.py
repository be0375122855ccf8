# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A count with its noun, as sentences of ours have it. Pure."""


def counted(count: int, noun: str) -> str:
    """Return `1 error`, `0 errors`, `2 errors` for a noun that takes an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
