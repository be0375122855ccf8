# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The README's story: the reference bundle on simulated machines, through one day of a site.

Every step says what must be so at its end; the tour stops with 1 at the first that is not.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from rehearsal import bundle, campus, realapi
from rehearsal.cli import looking, openstack, status
from rehearsal.cli.progress import Progress
from rehearsal.errors import UsageError
from rehearsal.site import Site

ROOT = Path(__file__).resolve().parent.parent
BUNDLE = ROOT / "bundles/charmed-kubernetes.yaml"
OVERLAY = ROOT / "overlays/site-example.yaml"
STORAGE = ROOT / "overlays/ceph-in-model.yaml"
SLICE = "nvidia.com/mig-1g.5gb"
BIGGER = "nvidia.com/mig-2g.10gb"
JOB = "train-7"
SAML = "active: https://idp.example.edu/idp/shibboleth as campus"
SERVED = "1 project, webhook on https://127.0.0.1:8443/webhook"

Step = Callable[["Tour"], None]


class TourError(Exception):
    """Something is not as the story says."""


class Tour:
    """The story's state: the site, and the machines that it is told about."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def say(self, text: str) -> None:
        """Print a paragraph."""
        print(text, flush=True)

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Print that something is so.

        Raises:
            TourError: It is not.
        """
        if found != wanted:
            raise TourError(f"{what}: found {found}, expected {wanted}")
        self.say(f"  ok: {what}: {found}")

    def settle(self, what: str) -> None:
        """Run hooks until nothing moves."""
        with Progress(self.site, what, tell=True):
            self.site.juju.settle()

    def machine_of(self, unit: str) -> str:
        """Return the machine of a unit."""
        return self.site.juju.model.units[unit].machine

    def node_of(self, unit: str) -> str:
        """Return the name of the node that a unit's machine is."""
        return self.site.world.machine(self.machine_of(unit)).hostname

    def allocatable(self, unit: str, resource: str) -> int:
        """Return how much of a resource the node of a unit offers."""
        node = self.site.world.api.find("nodes", self.node_of(unit)) or {}
        return int(node.get("status", {}).get("allocatable", {}).get(resource, 0))

    def show_status(self, *applications: str) -> None:
        """Print status, of some applications with what is around them or of all."""
        data = self.site.juju.status_data()
        if applications:
            kept = {name: data["applications"][name] for name in applications}
            data = {**data, "applications": kept, "machines": {}}
        self.say(status.render(data) + "\n")

    def message(self, application: str) -> str:
        """Return the status of an application's only unit, with its message."""
        (unit,) = self.site.juju.model.units_of(application)
        return f"{unit.workload.current}: {unit.workload.message}"

    def leader_message(self, application: str) -> str:
        """Return the message of the unit that leads an application."""
        model = self.site.juju.model
        return model.units[model.applications[application].leader].workload.message


def deploy(tour: Tour) -> None:
    """The bundle, verified, deployed and settled."""
    findings = bundle.check(BUNDLE, [OVERLAY, STORAGE])
    errors = [finding for finding in findings if finding.severity == "error"]
    tour.expect("errors that check finds in the bundle", len(errors), 0)
    loaded = bundle.load(BUNDLE, [OVERLAY, STORAGE])
    assert loaded.bundle is not None
    tour.site.deploy(loaded.bundle, bundle.plan(loaded.bundle), tour.say)
    began = time.monotonic()
    tour.settle("deploy")
    tour.say(f"settled in {time.monotonic() - began:.1f} s\n")
    tour.show_status()
    tour.say(looking.gpu_picture(tour.site.world) + "\n")
    tour.say(looking.node_table(tour.site.world) + "\n")
    whole = [tour.allocatable(f"dgx/{number}", "nvidia.com/gpu") for number in range(3)]
    tour.expect("nvidia.com/gpu of the three nodes of dgx", whole, [8, 8, 8])
    tour.expect(f"{SLICE} of the node of dgx-mig", tour.allocatable("dgx-mig/0", SLICE), 56)


