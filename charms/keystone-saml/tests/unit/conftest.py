# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A site: one machine with Keystone, the charm beside it, a campus on a web server."""

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import ops
import pytest
import yaml
from ops import testing

CHARM = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(CHARM / "src"))

from saml_samples import ENTITY, IDP_METADATA  # noqa: E402

from charm import KeystoneSamlCharm  # noqa: E402
from gateways import Gateways  # noqa: E402
from standins.keystone.api import KeystoneServer  # noqa: E402
from standins.keystone.transport import KeystoneTransport  # noqa: E402
from standins.metal.host import SimulatedHost  # noqa: E402
from standins.metal.machine import Machine  # noqa: E402

METADATA: dict[str, Any] = yaml.safe_load((CHARM / "charmcraft.yaml").read_text())
KEYSTONE = "http://10.0.0.11:5000/v3"
PAGE = "https://idp.example.edu/metadata"
TABLE = """
gpu-lab:
  groups:
    gpu-lab: member
    gpu-staff: {roles: [member, manager], claim: "urn:mace:example.edu:staff"}
  tags: [k8s]
"""


class Network(httpx2.BaseTransport):
    """Keystone by its address, web pages by their URL; everything else refuses connections."""

    def __init__(self, keystone: KeystoneServer) -> None:
        self._keystone = KeystoneTransport(keystone)
        self.pages: dict[str, Any] = {}
        self.asked: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = str(request.url)
        self.asked.append(url)
        if request.url.host == "10.0.0.11":
            return self._keystone.handle_request(request)
        page = self.pages.get(url)
        if page is None:
            raise httpx2.ConnectError("[Errno 111] Connection refused", request=request)
        if isinstance(page, int):
            return httpx2.Response(page)
        return httpx2.Response(200, content=page.encode())


class SiteGateways(Gateways):
    """Gateways that lead to the site."""

    def __init__(self, host: SimulatedHost, network: Network) -> None:
        self._host = host
        self._network = network

    def host(self) -> SimulatedHost:
        return self._host

    def keystone_transport(self) -> httpx2.BaseTransport:
        return self._network


