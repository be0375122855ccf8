# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""metallb's own reader of `address-pools`: the check has no second grammar that could differ.

The charm's pure modules are run from this repository, never from a file that a bundle names: a
check runs nobody else's code. They import each other by bare names, as modules of a charm do, and
so are made under those names and taken out of the interpreter's table again.
"""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from rehearsal.maas.networks import Address
from rehearsal.paths import is_file

_FOLDER = Path(__file__).resolve().parents[2] / "charms" / "metallb" / "src"
_MODULES = ("document", "addresses", "pools")
"""In the order in which they import each other; besides, they need nothing but charmkit."""


class Span(Protocol):
    """A range, both ends included, as numbers of its family (4 or 6); as text as options have it.

    A dataclass: `dataclasses.replace` makes a part of it.
    """

    @property
    def family(self) -> int:
        """4 or 6."""
        ...

    @property
    def first(self) -> int:
        """First address as a number."""
        ...

    @property
    def last(self) -> int:
        """Last address as a number."""
        ...


class Pool(Protocol):
    """Addresses for services."""

    @property
    def name(self) -> str:
        """Name of the pool."""
        ...

    @property
    def spans(self) -> Sequence[Span]:
        """Its ranges; none overlaps another."""
        ...

    def holds(self, address: Address) -> bool:
        """Say whether an address can be given from here."""
        ...


Parser = Callable[[str], Sequence[Pool]]
"""Pools of an option's text; ValueError with the charm's sentence where there is a fault."""


@lru_cache(maxsize=1)
def find_parser() -> Parser | None:
    """Return the charm's reader, None where the charm's folder is not at hand."""
    paths = [_FOLDER / f"{name}.py" for name in _MODULES]
    if not all(is_file(path) for path in paths):
        return None
    kept = {name: sys.modules.pop(name) for name in _MODULES if name in sys.modules}
    try:
        for name, path in zip(_MODULES, paths, strict=True):
            _run(name, path)
        parser: Parser = sys.modules["pools"].parse_pools
    finally:
        for name in _MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(kept)
    return parser


def _run(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
