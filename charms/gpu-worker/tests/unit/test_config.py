# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import ops
import pytest
import yaml
from ops import testing

from charmkit.config import load
from charmkit.errors import ConfigError
from config import WorkerOptions

META = yaml.safe_load((Path(__file__).parents[2] / "charmcraft.yaml").read_text())


def read(**options: Any) -> WorkerOptions:
    """Load options as Juju hands them over."""
    given = {name.replace("_", "-"): value for name, value in options.items()}
    meta = {"name": "gpu-worker"}
    context = testing.Context(ops.CharmBase, meta=meta, config=META["config"])
    with context(context.on.update_status(), testing.State(config=given)) as manager:
        return load(manager.charm, WorkerOptions)


def test_fields_and_options_are_the_same():
    options = [name.replace("-", "_") for name in META["config"]["options"]]
    assert list(WorkerOptions.model_fields) == options


def test_the_defaults_are_valid():
    options = read()
    assert (options.mig_profile, options.strategy, options.drain) == (
        "all-disabled",
        "mixed",
        "idle",
    )
    assert options.mig_layouts == {}


def test_layouts_arrive_parsed():
    text = "version: v1\nmig-configs:\n  team: [{devices: all, mig-enabled: false}]\n"
    assert list(read(mig_layouts=text).mig_layouts) == ["team"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mig_profile": ""}, "mig-profile: '' is no name of a layout, as in all-1g.5gb"),
        ({"mig_profile": "a b"}, "mig-profile: 'a b' is no name of a layout, as in all-1g.5gb"),
        (
            {"mig_layouts": "version: v2\nmig-configs: {a: 1}"},
            "mig-layouts: version must be v1, not 'v2'",
        ),
        (
            {"mig_strategy": "sole"},
            "mig-strategy: must be auto, mixed, single or none, not 'sole'",
        ),
        ({"drain": "force"}, "drain: must be idle, affected, node or never, not 'force'"),
        ({"reboot": "always"}, "reboot: must be never or when-needed, not 'always'"),
        ({"unlisted_gpus": "all"}, "unlisted-gpus: must be keep, off or error, not 'all'"),
        ({"drain_timeout": 5}, "drain-timeout: must be from 60 to 86400, not 5"),
        ({"max_unavailable": 0}, "max-unavailable: must be 1 or more, not 0"),
        (
            {"image_registry": "https://example.org"},
            (
                "image-registry: 'https://example.org' is no registry, "
                "as in mirror.example.org:5000/gpu"
            ),
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_refused_option_says_why_in_one_line(options: dict[str, Any], message: str):
    with pytest.raises(ConfigError) as caught:
        read(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("registry", ["", "registry.example.org:5000/nvidia", "mirror"])
def test_a_registry_may_have_a_port_and_a_path(registry: str):
    assert read(image_registry=registry).image_registry == registry
