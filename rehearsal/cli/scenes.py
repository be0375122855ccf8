# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The models on which recorded command lines are played, and the charms that they name.

The records hold neither every command that made the models nor the packed charms; both are made
again here: charms from their metadata, in the versions that the command lines name, and models by
commands before the first row and before some later ones.
"""

import zipfile
from pathlib import Path
from typing import Any

import yaml

ADDED_TO_GAMMA = {"site": {"interface": "site"}}
"""Endpoint of the gamma that most rows use; the recorded metadata is that of a later one."""


def lay_out(charms: Path, place: Path) -> None:
    """Write the packed charms, and the files that command lines name, into a folder."""
    for name in ("gamma", "delta", "sub1", "sub2"):
        metadata = yaml.safe_load((charms / name / "metadata.yaml").read_text())
        if name == "gamma":
            metadata["provides"] = {**ADDED_TO_GAMMA, **metadata["provides"]}
        if name == "delta":
            _pack(charms, name, metadata, place / "delta-4.0-sub.charm", "4.0")
            metadata.pop("subordinate", None)
            metadata["requires"].pop("host", None)
            without = {**metadata, "requires": {"lim": metadata["requires"]["lim"]}}
            _pack(charms, name, without, place / "delta-3.0-nosite.charm", "3.0")
        for version in ("1.0", "2.0"):
            _pack(charms, name, metadata, place / f"{name}-{version}.charm", version)
    pair = yaml.safe_load((charms / "sub2" / "metadata.yaml").read_text())
    _pack(charms, "sub2", pair, place / "sub2-3.0-globalpair.charm", "3.0")
    (place / "build" / "gamma").mkdir(parents=True)
    (place / "build" / "gamma" / "metadata.yaml").write_text("name: gamma\n")
    (place / "val.txt").write_text("text of a file\n")
    (place / "cfg.yaml").write_text("gamma:\n  greeting: from-a-file\n")
    (place / "cfgbad.yaml").write_text("gamma:\n  nope: 1\n")
    (place / "inventory.yaml").write_text(yaml.safe_dump(_inventory()))


def _pack(charms: Path, name: str, metadata: dict[str, Any], path: Path, version: str) -> None:
    """Write one packed charm."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.yaml", yaml.safe_dump(metadata))
        archive.writestr("version", f"{version}\n")
        archive.writestr("src/charm.py", (charms / "charm.py").read_text())
        for file in ("config.yaml", "actions.yaml", "manifest.yaml"):
            source = charms / name / file
            if source.exists():
                text = source.read_text()
                if file == "config.yaml" and version == "2.0" and name == "delta":
                    text += "  more:\n    type: int\n    default: 3\n    description: new\n"
                archive.writestr(file, text)


def _inventory() -> dict[str, Any]:
    """Return enough machines without tags for every row."""
    return {
        "machines": [
            {
                "name": f"vm-{number}",
                "hardware": "cpu",
                "address": f"10.30.0.{number}",
                "cores": 4,
                "mem": "8G",
                "disk": "50G",
            }
            for number in range(1, 60)
        ]
    }


def _on(model: str, *commands: str) -> list[list[str]]:
    """Return command lines on one model; in each the verb comes first."""
    return [[verb, "-m", model, *rest] for verb, *rest in (line.split() for line in commands)]


MODELS = ("t1", "b1", "b2", "c1", "c2", "c3", "c4", "c6")
START: list[list[str]] = [
    ["model-config", "agent-version=4.0.15.1"],
    *(["add-model", model, "--config", "agent-version=4.0.15.1"] for model in MODELS),
    ["switch", "b2"],
    *_on("c1", "deploy ./gamma-1.0.charm"),
    *_on("b1", "deploy easyrsa"),
    ["offer", "b1.easyrsa:client", "ca"],
    *_on("c3", "deploy ./gamma-1.0.charm", "deploy ./sub1-1.0.charm"),
]
"""Commands before the first row."""

BEFORE: dict[str, list[list[str]]] = {
    "deploy-badname2": _on(
        "c2", "add-machine", "deploy ./delta-1.0.charm dd", "deploy ./delta-1.0.charm"
    ),
    "config-get-intfloat": _on("c2", "config gamma ratio=3"),
    "config-get-empty-all": _on("c2", "config gamma greeting=", "config gamma token="),
    "config-get-exp": _on("c2", "config gamma ratio=1e3"),
    "integrate-limit2": _on("c2", "integrate gamma:lim delta:lim"),
    "integrate-back": _on(
        "c2", "integrate gamma:site delta:site", "integrate gamma:site2 dd:site"
    ),
    "show-task": _on("c2", "run gamma/0 ok name=bob"),
    "config-deployed-gat": _on(
        "c4", "deploy ./gamma-1.0.charm gat --to 0 --config greeting=@val.txt"
    ),
    "remove-many": _on(
        "c4", "deploy ./gamma-1.0.charm gflat --to 0", "deploy ./gamma-1.0.charm --to 0"
    ),
    "show-secret-granted": _on("c2", "grant-secret mysec dd"),
    "offers#2": [["offer", "c2.gamma:site2", "myoffer"]],
    "integrate-offer-url": _on("c4", "consume admin/c2.myoffer far"),
    "machines": _on("c2", "add-machine", "integrate dd:juju-info sub1:host"),
    "debug-log-include-limit": _on("c4", "add-unit delta --to 0"),
    "remove-machine-dry": _on("c4", "add-machine"),
    "config-token-get": _on("c4", "config gj token=secret:gu6o31ckt4l4h3k5lm50"),
    "credentials-model": _on("c4", "model-config update-status-hook-interval=20m"),
    "status-sub-only-json": _on("c6", "deploy ./sub2-1.0.charm"),
    "status-error-yaml": _on("c4", "add-unit delta --to 0", "config delta fail-on=config-changed"),
    "show-model-gone": [["destroy-model", "c6", "--no-prompt"]],
    "cancel-task-pending": _on(
        "c4", "run gj/0 slow seconds=6 --background", "run gj/0 slow seconds=6 --background"
    ),
    "operations-filter": _on("c4", "run delta/0 sh cmd=hostname then=fail"),
}
"""Commands before a row, by the row's id: what the records leave out."""

NEXT_TASK = {"cancel-task-pending": ("c4", 128)}
"""Number of the next operation on a model before a row: the ones before are not recorded."""
