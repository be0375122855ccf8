# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What `check` says of the name that browsers know Keystone by."""

import dataclasses
import json

import pytest

from keystoneconf import PATH

CONF = """
[auth]
methods = saml2
[federation]
trusted_dashboard = http://localhost:9990/auth/websso/
[saml2]
remote_id_attribute = MELLON_IDP
"""


def of_place(site):
    """Return the faults of the place, and the remarks."""
    site.host.files.ensure_text(PATH, CONF)
    said = site.act("check")
    faults = [one for one in json.loads(said["faults"]) if one.startswith("public-url")]
    return [one for one in faults if "is not https" not in one], said.get("remarks", "")


def publish(site, *urls):
    """Let Keystone's catalogue have these public endpoints."""
    state = site.keystone.state
    state.records["endpoints"].clear()
    service = next(one["id"] for one in state.all("services") if one["type"] == "identity")
    for url in urls:
        state.add("endpoints", service_id=service, interface="public", url=url, enabled=True)
    state.add("endpoints", service_id=service, interface="admin", url="http://a:1", enabled=True)


@pytest.mark.parametrize(
    "urls",
    [
        (),
        ("http://10.0.0.11:5000/v3",),
        ("https://other.example.edu:5000/v3", "HTTP://10.0.0.11:5000"),
    ],
    ids=["none", "same", "another region's"],
)
def test_a_catalogue_that_says_what_browsers_use_is_no_fault(site, urls):
    publish(site, *urls)
    assert of_place(site) == ([], "")


@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.11:5000/v3",
        "http://sso.example.edu:5000/v3",
        "https://[fd00::5:5000/v3",
        "http://10.0.0.11:$(port)s/v3",
    ],
    ids=["scheme", "host", "no URL", "unrendered port"],
)
def test_a_public_endpoint_under_another_name_is_told_until_public_url_is_set(site, url):
    publish(site, url)
    faults, _ = of_place(site)
    text = f"the catalogue says {url}, the service provider http://10.0.0.11:5000"
    assert faults == [f"public-url: {text}; set public-url to what browsers use"]
    site.configure(public_url="https://sso.example.edu")
    assert of_place(site)[0] == []


def test_the_comparison_of_addresses_is_remarked_where_a_load_balancer_may_be(site):
    assert of_place(site)[1] == ""
    site.configure(public_url="https://sso.example.edu")
    faults, remarks = of_place(site)
    assert faults == []
    assert "set subject-confirmation-data-address-check=false" in remarks
    site.configure(subject_confirmation_data_address_check=False)
    assert of_place(site)[1] == ""


def test_several_units_without_a_name_of_all_are_told_with_what_to_set(site):
    site.state = dataclasses.replace(site.state, planned_units=3)
    faults, _ = of_place(site)
    assert len(faults) == 1
    assert faults[0].startswith("public-url: 3 units: each may have an entityID of its own")
    assert "set public-url to the load balancer's URL" in faults[0]
    site.configure(public_url="https://sso.example.edu")
    assert of_place(site)[0] == []


def test_a_catalogue_that_is_kept_from_us_hides_no_other_fault(site):
    site.configure(authorization_ttl=0)
    site.keystone.state.records["services"].clear()
    assert "lives: authorization-ttl is 0" in site.act("check")["faults"]
