# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Feeds damaged bundles to the check and the plan until the time is up: no input may raise.

``python3 benchmarks/fuzz_bundle.py [SECONDS [SEED]]`` prints the seed, the count and the rate; the
seconds are those of a core. A traceback ends it; the seed gives the same texts again.
"""

import contextlib
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "lib")]

from rehearsal.bundle import (  # noqa: E402
    Deployed,
    Existing,
    PlanError,
    check_loaded,
    exit_status,
    load,
    plan,
    unheeded,
)
from rehearsal.maas.inventory import default_inventory  # noqa: E402

_SPICE = (
    b"null", b"~", b"{}", b"[]", b"- ", b"---\n", b"&a ", b"*a", b"<<: ", b"!!int ", b"!x ",
    b"|\n", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"'", b'"', b": ", b"#", b"%", b"@",
    b"0x", b"1e999", b"99999999999999999999999", b".nan", b"-.inf", b"yes", b"lxd:", b"/0",
    b"include-file:///", b"\xed\xa0\x80", b"../", b"kubernetes", b"ubuntu@", b"secret:",
    b"num_units: 999999999999\n", b"9" * 350, b"include-file:/", b"<<: [*a, 3]", b"services:",
)  # fmt: skip

HELD = {
    "etcd": Deployed(
        "etcd", is_local=False, units={"etcd/0": "0", "etcd/3": "1/lxd/0"}, next_unit=4
    ),
    "gpu-worker": Deployed("gpu-worker", options={"mig-profile": "all-1g.5gb"}),
    "worker": Deployed("kubernetes-worker", constraints="arch=amd64", base="ubuntu@22.04"),
}
"""Applications that half of the models hold already."""


def damage(text: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return a text with one to eight cuts, swaps, insertions, or pieces of another."""
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice((1, 2, 8, 40, 200)))
        kind = chance.randrange(6)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + chance.choice(_SPICE) + text[at:]
        elif kind == 2:
            text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
        elif kind == 3:
            start = chance.randrange(len(other) + 1)
            text = text[:at] + other[start : start + 80] + text[at:]
        elif kind == 4:
            lines = text.splitlines(keepends=True)
            chance.shuffle(lines)
            text = b"".join(lines) if chance.random() < 0.1 else text
        else:
            text = text[:at] + text[at:end] * chance.randint(2, 5) + text[end:]
    return text


def run(seconds: float, seed: int) -> int:
    """Return how many damaged bundles were checked."""
    chance = random.Random(seed)  # noqa: S311  (no secret)
    base = (ROOT / "bundles" / "charmed-kubernetes.yaml").read_bytes()
    overlay = (ROOT / "overlays" / "site-example.yaml").read_bytes()
    site = default_inventory()
    end, count = time.process_time() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "b.yaml", Path(folder) / "o.yaml"
        while time.process_time() < end:
            count += 1
            first.write_bytes(damage(base, overlay, chance))
            second.write_bytes(damage(overlay, base, chance))
            overlays = [second] if chance.random() < 0.5 else []
            juju = "4.0" if chance.random() < 0.5 else "3.6"
            inventory = site if chance.random() < 0.3 else None
            loaded = load(first, overlays, juju=juju)
            found = check_loaded(loaded, juju, inventory=inventory)
            if loaded.bundle is not None and not exit_status(found):
                held = Existing(juju, HELD if chance.random() < 0.5 else {}, ("0", "1"), (), 2)
                with contextlib.suppress(PlanError):
                    plan(loaded.bundle, existing=held).text()
                    unheeded(loaded.bundle, held)
    return count


def main() -> int:
    """Run from the command line."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    print(f"seed {seed}, {seconds:g} s")
    count = run(seconds, seed)
    print(f"{count} bundles, {count / seconds:.0f} a second of a core, no traceback")
    return 0


if __name__ == "__main__":
    sys.exit(main())
