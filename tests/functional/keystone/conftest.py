# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One real Keystone behind one real Apache, set up by the charm, for all tests of this folder."""

import contextlib
import dataclasses
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ops import testing

from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine
from tests.functional.keystone.browser import Browser
from tests.functional.keystone.stack import ADMIN, Stack, find_missing, make_environment

CHARM = Path(__file__).parents[3] / "charms" / "keystone-saml"
sys.path.insert(0, str(CHARM / "src"))

from charm import KeystoneSamlCharm  # noqa: E402
from gateways import Gateways  # noqa: E402

METADATA: dict[str, Any] = yaml.safe_load((CHARM / "charmcraft.yaml").read_text())
TABLE = "gpu-lab: {groups: {gpu-lab: member}, tags: [k8s]}"


class RealGateways(Gateways):
    """A machine in a folder, with the real network."""

    def __init__(self, host: SimulatedHost) -> None:
        self._host = host

    def host(self) -> SimulatedHost:
        return self._host


class Site:
    """The charm beside a real Keystone.

    Attributes:
        stack: The real parts.
        state: Juju's state after the last event.
        later: Seconds by which the charm's clock is ahead.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.later = 0.0
        folder = stack.root / "machine"
        Machine.create(folder, id="1", hardware="cpu", release="24.04")
        self.host = Machine.open(folder, lambda: time.time() + self.later).host
        self.host.set_packages({"keystone": "2:30.0.0-0ubuntu1"})
        content = {"auth-url": stack.base, "username": "admin", "password": ADMIN}
        secret = testing.Secret(content, owner=None)
        front = testing.SubordinateRelation(
            "keystone-fid-service-provider",
            remote_app_name="keystone",
            remote_unit_data={
                "hostname": '"127.0.0.1"',
                "port": str(stack.ports["apache"]),
                "tls-enabled": "false",
            },
        )
        peers = testing.PeerRelation("service-provider")
        config = {
            "idp-metadata": stack.read_idp_metadata(),
            "projects": TABLE,
            "admin-secret": secret.id,
            "public-url": stack.base,
        }
        self.state = testing.State(
            leader=True, relations={front, peers}, secrets={secret}, config=config
        )
        charm = type(
            "KeystoneSamlCharm", (KeystoneSamlCharm,), {"gateways": RealGateways(self.host)}
        )
        self.context: Any = testing.Context(charm, meta=METADATA)

    def update(self, **options: Any) -> str:
        """Let the charm run, with other options; give Apache what it wrote. Return the status."""
        changed = {name.replace("_", "-"): value for name, value in options.items()}
        config = {**self.state.config, **changed}
        config = {name: value for name, value in config.items() if value != ""}
        self.state = dataclasses.replace(self.state, config=config)
        return self._run(self.context.on.config_changed())

    def wait(self, seconds: float) -> str:
        """Let time pass for the charm, and Juju's heartbeat come; return the status."""
        self.later += seconds
        return self._run(self.context.on.update_status())

    def _run(self, event: Any) -> str:
        before = self.nonce
        self.state = self.context.run(event, self.state)
        if self.nonce != before:
            self.serve()
        return f"{self.state.unit_status.name}: {self.state.unit_status.message}"

    @property
    def nonce(self) -> str:
        """What keystone restarts its Apache by: it does when this changes, and only then."""
        (front,) = self.state.get_relations("keystone-fid-service-provider")
        return front.local_unit_data.get("restart-nonce", "")

    def act(self, name: str, **params: Any) -> dict[str, Any]:
        """Run an action; return its results."""
        known = METADATA["actions"][name].get("params", {})
        given = {key: value["default"] for key, value in known.items() if "default" in value}
        given |= {key.replace("_", "-"): value for key, value in params.items()}
        self.context.action_results = None
        self._run(self.context.on.action(name, params=given))
        return dict(self.context.action_results or {})

    def serve(self) -> None:
        """Let Apache read what the charm wrote.

        Each file is there whole at any time, as where the charm writes it: a process of Apache
        reads them at its first login, whenever that is.
        """
        folder = self.host.files.path("/etc/apache2/mellon")
        target = self.stack.root / "mellon"
        target.mkdir(mode=0o750, exist_ok=True)
        shutil.chown(target, group="www-data")
        for path in folder.iterdir():
            half = Path(shutil.copy(path, target / "half"))
            shutil.chown(half, group="www-data")
            half.rename(target / path.name)
        (conf,) = folder.glob("sp-location*")
        text = conf.read_text().replace("/etc/apache2/mellon", str(target))
        self.stack.start_apache(text)
        for path in target.iterdir():
            if not (folder / path.name).exists():
                path.unlink()

    def tell_campus(self) -> None:
        """Give the service provider's metadata to the identity provider."""
        whole = self.stack.root / "sp-meta.new"
        whole.write_text(self.act("get-sp-metadata")["metadata"])
        whole.rename(self.stack.sp_metadata)
        self.stack.start_idp()


@pytest.fixture
def browse() -> Iterator[Callable[..., Browser]]:
    """Return a maker of browsers; headers are what an attacker adds."""
    made: list[Browser] = []

    def make(**headers: str) -> Browser:
        made.append(Browser(**headers))
        return made[-1]

    yield make
    for browser in made:
        browser.client.close()


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with campus() as site:
        yield site


@contextlib.contextmanager
def campus() -> Iterator[Site]:
    """Run Keystone behind Apache, as the charm sets them up, beside a campus's provider."""
    missing = find_missing()
    if missing:
        pytest.skip(f"needs {missing}")
    python = make_environment()
    root = Path(tempfile.mkdtemp(prefix="keystone-"))
    os.chmod(root, 0o755)  # noqa: PTH101 - Apache's own user passes it
    stack = Stack(root, python)
    try:
        stack.prepare()
        stack.start_apache("")
        site = Site(stack)
        status = site.update()
        assert status.startswith("active"), status
        site.tell_campus()
        yield site
    finally:
        stack.stop()
        shutil.rmtree(root, ignore_errors=True)
