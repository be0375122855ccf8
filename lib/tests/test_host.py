# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path

import pytest

from charmkit.commands import CommandError, run_command
from charmkit.errors import InterventionError, NotReadyError
from charmkit.files import Files
from charmkit.host import Holder, Host
from standins.metal.host import ServiceAsleep, SimulatedHost
from standins.metal.machine import Machine
from standins.metal.system import UnknownProgramError


@pytest.fixture
def host(tmp_path: Path) -> SimulatedHost:
    host = Machine.create(tmp_path, id="0", hardware="a30-pair", now=1000.0).host
    names = [
        "nvidia-headless-no-dkms-580-server-open",
        "nvidia-utils-580-server",
        "linux-modules-nvidia-580-server-open-generic",
    ]
    host.packages.install(host.packages.candidates(names))
    host.load_module("nvidia")
    return host


def python(code: str, **options: float) -> str:
    return run_command([sys.executable, "-c", code], **options)


def test_a_program_gives_its_output() -> None:
    assert python("print('x')") == "x\n"


def test_a_program_sees_nothing_of_juju(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUJU_CONTEXT_ID", "gpu-worker/0-update-status-1")
    seen = python("import os; print(sorted(os.environ))")
    assert "JUJU" not in seen
    assert "DEBIAN_FRONTEND" in seen


def test_a_program_runs_where_every_program_may_read(tmp_path: Path) -> None:
    assert python("import os; print(os.getcwd())") == "/\n"


def test_a_failure_is_its_last_line(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('one\\n\\ntwo', file=sys.stderr); sys.exit(3)"
    with pytest.raises(CommandError) as caught:
        python(code)
    error = caught.value
    assert str(error) == f"{Path(sys.executable).name}: two"
    assert (error.returncode, error.stdout, error.stderr) == (3, "out\n", "one\n\ntwo\n")


def test_a_failure_without_words_is_its_exit_status() -> None:
    with pytest.raises(CommandError, match="exit status 4"):
        python("raise SystemExit(4)")


def test_a_program_that_is_not_there_fails_like_one() -> None:
    with pytest.raises(CommandError, match="no such program") as caught:
        run_command(["/nowhere/program"])
    assert caught.value.returncode == 127


def test_a_program_that_hangs_is_tried_again_later() -> None:
    with pytest.raises(NotReadyError, match="no answer in"):
        python("import time; time.sleep(60)", timeout=0.05)


@pytest.mark.parametrize("run", [run_command, Host().run], ids=["command", "host"])
def test_programs_are_named_by_absolute_paths(run: object) -> None:
    with pytest.raises(ValueError, match="not an absolute path"):
        run(["true"])  # type: ignore[operator]


def test_the_real_machine_tells_what_it_is() -> None:
    real = Host()
    assert real.kernel() == os.uname().release
    assert real.node_name() == os.uname().nodename.lower()
    assert len(real.boot_id()) == 36
    assert real.now() > 1_700_000_000
    assert all(len(one.vendor) == 4 for one in real.pci_devices())
    assert all(count >= -1 for count in real.modules().values())


def test_who_holds_a_device_file_is_found_by_its_process(tmp_path: Path) -> None:
    path = tmp_path / "nvidia0"
    with path.open("w"):
        found = Host().device_holders(f"{tmp_path}/nvidia[0-9]*")
    assert [(one.pid, one.path) for one in found] == [(os.getpid(), str(path))]
    assert Host().device_holders(f"{tmp_path}/nvidia[0-9]*") == ()


def test_a_machine_that_does_not_tell_is_not_ready(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError):
        Host(Files(tmp_path)).boot_id()
    assert Host(Files(tmp_path)).modules() == {}


def test_a_module_and_what_it_needs_is_loaded_once(host: SimulatedHost) -> None:
    host.load_module("nvidia-uvm")
    host.load_module("nvidia-uvm")
    assert host.modules() == {"nvidia": 1, "nvidia_uvm": 0}
    assert host.files.exists("/dev/nvidia1")


def test_modules_are_unloaded_from_the_top(host: SimulatedHost) -> None:
    host.load_module("nvidia-modeset")
    with pytest.raises(InterventionError, match="in use"):
        host.unload_module("nvidia")
    host.unload_module("nvidia-modeset")
    assert host.modules() == {}
    assert not host.files.exists("/proc/driver/nvidia/version")
    host.unload_module("nvidia")


def test_a_process_on_a_gpu_keeps_the_module_and_is_named(host: SimulatedHost) -> None:
    gpus = host.system.gpus
    assert gpus is not None
    gpus.add_process(gpus.read()[1].uuid, 4711, "train.py")
    assert host.device_holders("/dev/nvidia[0-9]*") == (Holder(4711, "train.py", "/dev/nvidia1"),)
    assert host.device_holders("/dev/nvidia0") == ()
    assert host.modules()["nvidia"] == 1


def test_the_kernels_reason_is_the_message(host: SimulatedHost) -> None:
    host.unload_module("nvidia")
    host.inject("module", "nvidia", "Key was rejected by service")
    with pytest.raises(InterventionError) as caught:
        host.load_module("nvidia")
    assert str(caught.value) == "module nvidia does not load: Key was rejected by service"


@pytest.mark.parametrize(
    ("flavour", "license_name"),
    [("-open", "Dual MIT/GPL"), ("", "NVIDIA")],
    ids=["open", "closed"],
)
def test_the_flavour_of_the_modules_shows(tmp_path: Path, flavour: str, license_name: str) -> None:
    host = Machine.create(tmp_path, id="1").host
    name = f"linux-modules-nvidia-580-server{flavour}-generic"
    host.packages.install(host.packages.candidates([name]))
    host.load_module("nvidia")
    assert host.run(["/usr/sbin/modinfo", "-F", "license", "nvidia"]).strip() == license_name
    shown = host.files.read_text("/proc/driver/nvidia/version")
    assert ("Open Kernel Module" in shown) is (flavour == "-open")


def test_one_gpu_is_reset_by_a_command(host: SimulatedHost) -> None:
    gpus = host.system.gpus
    assert gpus is not None
    text = host.run(["/usr/bin/nvidia-smi", "--gpu-reset", "-i", "0000:ca:00.0"])
    assert "GPU 00000000:CA:00.0 was successfully reset." in text
    gpus.add_process(gpus.read()[1].uuid, 4711)
    with pytest.raises(CommandError) as caught:
        host.run(["/usr/bin/nvidia-smi", "--gpu-reset", "-i", "1"])
    assert "In use by another client" in caught.value.stdout


def test_the_list_and_queries_of_nvidia_smi_are_those_of_the_gpus(host: SimulatedHost) -> None:
    gpus = host.system.gpus
    assert gpus is not None
    assert host.run(["/usr/bin/nvidia-smi", "-L"]).count("GPU ") == 2
    rows = host.run(
        [
            "/usr/bin/nvidia-smi",
            "--query-gpu=index,uuid,driver_version,mig.mode.current",
            "--format=csv,noheader",
        ]
    )
    assert rows.splitlines()[1] == f"1, {gpus.read()[1].uuid}, 580.173.02, Disabled"


def test_nvidia_smi_needs_its_package_and_a_loaded_module(tmp_path: Path) -> None:
    host = Machine.create(tmp_path, id="2").host
    with pytest.raises(CommandError, match="no such program"):
        host.run(["/usr/bin/nvidia-smi"])
    host.packages.install(host.packages.candidates(["nvidia-utils-580-server"]))
    with pytest.raises(CommandError) as caught:
        host.run(["/usr/bin/nvidia-smi"])
    assert caught.value.returncode == 9


@pytest.mark.parametrize(
    "argv",
    [
        ["/usr/bin/docker", "ps"],
        ["/usr/bin/apt-get", "autoremove"],
        ["/usr/bin/apt-mark", "auto", "x"],
        ["/usr/bin/systemctl", "isolate", "x"],
        ["/usr/bin/nvidia-smi", "-q"],
        ["/usr/sbin/modprobe", "--force", "nvidia"],
    ],
    ids=lambda argv: " ".join(argv),
)
def test_a_program_that_no_stand_in_knows_is_no_error_of_a_charm(
    host: SimulatedHost, argv: list[str]
) -> None:
    with pytest.raises(UnknownProgramError):
        host.run(argv)


def test_time_is_the_worlds(host: SimulatedHost) -> None:
    assert host.now() == 1000.0
    with pytest.raises(ServiceAsleep) as caught:
        host.sleep(5.0)
    assert caught.value.seconds == 5.0


def test_another_process_sees_every_change_at_once(host: SimulatedHost) -> None:
    other = SimulatedHost(host.system.folder)
    assert "nvidia" in other.modules()
    host.unload_module("nvidia")
    assert other.modules() == {}
