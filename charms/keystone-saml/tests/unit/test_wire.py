# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The wire: what keystone and its dashboard are told, as the charm before this one told it."""

import copy
import dataclasses
import json
import uuid

import ops
import pytest
from conftest import METADATA, TABLE
from lxml import etree
from ops import testing
from saml_samples import IDP_METADATA

from serviceprovider import Provider

FRONT = "keystone-fid-service-provider"
LIMITED = (("provides", FRONT), ("requires", "keystone-admin"))
AUTH = "/v3/OS-FEDERATION/identity_providers/campus/protocols/saml2/auth"


def test_keystone_is_told_in_json(site):
    bag = site.bag(site.front)
    assert json.loads(bag["protocol-name"]) == "saml2"
    assert json.loads(bag["remote-id-attribute"]) == "MELLON_IDP"
    assert uuid.UUID(json.loads(bag["restart-nonce"]))


def test_the_dashboard_is_told_in_json_and_trusted_pages_in_plain_text(site):
    websso = testing.Relation("websso-fid-service-provider", remote_app_name="horizon")
    trusted = testing.Relation("websso-trusted-dashboard", remote_app_name="keystone")
    site.relate(websso)
    site.relate(trusted)
    site.update()
    assert {
        key: json.loads(value) for key, value in site.bag(websso).items() if "-name" in key
    } == {
        "protocol-name": "saml2",
        "idp-name": "campus",
        "user-facing-name": "Campus login",
    }
    bag = site.bag(trusted)
    parts = [bag[key] for key in ("scheme", "hostname", "path")]
    assert "".join(parts) == "http://localhost:9990/auth/websso/"


def test_a_page_that_is_not_wanted_any_more_is_not_trusted_any_more(site):
    trusted = testing.Relation("websso-trusted-dashboard", remote_app_name="keystone")
    site.relate(trusted)
    site.update()
    site.configure(kubectl_login_url="")
    assert {"scheme", "hostname", "path"} & set(site.bag(trusted)) == set()
    site.configure(kubectl_login_url="http://localhost:9991/auth/websso/")
    assert site.bag(trusted)["hostname"] == "localhost:9991"


def see_all(site, principal, bags):
    """Let the relation show every unit of keystone, as Juju 4.0 does."""
    meta = copy.deepcopy(METADATA)
    del meta["provides"][FRONT]["scope"]
    site.context = testing.Context(site.charm, meta=meta, principal_unit=principal)
    site.unrelate(site.front)
    said = {"port": "5000", "tls-enabled": "true"}
    site.front = testing.Relation(
        FRONT,
        remote_app_name="keystone",
        remote_units_data={
            number: {**said, "hostname": json.dumps(name)} if name else {}
            for number, name in bags.items()
        },
    )
    site.relate(site.front)
    site.update()


@pytest.mark.parametrize("own", [0, 7, 11])
def test_the_place_is_that_of_the_keystone_of_this_machine_whichever_others_are_seen(site, own):
    see_all(site, f"keystone/{own}", {number: f"ks-{number}.example" for number in range(12)})
    assert f'entityID="https://ks-{own}.example:5000{AUTH}' in site.file("sp-meta")


def test_a_keystone_of_this_machine_that_has_not_said_its_place_is_waited_for(site):
    before = site.file("sp-meta")
    see_all(site, "keystone/1", {0: "ks-0.example", 1: ""})
    assert site.status.message == f"{FRONT}: waiting for hostname, port"
    assert site.file("sp-meta") == before


def test_without_a_principal_the_first_unit_is_taken(site):
    see_all(site, None, {number: f"ks-{number}.example" for number in (10, 9, 2, 11)})
    assert f'entityID="https://ks-2.example:5000{AUTH}' in site.file("sp-meta")


