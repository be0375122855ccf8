# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Keystone's own rule processor makes of mappings; runs in its environment, JSON to JSON."""

import json
import sys
from typing import Any

import keystone.conf
from keystone.federation import utils


def process(case: dict[str, Any]) -> dict[str, Any]:
    """Return user and groups of one case, or that Keystone refuses it."""
    try:
        utils.validate_mapping_structure({"rules": case["rules"], "schema_version": "1.0"})
        made = utils.RuleProcessor("m", case["rules"]).process(case["attributes"])
    except Exception as error:  # noqa: BLE001 - whatever it is, the login fails
        return {"refused": type(error).__name__}
    return {
        "user": made["user"].get("name", ""),
        "groups": sorted(group["name"] for group in made["group_names"]),
        "ids": sorted(made["group_ids"]),
    }


keystone.conf.configure()
json.dump([process(case) for case in json.load(sys.stdin)], sys.stdout)