class Site:
    """One unit of the charm and what is around it.

    Attributes:
        state: Juju's state after the last event that succeeded.
        keystone: The Keystone, as its charm has set it up.
        network: What other servers answer.
    """

    def __init__(self, machine: Machine, **options: Any) -> None:
        self.machine = machine
        self.now = 1_800_000_000.0
        machine.host.system.now = lambda: self.now
        machine.host.set_packages({"keystone": "2:25.0.0-0ubuntu1"})
        self.keystone = make_keystone(lambda: self.now)
        self.network = Network(self.keystone)
        self.front = testing.SubordinateRelation(
            "keystone-fid-service-provider",
            remote_app_name="keystone",
            local_unit_data={},
            remote_unit_data={"hostname": '"10.0.0.11"', "port": "5000", "tls-enabled": "false"},
        )
        self.admin = testing.Relation(
            "keystone-admin",
            remote_app_name="keystone",
            local_unit_data={},
            remote_units_data={
                0: {
                    "service_hostname": "10.0.0.11",
                    "service_port": "5000",
                    "service_protocol": "http",
                    "service_username": "admin",
                    "service_password": "secret-of-keystone",
                    "service_project_name": "admin",
                    "service_user_domain_name": "admin_domain",
                    "service_project_domain_name": "admin_domain",
                }
            },
        )
        self.peers = testing.PeerRelation("service-provider", local_app_data={})
        container = testing.SubordinateRelation("container", remote_app_name="keystone")
        self.state = testing.State(
            leader=True,
            relations={self.front, self.admin, self.peers, container},
            config=options,
        )
        gateways = SiteGateways(machine.host, self.network)
        charm = type("KeystoneSamlCharm", (KeystoneSamlCharm,), {"gateways": gateways})
        self.charm = charm
        self.context: Any = testing.Context(charm, meta=METADATA)

    @property
    def host(self) -> SimulatedHost:
        return self.machine.host

    @property
    def status(self) -> ops.StatusBase:
        return self.state.unit_status

    def emit(self, event: Any) -> None:
        """Let the unit handle an event; commit what it wrote."""
        self.state = self.context.run(event, self.state)

    def install(self) -> None:
        """Deploy the unit."""
        on = self.context.on
        for event in (on.install(), on.leader_elected(), on.config_changed(), on.start()):
            self.emit(event)

    def update(self, seconds: float = 300) -> None:
        """Let time pass."""
        self.now += seconds
        self.emit(self.context.on.update_status())

    def configure(self, **options: Any) -> None:
        """Change options; underscores stand for dashes."""
        changed = {name.replace("_", "-"): value for name, value in options.items()}
        self.state = dataclasses.replace(self.state, config={**self.state.config, **changed})
        self.emit(self.context.on.config_changed())

    def act(self, name: str, **params: Any) -> dict[str, Any]:
        """Run an action; return its results."""
        known = METADATA["actions"][name].get("params", {})
        given = {key: value["default"] for key, value in known.items() if "default" in value}
        given |= {key.replace("_", "-"): value for key, value in params.items()}
        self.context.action_results = None
        self.emit(self.context.on.action(name, params=given))
        return dict(self.context.action_results or {})

    def bag(self, relation: Any) -> dict[str, str]:
        """Return what the unit wrote into a relation."""
        return dict(self.state.get_relation(relation.id).local_unit_data)

    def relate(self, relation: Any) -> None:
        """Add a relation, or put another state of it into its place."""
        others = {one for one in self.state.relations if one.id != relation.id}
        self.state = dataclasses.replace(self.state, relations={*others, relation})

    def unrelate(self, relation: Any) -> None:
        """Take a relation away, without an event."""
        others = {one for one in self.state.relations if one.id != relation.id}
        self.state = dataclasses.replace(self.state, relations=others)

    def follow(self) -> None:
        """Let another unit lead."""
        self.state = dataclasses.replace(self.state, leader=False)

    def file(self, kind: str) -> str | None:
        """Return a file of the service provider: idp-meta, sp-meta, sp-pk or sp-location."""
        found = self.host.files.glob(f"/etc/apache2/mellon/{kind}.*")
        return self.host.files.read_text(found[0]) if found else None

    def writes(self) -> int:
        """Return how many changes Keystone has taken."""
        changing = ("POST", "PUT", "PATCH", "DELETE")
        calls = [one for one in self.keystone.calls if one.method in changing]
        return len([one for one in calls if not one.path.endswith("/auth/tokens")])

    def log_in(self, user: str, *groups: str) -> tuple[int, str]:
        """Let a campus user log in; return Keystone's status and answer."""
        self.keystone.settings["auth_methods"].append("saml2")
        self.keystone.settings["remote_id_attribute"]["saml2"] = "MELLON_IDP"
        variables = {"MELLON_IDP": ENTITY, "CAMPUS_USER": user}
        if groups:
            variables["CAMPUS_GROUPS"] = ";".join(groups)
        answer = self.keystone.log_in("campus", "saml2", variables)
        return answer.status, answer.body.decode()

    def everything_said(self) -> str:
        """Return databags, statuses, log and action results: where no secret may be."""
        bags = [
            getattr(relation, part, {})
            for relation in self.state.relations
            for part in ("local_unit_data", "local_app_data")
        ]
        log = [line.message for line in self.context.juju_log]
        statuses = [str(one) for one in self.context.unit_status_history]
        results = self.context.action_results or {}
        return json.dumps([bags, log, statuses, str(self.status), results])


def make_keystone(clock: Callable[[], float]) -> KeystoneServer:
    """Return a Keystone as its charm bootstraps it."""
    keystone = KeystoneServer(clock)
    keystone.bootstrap("secret-of-keystone", url=KEYSTONE)
    domain = keystone.add_domain("admin_domain")
    project = keystone.add_project("admin", domain)
    admin = keystone.add_user("admin", "secret-of-keystone", domain)
    keystone.grant("admin", admin, project)
    return keystone


@pytest.fixture(scope="session")
def fresh_machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machine") / "new"
    Machine.create(folder, id="4", hardware="cpu", release="24.04")
    return folder


@pytest.fixture
def make_site(tmp_path: Path, fresh_machine: Path) -> Callable[..., Site]:
    """Return a maker of sites that are not deployed yet."""

    def make(**options: Any) -> Site:
        folder = Path(shutil.copytree(fresh_machine, tmp_path / "machine", symlinks=True))
        given = {name.replace("_", "-"): value for name, value in options.items()}
        return Site(Machine.open(folder), **given)

    return make


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory, fresh_machine: Path) -> Site:
    """Return a site that works, made once: it is only copied."""
    folder = tmp_path_factory.mktemp("deployed") / "machine"
    shutil.copytree(fresh_machine, folder, symlinks=True)
    made = Site(Machine.open(folder), **{"idp-metadata": IDP_METADATA, "projects": TABLE})
    made.install()
    return made


@pytest.fixture
def site(tmp_path: Path, deployed: Site) -> Site:
    """Return a site that works."""
    folder = Path(shutil.copytree(deployed.machine.folder, tmp_path / "site", symlinks=True))
    copy = Site(Machine.open(folder))
    copy.keystone.load(json.loads(json.dumps(deployed.keystone.dump())))
    copy.state, copy.front = deployed.state, deployed.front
    copy.admin, copy.peers = deployed.admin, deployed.peers
    return copy
