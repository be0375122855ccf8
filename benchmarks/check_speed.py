# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How long the check takes: a MAAS export of many machines, the real bundle with all overlays.

``python3 benchmarks/check_speed.py [MACHINES]``: the whole process as a person runs it,
median and fastest of seven.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (
    sys.executable,
    "-c",
    "from rehearsal.cli import main; import sys; sys.exit(main(sys.argv[1:]))",
)
LIMITS = {"all overlays": 1.0, "MAAS export": 2.0}
"""Seconds that were asked for; printed, not asserted: a machine at work is slower."""


def export(count: int) -> str:
    """Return what ``maas PROFILE machines read`` prints for a site of so many machines."""
    machines = [
        {
            "system_id": f"abc{number:03}",
            "hostname": f"node-{number:03}",
            "architecture": "amd64/generic",
            "cpu_count": 16 + number % 5 * 16,
            "memory": 65536 * (1 + number % 8),
            "storage": 960197.124096,
            "status_name": "Ready" if number % 9 else "Deployed",
            "tag_names": [("dgx", "dgx-mig", "k8s-control", "k8s-cpu", "storage")[number % 5]],
            "zone": {"id": number % 3, "name": f"rack-{number % 3}"},
            "ip_addresses": [f"10.{number // 250}.1.{number % 250}"],
            "interface_set": [
                {
                    "name": f"ens{port}",
                    "vlan": {"id": 5001 + port},
                    "links": [_link(number, port)],
                }
                for port in range(4)
            ],
            "hardware_info": {"system_product": "DGXA100 920-23687-2530-000"},
            "blockdevice_set": [
                {"name": f"nvme{disk}", "size": 3840755982336} for disk in range(8)
            ],
            "power_parameters": {"power_address": f"10.9.{number // 250}.{number % 250}"},
        }
        for number in range(count)
    ]
    return json.dumps(machines)


def _link(number: int, port: int) -> dict[str, object]:
    """Return the link of a machine's port: a subnet for each port and 200 machines."""
    net = f"10.{20 + number // 200}.{port}"
    subnet = {"cidr": f"{net}.0/24", "gateway_ip": f"{net}.1"}
    return {
        "mode": "static",
        "ip_address": f"{net}.{2 + number % 200}",
        "subnet": {**subnet, "vlan": {"id": 5001 + port, "space": "alpha"}},
    }


RUNS = 7


def seconds(words: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return the seconds of each run from start to end, and those of the processor, in order."""
    took: list[float] = []
    worked: list[float] = []
    for _ in range(RUNS):
        began, before = time.monotonic(), _children()
        subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, check=False)
        took.append(time.monotonic() - began)
        worked.append(_children() - before)
    return sorted(took), sorted(worked)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print the two times beside the limits."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    bundle = "bundles/charmed-kubernetes.yaml"
    overlays = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "overlays").glob("*.yaml"))
    words = [word for overlay in overlays for word in ("--overlay", overlay)]
    with tempfile.TemporaryDirectory() as folder:
        machines = Path(folder) / "machines.json"
        machines.write_text(export(count))
        size = machines.stat().st_size // 1024
        for what, asked in (
            ("all overlays", ["check", bundle, *words]),
            ("MAAS export", ["check", bundle, *words, "--inventory", str(machines)]),
        ):
            took, worked = seconds(asked)
            detail = (
                f"{count} machines, {size} KiB" if what == "MAAS export" else f"{len(overlays)}"
            )
            print(
                f"{what} ({detail}): median {median(took):.2f} s, fastest {took[0]:.2f} s,",
                end=" ",
            )
            print(f"asked {LIMITS[what]:.0f} s; {median(worked):.2f} s of a core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
