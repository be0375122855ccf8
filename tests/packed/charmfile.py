"""A packed charm on disk, and how to run its dispatch where it cannot change the machine.

The run happens in a mount namespace in which /etc, /opt, /run, /root, /usr and /var are overlays
with an upper layer of their own, so whatever a hook writes ends with the namespace; apt-get, dpkg,
systemctl, modprobe and snap are stubs that log. It needs root, and a Python of the charm's base.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OVERLAID = ("etc", "opt", "run", "root", "usr", "var")
PROGRAMS = (
    "apt-get",
    "apt-cache",
    "apt-mark",
    "dpkg",
    "dpkg-query",
    "systemctl",
    "modprobe",
    "snap",
)
HOOK_TOOLS = (
    "action-fail",
    "action-get",
    "action-log",
    "action-set",
    "application-version-set",
    "config-get",
    "goal-state",
    "is-leader",
    "juju-log",
    "juju-reboot",
    "network-get",
    "open-port",
    "opened-ports",
    "relation-get",
    "relation-ids",
    "relation-list",
    "relation-set",
    "secret-get",
    "secret-ids",
    "status-get",
    "status-set",
)
PYTHONS = {"24.04": "3.12", "22.04": "3.10"}


def find_python(release: str) -> Path | None:
    """Return an interpreter of an Ubuntu release's Python version that really runs."""
    minor = PYTHONS[release]
    places = [*Path.home().glob(f".pyenv/versions/{minor}*/bin/python{minor}")]
    places += [Path(found) for found in [shutil.which(f"python{minor}")] if found]
    for place in places:
        if subprocess.run([place, "-V"], capture_output=True, check=False).returncode == 0:
            return place
    return None


@dataclass(frozen=True, slots=True)
class Run:
    """What a dispatch did."""

    code: int
    output: str
    calls: list[list[str]]
    seconds: float

    def called(self, program: str) -> list[list[str]]:
        """Return the calls of one program, in order."""
        return [call[1:] for call in self.calls if call[0] == program]


_PLANNED = {"status": "waiting", "since": "2026-11-30 08:00:00Z"}
"""How `goal-state` shows a unit that is there."""


class PackedCharm:
    """One .charm file, unzipped into a folder."""

    def __init__(self, file: Path, folder: Path) -> None:
        self.name, _, platform = file.stem.partition("_")
        self.release = platform.split("-")[1]
        self.folder = folder / "charm"
        self.stubs = folder / "stubs"
        self.stubs.mkdir()
        with zipfile.ZipFile(file) as archive:
            archive.extractall(self.folder)
            for item in archive.infolist():
                (self.folder / item.filename).chmod(item.external_attr >> 16 & 0o777 or 0o755)
        (self.stubs / "bin").mkdir()
        tool = Path(__file__).with_name("hook_tool.py").read_text().partition("\n")[2]
        text = tool.replace('STUBS = ""', f"STUBS = {str(self.stubs)!r}")
        for name in (*HOOK_TOOLS, *PROGRAMS):
            script = self.stubs / "bin" / name
            script.write_text(f"#!{sys.executable} -SE\n{text}")
            script.chmod(0o755)
        python = find_python(self.release)
        if python:
            (self.stubs / "bin/python3").symlink_to(python)

    def dispatch(
        self, hook: str, config: dict[str, Any], *, after: str = "", **answers: Any
    ) -> Run:
        """Run one hook or action (`actions/NAME`) and return what it did.

        `after` is a hook that runs before it on the same machine; the seconds are without it.
        """
        defaults: dict[str, Any] = {
            "config-get": config,
            "goal-state": {"units": {f"{self.name}/0": _PLANNED}, "relations": {}},
            "is-leader": False,
            "relation-ids": [],
            "status-get": {"status": "unknown", "message": ""},
            "action-get": {},
            "opened-ports": [],
        }
        (self.stubs / "hook-tools.json").write_text(json.dumps(defaults | answers))
        (self.stubs / "calls.log").write_text("")
        done = subprocess.run(
            ["/usr/bin/unshare", "--mount", "/bin/sh", "-ec", self._script(after)],
            env=self._environment(hook),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        calls = [json.loads(line) for line in (self.stubs / "calls.log").read_text().splitlines()]
        began, ended = (float((self.stubs / name).read_text()) for name in ("began", "ended"))
        return Run(done.returncode, done.stdout + done.stderr, calls, ended - began)

    def _script(self, after: str) -> str:
        lines = ["mount --make-rprivate /", 'mkdir -p "$STUBS/upper"']
        lines += ['mount -t tmpfs upper "$STUBS/upper"']
        for name in OVERLAID:
            layer = f"$STUBS/upper/{name}"
            lines += [f'mkdir -p "{layer}/up" "{layer}/work"']
            options = f"lowerdir=/{name},upperdir={layer}/up,workdir={layer}/work"
            lines += [f'mount -t overlay overlay -o "{options}" /{name}']
        for program in PROGRAMS:
            for place in ("/usr/bin", "/usr/sbin"):
                lines += [f'rm -f {place}/{program}; cp "$STUBS/bin/{program}" {place}/{program}']
        if after:
            lines += [f"JUJU_DISPATCH_PATH=hooks/{after} ./dispatch"]
        lines += ['date +%s.%N >"$STUBS/began"', "code=0", "./dispatch || code=$?"]
        return "\n".join([*lines, 'date +%s.%N >"$STUBS/ended"', "exit $code"])

    def _environment(self, hook: str) -> dict[str, str]:
        unit = f"{self.name}/0"
        action = {"JUJU_ACTION_NAME": hook.rpartition("/")[2], "JUJU_ACTION_UUID": "1"}
        return {
            "STUBS": str(self.stubs),
            "PATH": f"{self.stubs}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "JUJU_UNIT_NAME": unit,
            "JUJU_MODEL_NAME": "packed",
            "JUJU_MODEL_UUID": "00000000-0000-4000-8000-000000000000",
            "JUJU_MACHINE_ID": "0",
            "JUJU_PRINCIPAL_UNIT": "worker/0",
            "JUJU_CHARM_DIR": str(self.folder),
            "JUJU_CONTEXT_ID": f"{unit}-{hook}-1",
            "JUJU_VERSION": "3.6.14",
            "JUJU_DISPATCH_PATH": hook if "/" in hook else f"hooks/{hook}",
            **(action if hook.startswith("actions/") else {}),
            **{key: os.environ[key] for key in ("TZ",) if key in os.environ},
        }