def grow(tour: Tour) -> None:
    """One more DGX, while a CPU machine is free, too."""
    free = [machine.name for machine in tour.site.free_machines()]
    tour.say(f"free in the inventory: {', '.join(free)}")
    unit = tour.site.add_unit("dgx", tour.say)
    tour.settle("add-unit dgx")
    tour.expect(f"machine of {unit}", tour.node_of(unit), "dgx-4")
    tour.expect(f"nvidia.com/gpu of {unit}", tour.allocatable(unit, "nvidia.com/gpu"), 8)


def recut(tour: Tour) -> None:
    """Another layout while a job runs on GPU 0: seven GPUs now, the eighth when the job ends."""
    site, machine = tour.site, tour.machine_of("dgx-mig/0")
    site.world.run_pod(JOB, "team-a", {SLICE: 1})
    tour.settle("job")
    users = looking.users_of(site.world.machine(machine))
    (held,) = users
    tour.say(f"team-a/{JOB} runs on {held}")
    site.juju.set_config("gpu-worker-mig", {"mig-profile": "all-2g.10gb"})
    tour.settle("config gpu-worker-mig mig-profile=all-2g.10gb")
    tour.say(looking.gpu_picture(site.world, machine) + "\n")
    tour.show_status("dgx-mig")
    gpus = site.world.machine(machine).gpus.read()
    tour.expect("the job keeps its slice", held in gpus[0].devices, True)
    tour.expect("status names the job", JOB in tour.message("gpu-worker-mig"), True)
    cut = sum(gpu.instances[0].profile == "2g.10gb" for gpu in gpus[1:])
    tour.expect("other GPUs that are cut anew", cut, 7)
    site.world.end_pod(JOB, "team-a")
    tour.settle("the job ends")
    tour.say(looking.gpu_picture(site.world, machine) + "\n")
    tour.show_status("dgx-mig")
    tour.expect(f"{BIGGER} of the node", tour.allocatable("dgx-mig/0", BIGGER), 24)
    tour.expect(f"{SLICE} of the node", tour.allocatable("dgx-mig/0", SLICE), 0)


def lose_power(tour: Tour) -> None:
    """Power loss: kubelet and plugin are up ten minutes before the agent."""
    site, machine = tour.site, tour.machine_of("dgx-mig/0")
    began = site.world.now
    site.world.power_loss(machine, off=120, kubelet_after=30, agent_after=630)
    site.juju.advance(900)
    tour.settle("power loss of dgx-mig")
    entries = [entry for entry in site.world.history.entries if entry.time >= began]
    for entry in entries:
        if entry.node == tour.node_of("dgx-mig/0"):
            tour.say(
                f"  +{entry.time - began:5.0f} s  {entry.resource}: {entry.allocatable} "
                f"advertised, {entry.devices} in NVML"
            )
    tour.expect(f"{BIGGER} of the node", tour.allocatable("dgx-mig/0", BIGGER), 24)
    tour.expect("moments with a wrong resource", site.world.wrong_resources(), [])


def share_address(tour: Tour) -> None:
    """A service of type LoadBalancer gets an address of the site's pool."""
    api = tour.site.world.api
    metadata = {"name": "notebooks", "namespace": "team-a"}
    spec = {"type": "LoadBalancer", "ports": [{"port": 443}], "selector": {"app": "notebooks"}}
    api.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    tour.settle("service team-a/notebooks")
    service = api.find("services", "notebooks", "team-a") or {}
    given = service["status"]["loadBalancer"].get("ingress", [{}])
    tour.expect("address of team-a/notebooks", given[0].get("ip"), "10.20.0.200")


def keep_data(tour: Tour) -> None:
    """A notebook with a volume: a claim of the default class is bound, and its pod runs."""
    api = tour.site.world.api
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "100Gi"}}}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    metadata = {"name": "home", "namespace": "team-a"}
    api.put({**head, "metadata": metadata, "spec": {**spec, "storageClassName": "ceph-rbd"}})
    volumes = [{"name": "home", "persistentVolumeClaim": {"claimName": "home"}}]
    tour.site.world.run_pod("notebook", "team-a", volumes=volumes)
    tour.settle("claim and pod in team-a")
    claim = api.find("persistentvolumeclaims", "home", "team-a") or {}
    tour.expect("team-a/home", claim["status"]["phase"], "Bound")
    pod = api.find("pods", "notebook", "team-a") or {}
    tour.expect("team-a/notebook", pod["status"]["phase"], "Running")
    tour.site.juju.advance(300)
    tour.expect("status of metallb", tour.leader_message("metallb"), "l2: research 1/41 used")
    volume = "1 class on ceph-mon, 1 volume"
    tour.expect("status of ceph-csi", tour.leader_message("ceph-csi"), volume)


