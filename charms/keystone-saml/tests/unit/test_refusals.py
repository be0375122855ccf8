# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What an operator or Keystone gets wrong: one line that names it, and the rest goes on."""

import json

import pytest
from conftest import PAGE, TABLE, make_keystone
from ops import testing
from saml_samples import FEDERATION_CERTIFICATE, IDP_METADATA, metadata

GOOD = {"idp_metadata": IDP_METADATA, "projects": TABLE}


def blocked(site) -> str:
    assert site.status.name == "blocked"
    assert len(site.status.message) <= 120
    return site.status.message


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("idp_name", "a/b", "'a/b' is no id"),
        ("protocol_name", "", "'' is no id"),
        ("protocol_name", "password", "password is another way to log in of Keystone's"),
        ("protocol_name", "token", "token is another way to log in of Keystone's"),
        ("user_facing_name", "", "write 1 to 100 characters"),
        ("idp_metadata_sha256", "abc", "write 64 hex digits"),
        ("idp_metadata_certificate", "abc", "write PEM certificates"),
        ("idp_ca", "%", "write PEM certificates"),
        ("keystone_ca", "aGVsbG8=", "write PEM certificates"),
        ("public_url", "keystone.example.edu", "write scheme, host and port alone"),
        ("public_url", "https://keystone.example.edu/x", "write scheme, host and port alone"),
        ("public_url", "https://me:pw@keystone.example.edu", "write scheme, host and port alone"),
        ("idp_discovery_service_url", "https://me:pw@ds.example.edu", "which everybody can read"),
        ("idp_discovery_service_url", 'https://a" b', "write a URL"),
        ("attributes", "shibboleth", "write eduperson or adfs, or YAML"),
        ("attributes", "{user: uid}", "groups: write the attribute's SAML name"),
        ("attributes", "{user: MELLON_uid, groups: g}", "without MELLON_"),
        ("attributes", "{user: 'a\" b', groups: g}", "is no attribute name"),
        ("attributes", "{user: mail, groups: mail}", "user and groups are one attribute"),
        ("federation_domain", "admin_domain", "admin_domain is the cloud's own"),
        ("federation_domain", "Service_Domain", "Service_Domain is the cloud's own"),
        ("federation_domain", "fEdErAtEd", "keeps the name Federated for itself"),
        ("federation_domain", "$DOMAIN", "contains unrendered $DOMAIN"),
        ("user_facing_name", "{{ label }}", "contains unrendered {{ label }}"),
        ("attributes", "{user: $UID, groups: g}", "user: contains unrendered $UID"),
        ("authorization_ttl", -1, "greater than or equal to 0"),
        ("nameid_formats", " , ", "names no format"),
        ("nameid_formats", "a<b", "'a<b' is no name of a format"),
        ("kubectl_login_url", "localhost:9990", "write a URL"),
        ("kubectl_login_url", "https://portal.example.edu/", "tokens are sent there"),
        ("kubectl_login_url", "http://localhost:9990", "needs a path, as in http://localhost"),
        ("projects", "gpu: 1", "gpu: write {groups: {GROUP: ROLE}}, not 1"),
        ("mapping_rules", "{x: 1}", "x: Keystone takes only rules"),
    ],
)
def test_a_refused_option_blocks_and_says_why_in_one_line(site, option, value, reason):
    before = (site.file("sp-location"), site.writes())
    site.configure(**{option: value})
    message = blocked(site)
    assert message.startswith(option.replace("_", "-") + ": ")
    assert reason in message
    assert (site.file("sp-location"), site.writes()) == before


def test_actions_and_removal_go_on_while_an_option_is_refused(site):
    site.configure(projects="gpu: 1")
    assert "EntityDescriptor" in site.act("get-sp-metadata")["metadata"]
    site.emit(site.context.on.stop())
    assert site.file("sp-location") is None


def test_a_url_without_proof_is_refused(make_site):
    site = make_site(idp_metadata_url=PAGE, projects=TABLE)
    site.install()
    assert blocked(site).startswith("idp-metadata-certificate: set it or idp-metadata-sha256")
    assert PAGE not in site.network.asked


def test_text_and_url_at_once_are_refused(make_site):
    site = make_site(
        **GOOD, idp_metadata_url=PAGE, idp_metadata_certificate=FEDERATION_CERTIFICATE
    )
    site.install()
    assert blocked(site) == "idp-metadata-url: set it or idp-metadata, not both"


def test_without_metadata_the_option_is_named(make_site):
    site = make_site(projects=TABLE)
    site.install()
    assert blocked(site).startswith("idp-metadata-url: set it, or idp-metadata")


def test_without_a_table_apache_is_ready_and_the_option_is_named(make_site):
    site = make_site(idp_metadata=IDP_METADATA)
    site.install()
    assert blocked(site).startswith("projects: empty, so nobody gets in")
    assert site.file("sp-location") is not None
    assert site.bag(site.front)["protocol-name"] == '"saml2"'


