# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Odd and legal metadata in the real Apache: with what the charm takes, logins can begin.

lasso reads a provider at the first login, whole or not at all. One Apache serves them all, each in
a place of its own, and sends the browser on to the identity provider.
"""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx2
import pytest

from charmkit.errors import ConfigError
from idpmetadata import Trust, read_metadata
from tests.functional.keystone.stack import MODULES, find_missing, free_port
from tests.functional.keystone.waiting import wait_for

MD = "urn:oasis:names:tc:SAML:2.0:metadata"
SAML2, SAML1 = "urn:oasis:names:tc:SAML:2.0:protocol", "urn:oasis:names:tc:SAML:1.1:protocol"
BINDING = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP"
LOADED = ("mpm_event", "authn_core", "authz_core", "authz_user", "auth_mellon")
RSA = "<ds:RSAKeyValue><ds:Modulus>x</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue>"
VALUE = f"<ds:KeyValue>{RSA}</ds:KeyValue>"
ENTITY = "https://idp.example.edu/idp"
PAST, FUTURE = "2026-01-01T00:00:00Z", "2045-01-01T00:00:00Z"


def key(body: str, use: str = "signing") -> str:
    data = f"<ds:X509Data><ds:X509Certificate>{body}</ds:X509Certificate></ds:X509Data>"
    return f'<KeyDescriptor use="{use}"><ds:KeyInfo>{data}</ds:KeyInfo></KeyDescriptor>'


def service(name: str = "Redirect", location: str = "https://idp.example.edu/sso") -> str:
    return f'<SingleSignOnService Binding="{BINDING}-{name}" Location="{location}"/>'


def idp(content: str, *, beside: str = "", spoken: str = SAML2, root: str = "") -> str:
    """Return the metadata of a provider."""
    return (
        f'<EntityDescriptor entityID="{ENTITY}" xmlns="{MD}" {root}'
        f' xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><IDPSSODescriptor'
        f' protocolSupportEnumeration="{spoken}">{content}</IDPSSODescriptor>{beside}'
        "</EntityDescriptor>"
    )


def several(*documents: str, root: str = "") -> str:
    return f'<EntitiesDescriptor xmlns="{MD}" {root}>{"".join(documents)}</EntitiesDescriptor>'


def odd(rsa: str, ec: str, ed: str) -> dict[str, str]:
    """Return documents by name; the arguments are certificates with keys of that kind."""
    good = key(rsa) + service()
    authority = f"<AttributeAuthorityDescriptor>{key('AAAA')}</AttributeAuthorityDescriptor>"
    return {
        "plain": idp(good),
        "two keys": idp(key(rsa) + key(ec) + service()),
        "encryption": idp(key(rsa) + key(rsa, "encryption") + service()),
        "encryption broken": idp(key("AAAA", "encryption") + good),
        "encryption empty": idp('<KeyDescriptor use="encryption"/>' + good),
        "no KeyInfo": idp('<KeyDescriptor use="signing"/>' + good),
        "KeyValue broken": idp(good.replace("<ds:X509Data>", f"{VALUE}<ds:X509Data>")),
        "Ed25519": idp(key(ed) + service()),
        "Ed25519 beside RSA": idp(key(ed) + good),
        "RSA, then letters": idp(key(rsa) + key("AAAA") + service()),
        "Ed25519 with RSA in one": idp(
            key(f"{ed}</ds:X509Certificate><ds:X509Certificate>{rsa}") + service()
        ),
        "letters that are no base64": idp(key(f"{rsa[:40]}!!{rsa[40:]}") + service()),
        "comment in a certificate": idp(key(f"{rsa[:40]}<!-- x -->{rsa[40:]}") + service()),
        "no location": idp(key(rsa) + service().replace("Location", "Place")),
        "no location, then POST": idp(
            key(rsa) + service().replace("Location", "Place") + service("POST")
        ),
        "location of a script": idp(key(rsa) + service(location="javascript:alert(1)")),
        "another binding": idp(key(rsa) + service("Artifact") + service()),
        "protocols by lines": idp(good, spoken=f"{SAML1}&#10;{SAML2}"),
        "protocols by blanks": idp(good, spoken=f"{SAML1} {SAML2}"),
        "service provider, too": idp(good, beside="<SPSSODescriptor/>"),
        "attribute authority": idp(good, beside=authority),
        "organization": idp(good, beside="<Organization/>"),
        "nested": several(several(idp(good)), root=f'validUntil="{FUTURE}"'),
        "nested and ended": several(several(idp(good), root=f'validUntil="{PAST}"')),
        "cacheDuration": idp(good, root='cacheDuration="soon"'),
        "BOM": f"\ufeff{idp(good)}",
        "declared UTF-16": f'<?xml version="1.0" encoding="UTF-16"?>{idp(good)}',
        "XML 1.1": f'<?xml version="1.1"?>{idp(good)}',
        "entity": f'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>{idp(good)}',
        "deep": idp(good, beside=f"<Extensions>{'<a>' * 200}{'</a>' * 200}</Extensions>"),
    }


REFUSED = {
    "Ed25519": "no RSA, EC or DSA key",
    "Ed25519 with RSA in one": "no RSA, EC or DSA key",
    "letters that are no base64": "cannot be read",
    "no location": "no single sign-on for browsers",
    "location of a script": "no single sign-on for browsers",
    "nested and ended": "was valid until 2026-01-01",
    "entity": "has a DTD",
}


def certificate(folder: Path, name: str, *kind: str) -> str:
    """Return a new certificate's base64, its key beside it."""
    command = ["openssl", "req", "-x509", "-days", "30", "-nodes", "-subj", f"/CN={name}"]
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
    subprocess.run([*command, *files, "-newkey", *kind], check=True, capture_output=True)
    lines = (folder / f"{name}.crt").read_text().splitlines()
    return "".join(line for line in lines if "-----" not in line)


