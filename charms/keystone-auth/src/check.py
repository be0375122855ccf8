# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Look at everything that a login needs, one line a thing. Changes nothing.

kubectl says Unauthorized whatever is wrong; this tells the difference.
"""

import re
from collections.abc import Callable, Sequence

from answers import SHOWN, first_of
from apiserver import check_endpoint, check_mode, find_platform
from assembly import Parts, Sight
from charmkit.errors import CharmkitError
from keystone import Access, Keystone
from objects import find_bare, quota_of
from quota import describe_offer, find_uncut
from rolemap import find_unknown
from spaces import Layout, State

MOST_SKEW_SECONDS = 60.0
"""SAML assertions are refused beyond it (mod_auth_mellon allows 60 s)."""

_OPEN = (
    "tokens and the password of the service user go to Keystone in clear: "
    "integrate keystone with certificates, or set keystone-url to https"
)

_EXAMPLES = {"cpu": "1", "memory": "4Gi"}

_KEY = re.compile(r"[^0-9a-f]")
"""What no id of Keystone has, though a label may, and a key of a result has not."""

Finding = tuple[str, str]


def check_all(parts: Parts) -> dict[str, str]:
    """Return what is right and what is not, by thing; `ok` begins what is right."""
    findings = [
        ("platform", find_platform(parts.host.files).value),
        ("webhook", _try(lambda: _check_webhook(parts))),
        ("api-server", _try(lambda: _check_api_server(parts))),
        ("authorization-mode", check_mode(parts.host.files) or "ok"),
        *_check_access(parts.inputs.access),
        *_check_keystone(parts),
    ]
    return dict(findings)


def _check_access(access: Access | None) -> list[Finding]:
    """Return where Keystone's address and our user come from, where that is worth a word."""
    if access is None:
        return []
    found = [("transport", _OPEN if access.is_open else "ok")]
    if access.passed_over:
        others = " and ".join(access.passed_over)
        found.append(
            ("keystone-source", f"ok, options go before the relation, which says {others}")
        )
    return found


def _check_webhook(parts: Parts) -> str:
    parts.settings()
    seen = parts.gateways.webhook_metrics(parts.inputs.options.webhook_port)
    if not seen:
        name = f"{parts.inputs.identity.application}-webhook.service"
        active = parts.host.systemd.is_active(name)
        return f"{name} {'runs and does not answer' if active else 'does not run'}"
    silent = seen.get("unanswered_seconds", 0.0)
    number = seen.get("accepted_tokens", 0)
    tokens = f"{number:g} token{'s' * (number != 1)} known"
    return f"Keystone silent for {silent:.0f} s, {tokens}" if silent else f"ok, {tokens}"


def _check_api_server(parts: Parts) -> str:
    problem = check_endpoint(parts.host.files, parts.inputs.options.webhook_port)
    return str(problem) if problem else "ok"


def _check_keystone(parts: Parts) -> list[Finding]:
    try:
        with parts.keystone() as keystone:
            clock = _describe_clock(keystone, parts.host.now())
            keystone.log_in()
            roles = keystone.list_roles()
    except CharmkitError as error:
        return [("keystone", str(error))]
    unknown = find_unknown(parts.inputs.options.role_map, roles)
    return [
        ("keystone", f"ok, {parts.inputs.access.url if parts.inputs.access else ''}"),
        ("clock", clock),
        ("roles", unknown or f"ok, Keystone has {', '.join(roles)}"),
        *(_check_projects(parts) if parts.inputs.leader else []),
    ]


def _describe_clock(keystone: Keystone, now: float) -> str:
    skew = keystone.clock_skew(now)
    if skew is None:
        return "Keystone tells no time"
    if abs(skew) > MOST_SKEW_SECONDS:
        return f"Keystone's clock differs by {skew:+.0f} s: look at chrony on both machines"
    return f"ok, {skew:+.0f} s"


def _check_projects(parts: Parts) -> list[Finding]:
    found: list[Sight] = []

    def look() -> str:
        kube = parts.connect()
        found.append(parts.look(kube))
        _, problems = parts.render(found[0])
        return "; ".join(first_of(list(map(str, problems)))) or "ok"

    findings = [("projects", _try(look))]
    for sight in found:
        findings.append(("mig-quota", _check_slices(parts, sight)))
        findings += [("container-defaults", _check_defaults(parts, sight))]
        findings += _list_spaces(sight.layout)
    return findings


def _list_spaces(layout: Layout) -> list[Finding]:
    """Return what the namespaces are, as many as Juju can show."""
    spaces = layout.spaces
    more = [("more-projects", f"{len(spaces) - SHOWN}")] if len(spaces) > SHOWN else []
    shown = [
        (
            f"project-{_KEY.sub('', space.project.id)[:8] or 0}",
            f"{space.name}: {space.state.value}",
        )
        for space in spaces[:SHOWN]
    ]
    return [*shown, *more]


def _check_defaults(parts: Parts, sight: Sight) -> str:
    """Return what pods must say that nobody says for them: a quota refuses those that do not."""
    rules = parts.rules()
    users: dict[str, list[str]] = {}
    for space in sight.layout.spaces if rules.hard else ():
        if space.state is State.OPEN:
            quota, _ = quota_of(rules, space.project, sight.offered)
            for key in find_bare(rules, quota):
                users.setdefault(key, []).append(space.name)
    if not users:
        return "ok"
    texts = [f"pods without {key} in {_first(names)}" for key, names in sorted(users.items())]
    missing = sorted({key.partition(".")[2] for key in users})
    pairs = ",".join(f"{name}={_EXAMPLES[name]}" for name in missing)
    return f"the quota refuses {'; '.join(texts)}: add as {pairs}"


def _check_slices(parts: Parts, sight: Sight) -> str:
    """Return which MIG profiles projects are given that no GPU is cut into now.

    That is no fault: a layout may change. But their pods wait, and nothing else says why.
    """
    rules = parts.rules()
    users: dict[str, list[str]] = {}
    for space in sight.layout.spaces if rules.hard else ():
        if space.state is State.OPEN:
            quota, _ = quota_of(rules, space.project, sight.offered)
            for profile in find_uncut(quota, sight.cut):
                users.setdefault(profile, []).append(space.name)
    if not users:
        return "ok"
    texts = [f"{profile} is given to {_first(names)}" for profile, names in sorted(users.items())]
    offer = describe_offer(sight.cut)
    return f"no GPU is cut so now: {'; '.join(texts)}; nodes offer {offer}"


def _first(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _try(look: Callable[[], str]) -> str:
    try:
        return look()
    except CharmkitError as error:
        return str(error)
