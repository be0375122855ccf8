# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Words of old policies: verbs, resources, namespaces, API groups, paths. Pure.

The old webhook read a policy by types: a word where a list belongs, or the other way round, and it
took none of the policy. So such a policy is refused here, too.

Source: cloud-provider-openstack, k8s-keystone-auth, policy.go and authorizer.go (v1.35).
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_GROUP = re.compile(r"|\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_VERSION = re.compile(r"(.*/)?(v[0-9]+((alpha|beta)[0-9]+)?)")
_VERB = re.compile(r"\*|[a-z]+")
_RESOURCE = re.compile(r"\*|[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)?")
_PATH = re.compile(r"\*|/[^*\s]*\*?")
_VARIABLE = re.compile(
    r"\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{.*?\}\}|\{%.*?%\}|\{[A-Za-z_]\w*\}"
    r"|%[A-Z_]{3,}%|@[A-Z_]{3,}@|<[A-Za-z][\w-]{2,}>"
)
_BLANKS = " \t\n\v\f\r\x85\xa0"
"""What the old webhook took from the ends of a key's parts."""


def find_variable(text: str) -> str:
    """Return the first variable of any templating that nobody filled in; empty for none."""
    found = _VARIABLE.search(text)
    return found[0] if found else ""


def check_resource(word: str) -> str:
    """Return a resource as roles spell it. Raises ValueError: RBAC has no such word."""
    if word.endswith("/*"):
        raise ValueError(f"'{word[:40]}': RBAC has no word for it, name the subresources")
    if not _RESOURCE.fullmatch(word):
        raise ValueError(f"'{word[:40]}' is no resource, as in pods or pods/log (lower case)")
    return word


def check_namespace(value: Any) -> str:
    """Return a namespace, or `*` for all. Raises ValueError: it is neither."""
    if value != "*" and not (isinstance(value, str) and _NAMESPACE.fullmatch(value)):
        raise ValueError(f"'{str(value)[:40]}' is no namespace, name one, or * for all")
    return value


def check_api_group(value: Any) -> str:
    """Return an API group; the key `version` means it. Raises ValueError: it is none."""
    version = _VERSION.fullmatch(str(value))
    if version:
        group = (version[1] or "").rstrip("/")
        told = f"version {str(value)[:40]!r}: is the API group"
        raise ValueError(f"{told}, write '{group}'" if _GROUP.fullmatch(group) else told)
    if not isinstance(value, str) or not _GROUP.fullmatch(value):
        raise ValueError(f"version '{str(value)[:40]}' is no API group")
    return value


def check_verbs(value: Any, *, fold: bool = False) -> tuple[str, ...]:
    """Return verbs. Raises ValueError: one is none.

    Args:
        value: What stands there.
        fold: Whether upper case does not count.
    """
    if value is None:
        raise ValueError("verbs is missing")
    found = _words(value, "verbs")
    verbs = tuple(word.lower() for word in found) if fold else found
    for word in verbs:
        if not _VERB.fullmatch(word):
            raise ValueError(f"'{word[:20]}' is no verb, as in get (lower case)")
    return verbs


def check_path(value: Any) -> tuple[str, ...]:
    """Return the one path that a rule may have. Raises ValueError: it is none."""
    if value is None:
        raise ValueError("path is missing")
    if not isinstance(value, str):
        raise ValueError("path: write one text, a rule for each")
    if not _PATH.fullmatch(value):
        raise ValueError(f"'{value[:40]}' is no path, as in /healthz or /healthz/*")
    return (value,)


def check_whole_path(path: str) -> tuple[str, ...]:
    """Return a path of the second form, in which `*` was a letter like any other."""
    if "*" in path:
        raise ValueError(f"'{path[:40]}': this form compared paths whole, spell them out")
    return check_path(path)


def split_key(key: str) -> list[tuple[str, str]]:
    """Return the pairs of namespace and resource of a key of the second form.

    Case and blanks around its two parts do not count, blanks within quotes do.

    Raises:
        ValueError: It is no such key, or says what RBAC cannot say.
    """
    place, divider, resource = (part.strip(_BLANKS) for part in key.lower().partition("/"))
    if not divider:
        raise ValueError(f"'{key[:40]}' is no namespace/resource")
    if "/" in resource:
        raise ValueError(f"'{key[:40]}': subresources were never read here, leave it out")
    if place.startswith("!") or resource.startswith("!"):
        raise ValueError(f"'{key[:40]}': RBAC cannot say 'all but', name what is allowed")
    return [(one, other) for one in _alternatives(place) for other in _alternatives(resource)]


def _alternatives(text: str) -> list[str]:
    """Return the items of a list in a key: JSON, but for its quotes. Others were passed over."""
    if not text.startswith("["):
        return [text]
    wrong = f"{text[:40]} is no list, as in ['a','b']"
    if text.find("]") != len(text) - 1:
        raise ValueError(wrong)
    try:
        items: Any = json.loads(text.replace("'", '"'))
    except ValueError as error:
        raise ValueError(wrong) from error
    if not items or not all(isinstance(item, str) for item in items):
        raise ValueError(wrong)
    return cast("list[str]", items)


def read_mapping(row: Mapping[str, Any], key: str, *, optional: bool = False) -> dict[str, Any]:
    """Return a mapping of a rule. Raises ValueError: there is something else, or nothing."""
    value = row.get(key, {} if optional else None)
    if not isinstance(value, dict):
        raise ValueError(f"{key} is no mapping")
    return cast("dict[str, Any]", value)


def read_words(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of words of a rule. Raises ValueError: there is something else, or nothing."""
    if key not in row:
        raise ValueError(f"{key} is missing")
    return _words(row[key], key)


def _words(value: Any, key: str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError(f"{key}: write a list, as in ['{value[:20]}']")
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if not items or not all(isinstance(item, str) and item for item in items):
        raise ValueError(f"{key}: a list of words is empty or has something else in it")
    return tuple(cast("list[str]", items))
