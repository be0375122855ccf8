# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A browser that knows forms, redirections and cookies; no more is needed to log in."""

import html
import re
from urllib.parse import urljoin

import httpx2

ACTION = re.compile(r'<form[^>]*action="([^"]+)"')
FIELD = re.compile(r'<input[^>]*?name="([^"]+)"[^>]*?value="([^"]*)"')


class Browser:
    """One person's browser.

    Attributes:
        client: Its cookies and connections.
        answer: The SAML answer that it carried last: where to, and the fields.
    """

    def __init__(self, **headers: str) -> None:
        self.client = httpx2.Client(
            trust_env=False, follow_redirects=True, timeout=60, headers=headers
        )
        self.answer: tuple[str, dict[str, str]] = ("", {})

    def log_in(self, url: str, user: str, *, idp: str = "", lie: str = "") -> httpx2.Response:
        """Go to a protected page as somebody; return where that ends.

        Args:
            url: The protected page.
            user: A person whom the identity provider knows.
            idp: Another process of the identity provider, for the login form; empty is its own.
            lie: What the identity provider is to do wrong.
        """
        page = self.client.get(url)
        action, fields = form_of(page)
        fields |= {"username": user, "password": "campus", "lie": lie}
        page = self.client.post(f"{idp}/login" if idp else action, data=fields)
        self.answer = form_of(page)
        return self.client.post(self.answer[0], data=self.answer[1])

    def repeat(self) -> httpx2.Response:
        """Send the last SAML answer again."""
        return self.client.post(self.answer[0], data=self.answer[1])


def form_of(page: httpx2.Response) -> tuple[str, dict[str, str]]:
    """Return where the first form of a page goes, and its fields.

    Raises:
        ValueError: It has none.
    """
    action = ACTION.search(page.text)
    if action is None:
        raise ValueError(f"no form: {page.status_code} {page.text[:300]}")
    fields = {html.unescape(name): html.unescape(text) for name, text in FIELD.findall(page.text)}
    return urljoin(str(page.url), html.unescape(action[1])), fields


PAOS = {
    "Accept": "text/html, application/vnd.paos+xml",
    "PAOS": 'ver="urn:liberty:paos:2003-08";"urn:oasis:names:tc:SAML:2.0:profiles:SSO:ecp"',
}
_HEADER = re.compile(r"<(\w+):Header.*?</\1:Header>", re.DOTALL)
_RELAY = re.compile(r"<(\w+):RelayState.*?</\1:RelayState>", re.DOTALL)


def log_in_without_browser(
    url: str, idp: str, user: str, password: str = "campus"
) -> httpx2.Response:
    """Log in by the profile for enhanced clients (SAML 2.0 profiles, 4.2); return the last answer.

    Args:
        url: The protected page.
        idp: Where the identity provider takes SOAP.
        user: A person whom it knows.
        password: Of that person.
    """
    with httpx2.Client(trust_env=False, timeout=60, follow_redirects=True) as client:
        asked = client.get(url, headers=PAOS).text
        relay = _RELAY.search(asked)
        body = _HEADER.sub("", asked, count=1)
        answered = client.post(idp, content=body, auth=(user, password))
        if answered.status_code != 200:
            return answered
        where = re.search(r'AssertionConsumerServiceURL="([^"]+)"', answered.text)
        assert where is not None
        assert relay is not None
        header = f"<S:Header>{relay[0]}</S:Header>"
        text = re.sub(r"<S:Header>.*?</S:Header>", header, answered.text, flags=re.DOTALL)
        kind = {"Content-Type": "application/vnd.paos+xml"}
        taken = client.post(html.unescape(where[1]), content=text, headers=kind)
        # A session is what it is for; the page is asked for again within it.
        return client.get(url) if taken.history else taken
