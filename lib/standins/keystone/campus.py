# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Keystone that runs outside the model, as a site has it: people of the campus, one project.

What keystone-saml would have made is there, made by somebody else.
"""

from standins.keystone.api import KeystoneServer
from standins.pages import IDP_ENTITY

HOST = "keystone.example.edu"
URL = f"https://{HOST}:5000/v3"
DOMAIN, PROVIDER, PROTOCOL, PROJECT = "campus", "campus", "saml2", "gpu-lab"
DASHBOARD = "http://localhost:9990/auth/websso/"
_PASSWORD = "of-the-other-administrators"  # noqa: S105 - of a world that is simulated


def furnish(keystone: KeystoneServer) -> None:
    """Make everything that a campus login needs, once: project and group `gpu-lab`, with a tag."""
    if keystone.state.records["domains"]:
        return
    keystone.bootstrap(_PASSWORD, url=URL)
    domain = keystone.add_domain(DOMAIN)
    project = keystone.add_project(PROJECT, domain, tags=("k8s",))
    keystone.grant("member", keystone.add_group(PROJECT, domain), project)
    methods = keystone.settings["auth_methods"]
    keystone.settings.update(
        auth_methods=[*methods, PROTOCOL],
        remote_id_attribute={PROTOCOL: "MELLON_IDP"},
        trusted_dashboards=[DASHBOARD],
    )
    federation = keystone.federation
    provider = {"enabled": True, "domain_id": domain, "remote_ids": [IDP_ENTITY]}
    federation.put_provider(PROVIDER, {**provider, "authorization_ttl": 720})
    user, groups = {"type": "CAMPUS_USER"}, {"type": "CAMPUS_GROUPS", "any_one_of": [PROJECT]}
    kept = {"type": "CAMPUS_GROUPS", "whitelist": [PROJECT]}
    local = [{"user": {"name": "{0}"}}, {"groups": "{1}", "domain": {"id": domain}}]
    federation.put_mapping("campus", {"rules": [{"local": local, "remote": [user, groups, kept]}]})
    federation.put_protocol(PROVIDER, PROTOCOL, {"mapping_id": "campus"})
