# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What an operator asks of a unit. Each function returns an action's results, none of them secret.

Raises CharmkitError, whose text the action fails with.
"""

from collections.abc import Callable, Mapping
from typing import Any

import check
import removal
from answers import first_of
from assembly import Parts
from charmkit.errors import ConfigError, InterventionError, UnsupportedError
from identity import UnusableTokenError, identify, parse_token
from keystone import Keystone
from kubeconfig import dump_yaml, login_program, render_kubeconfig
from policy import parse_policy
from policyrules import Known, to_rbac
from projects import Project
from spaces import Space, State
from tokens import Kind, classify

Results = dict[str, str]
Action = Callable[[Parts, Mapping[str, Any]], Results]
LARGEST_RESULT = 60_000
"""Characters; Juju 3.6 stores action results in one document of MongoDB with others."""


def synchronize(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Look at every project and every object now. The leader alone does."""
    if not parts.inputs.leader:
        raise UnsupportedError("sync: this unit is not the leader, run it on APPLICATION/leader")
    outcome = parts.reconcile(sweep=True, force=bool(params.get("force", False)))
    return {
        "changed": "\n".join(first_of(outcome.done)) or "nothing",
        "problems": "\n".join(first_of(list(map(str, outcome.problems)))) or "none",
        "state": outcome.active,
    }


def check_login(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Say what a login needs and whether it is so."""
    del params
    return check.check_all(parts)


def who_am_i(parts: Parts, token: str) -> Results:
    """Say who a token is to Kubernetes; the token came in a Juju secret and is not shown."""
    kind = classify(token)
    if kind is not Kind.KEYSTONE:
        return {"authenticated": "no", "reason": f"{kind.value}: it is not sent to Keystone"}
    with parts.keystone() as keystone:
        body = keystone.describe(token)
    if body is None:
        return {"authenticated": "no", "reason": "invalid: Keystone does not know it (any more)"}
    try:
        described = parse_token(body)
        who = identify(described, parts.naming())
    except ValueError as error:
        raise InterventionError(f"Keystone answers {error}, is the URL right?") from error
    except UnusableTokenError as error:
        return {"authenticated": "no", "reason": f"{error.reason}: {error.message}"}
    return {
        "authenticated": "yes",
        "username": who.username,
        "uid": who.uid,
        "groups": "\n".join(who.groups),
        "expires": described.expires_at.isoformat(),
        **({} if described.roles else {"hint": "no role on the project: RBAC lets nobody in"}),
    }


def make_kubeconfig(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return a kubeconfig for a project and the program that logs in."""
    inputs = parts.inputs
    with parts.keystone() as keystone:
        keystone.log_in()
        project = _find_project(keystone, str(params["project"]))
    server = str(params.get("server") or "") or _server(parts)
    space = _find_space(parts, project)
    text = render_kubeconfig(
        server=server,
        ca=inputs.ways[0].ca if inputs.ways else "",
        keystone=str(params.get("keystone-url") or "") or parts.settings().keystone,
        project_id=project.id,
        namespace=space.name if space else "default",
        provider=str(params.get("identity-provider") or ""),
        protocol=str(params.get("protocol") or "saml2"),
    )
    return {"kubeconfig": text, "login-program": login_program()}


def import_policy(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return the RBAC of an old policy of k8s-keystone-auth. Applies nothing."""
    try:
        entries = parse_policy(str(params["policy"]))
    except ValueError as error:
        raise ConfigError("policy", str(error).removeprefix("policy: ")) from error
    with parts.keystone() as keystone:
        keystone.log_in()
        projects = {one.id: one.name for one in keystone.list_projects({})}
        known = Known(projects, keystone.list_groups(), keystone.list_roles())
    found = to_rbac(entries, parts.naming(), known)
    text: str = "---\n".join(map(dump_yaml, found.objects))
    if len(text) > LARGEST_RESULT:
        raise UnsupportedError("policy: its RBAC is too long for a result, import it in parts")
    return {
        "manifests": text,
        "notes": "\n".join(found.notes) or "none",
        "next": "look at it, then kubectl apply -f; nothing was applied",
    }


def break_glass(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Say how to get in while nobody can log in. No key is shown."""
    del params
    port = parts.inputs.options.webhook_port
    return {
        "administrators": "on a control-plane machine: sudo kubectl --kubeconfig "
        "/root/.kube/config (its token is checked before any webhook)",
        "workloads": "service accounts and nodes do not use this webhook, they go on",
        "known-tokens": f"go on for {parts.inputs.options.stale_grace} s without Keystone",
        "turn-off": "juju config kubernetes-control-plane authn-webhook-endpoint=",
        "look": f"curl -k https://127.0.0.1:{port}/metrics; "
        f"journalctl -u {parts.inputs.identity.application}-webhook",
    }


def foretell_removal(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Say what stays and what goes."""
    del params
    return removal.foretell(parts.inputs.identity, parts.gateways, parts.host)


def _find_project(keystone: Keystone, wanted: str) -> Project:
    """Return the project of an id or a name. Raises ConfigError: none, or several."""
    projects = keystone.list_projects({})
    found = [one for one in projects if wanted == one.id] or [
        one for one in projects if wanted == one.name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        ids = " or ".join(one.id for one in found[:2])
        raise ConfigError("project", f"several are called {wanted[:20]}: {ids}")
    raise ConfigError("project", f"Keystone has no project {wanted[:40]}")


def _find_space(parts: Parts, project: Project) -> Space | None:
    sight = parts.look(parts.connect())
    for space in sight.layout.spaces:
        if space.project.id == project.id and space.state is State.OPEN:
            return space
    raise ConfigError(
        "project", f"{project.name[:40]} is not served or disabled, see project-selector"
    )


def _server(parts: Parts) -> str:
    if not parts.inputs.ways:
        raise parts.inputs.no_way or ConfigError("server", "is not known")
    return parts.inputs.ways[0].servers[0]


PLAIN: Mapping[str, Action] = {
    "kubeconfig": make_kubeconfig,
    "check": check_login,
    "import-policy": import_policy,
    "break-glass": break_glass,
    "prepare-removal": foretell_removal,
}
"""Actions that change nothing of the unit, by name."""
