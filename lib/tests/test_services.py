# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from charmkit import services
from charmkit.errors import InterventionError
from charmkit.files import Files
from charmkit.services import ServiceSpec
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine

WATCHER = ServiceSpec("gpu-worker", "watcher", "gpu-worker/3")
BOOT = ServiceSpec(
    "gpu-worker", "boot", "gpu-worker/3", before=("snap.kubelet.daemon.service",), oneshot=True
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine.create(tmp_path / "machine", id="0", hardware="cpu")


@pytest.fixture
def host(machine: Machine) -> SimulatedHost:
    return machine.host


@pytest.fixture
def charm(tmp_path: Path) -> Path:
    """A packed charm as charmcraft lays it out."""
    charm = tmp_path / "charm"
    packages = charm / "venv/lib/python3.12/site-packages"
    for path, text in {
        charm / "src/watcher.py": "VERSION = 1\n",
        charm / "src/templates/plugin.yaml.j2": "kind: DaemonSet\n",
        charm / "lib/charmkit/__init__.py": "",
        charm / "version": "1.0\n",
        packages / "yaml/__init__.py": "",
        packages / "PyYAML-6.0.2.dist-info/METADATA": "",
        charm / "hooks/install": "not part of the payload",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return charm


def unit_text(host: SimulatedHost, spec: ServiceSpec = WATCHER) -> str:
    return host.files.read_text(f"/etc/systemd/system/{spec.name}")


def payloads(host: SimulatedHost) -> list[str]:
    paths = host.files.glob("/opt/gpu-worker/*")
    return [one for one in paths if host.files.path(one).is_dir() and "current" not in one]


def test_a_service_runs_from_a_copy_and_starts_at_boot(host: SimulatedHost, charm: Path) -> None:
    assert services.ensure_services(host, charm, WATCHER)
    assert host.systemd.is_active("gpu-worker-watcher")
    assert host.systemd.is_enabled("gpu-worker-watcher")
    assert host.files.read_text("/opt/gpu-worker/current/src/watcher.py") == "VERSION = 1\n"
    assert host.files.exists("/opt/gpu-worker/current/src/templates/plugin.yaml.j2")
    assert not host.files.exists("/opt/gpu-worker/current/hooks")


def test_a_second_run_changes_nothing(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    services.ensure_services(host, charm, BOOT)
    host.take_started()
    assert not services.ensure_services(host, charm, WATCHER)
    assert not services.ensure_services(host, charm, BOOT)
    assert host.take_started() == []


def test_the_interpreter_finds_code_shared_package_and_dependencies(
    host: SimulatedHost, charm: Path
) -> None:
    services.ensure_services(host, charm, WATCHER)
    text = unit_text(host)
    assert (
        "ExecStart=/usr/bin/python3 -m charmkit.services watcher gpu-worker gpu-worker/3\n" in text
    )
    home = "/opt/gpu-worker/current"
    assert (
        f"Environment=PYTHONPATH={home}/src:{home}/lib:"
        f"{home}/venv/lib/python3.12/site-packages\n" in text
    )


def test_a_unit_says_whose_it_is_where_systemd_does_not_look(
    host: SimulatedHost, charm: Path
) -> None:
    services.ensure_services(host, charm, WATCHER)
    own = unit_text(host).split("[X-Charmkit]\n")[1]
    assert own.splitlines() == ["Application=gpu-worker", "Module=watcher", "Unit=gpu-worker/3"]


def test_other_code_swaps_the_copy_and_restarts(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    host.take_started()
    charm.joinpath("src/watcher.py").write_text("VERSION = 2\n")
    assert services.ensure_services(host, charm, WATCHER)
    assert host.files.read_text("/opt/gpu-worker/current/src/watcher.py") == "VERSION = 2\n"
    assert len(payloads(host)) == 1
    assert [one.module for one in host.take_started()] == ["watcher"]


def test_n18_a_refresh_does_not_reload_systemd(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    charm.joinpath("src/watcher.py").write_text("VERSION = 2\n")
    services.ensure_services(host, charm, WATCHER)
    assert "reloads" not in host.system.store.read()


def test_another_dependency_is_another_payload(charm: Path) -> None:
    before = services.payload_hash(charm)
    packages = charm / "venv/lib/python3.12/site-packages"
    packages.joinpath("PyYAML-6.0.2.dist-info").rename(packages / "PyYAML-6.0.3.dist-info")
    assert services.payload_hash(charm) != before


def test_compiled_python_and_hooks_are_not_part_of_the_hash(charm: Path) -> None:
    before = services.payload_hash(charm)
    charm.joinpath("src/__pycache__").mkdir()
    charm.joinpath("src/__pycache__/watcher.pyc").write_text("x")
    charm.joinpath("hooks/start").write_text("x")
    assert services.payload_hash(charm) == before


def test_what_a_power_loss_left_of_a_copy_is_removed(host: SimulatedHost, charm: Path) -> None:
    half = f"/opt/gpu-worker/.{services.payload_hash(charm)}.999999.new"
    host.files.ensure_text(f"{half}/src/watcher.py", "torn")
    assert services.ensure_services(host, charm, WATCHER)
    assert host.files.read_text("/opt/gpu-worker/current/src/watcher.py") == "VERSION = 1\n"
    assert host.files.exists("/opt/gpu-worker/current/lib/charmkit/__init__.py")
    assert not host.files.exists(half)


def test_a_crash_between_swap_and_restart_is_made_up_for(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    charm.joinpath("src/watcher.py").write_text("VERSION = 2\n")
    host.inject("service", "gpu-worker-watcher")
    with pytest.raises(InterventionError, match="gpu-worker-watcher"):
        services.ensure_services(host, charm, WATCHER)
    host.clear_faults()
    host.take_started()
    assert services.ensure_services(host, charm, WATCHER)
    assert [one.module for one in host.take_started()] == ["watcher"]


class PowerLossError(Exception):
    """The machine is gone at this very step."""


class FailingHost(SimulatedHost):
    """A machine that loses power before the nth change of a file or run of a program."""

    def __init__(self, folder: Path, step: int) -> None:
        super().__init__(folder)
        self.left = step
        for name in ("ensure_text", "ensure_link", "ensure_copy", "ensure_absent"):
            setattr(self.files, name, self.counted(getattr(self.files, name)))

    def counted(self, action: Callable[..., bool]) -> Callable[..., bool]:
        def step(*arguments: object, **options: object) -> bool:
            self.count()
            return action(*arguments, **options)

        return step

    def count(self) -> None:
        if self.left == 0:
            raise PowerLossError
        self.left -= 1

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        self.count()
        return super().run(argv, timeout=timeout)


def test_a_crash_at_any_step_of_a_refresh_converges(tmp_path: Path, charm: Path) -> None:
    steps = 0
    while True:
        machine = Machine.create(tmp_path / f"m{steps}", id="0", hardware="cpu")
        charm.joinpath("src/watcher.py").write_text("VERSION = 1\n")
        services.ensure_services(machine.host, charm, WATCHER)
        charm.joinpath("src/watcher.py").write_text("VERSION = 2\n")
        try:
            services.ensure_services(FailingHost(machine.folder, steps), charm, WATCHER)
            break
        except PowerLossError:
            machine.reboot()
        assert machine.host.files.exists("/opt/gpu-worker/current/src/watcher.py")
        services.ensure_services(machine.host, charm, WATCHER)
        assert machine.host.systemd.is_active("gpu-worker-watcher")
        text = machine.host.files.read_text("/opt/gpu-worker/current/src/watcher.py")
        assert text == "VERSION = 2\n"
        assert not services.ensure_services(machine.host, charm, WATCHER)
        assert len(payloads(machine.host)) == 1
        steps += 1
    assert steps == 10


def test_a_crash_at_any_step_of_a_removal_converges(tmp_path: Path, charm: Path) -> None:
    steps = 0
    while True:
        machine = Machine.create(tmp_path / f"m{steps}", id="0", hardware="cpu")
        services.ensure_services(machine.host, charm, WATCHER)
        services.ensure_services(machine.host, charm, BOOT)
        try:
            services.ensure_removed(FailingHost(machine.folder, steps), "gpu-worker")
            break
        except PowerLossError:
            machine.reboot()
        services.ensure_removed(machine.host, "gpu-worker")
        assert machine.host.files.glob("/etc/systemd/system/*") == []
        assert not machine.host.files.exists("/opt/gpu-worker")
        steps += 1
    assert steps > 5


def test_a_service_that_somebody_stopped_is_started(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    host.systemd.ensure_stopped("gpu-worker-watcher")
    assert services.ensure_services(host, charm, WATCHER)
    assert host.systemd.is_active("gpu-worker-watcher")


def test_a_oneshot_is_enabled_and_never_started_by_a_hook(
    host: SimulatedHost, machine: Machine, charm: Path
) -> None:
    services.ensure_services(host, charm, BOOT)
    assert host.take_started() == []
    machine.reboot()
    (started,) = machine.started_services()
    assert (started.module, started.unit, started.oneshot, started.at_boot) == (
        "boot",
        "gpu-worker/3",
        True,
        True,
    )
    assert machine.started_services() == []


def test_a_boot_service_comes_before_the_kubelet(
    host: SimulatedHost, machine: Machine, charm: Path
) -> None:
    for name in ("snap.kubelet.daemon", "gpu-worker-x"):
        text = "[Service]\nType=simple\n[X-Charmkit]\nApplication=k\nModule=k\nUnit=k/0\n"
        host.files.ensure_text(f"/etc/systemd/system/{name}.service", text)
        host.systemd.ensure_enabled(name)
    services.ensure_services(host, charm, BOOT)
    services.ensure_services(host, charm, WATCHER)
    machine.reboot()
    order = [one.name for one in machine.started_services()]
    assert order.index("gpu-worker-boot") < order.index("snap.kubelet.daemon")
    assert [one.name for one in machine.active_services()] == [
        "gpu-worker-watcher",
        "gpu-worker-x",
        "snap.kubelet.daemon",
    ]


def test_no_service_runs_without_power(host: SimulatedHost, machine: Machine, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    machine.power_off()
    assert machine.active_services() == []


def test_a_changed_unit_is_read_again_and_restarted(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    host.take_started()
    other = ServiceSpec("gpu-worker", "watcher", "gpu-worker/3", before=("x.service",))
    assert services.ensure_services(host, charm, other)
    assert host.system.store.read()["reloads"] == 1
    assert [one.module for one in host.take_started()] == ["watcher"]


def test_n18_the_unit_of_a_oneshot_is_read_at_the_next_boot(
    host: SimulatedHost, charm: Path
) -> None:
    services.ensure_services(host, charm, BOOT)
    services.ensure_services(host, charm, replace(BOOT, after=("a.service",)))
    assert "After=a.service" in host.files.read_text(f"/etc/systemd/system/{BOOT.name}")
    assert "reloads" not in host.system.store.read()


def test_removal_leaves_nothing(host: SimulatedHost, charm: Path) -> None:
    services.ensure_services(host, charm, WATCHER)
    services.ensure_services(host, charm, BOOT)
    assert services.ensure_removed(host, "gpu-worker")
    assert not host.files.exists("/opt/gpu-worker")
    assert host.files.glob("/etc/systemd/system/*") == []
    assert host.active_services() == []
    assert not services.ensure_removed(host, "gpu-worker")


def test_an_application_whose_name_begins_alike_is_left_alone(
    host: SimulatedHost, charm: Path
) -> None:
    other = ServiceSpec("gpu-worker-mig", "watcher", "gpu-worker-mig/0")
    services.ensure_services(host, charm, WATCHER)
    services.ensure_services(host, charm, other)
    services.ensure_removed(host, "gpu-worker")
    assert host.systemd.is_active("gpu-worker-mig-watcher")
    assert host.files.exists("/opt/gpu-worker-mig/current/src/watcher.py")


def test_a_charm_that_runs_from_source_has_no_venv_to_copy(
    host: SimulatedHost, charm: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.joinpath("src").mkdir(parents=True)
    source.joinpath("src/watcher.py").write_text("")
    assert services.ensure_services(host, source, WATCHER)
    assert "site-packages" not in unit_text(host)


class OwnGateways:
    """A charm's own factory."""


@pytest.mark.parametrize("own", [True, False], ids=["own factory", "plain"])
def test_a_module_is_run_with_the_factory_that_it_names(
    monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    ran: list[tuple[str, str, str]] = []
    module = types.ModuleType("example_service")
    module.__dict__["main"] = lambda gateways, application, unit: ran.append(
        (type(gateways).__name__, application, unit)
    )
    if own:
        module.__dict__["Gateways"] = OwnGateways
    monkeypatch.setitem(sys.modules, "example_service", module)
    services.run_service(["example_service", "gpu-worker", "gpu-worker/3"])
    assert ran == [("OwnGateways" if own else "Gateways", "gpu-worker", "gpu-worker/3")]


def test_a_oneshot_waits_for_what_is_there_before_it(tmp_path: Path) -> None:
    spec = replace(BOOT, after=("a.service", "b.service"))
    text = services.render_unit(Files(tmp_path), spec)
    assert "After=a.service b.service\n" in text.partition("[Service]")[0]
    assert "After=" not in services.render_unit(Files(tmp_path), WATCHER)


def test_the_unit_of_a_oneshot_does_not_restart(tmp_path: Path) -> None:
    text = services.render_unit(Files(tmp_path), BOOT)
    assert "Before=snap.kubelet.daemon.service\n" in text
    assert "Type=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=300\n" in text
    assert "Restart=" not in text
