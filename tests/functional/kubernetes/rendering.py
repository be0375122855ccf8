# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the charms render, each from a process of its own: their modules have the same names.

A charm takes part by a module ``rendered/CHARM.py`` with ``objects() -> list of manifests`` in
the order of creation, and where it has an account of its own ``account() -> (application, Grant,
namespace)``; the module sees the charm's ``src`` and `charmkit`.
"""

import functools
import importlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.functional.kubernetes.accounts import account_objects

ROOT = Path(__file__).parents[3]
RENDERED = Path(__file__).parent / "rendered"
CHARMS = sorted(
    path.stem.replace("_", "-")
    for path in RENDERED.glob("*.py")
    if (ROOT / "charms" / path.stem.replace("_", "-")).is_dir()
)
"""Charms that take part."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a charm writes.

    Attributes:
        objects: In the order of creation.
        account: What an administrator writes for it: account, roles, bindings; may be empty.
        user: Namespace and name of its account; empty without one.
    """

    objects: list[dict[str, Any]]
    account: list[dict[str, Any]]
    user: tuple[str, str]


@functools.cache
def render(charm: str) -> Rendered:
    """Return what a charm writes.

    Raises:
        RuntimeError: Its module failed.
    """
    places = [ROOT / "charms" / charm / "src", ROOT / "lib", ROOT]
    done = subprocess.run(
        [sys.executable, "-m", "tests.functional.kubernetes.rendering", charm],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{charm}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return Rendered(found["objects"], found["account"], tuple(found["user"]))


def main() -> None:
    """Print the objects of the charm that the first argument names."""
    name = f"tests.functional.kubernetes.rendered.{sys.argv[1].replace('-', '_')}"
    module = importlib.import_module(name)
    found = {"objects": module.objects(), "account": [], "user": ["", ""]}
    if hasattr(module, "account"):
        application, grant, namespace = module.account()
        found["account"] = account_objects(application, grant, namespace)
        found["user"] = [namespace, application]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
