# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What people and programs put into options by mistake or by malice: no option may break on it."""

BOMB = "\n".join(
    [
        "a: &a [x, x, x, x, x, x, x, x, x]",
        *(
            f"{after}: &{after} [*{before}, *{before}, *{before}, *{before}, *{before}]"
            for before, after in zip("abcdefghijk", "bcdefghijkl", strict=True)
        ),
    ]
)
"""A list of lists that is 9 times 5 to the power of 11 words long when somebody writes it out."""

TEXTS = (
    "\x00",
    "\x1b[2J",
    "\u202egnp",
    "\u0664\u0662",
    "x" * 100_000,
    "=" * 1000,
    "[" * 5000,
    "{" * 5000,
    "- " * 3000 + "x",
    "{}: {}",
    "? [a]\n: b",
    "!!python/object/apply:os.system ['true']",
    "&a [*a]",
    "2026-11-30",
    "1e999",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "$PROJECT_ID",
    BOMB,
)
"""Control characters, other scripts, sizes, depths, tags and words of YAML."""

NUMBERS = (-1, 2**31, 2**63)
"""Below and above what options of type int mean; 2**63 is beyond Juju's own."""
