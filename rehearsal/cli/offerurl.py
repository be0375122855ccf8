# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The URL of an offer: `[CONTROLLER:][USER/]MODEL.OFFER[:ENDPOINT]`. Pure.

Source: juju core/crossmodel/offerurl.go, ParseOfferURL.
"""

import re
from dataclasses import dataclass

from rehearsal.cli.naming import is_application, is_model
from rehearsal.errors import UsageError

_FORM = re.compile(
    r"(?:(?P<source>[^:./]*):)?/?(?:(?P<user>[^/]+)/)?"
    r"(?P<model>[^./:]*)(?:\.(?P<offer>[^:/]*(?::.*)?))?"
)


@dataclass(frozen=True, slots=True)
class OfferUrl:
    """The parts of a URL; empty is what it does not say."""

    source: str = ""
    user: str = ""
    model: str = ""
    offer: str = ""


def parse(text: str) -> OfferUrl:
    """Return the parts of an offer's URL.

    Raises:
        UsageError: It has another form, or a part of it is no name.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        form = "[<source>:][<qualifier>]<model>.<offername>"
        raise UsageError(f'offer URL has invalid form, must be {form}: "{text}"')
    parts = {key: value or "" for key, value in found.groupdict().items()}
    if parts["model"] and not is_model(parts["model"]):
        raise UsageError(f'model name "{parts["model"]}" not valid')
    name = parts["offer"].partition(":")[0]
    if name and not is_application(name):
        raise UsageError(f'offer name "{name}" not valid')
    return OfferUrl(**parts)
