# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A SAML identity provider on pysaml2, and the lies that an attacker could send.

It runs in Keystone's environment, as a program: idp.py FOLDER PORT SP_METADATA. The login form
takes a field `lie`; each lie is one attack that a service provider has to refuse.

What it publishes is signed by the federation's key; `idp-keys` names its own keys, the first of
which signs answers. That file and the service provider's metadata are read at each request, as
campuses change them without a pause.
"""

import base64
import functools
import html
import os
import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from lxml import etree
from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT, BINDING_PAOS, BINDING_SOAP
from saml2.authn_context import AuthnBroker
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor, sign_entity_descriptor
from saml2.saml import NAME_FORMAT_URI, NAMEID_FORMAT_TRANSIENT
from saml2.server import Server
from saml2.sigver import security_context
from saml2.xmldsig import DIGEST_SHA256, SIG_RSA_SHA256

FOLDER, PORT, SP = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
BASE = f"http://127.0.0.1:{PORT}"
PEOPLE = {
    "alice": {"eduPersonPrincipalName": ["alice@example.edu"], "isMemberOf": ["gpu-lab", "chess"]},
    "bob": {"eduPersonPrincipalName": ["bob@example.edu"], "isMemberOf": ["chess"]},
    "carol": {"eduPersonPrincipalName": ["carol@example.edu"]},
    "dave": {"isMemberOf": ["gpu-lab"]},
    "zoe": {"eduPersonPrincipalName": ["zoë@example.edu"], "isMemberOf": ["chess;gpu-lab"]},
}
ELSEWHERE = "https://elsewhere.example/sp"
PASSWORD = "campus"
PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
ECP = "urn:oasis:names:tc:SAML:2.0:profiles:SSO:ecp"
CONTEXT = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"
_ONE = threading.Lock()


def configuration(keys: str) -> dict[str, Any]:
    """Return pysaml2's configuration. Args: keys: Names with spaces, the signing one first."""
    signing, *others = keys.split()
    services = [
        (f"{BASE}/sso", BINDING_HTTP_REDIRECT),
        (f"{BASE}/sso", BINDING_HTTP_POST),
        (f"{BASE}/ecp", BINDING_SOAP),
    ]
    idp = {
        "endpoints": {"single_sign_on_service": services},
        "policy": {"default": {"lifetime": {"minutes": 15}, "name_form": NAME_FORMAT_URI}},
        "name_id_format": [NAMEID_FORMAT_TRANSIENT],
        "want_authn_requests_signed": True,
    }
    given: dict[str, Any] = {
        "entityid": f"{BASE}/idp",
        "key_file": str(FOLDER / f"{signing}.key"),
        "cert_file": str(FOLDER / f"{signing}.crt"),
        "additional_cert_files": [str(FOLDER / f"{name}.crt") for name in others],
        "service": {"idp": idp},
        "xmlsec_binary": "/usr/bin/xmlsec1",
    }
    if SP.exists():
        other = FOLDER / "other-sp.xml"
        text = re.sub(r'entityID="[^"]+"', f'entityID="{ELSEWHERE}"', SP.read_text(), count=1)
        half = FOLDER / f"other-sp.{os.getpid()}"  # Another process may be reading it.
        half.write_text(text)
        half.rename(other)
        given["metadata"] = {"local": [str(SP), str(other)]}
    return given


@functools.lru_cache
def configured(keys: str, partner: str) -> tuple[Server, str]:
    """Return the provider of some keys and of one partner, and what it publishes."""
    del partner  # What it is configured from is on disk; this says that it is another.
    config = IdPConfig().load(configuration(keys))
    return Server(config=config), published(config)


def published(config: IdPConfig) -> str:
    """Return its metadata, signed by the federation."""
    signer = IdPConfig().load(
        {
            "entityid": "https://federation.example",
            "key_file": str(FOLDER / "federation.key"),
            "cert_file": str(FOLDER / "federation.crt"),
            "xmlsec_binary": "/usr/bin/xmlsec1",
        }
    )
    descriptor = entity_descriptor(config)
    _, text = sign_entity_descriptor(
        descriptor,
        None,
        security_context(signer),
        sign_alg=SIG_RSA_SHA256,
        digest_alg=DIGEST_SHA256,
    )
    return str(text)


