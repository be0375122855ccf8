# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Stage and pack charms into dist/: `pack.py [--stage] [CHARM...]`; --stage leaves the packing."""

import shutil
import subprocess as sp
import sys
import tempfile
import time
from pathlib import Path

ROOT, TOOLS = Path(__file__).resolve().parent.parent, Path(sys.executable).parent
BASES = {"24.04": "3.12", "22.04": "3.10"}  # Ubuntu's Python decides the ABI of the wheels.
LEFT_OUT = ("tests", "__pycache__", "uv.lock", "metadata.yaml", "config.yaml", "actions.yaml")


def stage(charm: str) -> Path:
    """Copy charm and shared package into build/<charm>, with version and tested pins."""
    target, ignore = ROOT / "build" / charm, shutil.ignore_patterns(*LEFT_OUT)
    shutil.rmtree(target, ignore_errors=True)
    for source, place in ((f"charms/{charm}", "."), ("lib/charmkit", "lib/charmkit")):
        shutil.copytree(ROOT / source, target / place, ignore=ignore, dirs_exist_ok=True)
    version = sp.check_output(["/usr/bin/git", "describe", "--always", "--dirty"], cwd=ROOT)
    (target / "version").write_bytes(version)
    pins = [line.strip() for line in (ROOT / "requirements/rehearsal.txt").open() if "==" in line]
    with (target / "pyproject.toml").open("a") as file:
        file.write(f"[tool.uv]\nconstraint-dependencies = {pins}\n")
    return target


def pack(folder: Path, release: str, python: Path) -> None:
    """Pack a staged charm as on that Ubuntu release; charmcraft reads it below $UNIXCONFDIR."""
    host, began = Path(tempfile.mkdtemp(dir=folder.parent)), time.monotonic()
    (host / "os-release").write_text(f'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="{release}"\n')
    (host / "python3").symlink_to(python)
    for file in Path("/usr/lib/python3/dist-packages").glob("apt*"):  # python-apt, nothing else
        (host / file.name).symlink_to(file)
    env = {"PATH": f"{host}:{TOOLS}:/usr/sbin:/usr/bin:/sbin:/bin"}
    env |= dict.fromkeys(("UNIXCONFDIR", "XDG_RUNTIME_DIR", "HOME", "PYTHONPATH"), str(host))
    command = [TOOLS / "charmcraft", "pack", "--destructive-mode", "--verbosity=quiet"]
    sp.check_call([*command, f"--platform=ubuntu-{release}-amd64"], cwd=folder, env=env)
    (packed,) = folder.glob(f"*{release}*.charm")
    target = packed.replace(ROOT / "dist" / packed.name)
    print(f"{target}: {target.stat().st_size:,} bytes, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    (ROOT / "dist").mkdir(exist_ok=True)
    names = sorted(file.parent.name for file in ROOT.glob("charms/*/*craft.yaml"))
    for charm in sys.argv[1 + ("--stage" in sys.argv) :] or names:
        for release, minor in BASES.items():
            homes = [*Path.home().glob(f".pyenv/versions/{minor}*"), Path("/usr")]
            pythons = [p for p in (home / f"bin/python{minor}" for home in homes) if p.exists()]
            folder = stage(charm)
            if "--stage" not in sys.argv and pythons:
                pack(folder, release, pythons[0])
            elif "--stage" not in sys.argv:
                print(f"no Python {minor} is here: {charm} for {release} is not packed")