def open_doors(tour: Tour) -> None:
    """The one command that no relation can replace, by an administrator of Keystone."""
    site = tour.site
    tour.expect("status of keystone-saml", tour.message("keystone-saml"), SAML)
    asked = tour.leader_message("keystone-auth")
    tour.say(f"keystone-auth: {asked}")
    words = asked.partition("run openstack ")[2].split()
    openstack.run(site.world.keystone, words)
    site.juju.run_action(["keystone-auth/leader"], "sync")
    tour.show_status("keystone", "kubernetes-control-plane")
    tour.expect("status of keystone-auth", tour.leader_message("keystone-auth"), SERVED)


def log_in(tour: Tour) -> None:
    """A researcher in the namespace of the project, and nowhere else."""
    site, project = tour.site, "gpu-lab"
    session = campus.log_in(site.world, "alice@example.edu", (project,), project)
    tour.say(f"{session.user} logs in, a member of {project}; the token opens:")
    mine, other = (f"/api/v1/namespaces/{name}/pods" for name in (session.namespace, "team-a"))
    tour.expect("her roles", session.roles, ("member", "reader"))
    tour.expect(f"her pods in {session.namespace}", session.ask(site.world, "GET", mine)[0], 200)
    tour.expect("the pods of team-a", session.ask(site.world, "GET", other)[0], 403)
    quota = site.world.api.find("resourcequotas", "keystone-auth", session.namespace) or {}
    hard = quota.get("spec", {}).get("hard", {})
    given = {name: hard.get(f"requests.{name}") for name in ("nvidia.com/gpu", SLICE)}
    tour.expect("her quota", given, {"nvidia.com/gpu": "1", SLICE: "2"})
    tour.expect("a login without a group of the table", refused(tour, project), True)
    states = {unit.workload.current for unit in site.juju.model.units.values()}
    tour.expect("statuses of all units", sorted(states), ["active", "unknown"])
    tour.expect("moments with a wrong resource, all day", site.world.wrong_resources(), [])


def refused(tour: Tour, project: str) -> bool:
    """Return whether Keystone refuses a person whom the table does not name."""
    try:
        campus.log_in(tour.site.world, "mallory@example.edu", ("visitors",), project)
    except UsageError as error:
        tour.say(f"  {error}")
        return True
    return False


STEPS: tuple[tuple[str, Step], ...] = (
    ("Deploy the reference bundle", deploy),
    ("Add a DGX", grow),
    ("Change a MIG profile around a running job", recut),
    ("Lose the power of a DGX", lose_power),
    ("Give a service an address", share_address),
    ("Keep a notebook's data", keep_data),
    ("Open the doors to the campus", open_doors),
    ("A researcher logs in", log_in),
)


def play(home: Path, *, real_api: bool = False) -> int:
    """Play the story in a fresh model; return 0 when everything was as it says.

    Args:
        home: Folder of the model.
        real_api: Play it on a real API server, which ends with the story.
    """
    realapi.stop(home)
    shutil.rmtree(home, ignore_errors=True)
    if not real_api:
        return _play(home)
    print(f"real API server at {realapi.start(home).url}\n", flush=True)
    try:
        return _play(home)
    finally:
        realapi.stop(home)


def _play(home: Path) -> int:
    began = time.monotonic()
    with Site(home) as site:
        tour = Tour(site)
        for number, (title, step) in enumerate(STEPS, 1):
            tour.say(f"== {number}. {title}\n")
            try:
                step(tour)
            except TourError as error:
                tour.say(f"  NOT SO: {error}\n")
                tour.show_status()
                return 1
            tour.say("")
    print(f"The tour took {time.monotonic() - began:.1f} s; its model is in {home}.")
    return 0
