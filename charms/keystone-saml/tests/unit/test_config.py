# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Options: the model and charmcraft.yaml have the same ones, in the same order."""

from conftest import METADATA

from config import SamlOptions


def test_the_options_of_the_model_are_those_of_charmcraft_yaml():
    fields = [name.replace("_", "-") for name in SamlOptions.model_fields]
    assert fields == list(METADATA["config"]["options"])


def test_every_action_has_a_strict_schema():
    assert all(one["additionalProperties"] is False for one in METADATA["actions"].values())
