# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Options: the model and charmcraft.yaml agree, and a bad value is told in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ops
import pytest
import yaml

from config import DriverOptions

MakeSite = Callable[..., Any]
CHARMCRAFT = yaml.safe_load((Path(__file__).parents[2] / "charmcraft.yaml").read_text())

BAD = [
    ("driver_branch", "latest", "'latest' is no branch, write auto, 580-server or 580"),
    (
        "driver_branch",
        "580-server-open",
        "write 580-server, and kernel-modules=open beside it",
    ),
    ("driver_source", "debian", "'debian' is not one of auto, ubuntu, nvidia"),
    ("kernel_modules", "proprietary", "'proprietary' is not one of auto, open, closed"),
    ("reboot", "always", "'always' is not one of never, when-needed"),
    ("max_unavailable", 0, "input should be greater than or equal to 1"),
    (
        "repository",
        "https://example.com/apt",
        "write one line that begins with deb, as in sources.list",
    ),
    (
        "repository_key",
        "C95B 321B",
        "write an armoured public key, with its first and last line",
    ),
]


def test_the_model_has_the_options_of_charmcraft_yaml_in_their_order() -> None:
    fields = [name.replace("_", "-") for name in DriverOptions.model_fields]
    assert fields == list(CHARMCRAFT["config"]["options"])


@pytest.mark.parametrize(("option", "value", "reason"), BAD)
def test_a_bad_value_blocks_with_option_and_reason(
    site: MakeSite, option: str, value: Any, reason: str
) -> None:
    pair = site("a30-pair")
    pair.configure(**{option: value})
    assert pair.status == ops.BlockedStatus(f"{option.replace('_', '-')}: {reason}")


@pytest.fixture
def refused(site: MakeSite) -> Any:
    """Return a machine that worked before an option was spoiled."""
    pair = site("a30-pair")
    pair.install()
    pair.configure(reboot="always")
    return pair


BLOCKED = ops.BlockedStatus("reboot: 'always' is not one of never, when-needed")


def test_a_refused_option_leaves_the_driver_as_it_works(refused: Any) -> None:
    assert refused.status == BLOCKED
    assert refused.published.ready
    assert "nvidia" in refused.host.modules()


def test_actions_run_and_the_unit_stays_blocked(refused: Any) -> None:
    on = refused.context.on
    for name in ("show-driver", "prepare-removal"):
        refused.emit(on.action(name))
        assert refused.status == BLOCKED
    assert refused.context.action_results["afterwards"]


def test_removal_runs_with_a_refused_option(refused: Any) -> None:
    refused.emit(refused.context.on.relation_broken(refused.host_relation))
    assert refused.host.packages.held() == frozenset()
    assert refused.status == BLOCKED


def test_a_mended_option_makes_the_unit_active_again(refused: Any) -> None:
    refused.configure(reboot="never")
    assert isinstance(refused.status, ops.ActiveStatus)


@pytest.mark.parametrize("kind", ["config", "actions"])
def test_every_option_and_action_is_described(kind: str) -> None:
    entries = CHARMCRAFT["config"]["options"] if kind == "config" else CHARMCRAFT["actions"]
    assert all(entry["description"].strip() for entry in entries.values())


def test_no_action_takes_what_it_does_not_know() -> None:
    assert all(one["additionalProperties"] is False for one in CHARMCRAFT["actions"].values())
