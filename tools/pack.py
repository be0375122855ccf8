# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Stage and pack charms into dist/: `pack.py [--stage] [CHARM...]`.

With --stage, plain `charmcraft pack` in build/<charm> is left to do, on Ubuntu. Without it the
real charmcraft packs here, on Debian too: it reads the host's release below $UNIXCONFDIR.
"""

import shutil
import subprocess as sp
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASES = {"24.04": "3.12", "22.04": "3.10"}  # Ubuntu's Python decides the ABI of the wheels.
IGNORED = ("tests", "__pycache__", "uv.lock", "metadata.yaml", "config.yaml", "actions.yaml")


def stage(charm: str) -> Path:
    """Copy charm and shared package into build/<charm>, with version and tested pins."""
    target = ROOT / "build" / charm
    shutil.rmtree(target, ignore_errors=True)
    for source, place in ((f"charms/{charm}", "."), ("lib/charmkit", "lib/charmkit")):
        ignore = shutil.ignore_patterns(*IGNORED)
        shutil.copytree(ROOT / source, target / place, ignore=ignore, dirs_exist_ok=True)
    describe = ["/usr/bin/git", "describe", "--always", "--dirty"]
    (target / "version").write_bytes(sp.check_output(describe, cwd=ROOT))
    tested = [pin for pin in (ROOT / "requirements/rehearsal.txt").open() if "==" in pin]
    with (target / "pyproject.toml").open("a") as file:
        file.write(f"[tool.uv]\nconstraint-dependencies = {[pin.strip() for pin in tested]}\n")
    return target


def pack(folder: Path, release: str, python: Path) -> None:
    """Pack a staged charm as on that Ubuntu release, with an interpreter of the release."""
    host, tools, began = folder / ".host", Path(sys.executable).parent, time.monotonic()
    (host / "bin").mkdir(parents=True, mode=0o700)
    (host / "os-release").write_text(f'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="{release}"\n')
    (host / "bin/python3").symlink_to(python)
    for file in Path("/usr/lib/python3/dist-packages").glob("apt*"):  # python-apt, nothing else
        (host / file.name).symlink_to(file)
    path = f"{host}/bin:{tools}:/usr/sbin:/usr/bin:/sbin:/bin"
    env = dict.fromkeys(("UNIXCONFDIR", "XDG_RUNTIME_DIR", "HOME", "PYTHONPATH"), host)
    options = ["--platform", f"ubuntu-{release}-amd64", "--destructive-mode", "--verbosity=quiet"]
    sp.check_call([tools / "charmcraft", "pack", *options], cwd=folder, env=env | {"PATH": path})
    (file,) = folder.glob(f"*{release}*.charm")
    target = file.replace(ROOT / "dist" / file.name)
    print(f"{target}: {target.stat().st_size:,} bytes, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    (ROOT / "dist").mkdir(exist_ok=True)
    names = [name for name in sys.argv[1:] if name != "--stage"]
    for charm in names or sorted(file.parent.name for file in ROOT.glob("charms/*/*craft.yaml")):
        for release, minor in BASES.items():
            places = [*Path.home().glob(f".pyenv/versions/{minor}*/bin"), Path("/usr/bin")]
            pythons = [p / f"python{minor}" for p in places if (p / f"python{minor}").exists()]
            folder = stage(charm)
            if "--stage" not in sys.argv and pythons:
                pack(folder, release, pythons[0])
            elif "--stage" not in sys.argv:
                print(f"no Python {minor} is here: {charm} for {release} is not packed")
