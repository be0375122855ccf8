# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions answer. Knows no Juju; a `CharmkitError` becomes the failure of the action."""

from collections.abc import Callable, Mapping
from typing import Any

import preview
import report
from assembly import Parts
from charmkit.errors import ConfigError
from charmkit.kinds import NODE
from charmkit.kube import Kube
from config import WHEN_NEEDED, check_name
from cycle import resolve_layout
from drain import Policy
from gpu import Gpu
from hardware import Hardware, MachineGpus
from node import POOL_LABEL, find_holders
from plan import plan
from situation import Observed, find_all_holders
from worker import Worker

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
    kube, options = parts.connect(), parts.inputs.options
    observed = _look(parts, kube)
    choice = parts.make_cycle(kube).choose(observed)
    profile = str(params.get("profile", ""))
    goals = resolve_layout(profile or choice.name, observed.gpus, options)
    holders = find_all_holders(observed)
    outlook = preview.Outlook(
        plan(observed.gpus, goals, frozenset(holders)),
        holders,
        observed.pods,
        Policy(options.drain, options.evict_bare_pods),
        options.reboot == WHEN_NEEDED,
    )
    return {"layout": profile or str(choice), **preview.describe(outlook)}


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
    observed = _look(parts, kube)
    users = sorted({name for names in find_all_holders(observed).values() for name in names})
    nodes = [node["metadata"] for node in kube.list(NODE, labels=f"{POOL_LABEL}={application}")]
    others = sum(node["name"] != observed.node.name for node in nodes)
    return {
        "gpus": f"stay cut: {_cuts(observed.gpus)}",
        "running": f"{', '.join(users) or 'nobody'} keeps its devices until it ends",
        "node": f"{observed.node.name} offers no GPU any more; labels, taint, cordon of ours go",
        "pool": f"{others} other nodes keep the device plugin" if others else "goes, no node left",
    }


class _Seen(MachineGpus):
    """GPUs of which no read starts what a killed change had stopped."""

    def read(self) -> Hardware:
        """Look, and change nothing."""
        return self.look()


def _look(parts: Parts, kube: Kube) -> Observed:
    """Read the machine and its node; nothing is changed."""
    kubelet, inputs = parts.gateways.pod_resources(), parts.inputs
    seen = _Seen(parts.host, usable=inputs.driver.ready)
    worker = Worker(inputs.identity, parts.host, kube, seen, kubelet, inputs.lease)
    return worker.observe()


def _cuts(gpus: tuple[Gpu, ...]) -> str:
    lines = [f"GPU {g.index} {' '.join(map(str, g.instances)) or 'empty'}" for g in gpus if g.mig]
    return ", ".join(lines) or "none is"
