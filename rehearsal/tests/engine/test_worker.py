# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Real charm code in its process: the places where Scenario alone would not be Juju."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal

CHARMS = Path(__file__).parent.parent / "charms"


class Model:
    """A model with the recorder charm under several names."""

    def __init__(self, folder: Path, version: str = "3.6.14") -> None:
        self.juju = Rehearsal(folder / "model", durable=False)
        self.juju.set_model_config({"agent-version": version})
        self.records = folder / "records"
        self.records.mkdir()

    def deploy(self, name: str, units: int = 1, script: dict[str, Any] | None = None) -> None:
        """Deploy a test charm whose hooks do what the script says."""
        subordinate = name in ("subby", "left", "right")
        machines = [self.juju.add_machine().id for _ in range(0 if subordinate else units)]
        config = {"record": str(self.records), "script": yaml.safe_dump(script or {})}
        self.juju.deploy(CHARMS / name, Deployment(machines=tuple(machines), config=config))

    def script(self, name: str, script: dict[str, Any]) -> None:
        """Give an application another script; this runs config-changed."""
        self.juju.set_config(name, {"script": yaml.safe_dump(script)})

    def seen(self, unit: str, hook: str = "") -> list[dict[str, Any]]:
        """Return what a unit's hooks saw, oldest first."""
        path = self.records / f"{unit.replace('/', '-')}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [line for line in lines if hook in ("", line["hook"])]


@pytest.fixture
def make_model(tmp_path: Path) -> Iterator[Callable[..., Model]]:
    """Return a function that makes a model of a Juju version."""
    models: list[Model] = []

    def make(version: str = "3.6.14") -> Model:
        models.append(Model(tmp_path, version))
        return models[-1]

    yield make
    for model in models:
        model.juju.close()


@pytest.fixture
def model(make_model: Callable[..., Model]) -> Model:
    """Return an empty model of Juju 3.6."""
    return make_model()


def test_the_environment_of_a_hook_is_that_of_a_controller(model: Model) -> None:
    model.deploy("alpha")
    model.deploy("subby")
    model.juju.integrate("alpha", "subby")
    model.juju.settle()
    environment = model.seen("subby/0", "host-relation-changed")[0]["environment"]
    expected = {
        "JUJU_DISPATCH_PATH": "hooks/host-relation-changed",
        "JUJU_HOOK_NAME": "host-relation-changed",
        "JUJU_MACHINE_ID": "0",
        "JUJU_PRINCIPAL_UNIT": "alpha/0",
        "JUJU_RELATION": "host",
        "JUJU_RELATION_ID": "host:1",
        "JUJU_REMOTE_APP": "alpha",
        "JUJU_REMOTE_UNIT": "alpha/0",
        "JUJU_UNIT_NAME": "subby/0",
        "JUJU_VERSION": "3.6.14",
    }
    assert {key: environment[key] for key in expected} == expected
    assert model.seen("alpha/0", "start")[0]["environment"]["JUJU_PRINCIPAL_UNIT"] == ""


def test_application_level_changed_has_no_unit(model: Model) -> None:
    model.deploy("alpha", 1, {"site-relation-created": [{"app": {"site": {"key": "value"}}}]})
    model.deploy("beta")
    model.juju.integrate("alpha:site", "beta:site")
    model.juju.settle()
    first = model.seen("beta/0", "site-relation-changed")[0]
    assert first["environment"]["JUJU_REMOTE_UNIT"] == ""
    assert first["relations"][0]["app"] == {"key": "value"}
    assert first["relations"][0]["units"] == []


def test_departing_unit_may_be_the_local_one_and_number_0(model: Model) -> None:
    model.deploy("alpha")
    model.deploy("beta")
    model.juju.integrate("alpha:site", "beta:site")
    model.juju.settle()
    model.juju.remove_unit("beta/0")
    model.juju.settle()
    local = model.seen("beta/0", "site-relation-departed")[0]
    remote = model.seen("alpha/0", "site-relation-departed")[0]
    assert (local["departing"], remote["departing"]) == ("beta/0", "beta/0")
    assert local["environment"]["JUJU_REMOTE_UNIT"] == "alpha/0"


