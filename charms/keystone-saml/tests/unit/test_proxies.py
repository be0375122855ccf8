# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Proxies of the model: which of them a URL is fetched through."""

import pytest

from proxies import Proxies, choose_proxy, read_proxies

PROXIES = Proxies(
    "proxy:3128", "http://secure:3128", (".example.edu", "10.0.0.0/8", "intern", "192.0.2.7")
)


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://idp.example.org/m", "http://secure:3128"),
        ("http://idp.example.org/m", "http://proxy:3128"),
        ("https://idp.example.edu/m", ""),
        ("https://example.edu/m", ""),
        ("https://badexample.edu/m", "http://secure:3128"),
        ("https://10.1.2.3/m", ""),
        ("https://192.0.2.7:8443/m", ""),
        ("https://192.0.2.8/m", "http://secure:3128"),
        ("https://INTERN/m", ""),
    ],
)
def test_a_proxy_is_chosen_by_scheme_and_host(url, proxy):
    assert choose_proxy(url, PROXIES) == proxy


def test_a_star_means_no_proxy_at_all():
    assert choose_proxy("https://a", Proxies("p", "p", ("*",))) == ""


def test_the_settings_are_those_of_the_model_and_not_of_the_shell():
    environment = {
        "JUJU_CHARM_HTTPS_PROXY": "http://p:1",
        "JUJU_CHARM_NO_PROXY": "a, b,",
        "https_proxy": "http://evil:1",
    }
    assert read_proxies(environment) == Proxies("", "http://p:1", ("a", "b"))
