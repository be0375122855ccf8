# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""OpenStack's keystone charm as other charms see it: the service, its users, its conversations.

Source of every rule, unless it names another: charm-keystone de9baff (2026-06-22),
`hooks/keystone_hooks.py` and `hooks/keystone_utils.py`. Values for the federation interfaces are
JSON, those of identity-admin and identity-credentials plain text, passwords included. Keystone
itself is the world's (`standins.keystone`); its MySQL compares names without case. One of another
model has its database and its campus there.
"""

import hashlib
import json

from standins.keystone import campus
from standins.keystone.api import KeystoneServer
from standins.units import Event, UnitView
from standins.world import World

ADMIN_DOMAIN, SERVICE_DOMAIN = "admin_domain", "service_domain"
VERSIONS = {"22.04": "2:21.0.1-0ubuntu2", "24.04": "2:25.0.0-0ubuntu1"}
"""Package of each release: yoga and 2024.1 (Ubuntu archive)."""

CONF = "/etc/keystone/keystone.conf"
_METHODS = "password,token,oauth1,mapped,openid,totp,application_credential"


class Charm:
    """A unit of keystone."""

    runs_anywhere = True
    """It can stand for the other side of an offer, with people and projects of its own."""

    def handle(self, event: Event, unit: UnitView, world: World) -> None:
        """Run the service when the database is there, and answer every relation."""
        if event.name in ("stop", "remove"):
            return
        if not unit.machine:
            campus.furnish(world.keystone)
            _answer_credentials(unit, world.keystone)
            unit.status = ("active", "Unit is ready")
            return
        if not any(relation.remote_units for relation in unit.related("shared-db")):
            unit.status = ("blocked", "Missing relations: database")
            return
        host = world.machines[unit.machine].host
        version = VERSIONS[host.release()]
        if host.packages.installed().get("keystone") != version:
            host.set_packages({"keystone": version})
        _start(unit, world.keystone)
        host.files.ensure_text(CONF, _configure(unit, world.keystone), mode=0o640)
        _answer_federation(unit)
        _answer_admin(unit)
        _answer_credentials(unit, world.keystone)
        unit.workload_version = version.partition(":")[2].partition("-")[0]
        unit.status = ("active", "Unit is ready")


def admin_password(unit: UnitView) -> str:
    """Return the administrator's password: the option's, else one that the leader made."""
    given = unit.config.get("admin-password")
    return str(given) if given else _password(unit, "admin")


def _password(unit: UnitView, name: str) -> str:
    seed = f"{unit.model_uuid}/{unit.application}/{name}"
    return hashlib.sha256(seed.encode()).hexdigest()[:32]


def _protocol(unit: UnitView) -> str:
    related = any(relation.remote_units for relation in unit.related("certificates"))
    has_certificate = related or unit.config.get("ssl_cert") or not unit.machine
    return "https" if has_certificate else "http"


def _host(unit: UnitView) -> str:
    """Return the public name: the option's, else a virtual address, else the unit's own."""
    vip = str(unit.config.get("vip") or "").split()
    own = unit.address or campus.HOST
    return str(unit.config.get("os-public-hostname") or (vip[0] if vip else own))


def _port(unit: UnitView) -> int:
    return int(unit.config.get("service-port") or 5000)


def _start(unit: UnitView, keystone: KeystoneServer) -> None:
    """Bootstrap once, as the leader does, with its domains and its administrator."""
    if not unit.leader:
        return
    keystone.url = f"{_protocol(unit)}://{_host(unit)}:{_port(unit)}/v3"
    for endpoint in keystone.state.all("endpoints"):
        endpoint["url"] = keystone.url
    if keystone.state.records["domains"]:
        return
    keystone.state.folds_case = True
    role = str(unit.config.get("admin-role") or "Admin")
    keystone.bootstrap(admin_password(unit), url=keystone.url, admin_role=role)
    domain = keystone.add_domain(ADMIN_DOMAIN)
    project = keystone.add_project("admin", domain)
    admin = keystone.add_user("admin", admin_password(unit), domain)
    for target in (project, domain, "all"):
        keystone.grant(role, admin, target)
    service = keystone.add_domain(SERVICE_DOMAIN)
    keystone.add_project(str(unit.config.get("service-tenant") or "services"), service)


def _configure(unit: UnitView, keystone: KeystoneServer) -> str:
    """Return keystone.conf, and let the service follow it.

    `default_authorization_ttl` is rendered inside the block for trusted dashboards alone
    (templates/parts/section-federation).
    """
    protocols = _protocols(unit)
    dashboards = _dashboards(unit)
    ttl = int(unit.config.get("default-authorization-ttl") or 0) if dashboards else 0
    methods = [*_METHODS.split(","), *(name for name in protocols if name not in _METHODS)]
    keystone.settings.update(
        auth_methods=methods,
        remote_id_attribute=protocols,
        trusted_dashboards=dashboards,
        default_authorization_ttl=ttl,
    )
    lines = ["[auth]", f"methods = {','.join(methods)}", "[token]"]
    lines += [f"expiration = {unit.config.get('token-expiration') or 3600}", "[cache]"]
    lines += ["backend = dogpile.cache.memcached", "[federation]"]
    lines += [f"trusted_dashboard = {url}" for url in dashboards]
    lines += [f"default_authorization_ttl = {ttl}"] if dashboards else []
    for name, attribute in protocols.items():
        lines += [f"[{name}]", f"remote_id_attribute = {attribute}"]
    return "\n".join(lines) + "\n"


def _protocols(unit: UnitView) -> dict[str, str]:
    """Return protocol and remote id attribute that subordinates ask for."""
    found: dict[str, str] = {}
    for relation in unit.related("keystone-fid-service-provider"):
        for bag in relation.remote_units.values():
            name = json.loads(bag.get("protocol-name", "null"))
            if name:
                found[name] = json.loads(bag.get("remote-id-attribute", '""'))
    return found


def _dashboards(unit: UnitView) -> list[str]:
    """Return the trusted origins: three plain texts of each unit, put together."""
    found: dict[str, None] = {}
    for relation in unit.related("websso-trusted-dashboard"):
        for bag in relation.remote_units.values():
            parts = [bag.get(key, "") for key in ("scheme", "hostname", "path")]
            if all(parts):
                found["".join(parts)] = None
    return list(found)


def _answer_federation(unit: UnitView) -> None:
    values = {
        "hostname": _host(unit),
        "port": _port(unit),
        "tls-enabled": _protocol(unit) == "https",
    }
    for relation in unit.related("keystone-fid-service-provider"):
        relation.local_unit |= {key: json.dumps(value) for key, value in values.items()}


def _answer_admin(unit: UnitView) -> None:
    for relation in unit.related("identity-admin"):
        relation.local_unit |= {
            "service_hostname": _host(unit),
            "service_port": str(_port(unit)),
            "service_protocol": _protocol(unit),
            "service_username": "admin",
            "service_password": admin_password(unit),
            "service_tenant_name": str(unit.config.get("admin-role") or "Admin"),
            "service_region": str(unit.config.get("region") or "RegionOne"),
            "service_user_domain_name": ADMIN_DOMAIN,
            "service_project_domain_name": ADMIN_DOMAIN,
            "service_project_name": "admin",
            "api_version": "3",
        }


def _answer_credentials(unit: UnitView, keystone: KeystoneServer) -> None:
    """Make the users that are asked for; without requested_grants they get the admin role."""
    if not unit.leader:
        return
    for relation in unit.related("identity-credentials"):
        for bag in relation.remote_units.values():
            if bag.get("username"):
                relation.local_unit |= _credentials(unit, keystone, bag)


def _credentials(unit: UnitView, keystone: KeystoneServer, bag: dict[str, str]) -> dict[str, str]:
    name, domain_name = bag["username"], bag.get("domain") or SERVICE_DOMAIN
    project_name = bag.get("project") or str(unit.config.get("service-tenant") or "services")
    found = keystone.state.find("domains", domain_name)
    domain = found["id"] if found else keystone.add_domain(domain_name)
    project = keystone.state.find("projects", project_name, domain)
    project_id = project["id"] if project else keystone.add_project(project_name, domain)
    password = _password(unit, name)
    user = keystone.state.find("users", name, domain)
    user_id = user["id"] if user else keystone.add_user(name, password, domain)
    for role in _words(bag, "requested_roles"):
        if keystone.state.find("roles", role) is None:
            keystone.state.add("roles", name=role, domain_id=None, options={})
    admin_role = str(unit.config.get("admin-role") or "Admin")
    for role in _words(bag, "requested_grants") or [admin_role]:
        if keystone.state.find("roles", role) is not None:
            keystone.grant(role, user_id, project_id)
    protocol, host, port = _protocol(unit), _host(unit), str(_port(unit))
    answer = {"api_version": "3", "region": str(unit.config.get("region") or "RegionOne")}
    answer |= {"auth_host": host, "auth_port": str(unit.config.get("admin-port") or 35357)}
    answer |= {"auth_protocol": protocol, "credentials_protocol": protocol, "domain": domain_name}
    answer |= {"credentials_host": host, "credentials_port": port}
    answer |= {"credentials_username": name, "credentials_password": password}
    answer |= {"credentials_project": project_name, "credentials_project_id": project_id}
    for kind in ("user", "project"):
        answer[f"credentials_{kind}_domain_name"] = domain_name
        answer[f"credentials_{kind}_domain_id"] = domain
    return answer


def _words(bag: dict[str, str], key: str) -> list[str]:
    return [word for word in bag.get(key, "").split(",") if word and word != "None"]
