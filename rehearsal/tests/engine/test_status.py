# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The JSON of status, show-unit and config: keys and order as a controller sent them."""

from typing import Any

from jubilant import Status

from rehearsal.juju.status_unit import config_data


def related(site: Any) -> dict[str, Any]:
    """Deploy two alphas, a beta and subordinates; return the status."""
    site.deploy("alpha", 2)
    site.deploy("beta")
    site.deploy("subby")
    site.integrate("alpha:site beta:site", "alpha subby")
    return site.juju.status_data()


def test_status_has_the_keys_of_a_controller(any_juju: Any) -> None:
    data = related(any_juju)
    assert list(data) == ["model", "machines", "applications", "storage", "controller"]
    assert list(data["machines"]["0"]) == [
        "juju-status",
        "hostname",
        "dns-name",
        "ip-addresses",
        "instance-id",
        "machine-status",
        "modification-status",
        "base",
        "network-interfaces",
        "constraints",
        "hardware",
    ]
    assert set(data["applications"]["alpha"]) == {
        "charm",
        "base",
        "charm-origin",
        "charm-name",
        "charm-rev",
        "exposed",
        "life",
        "application-status",
        "relations",
        "units",
        "endpoint-bindings",
    }


def test_a_subordinate_is_shown_below_its_principal_without_a_machine(any_juju: Any) -> None:
    data = related(any_juju)
    subby = data["applications"]["subby"]
    assert subby["subordinate-to"] == ["alpha"]
    assert "units" not in subby
    unit = data["applications"]["alpha"]["units"]["alpha/0"]["subordinates"]["subby/0"]
    assert set(unit) == {"workload-status", "juju-status", "leader", "public-address"}


def test_times_are_printed_as_juju_does(any_juju: Any) -> None:
    data = related(any_juju)
    assert data["model"]["model-status"]["since"] == "01 Jan 2027 00:00:00Z"
    assert data["controller"]["timestamp"] == "00:00:00Z"


def test_jubilant_reads_the_status(any_juju: Any) -> None:
    status = Status._from_dict(related(any_juju))
    assert status.apps["alpha"].units["alpha/0"].leader
    assert status.apps["alpha"].units["alpha/1"].subordinates["subby/1"].public_address
    assert status.apps["alpha"].relations["site"][0].related_app == "beta"
    assert status.machines["0"].juju_status.current == "started"


def test_an_application_shows_the_gravest_of_its_units(any_juju: Any) -> None:
    def blocked(event: Any, unit: Any) -> None:
        unit.status = ("blocked", "no disk") if unit.name == "alpha/1" else ("active", "")

    any_juju.on("alpha", "start", blocked)
    status = related(any_juju)["applications"]["alpha"]["application-status"]
    assert (status["current"], status["message"]) == ("blocked", "no disk")


def test_a_status_of_the_leader_hides_the_units(any_juju: Any) -> None:
    def lead(event: Any, unit: Any) -> None:
        unit.status = ("blocked", "no disk")
        unit.app_status = ("active", "led")

    any_juju.on("alpha", "start", lead)
    status = related(any_juju)["applications"]["alpha"]["application-status"]
    assert (status["current"], status["message"]) == ("active", "led")


def test_since_moves_with_a_new_status_only(any_juju: Any) -> None:
    any_juju.on("alpha", "*", lambda event, unit: setattr(unit, "status", ("active", "ready")))
    before = related(any_juju)["applications"]["alpha"]["units"]["alpha/0"]["workload-status"]
    any_juju.juju.advance(600)
    data = any_juju.juju.status_data()["applications"]["alpha"]["units"]["alpha/0"]
    assert data["workload-status"] == before


def test_show_unit_has_the_relations_with_their_data(juju36: Any) -> None:
    related(juju36)
    data = juju36.juju.show_unit_data("beta/0")["beta/0"]
    (relation,) = data["relation-info"]
    assert (relation["endpoint"], relation["related-endpoint"]) == ("site", "site")
    assert relation["local-unit"]["in-scope"]
    assert list(relation["related-units"]) == ["alpha/0", "alpha/1"]
    assert relation["related-units"]["alpha/1"]["data"]["ingress-address"] == "10.0.0.3"


def test_config_says_where_each_value_comes_from(juju36: Any) -> None:
    related(juju36)
    juju36.juju.set_config("alpha", {"greeting": "a"})
    settings = config_data(juju36.model, "alpha")["settings"]
    assert (settings["greeting"]["source"], settings["greeting"]["value"]) == ("user", "a")
    assert (settings["count"]["source"], settings["count"]["value"]) == ("default", 1)


def test_counters_tell_hooks_by_unit_and_application(juju36: Any) -> None:
    related(juju36)
    counters = juju36.juju.counters()
    assert counters["events"] == sum(counters["units"].values())
    assert counters["applications"]["subby"] == counters["units"]["subby/0"] * 2
    assert counters["hooks"]["install"] == 5


def test_the_log_names_each_hook_with_the_time_of_the_model(juju36: Any) -> None:
    told: list[str] = []
    juju36.juju.observe(told.append)
    related(juju36)
    log = juju36.juju.debug_log()
    assert log[0] == 'unit-alpha-0: 00:00:00 INFO ran "install" hook'
    assert told == log
