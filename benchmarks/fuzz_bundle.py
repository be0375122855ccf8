# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Feeds damaged bundles to the check until the time is up: no input may raise.

``python3 benchmarks/fuzz_bundle.py [SECONDS [SEED]]`` prints the seed, the count and the rate; a
traceback ends it, and the text that raised lies beside the seed in the message.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "lib")]

from rehearsal.bundle.check import check  # noqa: E402
from rehearsal.inventory import default_inventory  # noqa: E402

_SPICE = (
    b"null", b"~", b"{}", b"[]", b"- ", b"---\n", b"&a ", b"*a", b"<<: ", b"!!int ", b"!x ",
    b"|\n", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"'", b'"', b": ", b"#", b"%", b"@",
    b"0x", b"1e999", b"99999999999999999999999", b".nan", b"-.inf", b"yes", b"lxd:", b"/0",
    b"include-file:///", b"\xed\xa0\x80", b"../", b"kubernetes", b"ubuntu@", b"secret:",
    b"num_units: 999999999999\n",
)  # fmt: skip


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
    end, count = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "b.yaml", Path(folder) / "o.yaml"
        while time.monotonic() < end:
            count += 1
            first.write_bytes(damage(base, overlay, chance))
            second.write_bytes(damage(overlay, base, chance))
            overlays = [second] if chance.random() < 0.5 else []
            juju = "4.0" if chance.random() < 0.5 else "3.6"
            inventory = site if chance.random() < 0.3 else None
            check(first, overlays, juju=juju, inventory=inventory)
    return count


def main() -> int:
    """Run from the command line."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 2**32
    print(f"seed {seed}, {seconds:g} s")
    started = time.monotonic()
    count = run(seconds, seed)
    print(f"{count} bundles, {count / (time.monotonic() - started):.0f} a second, no traceback")
    return 0


if __name__ == "__main__":
    sys.exit(main())
