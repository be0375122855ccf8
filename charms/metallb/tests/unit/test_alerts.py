# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Alert rules: their form, that they are PromQL, and which metrics they ask for."""

import re
from typing import Any

import pytest
import yaml
from lbsite import ROOT

FILES = sorted((ROOT / "src/prometheus_alert_rules").glob("*.yaml"))
RULES: list[dict[str, Any]] = [
    rule
    for path in FILES
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
]
KNOWN = {
    "metallb_allocator_addresses_in_use_total",
    "metallb_allocator_addresses_total",
    "metallb_bgp_session_up",
    "metallb_k8s_client_config_loaded_bool",
    "metallb_k8s_client_config_stale_bool",
    "kube_daemonset_status_desired_number_scheduled",
    "kube_daemonset_status_number_available",
}
"""What MetalLB 0.15.3 and kube-state-metrics have."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+[smh]", rule["for"])
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert set(rule["annotations"]) == {"summary", "description"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_asks_for_metrics_that_there_are(rule: dict[str, Any]) -> None:
    names = set(re.findall(r"\b(?:metallb|kube)_[a-z0-9_]+", rule["expr"]))
    assert names
    assert names <= KNOWN


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_expression_is_promql(rule: dict[str, Any]) -> None:
    parser = pytest.importorskip("promql_parser")
    assert parser.parse(rule["expr"]) is not None
    with pytest.raises(ValueError, match=r".+"):
        parser.parse(rule["expr"] + " ==")


def test_exhausted_pools_missing_speakers_and_lost_sessions_are_told() -> None:
    assert {"AddressPoolExhausted", "SpeakerDown", "BgpSessionDown"} <= {r["alert"] for r in RULES}