@pytest.mark.parametrize("table", ["", "# nothing yet"])
def test_a_table_that_is_emptied_takes_all_access_along(site, table):
    site.configure(projects=table)
    assert blocked(site).startswith("projects: empty, so nobody gets in")
    state = site.keystone.state
    assert [one for one in state.grants if one.actor == "group"] == []
    assert {one["name"] for one in state.all("projects")} >= {"gpu-lab"}


def test_a_domain_that_differs_in_case_is_named(site):
    site.keystone.state.folds_case = True
    site.configure(federation_domain="CAMPUS")
    assert blocked(site) == "federation-domain: CAMPUS: Keystone has campus"


def test_without_an_administrator_apache_is_ready_and_both_ways_are_named(make_site):
    site = make_site(**GOOD)
    site.unrelate(site.admin)
    site.install()
    message = "admin-secret: set it, or integrate keystone-admin with keystone:identity-admin"
    assert blocked(site) == message
    assert site.file("sp-location") is not None


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("a: {groups: {x: Member}}", "role Member: Keystone has admin, manager, member"),
        ("a: {groups: {x: _member_}}", "role _member_: Keystone has admin, manager, member"),
        ("a: {groups: {GPU-lab: member}}", "group GPU-lab: Keystone has gpu-lab"),
        ("Gpu-Lab: {groups: {x: member}}", "project Gpu-Lab: Keystone has gpu-lab"),
        ("ID: {groups: {x: member}}", "is an id, write its name gpu-lab"),
        ("0123456789abcdef0123456789abcdef: {groups: {x: member}}", "looks like an id"),
    ],
    ids=["role", "old role", "group", "project", "id", "id of nothing"],
)
def test_k03_a_name_that_is_not_exactly_keystones_is_refused_with_what_it_has(site, table, reason):
    state = site.keystone.state
    project = next(one["id"] for one in state.all("projects") if one["name"] == "gpu-lab")
    before = site.writes()
    site.configure(projects=table.replace("ID", project))
    assert reason in blocked(site)
    assert site.writes() == before


def test_k03_a_role_of_a_rule_that_keystone_has_not_is_refused_with_what_it_has(site):
    project = {"name": "own-{0}", "roles": [{"name": "Member"}]}
    local = [{"user": {"name": "{0}"}}, {"projects": [project]}]
    before = site.writes()
    site.configure(
        mapping_rules=json.dumps([{"local": local, "remote": [{"type": "CAMPUS_USER"}]}])
    )
    reason = "mapping-rules: rule 0: role Member: Keystone has admin, manager, member"
    assert blocked(site).startswith(reason)
    assert site.writes() == before


def test_an_identity_provider_of_somebody_else_is_not_touched_until_it_is_adopted(make_site):
    site = make_site(**GOOD)
    provider = {"id": "campus", "remote_ids": ["x"], "enabled": True, "authorization_ttl": None}
    domain = site.keystone.add_domain("campus")
    theirs = {**provider, "domain_id": domain, "description": "by hand"}
    site.keystone.state.records["identity_providers"]["campus"] = dict(theirs)
    site.install()
    assert blocked(site).startswith("identity provider campus: not ours")
    assert site.keystone.state.get("identity_providers", "campus") == theirs
    assert site.writes() == 0
    site.act("apply-federation", adopt=True)
    site.update()
    assert site.status.name == "active"


def test_a_protocol_that_looks_for_another_variable_is_set_to_ours_with_the_rest(site):
    """Another Apache module's, such as Shibboleth's: it goes before keystone.conf."""
    protocol = site.keystone.state.records["protocols"]["campus/saml2"]
    protocol["remote_id_attribute"] = "Shib-Identity-Provider"
    assert site.log_in("alice", "gpu-lab")[0] == 400
    would = site.act("apply-federation", dry_run=True)["would"]
    assert json.loads(would) == ["update protocol saml2"]
    site.update()
    assert protocol["remote_id_attribute"] == "MELLON_IDP"
    assert site.log_in("alice", "gpu-lab")[0] == 201
    before = site.writes()
    site.update()
    assert site.writes() == before


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ({"refuse": True}, "waiting", "keystone: no connection to 10.0.0.11:5000"),
        ({"hang": True}, "waiting", "keystone: 10.0.0.11:5000 does not answer in time"),
        ({"status": 503}, "waiting", "keystone: 10.0.0.11:5000 answers 503 to login"),
        ({"lie": "html"}, "blocked", "keystone: 10.0.0.11:5000 does not answer as Keystone does"),
        ({"lie": "empty"}, "blocked", "keystone: 10.0.0.11:5000 does not answer as Keystone does"),
        ({"lie": "cut"}, "blocked", "keystone: 10.0.0.11:5000 does not answer as Keystone does"),
        ({"lie": "other"}, "blocked", "keystone: 10.0.0.11:5000 does not answer as Keystone does"),
        ({"lie": "other", "path": "/v3/roles"}, "blocked", "keystone: 10.0.0.11:5000 does not"),
    ],
)
def test_a_keystone_that_does_not_work_is_told_apart_and_logins_stay(site, fault, status, message):
    before = site.file("sp-location")
    for name, value in fault.items():
        setattr(site.keystone.faults, name, value)
    site.update()
    assert site.status.name == status
    assert site.status.message.startswith(message)
    assert site.file("sp-location") == before
    site.keystone.faults.clear()
    site.update()
    assert site.status.name == "active"