@pytest.mark.parametrize("endpoint", [FRONT, "keystone-admin"])
def test_two_keystones_are_one_too_many_and_no_error_of_a_hook(site, endpoint):
    """Juju refuses the second, unless it came before the limit."""
    assert all(METADATA[side][one]["limit"] == 1 for side, one in LIMITED)
    first = site.front if endpoint == FRONT else site.admin
    second = dataclasses.replace(first, id=9_999, remote_app_name="keystone-two")
    before = site.file("sp-meta")
    site.relate(second)
    site.update()
    assert site.status == ops.BlockedStatus(
        f"{endpoint}: has several relations, remove all but one"
    )
    site.emit(site.context.on.relation_broken(second))
    site.unrelate(second)
    site.update()
    assert site.status.name == "active"
    assert site.file("sp-meta") == before


def test_it_works_without_horizon(site):
    assert site.status.name == "active"


@pytest.mark.parametrize(
    ("bag", "base"),
    [
        (
            {"hostname": '"ks.example"', "port": "5000", "tls-enabled": "true"},
            "https://ks.example:5000",
        ),
        (
            {"hostname": '"fd00::1"', "port": "5000", "tls-enabled": "false"},
            "http://[fd00::1]:5000",
        ),
    ],
)
def test_the_place_follows_from_what_keystone_says(site, bag, base):
    site.relate(dataclasses.replace(site.state.get_relation(site.front.id), remote_unit_data=bag))
    site.update()
    assert f'Location="{base}{AUTH}/mellon/postResponse"' in site.file("sp-meta")


@pytest.mark.parametrize(
    "bag", [{}, {"hostname": "null", "port": "0"}, {"hostname": "plain", "port": "x"}]
)
def test_a_keystone_that_has_not_said_where_it_is_is_waited_for(make_site, bag):
    site = make_site(idp_metadata=IDP_METADATA, projects=TABLE)
    site.relate(dataclasses.replace(site.front, remote_unit_data=bag))
    site.install()
    message = "keystone-fid-service-provider: waiting for hostname, port"
    assert site.status.message == message


def test_a_public_url_is_what_destinations_are_compared_with(site):
    site.configure(public_url="https://sso.example.edu/")
    conf = site.file("sp-location")
    assert "ServerName https://sso.example.edu\nUseCanonicalName On" in conf
    assert "MellonSecureCookie On\n    MellonCookieSameSite None" in conf
    assert f'entityID="https://sso.example.edu{AUTH}"' in site.file("sp-meta")


def test_plain_http_sets_no_secure_cookie(site):
    assert "MellonSecureCookie" not in site.file("sp-location")


def test_metadata_is_xml_with_the_bindings_of_the_charm_before(site):
    root = etree.fromstring(site.file("sp-meta").encode())
    bindings = [
        one.get("Binding").rpartition(":")[2] for one in root.iter("{*}AssertionConsumerService")
    ]
    assert root.get("entityID") == f"http://10.0.0.11:5000{AUTH}"
    assert bindings == ["HTTP-POST", "PAOS"]
    assert [
        one.get("Binding").rpartition(":")[2] for one in root.iter("{*}SingleLogoutService")
    ] == [
        "SOAP",
        "HTTP-Redirect",
    ]


def test_attributes_get_our_names_and_no_header_of_a_client_can_have_them(site):
    conf = site.file("sp-location")
    assert 'MellonSetEnvNoPrefix "CAMPUS_USER" "urn:oid:1.3.6.1.4.1.5923.1.1.1.6"' in conf
    assert "RequestHeader" not in conf
    site.configure(attributes="adfs")
    assert '"http://schemas.xmlsoap.org/claims/Group"' in site.file("sp-location")


def test_every_path_that_needs_a_login_is_protected():
    provider = Provider("https://k", "campus", "saml2")
    assert provider.paths == (
        AUTH,
        "/v3/auth/OS-FEDERATION/websso/saml2",
        "/v3/auth/OS-FEDERATION/identity_providers/campus/protocols/saml2/websso",
    )


def test_encryption_is_offered_for_the_current_key_alone(site):
    site.configure(saml_encryption=True)
    site.act("rotate-sp-key", step="start")
    assert site.file("sp-meta").count('use="encryption"') == 1
    assert site.file("sp-meta").count('use="signing"') == 2
