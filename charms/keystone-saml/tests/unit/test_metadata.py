# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The identity provider's metadata: what is believed, what is refused, what is kept."""

import hashlib
import re

import pytest
from conftest import PAGE, TABLE
from saml_samples import (
    ENTITY,
    FEDERATION_CERTIFICATE,
    IDP_CERTIFICATE,
    IDP_METADATA,
    aggregate,
    metadata,
    sign,
)

from charmkit.errors import ConfigError
from idpmetadata import Trust, read_metadata

UNCHECKED = Trust()
OTHER = metadata("https://other.example.edu/idp")


def read(document: str, trust: Trust = UNCHECKED, **options):
    return read_metadata(document, trust, option="idp-metadata-url", now=1_800_000_000, **options)


def refusal(document: str, trust: Trust = UNCHECKED, **options) -> str:
    with pytest.raises(ConfigError) as caught:
        read(document, trust, **options)
    return str(caught.value)


def test_the_entity_id_is_read_and_never_asked_for():
    assert read(IDP_METADATA).entity_id == ENTITY


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<html>Please sign in<br></html>", "an HTML page, not metadata: does it want a login?"),
        ("\n<!DOCTYPE HTML>\n<html><br></html>", "an HTML page, not metadata"),
        ("https://idp.example.edu/idp.xml", "is a URL, set idp-metadata-url to it"),
        (IDP_METADATA.replace("SAML:2.0:protocol", "SAML:1.1:protocol"), "speaks SAML 1 alone"),
        (
            re.sub(r' protocolSupportEnumeration="[^"]*"', "", IDP_METADATA),
            "no protocolSupportEnumeration, Apache needs it",
        ),
        (metadata(bindings=("HTTP-Artifact",)), "no single sign-on for browsers"),
        ("", "not XML"),
        ("{}", "not XML"),
        ("<a/>", "no identity provider in it"),
        (metadata(certificate=""), "no signing certificate"),
        (metadata(bindings=("SOAP",)), "no single sign-on for browsers"),
        (metadata(valid_until="2026-01-01T00:00:00Z"), "was valid until 2026-01-01"),
        (metadata(certificate="AAAA"), "certificate of the provider cannot be read"),
        (
            '<!DOCTYPE x [<!ENTITY a "b">]>' + IDP_METADATA,
            "has a DTD",
        ),
        (
            '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + IDP_METADATA,
            "has a DTD",
        ),
    ],
    ids=[
        "login page",
        "another login page",
        "URL",
        "SAML 1",
        "no protocol",
        "artifacts only",
        "empty",
        "JSON",
        "other XML",
        "no certificate",
        "ECP only",
        "expired",
        "broken certificate",
        "entities",
        "external entity",
    ],
)
def test_a_document_that_is_no_metadata_is_refused_with_the_reason(document, reason):
    assert reason in refusal(document)


ED25519_CERTIFICATE = """\
MIHgMIGToAMCAQICAQcwBQYDK2VwMBoxGDAWBgNVBAMMD2lkcC5leGFtcGxlLmVkdTAeFw0yNTAxMDEwMDAwMDBaFw\
00NTAxMDEwMDAwMDBaMBoxGDAWBgNVBAMMD2lkcC5leGFtcGxlLmVkdTAqMAUGAytlcAMhABnBIJrxF83UjyniOkrr\
jeqNYEms3bc4HiZn4Ucdhr+VMAUGAytlcANBAJpL2LXBo8zF5LKqGfX3H3CXba4ta0ef/Zd8pQ/DIunKt5Yqx+1PP5\
ZUWDVVTV4UjDelEaykTyUHDXyZlUHpOgc="""
SERVICE = (
    '<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-{}" Location="{}"/>'
)


def changed(*, keys: str = "", services: str = "", beside: str = "", role: str = "") -> str:
    """Return the metadata with more in them."""
    text = IDP_METADATA.replace("<SingleSignOnService", f"{keys}<SingleSignOnService", 1)
    text = text.replace("</IDPSSODescriptor>", f"{services}</IDPSSODescriptor>{beside}")
    return text.replace("<IDPSSODescriptor ", f"<IDPSSODescriptor {role} ")


