"""pytest-operator needs juju, charmcraft and a controller of Juju 3; else all is skipped."""

import json
import shutil
import subprocess

import pytest


def reason_to_skip() -> str:
    """Return why the suite cannot run here; empty when it can."""
    for program in ("juju", "charmcraft"):
        if not shutil.which(program):
            return f"pytest-operator needs {program} on PATH"
    found = subprocess.run(
        ["juju", "show-controller", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        return "there is no controller: juju bootstrap first"
    (details,) = json.loads(found.stdout).values()
    version = str(details["details"]["agent-version"])
    return "" if version.startswith("3.") else f"python-libjuju knows Juju 3, not {version}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = reason_to_skip()
    for item in items if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))
