# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions answer. Knows no Juju; a `CharmkitError` becomes the failure of the action."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import maintenance
import preview
import report
from assembly import Parts
from charmkit.errors import ConfigError, NotReadyError
from charmkit.kinds import NODE
from charmkit.kube import Kube
from config import WHEN_NEEDED, check_name
from drain import Policy
from goals import find_left_alone, resolve_for, resolve_layout
from gpu import Gpu
from hardware import Hardware, MachineGpus
from node import POOL_LABEL, find_holders
from numbering import forget
from observed import Observed, Wish, find_all_holders
from plan import plan
from refusal import NOTHING
from situation import find_strategies
from strategy import choose, foresee, withhold
from worker import Worker

Results = dict[str, Any]
Action = Callable[[Parts, Mapping[str, Any]], Results]


def set_profile(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Keep a layout for this machine, after a look whether its GPUs can have it.

    What was refused or given up before is tried again at once.

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
            seen = parts.make_gpus().look()
            lost = [fault.index for fault in seen.faults]
            resolve_layout(profile, seen.gpus, parts.inputs.options, lost)
    parts.store.write_override(profile)
    progress = parts.store.read_progress()
    parts.store.write_progress(replace(progress, refusal=NOTHING, abandoned="", retry=0.0))
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
    goals = resolve_for(profile or choice.name, observed, options)
    holders = find_all_holders(observed)
    busy = frozenset(holders)
    found = plan(observed.gpus, goals, busy)
    wanted, current = find_strategies(observed, Wish(goals, "", strategy=options.strategy))
    ready = withhold(found, busy, wanted, current)
    outlook = preview.Outlook(
        found,
        holders,
        observed.pods,
        Policy(options.drain, options.evict_bare_pods),
        options.reboot == WHEN_NEEDED,
        ready,
        (choose([foresee(each) for each in ready.changes], busy, wanted, current), wanted),
        find_left_alone(goals, observed.gpus),
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
    faults = {f"gpu-{fault.index}": fault.reason for fault in hardware.faults}
    return {**report.describe_gpus(hardware.gpus, {**hardware.processes, **pods}), **faults}


def forget_gpus(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Take boards that are gone from the bus for taken out: numbers are the others' from now on.

    Raises:
        NotReadyError: No GPU is seen, so that none can be told from one that is gone.
        CharmkitError: NVML does not answer.
    """
    del params
    hardware = parts.make_gpus().look()
    if not hardware.gpus:
        raise NotReadyError("GPU driver: shows no GPU now, so nothing is forgotten")
    known, gone = forget(parts.store.read_known(), hardware.gpus, hardware.faults)
    parts.store.write_known(known)
    names = [f"GPU {each.index} ({each.address})" for each in gone]
    return {"forgotten": ", ".join(names) or "none"}


def drain_node(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Close the node for work on its machine and ask its pods to go, or open it again.

    Raises:
        InterventionError: A pod that nothing makes anew is there, or the cordon is another's.
        CharmkitError: The API refused or did not answer.
    """
    kube, unit, node = parts.connect(), parts.inputs.identity.unit, parts.host.node_name()
    if params.get("resume"):
        is_changing = bool(parts.store.read_progress().since)
        return maintenance.resume(kube, node, unit, is_changing=is_changing)
    allowed = bool(params.get("evict-bare-pods")) or parts.inputs.options.evict_bare_pods
    dry_run = bool(params.get("dry-run"))
    return maintenance.drain(kube, node, unit, evict_bare=allowed, dry_run=dry_run)


def foretell_removal(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return what stays and what goes when this unit is removed.

    Raises:
        CharmkitError: The machine or the cluster cannot be read.
    """
    del params
    kube, application = parts.connect(), parts.inputs.identity.application
    observed = _look(parts, kube)
    users = sorted({name for names in find_all_holders(observed).values() for name in names})
    closed = observed.node.unschedulable and not observed.node.cordoned_by
    nodes = [node["metadata"] for node in kube.list(NODE, labels=f"{POOL_LABEL}={application}")]
    others = sum(node["name"] != observed.node.name for node in nodes)
    return {
        "gpus": f"stay cut: {_cuts(observed.gpus)}",
        "running": f"{', '.join(users) or 'nobody'} keeps its devices until it ends",
        "node": f"{observed.node.name} offers no GPU any more; labels, taint, cordon of ours go",
        "cordon": "not ours, stays" if closed else "none that stays",
        "machine": f"files below /var/lib/{application} and the services of {application} go",
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
    known = parts.store.find_known()
    seen = _Seen(parts.host, usable=inputs.driver.ready, known=known)
    worker = Worker(inputs.identity, parts.host, kube, seen, kubelet, inputs.lease)
    return worker.observe()


def _cuts(gpus: tuple[Gpu, ...]) -> str:
    lines = [f"GPU {g.index} {' '.join(map(str, g.instances)) or 'empty'}" for g in gpus if g.mig]
    return ", ".join(lines) or "none is"