def now() -> tuple[Server, str]:
    """Return the provider as it is at this moment, and what it publishes.

    Of several requests that find it changed, one configures it.
    """
    with _ONE:
        partner = SP.read_text() if SP.exists() else ""
        return configured((FOLDER / "idp-keys").read_text(), partner)


class Handler(BaseHTTPRequestHandler):
    """Answer a browser."""

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def reply(self, body: str, code: int = 200) -> None:
        """Send one page."""
        data = body.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Give metadata, or a login form that carries the request along."""
        url = urllib.parse.urlparse(self.path)
        if url.path == "/metadata":
            self.reply(now()[1])
            return
        raw = html.escape(url.query, quote=True)
        self.reply(f'<form action="{BASE}/login"><input name="raw" value="{raw}"/></form>')

    def do_POST(self) -> None:
        """Check the password and send the browser back."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/ecp":
            self.answer_client(body)
            return
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if form["username"] not in PEOPLE or form["password"] != PASSWORD:
            self.reply("bad credentials", 401)
            return
        query = dict(urllib.parse.parse_qsl(form["raw"]))
        request = now()[0].parse_authn_request(
            query["SAMLRequest"],
            BINDING_HTTP_REDIRECT,
            relay_state=query.get("RelayState"),
            sigalg=query.get("SigAlg"),
            signature=query.get("Signature"),
        )
        self.reply(respond(request, form, query.get("RelayState", "")))

    def answer_client(self, body: bytes) -> None:
        """Answer a client without a browser, which gives name and password by HTTP Basic."""
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        name, _, password = base64.b64decode(given).decode().partition(":")
        if name not in PEOPLE or password != PASSWORD:
            self.reply("bad credentials", 401)
            return
        # As text of its own, since pysaml2 writes what came in an envelope anew, with other
        # prefixes, under which the signature is none.
        asked = etree.fromstring(body).find(f".//{{{PROTOCOL}}}AuthnRequest")
        text = base64.b64encode(etree.tostring(asked, with_tail=False)).decode()
        request = now()[0].parse_authn_request(text, BINDING_HTTP_POST)
        given = now()[0].response_args(request.message, [BINDING_PAOS])
        signed = create(name, given, signs=True).partition("?>\n")[2]
        where = html.escape(given["destination"], quote=True)
        self.reply(
            f'<S:Envelope xmlns:S="{SOAP}"><S:Header><ecp:Response xmlns:ecp="{ECP}"'
            f' S:mustUnderstand="1" S:actor="http://schemas.xmlsoap.org/soap/actor/next"'
            f' AssertionConsumerServiceURL="{where}"/></S:Header>'
            f"<S:Body>{signed}</S:Body></S:Envelope>"
        )


def create(name: str, given: dict[str, Any], *, signs: bool) -> str:
    """Return an answer about somebody."""
    answer = now()[0].create_authn_response(
        PEOPLE[name],
        userid=name,
        authn={"class_ref": CONTEXT, "authn_auth": BASE},
        sign_assertion=signs,
        sign_response=False,
        **given,
    )
    return str(answer)


def respond(request: Any, form: dict[str, str], relay: str) -> str:
    """Return the page that posts the answer, with or without a lie in it."""
    lie = form.get("lie", "")
    given = now()[0].response_args(request.message, [BINDING_HTTP_POST])
    where = given["destination"]
    if lie == "destination":
        given["destination"] = "https://elsewhere.example/postResponse"
    if lie == "audience":
        given["sp_entity_id"] = ELSEWHERE
    text = create(form["username"], given, signs=lie != "unsigned")
    if lie == "tampered":
        text = text.replace("bob@example.edu", "alice@example.edu")
    page = now()[0].apply_binding(BINDING_HTTP_POST, text, where, relay, response=True)
    return str(page["data"])


if __name__ == "__main__":
    if not SP.exists():
        sys.stdout.write(now()[1])
        sys.exit()
    AuthnBroker()
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
