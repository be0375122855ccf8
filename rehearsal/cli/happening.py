# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that let something happen: time, reboots, power losses, and people's jobs."""

import argparse
import re
from collections.abc import Callable

from rehearsal import campus, tour
from rehearsal.cli.grammar import Grammar
from rehearsal.cli.progress import Progress
from rehearsal.counted import counted
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float:
    """Return a span of time such as `90`, `10m` or `2d` in seconds.

    Raises:
        ArgumentTypeError: It is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no span of time such as 90, 10m or 2d")
    return float(match[1]) * UNITS[match[2] or "s"]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    advance = verb("advance", "let time pass: 90, 10m, 2d")
    advance.add_argument("span", type=seconds)
    advance.set_defaults(run=_advance)
    reboot = verb("reboot", "restart a machine in order")
    reboot.add_argument("machine")
    reboot.set_defaults(run=_reboot)
    power = verb("power-loss", "cut the power of a machine")
    power.add_argument("machine")
    power.add_argument(
        "--off", type=seconds, default=60.0, help="time without power, 60 unless told"
    )
    power.add_argument(
        "--kubelet-after", type=seconds, default=30.0, help="from the power's return, 30"
    )
    power.add_argument(
        "--agent-after", type=seconds, default=60.0, help="from the power's return, 60"
    )
    power.set_defaults(run=_power_loss)
    job = verb("job", "run a pod as a researcher does, or end it")
    job.add_argument("action", choices=["run", "end"])
    job.add_argument("name", help="NAMESPACE/NAME")
    job.add_argument("resources", nargs="*", metavar="RESOURCE=COUNT")
    job.set_defaults(run=_job)
    login = verb("login", "log a person of the campus in at a project, and say what they may do")
    login.add_argument("user", help="what the identity provider says who it is")
    login.add_argument("project")
    login.add_argument("--groups", default="", help="values of the groups' attribute, by commas")
    login.set_defaults(run=_login)
    story = verb("tour", "play the README's story")
    story.add_argument("--api", choices=("simulated", "real"), default="simulated")
    story.set_defaults(
        run=lambda words: tour.play(words.home / "tour", real_api=words.api == "real")
    )


def _advance(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "advance"):
        hooks = site.juju.advance(arguments.span)
    print(f"{arguments.span:.0f} s have passed; {counted(hooks, 'hook')} ran in them")
    return 0


def _known(site: Site, machine: str) -> str:
    if machine not in site.world.machines:
        raise NotFoundError(f"machine {machine} not found")
    return machine


def _reboot(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "reboot"):
        site.juju.reboot(_known(site, arguments.machine))
        hooks = site.juju.settle()
    print(f"machine {arguments.machine} was restarted; {counted(hooks, 'hook')} ran since")
    return 0


def _power_loss(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "power-loss"):
        site.world.power_loss(
            _known(site, arguments.machine),
            off=arguments.off,
            kubelet_after=arguments.kubelet_after,
            agent_after=arguments.agent_after,
        )
        site.juju.settle()
    back = arguments.off + max(arguments.kubelet_after, arguments.agent_after)
    print(
        f"machine {arguments.machine} is off for {arguments.off:.0f} s, its agent is back after "
        f"{back:.0f} s: rehearse advance {back + 60:.0f}s"
    )
    return 0


def _job(arguments: argparse.Namespace) -> int:
    namespace, _, name = arguments.name.rpartition("/")
    with Site(arguments.home) as site, Progress(site, "job"):
        if arguments.action == "run":
            requests = dict(word.split("=", 1) for word in arguments.resources if "=" in word)
            if not requests:
                raise UsageError("a job needs a resource, such as nvidia.com/gpu=1")
            counts = {resource: int(count) for resource, count in requests.items()}
            site.world.run_pod(name, namespace or "default", counts)
        else:
            _end(site, name, namespace or "default")
        site.juju.settle()
        print(_told(site, name, namespace or "default", arguments.action))
    return 0


def _login(arguments: argparse.Namespace) -> int:
    groups = tuple(word for word in arguments.groups.split(",") if word)
    with Site(arguments.home) as site, Progress(site, "login"):
        session = campus.log_in(site.world, arguments.user, groups, arguments.project)
        pods = session.may_list(site.world, "pods")
        site.world.save()
    roles = ", ".join(session.roles)
    print(f"{session.user} has {roles} in project {session.project}")
    print(f"namespace: {session.namespace or 'none, is keystone-auth there and settled?'}")
    print(f"may list pods in: {', '.join(pods) or 'no namespace'}")
    return 0


def _told(site: Site, name: str, namespace: str, action: str) -> str:
    """Return what became of a job, in one line."""
    pod = site.world.api.find("pods", name, namespace)
    if action == "end" or pod is None:
        return f"{namespace}/{name} has ended"
    node = pod["spec"].get("nodeName")
    status = pod.get("status", {})
    if node:
        return f"{namespace}/{name} is {status.get('phase')} on {node}"
    reasons = [item.get("message", "") for item in status.get("conditions", [])]
    return f"{namespace}/{name} waits: {next(filter(None, reasons), 'no node was found yet')}"


def _end(site: Site, name: str, namespace: str) -> None:
    try:
        site.world.end_pod(name, namespace)
    except KeyError as error:
        raise NotFoundError(f"there is no pod {namespace}/{name}") from error
