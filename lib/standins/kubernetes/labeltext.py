# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Labels and selectors in one line. Pure.

Source: apimachinery pkg/labels, FormatLabels; pkg/apis/meta/v1/helpers.go, FormatLabelSelector.
"""

from collections.abc import Mapping
from typing import Any


def label_text(labels: Mapping[str, str]) -> str:
    """Return labels by name, `<none>` of none."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "<none>"


def selector_text(selector: Mapping[str, Any]) -> str:
    """Return a selector of labels by name, `<none>` of an empty one."""
    labels = selector.get("matchLabels") or {}
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    parts += [(item["key"], _expression(item)) for item in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts)) or "<none>"


def _expression(item: Mapping[str, Any]) -> str:
    key, values = item["key"], ",".join(sorted(item.get("values") or ()))
    return {
        "In": f"{key} in ({values})",
        "NotIn": f"{key} notin ({values})",
        "Exists": key,
        "DoesNotExist": f"!{key}",
    }[item["operator"]]
