# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The environment of a hook. Pure.

Source: the environment of every hook of a controller of Juju 4.0.15, written down variable by
variable; the relation, action and secret variables are the same on 3.6.
"""

from standins.units import Event, UnitView

_CONSTANT = {
    "APT_LISTCHANGES_FRONTEND": "none",
    "CLOUD_API_VERSION": "",
    "DEBIAN_FRONTEND": "noninteractive",
    "JUJU_AGENT_SOCKET_NETWORK": "unix",
    "JUJU_CHARM_FTP_PROXY": "",
    "JUJU_CHARM_HTTPS_PROXY": "",
    "JUJU_CHARM_HTTP_PROXY": "",
    "JUJU_CHARM_NO_PROXY": "127.0.0.1,localhost,::1",
    "LANG": "C.UTF-8",
}


def agent_folder(unit: str) -> str:
    """Return where Juju keeps the agent of a unit on its machine."""
    return f"/var/lib/juju/agents/unit-{unit.replace('/', '-')}"


def environment_of(
    view: UnitView, event: Event, charm_dir: str, zone: str = "default"
) -> dict[str, str]:
    """Return the variables that Juju sets for a hook.

    Args:
        view: The unit that runs it.
        event: The hook.
        charm_dir: Absolute path of the charm's folder.
        zone: Availability zone of the machine.
    """
    agent = agent_folder(view.name)
    return {
        **_CONSTANT,
        "CHARM_DIR": charm_dir,
        "JUJU_AGENT_SOCKET_ADDRESS": f"{agent}/agent.socket",
        "JUJU_API_ADDRESSES": "127.0.0.1:17070",
        "JUJU_AVAILABILITY_ZONE": zone,
        "JUJU_CHARM_DIR": charm_dir,
        "JUJU_CONTEXT_ID": f"{view.name}-{event.hook}",
        "JUJU_MACHINE_ID": view.machine,
        "JUJU_MODEL_NAME": view.model,
        "JUJU_MODEL_UUID": view.model_uuid,
        "JUJU_PRINCIPAL_UNIT": view.principal,
        "JUJU_UNIT_NAME": view.name,
        "JUJU_VERSION": view.juju_version,
        **_dispatch(event),
        **_relation(event),
        **_secret(view, event),
        **_storage(view, event),
    }


def _dispatch(event: Event) -> dict[str, str]:
    """Return what says which hook or action runs; a woken hook has no name."""
    if event.action:
        return {
            "JUJU_DISPATCH_PATH": f"actions/{event.action}",
            "JUJU_HOOK_NAME": "",
            "JUJU_ACTION_NAME": event.action,
            "JUJU_ACTION_TAG": f"action-{event.task}",
            "JUJU_ACTION_UUID": event.task,
        }
    name = "" if event.woken else event.hook
    return {"JUJU_DISPATCH_PATH": f"hooks/{event.hook}", "JUJU_HOOK_NAME": name}


def _relation(event: Event) -> dict[str, str]:
    """Return the variables of a relation hook."""
    if event.relation_id is None:
        return {}
    variables = {
        "JUJU_RELATION": event.endpoint,
        "JUJU_RELATION_ID": f"{event.endpoint}:{event.relation_id}",
        "JUJU_REMOTE_APP": event.remote_app,
        "JUJU_REMOTE_UNIT": event.remote_unit,
    }
    if event.departing_unit:
        variables["JUJU_DEPARTING_UNIT"] = event.departing_unit
    return variables


def _secret(view: UnitView, event: Event) -> dict[str, str]:
    """Return the variables of a secret hook: the id is bare but in secret-changed."""
    if not event.secret:
        return {}
    label = next((secret.label for secret in view.secrets if secret.id == event.secret), "")
    bare = event.secret.removeprefix("secret:")
    changed = event.name == "secret-changed"
    variables = {
        "JUJU_SECRET_ID": f"secret:{bare}" if changed else bare,
        "JUJU_SECRET_LABEL": label,
    }
    if event.revision is not None:
        variables["JUJU_SECRET_REVISION"] = str(event.revision)
    return variables


def _storage(view: UnitView, event: Event) -> dict[str, str]:
    """Return the variables of a storage hook."""
    found = next((item for item in view.storages if item.id == event.storage), None)
    if found is None:
        return {}
    return {
        "JUJU_STORAGE_ID": found.id,
        "JUJU_STORAGE_KIND": found.kind,
        "JUJU_STORAGE_LOCATION": found.location,
    }
