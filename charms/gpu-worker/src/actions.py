# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions answer. Knows no Juju; a `CharmkitError` becomes the failure of the action."""

from collections.abc import Callable, Mapping
from typing import Any

import report
from assembly import Parts
from charmkit.errors import ConfigError
from charmkit.kinds import NODE
from config import check_name
from cycle import resolve_layout
from gpu import Gpu
from node import POOL_LABEL, find_holders
from plan import plan
from situation import find_all_holders

Results = dict[str, Any]
Action = Callable[[Parts, Mapping[str, Any]], Results]


def set_profile(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Keep a layout for this machine, after a look whether its GPUs can have it.

    Raises:
        ConfigError: It is no name of a layout.
        CharmkitError: These GPUs cannot have it.
    """
    profile = str(params.get("profile", ""))
    if profile:
        try:
            check_name(profile)
        except ValueError as error:
            raise ConfigError("profile", str(error)) from error
        if parts.inputs.driver.ready:
            resolve_layout(profile, parts.make_gpus().look().gpus, parts.inputs.options)
    parts.store.write_override(profile)
    return {"profile": profile or "by node label or option"}


def plan_profile(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return what a layout would change now and later, and who would be waited for.

    Raises:
        CharmkitError: The machine cannot be read, or cannot have the layout.
    """
    kube = parts.connect()
    observed = parts.make_worker(kube).observe()
    choice = parts.make_cycle(kube).choose(observed)
    profile = str(params.get("profile", ""))
    goals = resolve_layout(profile or choice.name, observed.gpus, parts.inputs.options)
    holders = find_all_holders(observed)
    found = plan(observed.gpus, goals, frozenset(holders))
    return {"layout": profile or str(choice), **report.describe_plan(found, holders)}


def show_gpus(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return one line for each GPU, from NVML and the kubelet alone.

    Raises:
        CharmkitError: NVML or the kubelet does not answer.
    """
    del params
    hardware = parts.make_gpus().look()
    pods = find_holders((), parts.gateways.pod_resources().list(), ())
    return dict(report.describe_gpus(hardware.gpus, {**hardware.processes, **pods}))


def foretell_removal(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return what stays and what goes when this unit is removed.

    Raises:
        CharmkitError: The machine or the cluster cannot be read.
    """
    del params
    kube, application = parts.connect(), parts.inputs.identity.application
    observed = parts.make_worker(kube).observe()
    users = sorted({name for names in find_all_holders(observed).values() for name in names})
    nodes = [node["metadata"] for node in kube.list(NODE, labels=f"{POOL_LABEL}={application}")]
    others = sum(node["name"] != observed.node.name for node in nodes)
    return {
        "gpus": f"stay cut: {_cuts(observed.gpus)}",
        "running": f"{', '.join(users) or 'nobody'} keeps its devices until it ends",
        "node": f"{observed.node.name} offers no GPU any more; labels, taint, cordon of ours go",
        "pool": f"{others} other nodes keep the device plugin" if others else "goes, no node left",
    }


def _cuts(gpus: tuple[Gpu, ...]) -> str:
    lines = [f"GPU {g.index} {' '.join(map(str, g.instances)) or 'empty'}" for g in gpus if g.mig]
    return ", ".join(lines) or "none is"
