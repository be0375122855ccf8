# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gateway to Keystone over a real socket: private authorities, tokens that end, no proxies."""

import datetime
import ipaddress
import logging
import ssl
import time
from pathlib import Path

import httpx2
import pytest
from conftest import make_keystone
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from adminaccess import parse_bag, parse_secret
from charmkit.errors import ConfigError, NotReadyError, RelationIncompleteError
from keystone import Keystone, KeystoneRefusalError
from standins.keystone.http import serve
from web import Web


def make_certificate(folder: Path) -> tuple[str, ssl.SSLContext]:
    """Return a certificate of 127.0.0.1 that signs itself, and a server that shows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "private authority")])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = built.public_bytes(serialization.Encoding.PEM).decode()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "server.pem").write_text(pem + private.decode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return pem, context


def access(url: str):
    content = {"auth-url": url, "username": "admin", "password": "secret-of-keystone"}
    return parse_secret(content)


def test_a_private_authority_is_named_until_it_is_given(tmp_path):
    pem, context = make_certificate(tmp_path)
    with serve(make_keystone(time.time), tls=context) as front:
        stranger = Keystone(access(front.url))
        with pytest.raises(ConfigError, match=r"^keystone-ca: the certificate of 127"):
            stranger.read_rows("/roles", "roles")
        stranger.close()
        friend = Keystone(access(front.url), pem)
        assert len(friend.read_rows("/roles", "roles")) == 5
        friend.close()


def test_a_proxy_of_the_environment_is_never_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with serve(make_keystone(time.time)) as front:
        keystone = Keystone(access(front.url))
        assert keystone.find("/roles/none", "identity_provider") is None
        keystone.close()


def test_a_token_that_ends_in_between_is_taken_anew():
    server = make_keystone(time.time)
    with serve(server) as front:
        keystone = Keystone(access(front.url))
        keystone.read_rows("/roles", "roles")
        for record in server.state.tokens.values():
            record["revoked"] = True
        assert len(keystone.read_rows("/roles", "roles")) == 5
        keystone.close()


def test_no_header_of_a_request_or_an_answer_is_logged_at_any_level(caplog):
    caplog.set_level(logging.DEBUG)
    server = make_keystone(time.time)
    with serve(server) as front:
        keystone = Keystone(access(front.url))
        keystone.read_rows("/roles", "roles")
        keystone.close()
    (token,) = server.state.tokens
    assert token not in caplog.text
    assert "secret-of-keystone" not in caplog.text
    assert "ubject" not in caplog.text


class Echo(httpx2.BaseTransport):
    """A Keystone that quotes what it does not like, as its schema checks do."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        text = f"Invalid input for field 'password': {request.read().decode()}"
        return httpx2.Response(400, json={"error": {"code": 400, "message": text}})


def test_a_login_that_is_refused_quotes_nothing_of_it():
    keystone = Keystone(access("http://127.0.0.1:1"), transport=Echo())
    with pytest.raises(KeystoneRefusalError) as caught:
        keystone.read_rows("/roles", "roles")
    assert str(caught.value) == "keystone: login: 400 Bad Request"


def test_a_refusal_carries_keystones_own_words():
    with serve(make_keystone(time.time)) as front:
        keystone = Keystone(access(front.url))
        with pytest.raises(KeystoneRefusalError, match="409 Conflict occurred") as caught:
            keystone.write("POST", "/roles", {"role": {"name": "member"}})
        assert caught.value.status == 409
        keystone.close()


def test_nobody_at_home_is_waited_for():
    keystone = Keystone(access("http://127.0.0.1:1"))
    with pytest.raises(NotReadyError, match=r"no connection to 127\.0\.0\.1:1"):
        keystone.find("/roles", "identity_provider")
    keystone.close()


def test_a_password_is_in_no_repr():
    assert "secret-of-keystone" not in repr(access("https://k"))


@pytest.mark.parametrize(
    ("bag", "url"),
    [
        ({"service_hostname": "ks"}, "http://ks:5000/v3"),
        (
            {"service_hostname": "fd00::1", "service_protocol": "https"},
            "https://[fd00::1]:5000/v3",
        ),
    ],
)
def test_the_administrator_of_the_relation_is_read(bag, url):
    whole = {"service_port": "5000", "service_username": "admin", "service_password": "x", **bag}
    found = parse_bag(whole)
    assert found.url == url
    assert found.identity["password"]["user"]["domain"] == {"name": "admin_domain"}


def test_a_relation_that_is_not_complete_names_what_is_missing():
    with pytest.raises(RelationIncompleteError, match="waiting for service_password"):
        parse_bag({"service_hostname": "k", "service_port": "1", "service_username": "a"})


class Onward(httpx2.BaseTransport):
    """A web server that sends everybody on to another scheme."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme == "https":
            where = str(request.url.copy_with(scheme="http"))
            return httpx2.Response(302, headers={"location": where})
        return httpx2.Response(200, content=b"<xml/>")


def test_a_page_that_is_sent_on_from_https_to_http_is_not_taken():
    web = Web(Onward())
    with pytest.raises(ConfigError, match="option: it leads from https to http, use another URL"):
        web.read("https://idp.example.edu/metadata", option="option", limit=1000)
    assert web.read("http://idp.example.edu/metadata", option="option", limit=1000) == "<xml/>"
