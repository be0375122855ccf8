# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every refusal of what an operator wrote says on one line what to write instead."""

import re
from collections.abc import Callable

import pytest
import test_addresses
import test_bgp
import test_pools

from addresses import check_usable, parse_span
from bgp import parse_peers
from charmkit.errors import MESSAGE_LIMIT
from pools import parse_pools

Parse = Callable[[str], object]
REMEDY = re.compile(
    r"write |name |keep |leave |type |separate |as in |must be |quote|give |known: |did you mean "
    r"|needs a prefix|a-z, 0-9|put ;|add some|ranges|is no YAML|twice, line "
)


def refused(table: dict[str, tuple[str, str]], parse: Parse) -> list[tuple[str, Parse, str]]:
    return [(f"{parse.__name__}-{name}", parse, text) for name, (text, _) in table.items()]


def usable(text: str) -> None:
    """Parse and check a range."""
    check_usable(parse_span(text))


CANONICAL = "192.168.1.240-192.168.1.247"
MORE = {
    "of Canonical's charm": (CANONICAL, ""),
    "a blank between ranges": ("a=10.20.1.0/28 10.20.2.0/28", ""),
    "YAML with the range for the item": ("a: [10.20.1.0/28]", ""),
    "a colon for the sign": ("a:10.20.1.0/28", ""),
    "three octets": ("a=10.20.1/28", ""),
    "an object of MetalLB": ("apiVersion: metallb.io/v1beta1\nkind: IPAddressPool", ""),
    "of MetalLB 0.12": ("[{name: a, protocol: layer2, addresses: [10.20.1.0/28]}]", ""),
}
CASES = [
    *refused(test_addresses.REFUSED, parse_span),
    *refused(test_addresses.UNUSABLE, usable),
    *refused(test_pools.REFUSED, parse_pools),
    *refused(test_bgp.REFUSED, parse_peers),
    *refused(MORE, parse_pools),
]


@pytest.mark.parametrize(
    ("parse", "text"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_refusal_says_what_to_write_instead(parse: Parse, text: str) -> None:
    with pytest.raises(ValueError, match=REMEDY) as refusal:
        parse(text)
    if len(text) < MESSAGE_LIMIT:
        assert len(f"address-pools: {refusal.value}") <= MESSAGE_LIMIT + 48
