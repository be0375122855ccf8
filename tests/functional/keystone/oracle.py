# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Keystone's own rule processor makes of mappings; runs in its environment, JSON to JSON."""

import copy
import json
import sys
from typing import Any

import keystone.conf
from keystone.federation import utils


def process(case: dict[str, Any]) -> dict[str, Any]:
    """Return whether Keystone takes a mapping, and what becomes of each login."""
    mapping = {"id": "m", "rules": case["rules"], "schema_version": case["version"] or "1.0"}
    try:
        utils.validate_mapping_structure(mapping)
    except Exception as error:  # noqa: BLE001 - whatever it is, the mapping is not taken
        return {"taken": False, "reason": str(error), "logins": []}
    return {"taken": True, "logins": [login(mapping, one) for one in case["logins"]]}


def login(mapping: dict[str, Any], attributes: dict[str, str]) -> dict[str, Any]:
    """Return user, groups and projects of a login, or that Keystone refuses it."""
    try:
        processor = utils.create_attribute_mapping_rules_processor(copy.deepcopy(mapping))
        made = processor.process(attributes)
        # Keystone looks each up in its database, which takes no list and no mapping.
        hash(tuple(group["name"] for group in made["group_names"]))
        return {
            "user": made["user"].get("name", ""),
            "kind": made["user"]["type"],
            "groups": sorted(str(group["name"]) for group in made["group_names"]),
            "ids": sorted(map(str, made["group_ids"])),
            "projects": [
                [project["name"], [role["name"] for role in project["roles"]]]
                for project in made["projects"]
            ],
        }
    except Exception as error:  # noqa: BLE001 - whatever it is, the login fails
        return {"refused": type(error).__name__}


keystone.conf.configure()
json.dump([process(case) for case in json.load(sys.stdin)], sys.stdout)
