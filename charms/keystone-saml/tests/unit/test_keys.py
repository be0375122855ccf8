# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keys of the service provider: made once, brought along, rotated without a failed login."""

import dataclasses

import pytest
from conftest import TABLE
from ops import testing
from saml_samples import FEDERATION_CERTIFICATE, FEDERATION_KEY, IDP_METADATA

from charmkit.errors import ConfigError
from spkeys import KeyRing, import_ring, load_ring, make_pair, next_step, rotate

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def ring() -> KeyRing:
    return KeyRing(make_pair("test", NOW))


def test_a_secret_brings_back_the_same_keys(ring):
    started = rotate(ring, "start", "test", NOW)
    switched = rotate(started, "switch", "test", NOW)
    for one in (ring, started, switched):
        assert load_ring(one.dump()) == one


def test_a_rotation_publishes_both_certificates_until_it_is_finished(ring):
    started = rotate(ring, "start", "test", NOW)
    switched = rotate(started, "switch", "test", NOW)
    finished = rotate(switched, "finish", "test", NOW)
    old, new = started.signing()
    assert started.current == ring.current
    assert switched.signing() == (new, old)
    assert finished.signing() == (new,)
    assert [next_step(one) for one in (ring, started, switched, finished)] == [
        "start",
        "switch",
        "finish",
        "start",
    ]


@pytest.mark.parametrize("step", ["switch", "finish"])
def test_a_step_out_of_turn_is_refused_with_the_one_that_comes_next(ring, step):
    with pytest.raises(ValueError, match="start comes next"):
        rotate(ring, step, "test", NOW)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({}, "private-key is no unencrypted PEM key"),
        ({"private-key": "x"}, "private-key is no unencrypted PEM key"),
        ({"private-key": FEDERATION_KEY, "certificate": "x"}, "certificate is no PEM certificate"),
        ({"private-key": FEDERATION_KEY, "key": "x"}, "key: only private-key, certificate"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_without_quoting_it(content, reason):
    with pytest.raises(ConfigError, match=r"^sp-key: ") as caught:
        import_ring(content, "test", NOW)
    assert reason in str(caught.value)


def test_a_certificate_of_another_key_is_refused(ring):
    content = {"private-key": ring.current.key, "certificate": FEDERATION_CERTIFICATE}
    with pytest.raises(ConfigError, match="belongs to another key"):
        import_ring(content, "test", NOW)


def test_key_and_entity_id_that_the_campus_knows_are_used(make_site):
    content = {
        "private-key": FEDERATION_KEY,
        "certificate": FEDERATION_CERTIFICATE,
        "entity-id": "https://old.example.edu/mellon",
    }
    site = make_site(idp_metadata=IDP_METADATA, projects=TABLE)
    secret = testing.Secret(content, owner=None)
    config = {**site.state.config, "sp-key": secret.id}
    site.state = dataclasses.replace(site.state, config=config, secrets={secret})
    site.install()
    assert site.status.name == "active"
    assert 'entityID="https://old.example.edu/mellon"' in site.file("sp-meta")
    assert FEDERATION_CERTIFICATE.splitlines()[1] in site.file("sp-meta")
    assert site.act("get-sp-metadata")["entity-id"] == "https://old.example.edu/mellon"


def test_every_step_reaches_apache_and_only_switch_changes_the_key(site):
    keys, counts = [site.file("sp-pk")], [site.file("sp-meta").count('use="signing"')]
    nonces = [site.bag(site.front)["restart-nonce"]]
    for step in ("start", "switch", "finish"):
        assert site.act("rotate-sp-key", step=step)["next"]
        keys.append(site.file("sp-pk"))
        counts.append(site.file("sp-meta").count('use="signing"'))
        nonces.append(site.bag(site.front)["restart-nonce"])
        assert site.status.name == "active"
    assert counts == [1, 2, 2, 1]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert len(set(nonces)) == 4


def test_the_key_lives_in_a_secret_and_not_in_a_bag(site):
    (secret,) = site.state.secrets
    assert secret.owner == "app"
    key = secret.latest_content["current-key"]
    assert key == site.file("sp-pk")
    assert key.splitlines()[2] not in site.everything_said()


def test_a_unit_that_does_not_lead_waits_for_the_key(make_site):
    site = make_site(idp_metadata=IDP_METADATA, projects=TABLE)
    site.follow()
    site.install()
    assert (site.status.name, site.status.message) == (
        "waiting",
        "sp-key: waiting for the leader to make it",
    )


def test_a_unit_that_does_not_lead_serves_and_leaves_keystone_alone(site):
    site.follow()
    before = len(site.keystone.calls)
    site.update()
    assert site.status.name == "active"
    assert len(site.keystone.calls) == before
