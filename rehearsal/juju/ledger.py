# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a deploy stores in a model and no hook ever sees: annotations, exposure, offers, saas.

One JSON file beside the model. What is noted of an application that the model does not have is
left behind and replaced when one of that name is deployed.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rehearsal.bundle import Exposed
from rehearsal.errors import FormatError

SCHEMA = 1


class Ledger:
    """The notes of one model; each change is written at once."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ledger.json"
        self._data: dict[str, Any] = {
            "schema": SCHEMA, "applications": {}, "machines": {}, "offers": {}, "saas": {}
        }  # fmt: skip
        if self._path.exists():
            self._data = _read(self._path)

    def begin(self, application: str) -> None:
        """Forget what was noted under the name of an application that is deployed now."""
        self._data["applications"][application] = {}
        self._write()

    def annotate(self, kind: str, name: str, annotations: Mapping[str, str]) -> None:
        """Note annotations of one of the ``applications`` or ``machines`` over earlier ones."""
        entry = self._data[kind].setdefault(name, {})
        entry["annotations"] = {**entry.get("annotations", {}), **annotations}
        self._write()

    def expose(self, application: str, exposed: Mapping[str, Exposed]) -> None:
        """Note from where endpoints may be reached; others stay as they are."""
        entry = self._entry(application)
        noted = {
            name: {"spaces": list(item.spaces), "cidrs": list(item.cidrs)}
            for name, item in exposed.items()
        }
        entry["exposed"] = {**entry.get("exposed", {}), **noted}
        self._write()

    def unexpose(self, application: str, endpoints: Iterable[str] = ()) -> bool:
        """Forget from where endpoints may be reached, all of them unless some are named.

        Returns:
            Whether any endpoint is left that may be reached.
        """
        entry = self._entry(application)
        gone = set(endpoints)
        known = entry.get("exposed", {})
        entry["exposed"] = {name: known[name] for name in known if gone and name not in gone}
        self._write()
        return bool(entry["exposed"])

    def constrain(self, application: str, text: str) -> None:
        """Note constraints that were set after the deploy, as they were written."""
        self._entry(application)["constraints"] = text
        self._write()

    def offer(self, name: str, endpoints: Iterable[str], acl: Mapping[str, str]) -> None:
        """Note an offer."""
        self._data["offers"][name] = {"endpoints": list(endpoints), "acl": dict(acl)}
        self._write()

    def consume(self, name: str, url: str) -> None:
        """Note an offer of another model that is used here."""
        self._data["saas"][name] = url
        self._write()

    def annotations(self, application: str) -> dict[str, str]:
        """Return the annotations of an application."""
        return dict(self._entry(application).get("annotations", {}))

    def exposed(self, application: str) -> dict[str, Exposed]:
        """Return from where each endpoint of an application may be reached."""
        return {
            name: Exposed(tuple(item["spaces"]), tuple(item["cidrs"]))
            for name, item in self._entry(application).get("exposed", {}).items()
        }

    def find_constraints(self, application: str) -> str | None:
        """Return constraints that were set after the deploy, None when none were."""
        found: str | None = self._entry(application).get("constraints")
        return found

    def offers(self) -> dict[str, tuple[str, ...]]:
        """Return the endpoints of each offer."""
        return {name: tuple(entry["endpoints"]) for name, entry in self._data["offers"].items()}

    def saas(self) -> frozenset[str]:
        """Return the names under which offers of other models are used."""
        return frozenset(self._data["saas"])

    def _entry(self, application: str) -> dict[str, Any]:
        entry: dict[str, Any] = self._data["applications"].setdefault(application, {})
        return entry

    def _write(self) -> None:
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(self._data, indent=1, sort_keys=True))
        draft.replace(self._path)


def _read(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise FormatError(f"{path}: made by a newer version")
    return data
