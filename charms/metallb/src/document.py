# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the YAML of an option holds: no unknown key, no value of another type. Pure.

Every mistake is one line that names the item and the key.
"""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def named_items(document: object, what: str, example: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the items of a list of mappings, each with its `name`, which is taken out.

    A mapping from names to mappings is taken as the same.

    Args:
        document: What `charmkit.document.read_yaml` returned.
        what: The word for an item, such as `peer`.
        example: How an item begins.

    Raises:
        ValueError: It is something else, a name is missing, wrong or there twice.
    """
    if isinstance(document, Mapping):
        pairs = cast("Mapping[object, object]", document).items()
        listed: list[object] = [_named(name, value, example) for name, value in pairs]
    elif isinstance(document, list):
        listed = cast("list[object]", document)
    else:
        raise ValueError(f"must be a list of {what}s, as in {example}")
    found: dict[str, dict[str, Any]] = {}
    for number, raw in enumerate(listed, 1):
        item = mapping(raw, f"{what} {number} must be a mapping, as in {example}")
        name = parse_name(item.pop("name", None), f"{what} {number}")
        if name in found:
            raise ValueError(f"{what} {name} is there twice, keep one")
        found[name] = item
    return list(found.items())


def _named(name: object, value: object, example: str) -> dict[str, Any]:
    item = mapping(value, f"{name} must be a mapping, as in {example}")
    if item.get("name", name) != name:
        raise ValueError(f"{name} has another name inside, {item['name']!r}, keep one")
    return {**item, "name": name}


def mapping(value: object, otherwise: str) -> dict[str, Any]:
    """Return a copy of a mapping with keys as text.

    Raises:
        ValueError: It is none; `otherwise` is the text.
    """
    if not isinstance(value, Mapping):
        raise ValueError(otherwise)
    return {str(key): item for key, item in cast("Mapping[object, Any]", value).items()}


def check_keys(item: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a key that is not known, with the nearest one that is.

    Raises:
        ValueError: There is one.
    """
    for key in item:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}" if near else f"known: {', '.join(known)}"
            raise ValueError(f"unknown key '{key}', {hint}")


def parse_name(value: object, where: str) -> str:
    """Return a name as Kubernetes takes it: lower case, digits, dashes, at most 63 characters.

    Raises:
        ValueError: It is none.
    """
    if value is None or value == "":
        raise ValueError(f"{where} has no name, give one as in campus")
    text = str(value)
    if not isinstance(value, str) or not _NAME.fullmatch(text):
        shown = "".join(c if c.isprintable() else "?" for c in text)[:40]
        raise ValueError(f"'{shown}' is no name (a-z, 0-9 and -, at most 63, quoted if a number)")
    return text


def parse_texts(value: object, key: str) -> tuple[str, ...]:
    """Return a list of texts, or one text as a list of one; none is there twice.

    Raises:
        ValueError: It is something else.
    """
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str):
            raise ValueError(f"{key}: {item!r} is no text, quote it")
    texts = cast("list[str]", items)
    counts = Counter(texts)
    twice = next((text for text in texts if counts[text] > 1), None)
    if twice is not None:
        raise ValueError(f"{key}: '{twice}' is there twice, keep one")
    return tuple(texts)


def parse_labels(value: object, key: str) -> dict[str, str]:
    """Return labels that must all be there.

    Raises:
        ValueError: It is no mapping of label names to label values, or it is empty.
    """
    labels = mapping(value, f"{key} must be labels, as in {{app: web}}")
    if not labels:
        raise ValueError(f"{key} is an empty selector, leave it out")
    for name, text in labels.items():
        if not isinstance(text, str):
            raise ValueError(f"{key}: {name}: {text!r} is no text, quote it")
        check_label(name, text, key)
    return labels


def check_label(name: str, value: str, key: str) -> None:
    """Refuse what cannot be a label.

    Raises:
        ValueError: The name or the value cannot be one.

    Source: Kubernetes, "Labels and Selectors", syntax and character set.
    """
    prefix, slash, last = name.rpartition("/")
    good = _LABEL_NAME.fullmatch(last) and (not slash or is_subdomain(prefix))
    if not good:
        raise ValueError(f"{key}: '{name[:48]}' is no label name, write one as in zone")
    if value and not _LABEL_NAME.fullmatch(value):
        raise ValueError(f"{key}: '{value[:48]}' is no label value, write one as in dmz")


def is_subdomain(text: str) -> bool:
    """Say whether a text is a DNS subdomain as Kubernetes wants it."""
    return len(text) <= 253 and _PREFIX.fullmatch(text) is not None
