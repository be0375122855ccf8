# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keys change on either side, at a real identity provider and Apache, while people log in."""

import hashlib
import threading
from collections.abc import Iterator

import httpx2
import pytest

from tests.functional.keystone.browser import Browser
from tests.functional.kubernetes.running import eventually

AUTH = "/v3/OS-FEDERATION/identity_providers/campus/protocols/saml2/auth"
HOUR = 3601.0
"""After it the charm looks at the URL again."""


class People:
    """Somebody logs in, again and again, in the background.

    Attributes:
        ended: How each login ended: its HTTP status, or the error in its place.
    """

    def __init__(self, url: str) -> None:
        self.ended: list[int | str] = []
        self._url = url
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._log_in_often)

    def __enter__(self) -> "People":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def come_and_go(self) -> None:
        """Return once somebody has logged in who began after this, whoever was under way apart."""
        enough = len(self.ended) + 2
        eventually(lambda: len(self.ended) >= enough, "people log in", 120)

    def _log_in_often(self) -> None:
        while not self._over.is_set():
            self.ended.append(self._log_in())

    def _log_in(self) -> int | str:
        try:
            return log_in(self._url)
        except (httpx2.HTTPError, ValueError) as error:
            return repr(error)


def log_in(url: str) -> int:
    """Log somebody in; return the status in which it ends.

    Each request has a connection of its own: a browser repeats what a restart cuts off, this one
    does not. A restart between answer and page loses Apache's session, and the campus is asked
    once more, which a provider that knows the person answers without a form.
    """
    browser = Browser(Connection="close")
    try:
        first = browser.log_in(url, "alice").status_code
        return browser.log_in(url, "alice").status_code if first == 200 else first
    finally:
        browser.client.close()


def document(site) -> str:
    with httpx2.Client(trust_env=False) as client:
        return client.get(f"{site.stack.idp}/metadata").text


def certificates(site) -> int:
    """Return how many keys of the identity provider Apache takes."""
    text = site.host.files.read_text("/etc/apache2/mellon/idp-meta.keystone-saml.xml")
    return text.count('use="signing"')


def is_active(status: str) -> bool:
    return status.startswith("active: http") and status.endswith(" as campus")


@pytest.fixture
def by_url(site) -> Iterator[None]:
    """Metadata come by URL with the federation's signature; all is as before afterwards."""
    text = site.state.config["idp-metadata"]
    signer = (site.stack.root / "federation.crt").read_text()
    url = f"{site.stack.idp}/metadata"
    site.update(idp_metadata="", idp_metadata_url=url, idp_metadata_certificate=signer)
    assert is_active(site.wait(HOUR))
    yield
    site.stack.use_idp_keys("idp")
    site.update(
        idp_metadata=text,
        idp_metadata_url="",
        idp_metadata_certificate="",
        idp_metadata_sha256="",
    )


def test_a_campus_rolls_its_key_over_and_no_login_fails(site, by_url):
    url = site.stack.base + AUTH
    with People(url) as people:
        for names, known in (
            (("idp",), 1),
            (("idp", "idp-next"), 2),  # The next one is published,
            (("idp-next", "idp"), 2),  # then signs,
            (("idp-next",), 1),  # then is the only one.
        ):
            site.stack.use_idp_keys(*names)
            assert log_in(url) == 201
            assert is_active(site.wait(HOUR))
            assert certificates(site) == known
            assert log_in(url) == 201
            people.come_and_go()
    assert set(people.ended) == {201}
    assert len(people.ended) >= 8
    site.stack.use_idp_keys("idp")
    assert log_in(url) == 400, "a key that the campus has given up is worth nothing"


def test_a_campus_that_changes_its_key_overnight_is_known_again_within_the_hour(site, by_url):
    url = site.stack.base + AUTH
    site.stack.use_idp_keys("idp-next")
    assert log_in(url) == 400
    assert is_active(site.wait(HOUR))
    assert log_in(url) == 201


def test_a_digest_takes_a_roll_over_when_the_operator_says_so_and_no_login_fails(site, by_url):
    url = site.stack.base + AUTH
    digest = hashlib.sha256(document(site).encode()).hexdigest()
    assert is_active(site.update(idp_metadata_certificate="", idp_metadata_sha256=digest))
    site.stack.use_idp_keys("idp", "idp-next")
    status = site.wait(HOUR)
    newer = hashlib.sha256(document(site).encode()).hexdigest()
    assert status == (
        f"blocked: idp-metadata-url: its sha256 is {newer[:16]}..., not {digest[:16]}..."
    )
    assert certificates(site) == 1
    assert log_in(url) == 201, "what was verified last goes on"
    assert is_active(site.update(idp_metadata_sha256=newer))
    assert log_in(url) == 201
    site.stack.use_idp_keys("idp-next", "idp")
    assert log_in(url) == 201


def test_metadata_that_another_signed_change_nothing(site, by_url):
    stranger = (site.stack.root / "idp.crt").read_text()
    status = site.update(idp_metadata_certificate=stranger)
    assert status.startswith("blocked: idp-metadata-url: the signature is not valid")
    assert log_in(site.stack.base + AUTH) == 201


def test_a_document_that_is_signed_anew_restarts_nothing(site, by_url):
    before, text = site.nonce, document(site)
    site.stack.use_idp_keys("idp", "idp-next")
    site.stack.use_idp_keys("idp")
    assert is_active(site.wait(HOUR))
    assert (site.nonce, document(site)) == (before, text)


def test_our_key_is_rotated_while_people_log_in(site):
    url = site.stack.base + AUTH
    with People(url) as people:
        for step in ("start", "switch", "finish"):
            site.act("rotate-sp-key", step=step)
            assert log_in(url) == 201
            site.tell_campus()
            assert log_in(url) == 201
            people.come_and_go()
    assert set(people.ended) == {201}
    assert len(people.ended) >= 6