def test_data_of_a_departed_unit_is_readable_and_the_unit_is_not_listed(model: Model) -> None:
    model.deploy("alpha")
    model.deploy("beta")
    model.juju.integrate("alpha:site", "beta:site")
    model.juju.settle()
    model.juju.remove_unit("beta/0")
    model.juju.settle()
    seen = model.seen("alpha/0", "site-relation-departed")[0]
    assert seen["departed-data"]["ingress-address"] == "10.0.0.3"
    assert [r["units"] for r in seen["relations"] if r["name"] == "site"] == [[]]


def test_a_container_scoped_endpoint_works_with_many_principals_on_4_0(
    make_model: Callable[..., Model],
) -> None:
    model = make_model("4.0.15")
    model.deploy("alpha", 3)
    model.deploy("subby")
    model.juju.integrate("alpha", "subby")
    model.juju.settle()
    last = model.seen("subby/0", "host-relation-changed")[-1]
    assert last["relations"][0]["units"] == ["alpha/0", "alpha/1", "alpha/2"]


def test_every_unit_has_its_own_address(model: Model) -> None:
    model.deploy("alpha", 2)
    model.juju.settle()
    data = model.seen("alpha/0", "cluster-relation-changed")[-1]["relations"][0]
    assert data["local"]["ingress-address"] == "10.0.0.2"
    assert data["data"]["alpha/1"]["ingress-address"] == "10.0.0.3"


def test_stored_state_and_deferred_events_survive_between_commands(model: Model) -> None:
    model.deploy("alpha", 1, {"install": [{"store": 2}], "start": [{"store": 3}, {"defer": True}]})
    model.juju.settle()
    assert model.seen("alpha/0")[-1]["stored"] == 2
    model.juju.wake("alpha/0")
    model.juju.settle()
    hooks = [(line["hook"], line["stored"]) for line in model.seen("alpha/0")]
    assert hooks[-2:] == [("update-status", 5), ("update-status", 5)]


def test_a_crash_keeps_status_and_log_and_flushes_nothing_else(model: Model) -> None:
    model.deploy("alpha")
    model.deploy("beta")
    model.juju.integrate("alpha:site", "beta:site")
    model.juju.settle()
    steps = [
        {"unit": {"site": {"key": "value"}}},
        {"port": 443},
        {"store": 1},
        {"status": ["maintenance", "half way"]},
        {"fail": "told to fail"},
    ]
    model.script("alpha", {"config-changed": steps})
    model.juju.settle()
    unit = model.juju.model.units["alpha/0"]
    assert "key" not in model.juju.model.bag(1, "alpha/0").data
    assert (unit.ports, unit.workload.message) == ([], "half way")
    log = [line for line in model.juju.debug_log() if "RuntimeError: told to fail" in line]
    assert log
    assert not [line for line in model.juju.debug_log() if "/ops/framework.py" in line]


def test_reboot_waits_for_the_end_of_the_hook_and_then_runs_start(model: Model) -> None:
    model.deploy("alpha")
    model.juju.settle()
    model.script("alpha", {"config-changed": [{"reboot": "after"}, {"version": "2.0"}]})
    model.juju.settle()
    assert [line["hook"] for line in model.seen("alpha/0")][-2:] == ["config-changed", "start"]
    assert model.juju.model.applications["alpha"].workload_version == "2.0"