def a_key(body: str, use: str) -> str:
    data = f"<ds:X509Data><ds:X509Certificate>{body}</ds:X509Certificate></ds:X509Data>"
    return f'<KeyDescriptor use="{use}"><ds:KeyInfo>{data}</ds:KeyInfo></KeyDescriptor>'


@pytest.mark.parametrize(
    "document",
    [
        changed(keys=a_key("AAAA", "encryption")),
        changed(keys=a_key("", "encryption")),
        changed(keys='<KeyDescriptor use="encryption"/>'),
        IDP_METADATA.replace("<ds:KeyInfo>", "<ds:KeyInfo><ds:KeyValue>x</ds:KeyValue>"),
        IDP_METADATA.replace("<ds:X509Data>", "<ds:X509Data><ds:X509CRL>x</ds:X509CRL>"),
        changed(beside="<SPSSODescriptor/>"),
        changed(beside=f"<AttributeAuthorityDescriptor>{a_key('AAAA', 'signing')}"
                "</AttributeAuthorityDescriptor>"),
        changed(beside="<Organization><OrganizationName>x</OrganizationName></Organization>"),
        changed(services=SERVICE.format("Redirect", "")),
        changed(services=SERVICE.format("Redirect", "javascript:alert(1)")),
        changed(services=SERVICE.format("Redirect", "https://[")),
        changed(services="<SingleLogoutService/><!-- nothing --><?and nothing?>"),
        IDP_METADATA.replace('"urn:oasis:names:tc:SAML:2.0:protocol"',
                             '"urn:oasis:names:tc:SAML:1.1:protocol&#10;'
                             'urn:oasis:names:tc:SAML:2.0:protocol"'),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_apaches_module_breaks_off_over_is_not_handed_to_it(document):
    assert read(document).lasting == read(IDP_METADATA).lasting


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (metadata(certificate=ED25519_CERTIFICATE), "has no RSA, EC or DSA key"),
        (
            metadata(certificate=f"{IDP_CERTIFICATE[:40]}!!{IDP_CERTIFICATE[40:]}"),
            "cannot be read",
        ),
        (re.sub(' Location="[^"]*"', "", IDP_METADATA), "no single sign-on for browsers"),
        (re.sub(' Location="[^"]*"', ' Location="/sso"', IDP_METADATA), "no single sign-on"),
        (metadata(" "), "has no entityID"),
        (changed(role='validUntil="2026-01-01T00:00:00Z"'), "was valid until 2026-01-01"),
        (
            aggregate(aggregate(IDP_METADATA, valid_until="2026-01-01T00:00:00Z")),
            "was valid until 2026-01-01",
        ),
    ],
    ids=["Ed25519", "base64", "no location", "no URL", "blank id", "role's end", "inner end"],
)
def test_what_apaches_module_breaks_off_over_and_logins_need_is_refused(document, reason):
    assert reason in refusal(document)


@pytest.mark.parametrize("body", [ED25519_CERTIFICATE, "AAAA", "!"], ids=["Ed25519", "none", "!"])
def test_a_signing_key_that_cannot_be_read_does_not_count_beside_one_that_can(body):
    found = read(changed(keys=a_key(body, "signing")))
    assert found.lasting == read(IDP_METADATA).lasting
    assert found.certificate_ends == read(IDP_METADATA).certificate_ends


def test_an_end_beyond_the_year_9999_is_the_end_of_it():
    found = read(
        IDP_METADATA.replace(" entityID", ' validUntil="9999-12-31T23:59:59-14:00" entityID')
    )
    assert found.expires == 253402300799


@pytest.mark.parametrize(
    "head",
    [
        "\ufeff",
        "\ufeff\n",
        '<?xml version="1.0" encoding="UTF-16"?>\n',
        '\n<?xml version="1.0" encoding="ISO-8859-1"?>',
        '<?xml version="1.1"?>',
    ],
)
def test_what_a_text_says_about_its_bytes_does_not_count(head):
    named = IDP_METADATA.replace(ENTITY, "https://idp.example.edu/é")
    assert read(f"{head}{named}").entity_id == "https://idp.example.edu/é"


