# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Stage and pack charms into dist/: `pack.py [--stage] [CHARM...]`.

With --stage, plain `charmcraft pack` in build/<charm> is left to do, on Ubuntu. Without it the real
charmcraft packs here, on Debian too: it reads the host's release below $UNIXCONFDIR.
"""

import glob
import os
import shutil
import subprocess as sp
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASES = {"24.04": "3.12", "22.04": "3.10"}  # Ubuntu's Python decides the ABI of the wheels.


def stage(charm: str) -> Path:
    """Copy a charm and the shared package into build/<charm>, with the version of the tree."""
    target = ROOT / "build" / charm
    shutil.rmtree(target, ignore_errors=True)
    ignore = shutil.ignore_patterns("tests", "__pycache__", "*.charm", "uv.lock")
    shutil.copytree(ROOT / "charms" / charm, target, ignore=ignore)
    shutil.copytree(ROOT / "lib/charmkit", target / "lib/charmkit", ignore=ignore)
    describe = ["/usr/bin/git", "describe", "--always", "--dirty"]
    (target / "version").write_bytes(sp.check_output(describe, cwd=ROOT))
    return target


def pack(folder: Path, release: str) -> None:
    """Pack a staged charm as on that Ubuntu release, if a Python of the release is here."""
    names = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{BASES[release]}*/bin/python3"))
    pythons = [*names, shutil.which(f"python{BASES[release]}") or "/nonexistent"]
    python = next((p for p in pythons if Path(p).exists() and not sp.call([p, "-V"])), None)
    if not python:
        return print(f"{folder.name} for {release} not packed: no Python {BASES[release]} here")
    shutil.rmtree(host := folder.parent / f"host-{release}", ignore_errors=True)
    (host / "bin").mkdir(parents=True)
    (host / "os-release").write_text(f'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="{release}"\n')
    (host / "bin/python3").symlink_to(python)
    for file in glob.glob("/usr/lib/python3/dist-packages/apt*[!s]"):  # python-apt, not its stubs
        (host / Path(file).name).symlink_to(file)
    tools, began = Path(sys.executable).parent, time.monotonic()
    path = f"{host}/bin:{tools}:/usr/sbin:/usr/bin:/sbin:/bin"
    env = {
        "UNIXCONFDIR": host,
        "XDG_RUNTIME_DIR": host,
        "HOME": host,
        "PYTHONPATH": host,
        "PATH": path,
    }
    options = ["--platform", f"ubuntu-{release}-amd64", "--destructive-mode", "--verbosity=brief"]
    sp.check_call([tools / "charmcraft", "pack", *options], cwd=folder, env=env)
    target = shutil.move(next(folder.glob(f"*{release}*.charm")), ROOT / "dist")
    print(f"{target}: {os.path.getsize(target):,} bytes, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    (ROOT / "dist").mkdir(exist_ok=True)
    names = [name for name in sys.argv[1:] if name != "--stage"]
    for charm in names or sorted(
        path.parent.name for path in ROOT.glob("charms/*/charmcraft.yaml")
    ):
        for release in BASES:
            folder = stage(charm)
            "--stage" in sys.argv or pack(folder, release)