@pytest.mark.parametrize("number", range(1, 30, 2))
def test_an_outage_after_any_request_ends_where_an_undisturbed_run_ends(site, number):
    """The request after the last good one is carried out, and its answer is lost."""
    wanted = names(site)
    site.keystone.load(make_keystone(lambda: site.now).dump())
    site.keystone.faults.after, site.keystone.faults.status = number, 503
    site.update()
    site.keystone.faults.clear()
    site.update()
    assert site.status.name == "active"
    assert names(site) == wanted


def names(site) -> dict[str, list[str]]:
    state = site.keystone.state
    kinds = ("groups", "projects", "domains", "identity_providers", "mappings", "protocols")
    return {
        kind: sorted(str(one.get("name", one["id"])) for one in state.all(kind)) for kind in kinds
    }


def test_a_rotated_password_waits_and_the_new_one_works(site):
    admin = next(
        one
        for one in site.keystone.state.all("users")
        if one["name"] == "admin" and one["domain_id"] != "default"
    )
    admin["password"] = "another"
    site.update()
    assert site.status.message.startswith("keystone-admin: Keystone refuses the password")
    relation = site.state.get_relation(site.admin.id)
    relation.remote_units_data[0]["service_password"] = "another"
    site.update()
    assert site.status.name == "active"


def test_an_administrator_of_a_secret_needs_no_relation(make_site):
    content = {
        "auth-url": "http://10.0.0.11:5000",
        "username": "admin",
        "password": "secret-of-keystone",
    }
    site = make_site(**GOOD)
    site.unrelate(site.admin)
    secret = testing.Secret(content, owner=None)
    site.state = testing.State(
        leader=True,
        relations=site.state.relations,
        config={**site.state.config, "admin-secret": secret.id},
        secrets={secret},
    )
    site.install()
    assert site.status.name == "active"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"username": "a"}, "auth-url must begin with https:// or http://"),
        ({"auth-url": "https://k", "username": "a"}, "the secret lacks password"),
        ({"auth-url": "https://k", "token": "x"}, "the secret has token, which is not known"),
        (
            {"auth-url": "https://k", "application-credential-id": "i"},
            "the secret lacks application-credential-secret",
        ),
    ],
)
def test_a_secret_that_is_no_administrator_is_refused_without_quoting_it(
    make_site, content, reason
):
    site = make_site(**GOOD)
    secret = testing.Secret(content, owner=None)
    site.state = testing.State(
        leader=True,
        relations=site.state.relations,
        config={**site.state.config, "admin-secret": secret.id},
        secrets={secret},
    )
    site.install()
    assert blocked(site) == f"admin-secret: {reason}"


def test_a_secret_that_was_not_granted_is_named(make_site):
    site = make_site(**GOOD, admin_secret="secret:cq0000000000000000g0")
    site.install()
    assert blocked(site).startswith("admin-secret: cannot be read, juju grant-secret")


def test_an_entity_id_that_is_too_long_for_the_release_is_refused(make_site):
    long = "https://idp.example.edu/" + "x" * 60
    site = make_site(idp_metadata=metadata(long), projects=TABLE)
    site.host.set_packages({"keystone": "2:27.0.0-0ubuntu1"})
    site.install()
    assert blocked(site) == "IdP entityID has 84 characters, Keystone takes 64: shorten it"


def test_a_provider_that_an_administrator_disabled_stays_disabled(site):
    site.keystone.state.get("identity_providers", "campus")["enabled"] = False
    site.configure(authorization_ttl=60)
    provider = site.keystone.state.get("identity_providers", "campus")
    assert provider["authorization_ttl"] == 60
    assert provider["enabled"] is False


def test_a_configuration_that_apache_refuses_is_taken_back(site):
    before = site.file("sp-location")
    files = site.host.files
    files.ensure_text("/etc/apache2/mellon/sp-location.other.conf", "MellonFoo On\n")
    site.configure(subject_confirmation_data_address_check=False)
    assert blocked(site).startswith("Apache refuses its configuration: ")
    assert site.file("sp-location") == before


def test_another_name_for_a_provider_that_keystone_knows_already_is_refused_and_logins_go_on(site):
    before = (site.file("sp-location"), site.writes())
    site.configure(idp_name="university")
    assert blocked(site) == (
        "idp-name: identity provider campus has this entityID: take that name, or delete it"
    )
    assert (site.file("sp-location"), site.writes()) == before
    site.configure(idp_name="campus")
    assert site.status.name == "active"