def test_a_comment_within_a_certificate_does_not_count():
    split = f"{IDP_CERTIFICATE[:80]}<!-- half -->\n  {IDP_CERTIFICATE[80:]}"
    assert (
        read(metadata(certificate=split)).certificate_ends == read(IDP_METADATA).certificate_ends
    )


def test_a_digest_of_another_document_is_refused():
    digest = hashlib.sha256(OTHER.encode()).hexdigest()
    assert "its sha256 is" in refusal(IDP_METADATA, Trust(sha256=digest))
    assert read(OTHER, Trust(sha256=digest)).entity_id.startswith("https://other")


def test_a_file_that_a_shell_handed_over_has_the_digest_of_the_file():
    digest = hashlib.sha256(f"{IDP_METADATA}\n".encode()).hexdigest()
    assert read(IDP_METADATA, Trust(sha256=digest)).entity_id == ENTITY
    assert read(f"{IDP_METADATA}\n", Trust(sha256=digest)).entity_id == ENTITY


@pytest.mark.parametrize("blanks", ["\n", "  ", "\ufeff"])
@pytest.mark.parametrize("trust", [Trust(), Trust(certificate=FEDERATION_CERTIFICATE)])
def test_blanks_before_the_document_do_not_count(blanks, trust):
    document = f'{blanks}<?xml version="1.0" encoding="UTF-8"?>\n{sign(IDP_METADATA)}'
    assert read(document, trust).entity_id == ENTITY


def test_of_a_provider_that_speaks_saml_1_too_the_part_for_saml_2_counts():
    old = '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:1.1:protocol"/>'
    head, mark, rest = IDP_METADATA.partition("<IDPSSODescriptor")
    assert read(f"{head}{old}{mark}{rest}").bindings == read(IDP_METADATA).bindings


def test_a_digest_may_come_as_sha256sum_prints_it(make_site):
    digest = hashlib.sha256(IDP_METADATA.encode()).hexdigest()
    site = make_site(
        idp_metadata_url=PAGE, idp_metadata_sha256=f"{digest}  idp.xml\n", projects=TABLE
    )
    site.network.pages[PAGE] = IDP_METADATA
    site.install()
    assert site.status.name == "active"


def test_one_provider_of_a_signed_aggregate_is_taken():
    document = sign(aggregate(IDP_METADATA, OTHER))
    trust = Trust(certificate=FEDERATION_CERTIFICATE)
    found = read(document, trust, entity_id=ENTITY)
    assert found.entity_id == ENTITY
    assert "other.example.edu" not in found.text


def test_an_aggregate_needs_a_choice():
    assert refusal(aggregate(IDP_METADATA, OTHER)).startswith("idp-entity-id: choose one of 2")
    assert "no https://none" in refusal(aggregate(OTHER), entity_id="https://none")


def tampered() -> str:
    return sign(IDP_METADATA).replace("https://idp.example.edu/HTTP-POST", "https://evil.example")


def wrapped() -> str:
    """A signed document inside another one: the signature is good, the outer one is not signed."""
    evil = metadata("https://evil.example/idp")
    return aggregate(evil, sign(IDP_METADATA))


@pytest.mark.parametrize(
    "document",
    [
        IDP_METADATA,
        tampered(),
        wrapped(),
        sign(IDP_METADATA).replace(IDP_CERTIFICATE[:40], "A" * 40),
    ],
    ids=["unsigned", "changed after signing", "wrapped in another", "certificate exchanged"],
)
def test_what_the_federation_did_not_sign_is_refused(document):
    trust = Trust(certificate=FEDERATION_CERTIFICATE)
    assert "signature is not valid" in refusal(document, trust)


def test_a_signature_by_another_key_is_refused():
    body = "\n".join(IDP_CERTIFICATE[i : i + 64] for i in range(0, len(IDP_CERTIFICATE), 64))
    other = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    assert "signature is not valid" in refusal(sign(IDP_METADATA), Trust(certificate=other))


@pytest.fixture
def remote(make_site):
    """Return a site whose metadata comes from a URL, signed by the federation."""
    site = make_site(
        idp_metadata_url=PAGE,
        idp_metadata_certificate=FEDERATION_CERTIFICATE,
        projects=TABLE,
    )
    site.network.pages[PAGE] = sign(IDP_METADATA)
    site.install()
    return site


