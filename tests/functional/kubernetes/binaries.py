# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The programs of a real cluster: built once from Go modules and kept outside the tracked tree.

Where a program is looked for, in this order:

1. ``$KUBEBUILDER_ASSETS/NAME``, for who has programs of their own;
2. the cache, ``$FUNCTIONAL_CACHE`` or ``.cache/kubernetes``, where it is built with the ``go`` of
   ``PATH`` if it is not there yet: one folder for each module and state of its lock files;
3. ``PATH``, on a machine without Go.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MODULES = Path(__file__).parent / "modules"
ROOT = Path(__file__).parents[3]
_PACKAGE = re.compile(r"^\s*(?:tool\s+)?([\w./-]+)\s*$", re.MULTILINE)
_STAMPED = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


class MissingProgramError(Exception):
    """A program is neither there nor can be built; the message says what would help."""


class BuildError(Exception):
    """Go refused to build a program; the message has its last lines."""


def find(name: str) -> Path:
    """Return the path of a program, having built it where that is needed.

    Raises:
        MissingProgramError: The program is nowhere and there is no Go to build it with.
        BuildError: Go did not build it.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (given := Path(assets) / name).exists():
        return given
    if (kept := cached(name)).exists():
        return kept
    if shutil.which("go"):
        build(name)
        return kept
    if installed := shutil.which(name):
        return Path(installed)
    raise MissingProgramError(
        f"{name} is missing: install Go 1.25 or newer, or set KUBEBUILDER_ASSETS to a folder "
        f"that has {name}, or put it on PATH"
    )


def find_missing(names: Sequence[str]) -> str | None:
    """Return why the programs cannot be had, or None; builds what is not built yet."""
    try:
        for name in names:
            find(name)
    except MissingProgramError as error:
        return str(error)
    return None


def tools() -> dict[str, tuple[Path, str]]:
    """Return for each program its module and its package, as the tool lines of go.mod say."""
    found: dict[str, tuple[Path, str]] = {}
    for lock in sorted(MODULES.glob("*/go.mod")):
        block = re.search(r"^tool \((.*?)^\)", lock.read_text(), re.MULTILINE | re.DOTALL)
        for package in _PACKAGE.findall(block.group(1) if block else ""):
            found[_program(package)] = (lock.parent, package)
    return found


def cached(name: str) -> Path:
    """Return where the cache has a program, or would have it.

    Raises:
        MissingProgramError: No module has such a tool.
    """
    try:
        module, _ = tools()[name]
    except KeyError as error:
        raise MissingProgramError(f"{name} is a tool of no module in {MODULES}") from error
    return folder(module) / name


def folder(module: Path) -> Path:
    """Return the cache folder of a module in its present state, sources of ours included."""
    state = hashlib.sha256()
    for path in (module / "go.mod", module / "go.sum", *sorted(module.rglob("*.go"))):
        state.update(path.read_bytes())
    base = Path(os.environ.get("FUNCTIONAL_CACHE") or ROOT / ".cache" / "kubernetes")
    return base / f"{module.name}-{state.hexdigest()[:12]}"


def build(name: str) -> float:
    """Build a program into the cache; return the seconds that it took, 0 where it was there.

    Two builders of one module wait for each other; a file is there whole or not at all.

    Raises:
        BuildError: Go did not build it.
    """
    module, package = tools()[name]
    target = cached(name)
    with _alone(target.parent):
        if target.exists():
            return 0.0
        began = time.monotonic()
        half = target.with_suffix(".half")
        flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", _flags(module)]
        done = subprocess.run(
            ["go", "build", *flags, "-o", str(half), package],
            cwd=module,
            env={**os.environ, "CGO_ENABLED": "0"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise BuildError(f"go build {package}: {done.stderr[-2000:]}")
        half.rename(target)
        return time.monotonic() - began


def manifest(path: str) -> str:
    """Return the text of a file of the MetalLB module, such as ``config/manifests/NAME.yaml``.

    Raises:
        MissingProgramError: There is no Go, or the module cannot be had.
    """
    if not shutil.which("go"):
        raise MissingProgramError("MetalLB's own manifest needs Go 1.25 or newer")
    module = MODULES / "metallb"
    asked = ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "go.universe.tf/metallb"]
    done = subprocess.run(asked, cwd=module, capture_output=True, text=True)
    if done.returncode:
        raise MissingProgramError(done.stderr[-500:])
    return (Path(done.stdout.strip()) / path).read_text()


def _program(package: str) -> str:
    """The name that a program goes by; etcd's package ends in ``server/v3``."""
    return "etcd" if package.startswith("go.etcd.io/etcd/server/") else package.rsplit("/", 1)[-1]


def _flags(module: Path) -> str:
    """Linker flags: no debugging data, and the version that the programs report.

    Without them the programs of Kubernetes call themselves v0.0.0-master.
    """
    found = re.search(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", (module / "go.mod").read_text())
    if not found:
        return "-s -w"
    major, minor, patch = found.groups()
    words = {
        "gitVersion": f"v{major}.{minor}.{patch}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "gitCommit": "unknown",
        "buildDate": "2026-01-01T00:00:00Z",
    }
    stamps = [f"-X {path}.{key}={word}" for path in _STAMPED for key, word in words.items()]
    return " ".join(["-s", "-w", *stamps])


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
