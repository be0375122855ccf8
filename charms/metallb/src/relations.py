# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The unit's relations and options as values."""

import ops

from assembly import Inputs
from charmkit.access import find_ways
from charmkit.config import load
from charmkit.errors import ConfigError
from charmkit.files import Files
from config import DEFAULTS, MetallbOptions
from document import parse_name

HOST = "host"
KUBE_CONTROL = "kube-control"

ENDPOINTS = (HOST, KUBE_CONTROL)
"""Whichever is left first tells a unit that it goes."""


def load_options(charm: ops.CharmBase) -> tuple[MetallbOptions, ConfigError | None]:
    """Return the options, or the defaults and what is wrong: a bad value stops no clean-up."""
    try:
        return load(charm, MetallbOptions), None
    except ConfigError as error:
        return _with_namespace(charm), error


def _with_namespace(charm: ops.CharmBase) -> MetallbOptions:
    """Return the defaults in the namespace of the option, where that one is good."""
    try:
        name = parse_name(charm.config.get("namespace"), "namespace")
    except ValueError:
        return DEFAULTS
    return DEFAULTS.model_copy(update={"namespace": name})


def read_inputs(charm: ops.CharmBase, files: Files) -> Inputs:
    """Return what Juju tells about this unit, and ask for access to the cluster."""
    options, refused = load_options(charm)
    ways, no_way = find_ways(charm, files, endpoint=KUBE_CONTROL)
    return Inputs(
        charm.app.name,
        charm.unit.name,
        options,
        refused,
        charm.unit.is_leader(),
        ways,
        no_way,
        charm.charm_dir,
    )


def ends(charm: ops.CharmBase) -> bool:
    """Say whether Juju plans no unit of the application any more."""
    return charm.app.planned_units() == 0