def test_metadata_from_a_url_is_used_once_it_is_verified(remote):
    assert remote.status.name == "active"
    assert ENTITY in remote.file("idp-meta")


def test_the_url_is_not_asked_in_every_hook(remote):
    before = remote.network.asked.count(PAGE)
    for _ in range(5):
        remote.update(300)
    assert remote.network.asked.count(PAGE) == before
    remote.update(3600)
    assert remote.network.asked.count(PAGE) == before + 1


@pytest.mark.parametrize("page", [None, 503], ids=["no connection", "503"])
def test_what_was_verified_is_kept_when_the_url_fails(remote, page):
    before = remote.file("idp-meta")
    remote.network.pages[PAGE] = page
    remote.update(4000)
    assert remote.status.name == "active"
    assert "kept" in remote.status.message
    assert remote.file("idp-meta") == before
    assert remote.log_in("alice", "gpu-lab")[0] == 201


@pytest.mark.parametrize(
    "page",
    [IDP_METADATA, "<html>Sign in</html>", tampered()],
    ids=["unsigned", "page", "tampered"],
)
def test_what_is_not_verified_is_never_used(remote, page):
    before = remote.file("idp-meta")
    remote.network.pages[PAGE] = page
    remote.update(4000)
    assert remote.status.name == "blocked"
    assert remote.status.message.startswith("idp-metadata-url: ")
    assert remote.file("idp-meta") == before


def test_a_first_fetch_that_fails_waits_and_the_rest_is_said(make_site):
    site = make_site(
        idp_metadata_url=PAGE, idp_metadata_certificate=FEDERATION_CERTIFICATE, projects=TABLE
    )
    site.install()
    assert site.status.name == "waiting"
    assert site.status.message == "idp-metadata-url: no connection to idp.example.edu"
    assert site.file("idp-meta") is None


def test_a_rollover_of_the_campus_reaches_apache_and_keystone(remote):
    nonce = remote.bag(remote.front)["restart-nonce"]
    remote.network.pages[PAGE] = sign(metadata("https://new.example.edu/idp"))
    remote.update(4000)
    assert remote.bag(remote.front)["restart-nonce"] != nonce
    provider = remote.keystone.state.get("identity_providers", "campus")
    assert provider["remote_ids"] == ["https://new.example.edu/idp"]


@pytest.mark.parametrize("wrap", [lambda text: text, aggregate], ids=["single", "aggregate"])
def test_a_document_that_is_signed_anew_restarts_nothing(remote, wrap):
    """Federations sign every night, and some providers at each request."""
    nonce, text = remote.bag(remote.front)["restart-nonce"], remote.file("idp-meta")
    for day in (28, 29, 30):
        newer = metadata(valid_until=f"2030-01-{day}T00:00:00Z")
        remote.network.pages[PAGE] = sign(wrap(newer), f"_of-{day}")
        remote.update(4000)
        assert remote.status.name == "active"
    assert remote.bag(remote.front)["restart-nonce"] == nonce
    assert remote.file("idp-meta") == text


def test_what_an_aggregate_says_of_its_end_holds_for_what_is_kept_of_it(remote):
    end = "2027-02-01T00:00:00Z"
    remote.network.pages[PAGE] = sign(aggregate(IDP_METADATA, valid_until=end))
    remote.update(4000)
    assert remote.status.name == "active"
    remote.network.pages[PAGE] = None
    remote.update(4000)
    assert "kept" in remote.status.message
    before = remote.file("idp-meta")
    remote.update(30 * 86400)
    assert remote.status.message == (
        "idp-metadata-url: the document was valid until 2027-02-01: fetch a newer one"
    )
    assert remote.file("idp-meta") == before


def test_a_signature_with_sha_1_is_refused_with_what_to_ask_for():
    weak = sign(IDP_METADATA).replace(
        "2001/04/xmldsig-more#rsa-sha256", "2000/09/xmldsig#rsa-sha1"
    )
    assert refusal(weak, Trust(certificate=FEDERATION_CERTIFICATE)) == (
        "idp-metadata-url: the signature is not valid: SHA-1, ask the campus for SHA-256"
    )