@pytest.fixture(scope="module")
def said() -> Iterator[dict[str, str]]:
    """Return by name what Apache answers to a login, or why the charm refuses the metadata."""
    if find_missing():
        pytest.skip(f"needs {find_missing()}")
    folder = Path(tempfile.mkdtemp(prefix="metadata-"))
    folder.chmod(0o755)
    rsa = certificate(folder, "sp", "rsa:2048")
    ec = certificate(folder, "ec", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
    (folder / "sp.xml").write_text(
        f'<EntityDescriptor entityID="https://k/sp" xmlns="{MD}"><SPSSODescriptor'
        f' protocolSupportEnumeration="{SAML2}"><AssertionConsumerService index="0"'
        f' Binding="{BINDING}-POST" Location="https://k/x"/></SPSSODescriptor></EntityDescriptor>'
    )
    documents = odd(rsa, ec, certificate(folder, "ed", "ed25519"))
    answers = {name: judge(folder, name, document) for name, document in documents.items()}
    places = {name: answer for name, answer in answers.items() if (folder / answer).exists()}
    with apache(folder, places.values()) as base, httpx2.Client(trust_env=False) as client:
        for name, place in places.items():
            url = f"{base}/{place}/mellon/login?ReturnTo={base}/"
            answers[name] = str(client.get(url, timeout=20).status_code)
    yield answers
    shutil.rmtree(folder)


def judge(folder: Path, name: str, document: str) -> str:
    """Return the name of the file with what Apache reads, or why the charm refuses a document."""
    place = f"{''.join(filter(str.isalnum, name))}.xml"
    try:
        read = read_metadata(document, Trust(), option="idp-metadata", now=time.time())
    except ConfigError as error:
        return str(error)
    (folder / place).write_text(read.text)
    return place


@contextlib.contextmanager
def apache(folder: Path, places: Iterable[str]) -> Iterator[str]:
    """Run Apache with a provider in each place; yield its URL."""
    base = f"http://127.0.0.1:{free_port()}"
    lines = [
        *(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in LOADED),
        f"ServerRoot {folder}\nPidFile {folder}/pid\nDefaultRuntimeDir {folder}",
        f"Listen {base.removeprefix('http://')}\nServerName {base}\nErrorLog {folder}/log",
        f"User www-data\nGroup www-data\nMellonLockFile {folder}/lock\nDocumentRoot {folder}",
        *(
            f"<Location /{place}>\nAuthType Mellon\nMellonEnable auth\nRequire valid-user\n"
            f"MellonSPPrivateKeyFile {folder}/sp.key\nMellonSPMetadataFile {folder}/sp.xml\n"
            f"MellonIdPMetadataFile {folder}/{place}\nMellonEndpointPath /{place}/mellon\n"
            "</Location>"
            for place in places
        ),
    ]
    (folder / "sp.key").chmod(0o644)
    (folder / "up").write_text("")
    (folder / "httpd.conf").write_text("\n".join(lines) + "\n")
    with (folder / "out").open("w") as out:
        command = ["apache2", "-f", str(folder / "httpd.conf"), "-D", "FOREGROUND"]
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        wait_for(f"{base}/up", process, folder / "log")
        yield base
    finally:
        process.terminate()
        process.wait(60)


def test_what_the_charm_takes_logins_can_begin_with(said):
    taken = {name: answer for name, answer in said.items() if name not in REFUSED}
    expected = dict.fromkeys(taken, "303") | {"no location, then POST": "200"}
    assert taken == expected


@pytest.mark.parametrize("name", REFUSED)
def test_what_logins_cannot_begin_with_is_refused_with_the_reason(said, name):
    assert REFUSED[name] in said[name]
