# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a removal leaves in a real cluster; it runs on a site of its own."""

import httpx2
import pytest

from tests.functional.keystone_auth.site import campus
from tests.functional.kubernetes.audit import Request, read_audit
from tests.functional.kubernetes.running import SMALL, listing, nothing_stays, require


def test_with_the_charm_everything_goes_but_namespaces_and_what_people_made(
    tmp_path_factory: pytest.TempPathFactory, requests: list[Request]
) -> None:
    require((*SMALL, "kubectl"))
    with campus(tmp_path_factory.mktemp("leaving")) as site:
        site.lead("sync")
        lab = site.namespace(site.lab)
        token = site.token(site.lab)
        site.wait_until_open(site.lab, token)
        with site.client(token) as client:
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "thesis"}}
            path = f"/api/v1/namespaces/{lab}/configmaps"
            assert client.post(path, json=made).status_code == 201
        assert site.lead("leave")["done"]
        with site.client("") as client:
            # What the account owned is collected by Kubernetes, a moment after it.
            nothing_stays(lambda: ours(client) - {"namespaces /keystone-auth"})
            left = listing(client)
        assert "namespaces /keystone-auth" in left
        assert f"configmaps {lab}/thesis" in left
        assert site.get(site.token(site.lab), f"/api/v1/namespaces/{lab}/pods") == 403
        requests += read_audit(site.cluster.audit_log)


def ours(client: httpx2.Client) -> set[str]:
    """Return what bears our name."""
    return {name for name in listing(client) if "keystone-auth" in name.rpartition("/")[2]}