def test_reboot_now_ends_the_hook_which_runs_again_before_start(model: Model) -> None:
    model.deploy("alpha")
    model.juju.settle()
    steps = [{"port": 443}, {"reboot": "now-once"}, {"version": "9"}]
    model.script("alpha", {"config-changed": steps, "start": [{"port": 80}]})
    model.juju.settle()
    hooks = [line["hook"] for line in model.seen("alpha/0")]
    assert hooks[-3:] == ["config-changed", "config-changed", "start"]
    unit = model.juju.model.units["alpha/0"]
    assert unit.ports == ["443/tcp", "80/tcp"]
    assert "reboot requested: now" in "".join(model.juju.debug_log())


def test_juju_reboot_is_refused_in_an_action(model: Model) -> None:
    model.deploy("alpha", 1, {"act": [{"reboot": "after"}]})
    result = model.juju.run_action(["alpha/0"], "act")["alpha/0"]
    assert result["status"] == "failed"
    assert "juju-reboot is not supported" in result["results"]["stderr"]


def test_an_action_answers_in_the_shape_of_juju(model: Model) -> None:
    steps = [
        {"log": "working on it"},
        {"results": {"name": "bob", "nested": {"a": 1, "b": {"c": 2}}}},
    ]
    model.deploy("alpha", 1, {"act": steps})
    model.juju.settle()
    result = model.juju.run_action(["alpha/leader"], "act", {"count": 3})["alpha/0"]
    assert list(result) == ["id", "log", "results", "status", "timing", "unit"]
    assert result["results"] == {
        "name": "bob",
        "nested": {"a": "1", "b": {"c": "2"}},
        "return-code": 0,
    }
    assert result["log"][0].endswith("+0000 UTC working on it")


def test_a_failed_action_keeps_its_results_and_its_message(model: Model) -> None:
    model.deploy("alpha", 1, {"act": [{"results": {"partial": "yes"}}, {"giveup": "as asked"}]})
    result = model.juju.run_action(["alpha/0"], "act")["alpha/0"]
    assert (result["status"], result["message"]) == ("failed", "as asked")
    assert result["results"] == {"partial": "yes", "return-code": 0}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"count": 10}, "(root).count"),
        ({"count": "x"}, "(root).count"),
        ({"more": 1}, "(root)"),
    ],
    ids=["too large", "text", "unknown"],
)
def test_parameters_that_the_schema_refuses_make_a_task_in_error(
    model: Model, params: dict[str, Any], words: str
) -> None:
    model.deploy("alpha")
    result = model.juju.run_action(["alpha/0"], "act", params)["alpha/0"]
    assert result["status"] == "error"
    assert f'cannot run "act" action: validation failed: {words}' in result["message"]
    assert "results" not in result


def test_a_charm_that_cannot_be_imported_is_in_error_and_says_why(
    model: Model, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    (folder / "src").mkdir(parents=True)
    (folder / "src/charm.py").write_text("import no_such_module\n")
    (folder / "metadata.yaml").write_text("name: broken\nsummary: x\ndescription: x\n")
    machine = model.juju.add_machine().id
    model.juju.deploy(folder, Deployment(machines=(machine,)))
    model.juju.settle()
    status = model.juju.status_data()["applications"]["broken"]["application-status"]
    assert status["message"] == 'hook failed: "install"'
    assert any("No module named 'no_such_module'" in line for line in model.juju.debug_log())


def test_hooks_of_a_small_charm_take_milliseconds(
    model: Model, record_property: Callable[[str, object], None]
) -> None:
    model.deploy("alpha", 4)
    model.juju.settle()
    began = time.monotonic()
    count = model.juju.advance(12 * 3600)
    rate = count / (time.monotonic() - began)
    record_property("events-per-second", round(rate))
    assert count > 400


def test_a_worker_keeps_nothing_of_hooks_that_are_over(make_model: Callable[..., Model]) -> None:
    model = make_model()
    model.deploy("alpha")
    for number in range(5):
        model.script("alpha", {"unused": number})
        model.juju.settle()
    charm = model.juju.model.applications["alpha"].charm
    assert model.juju.runners.call(charm, "", "living", "frameworks") <= 1
