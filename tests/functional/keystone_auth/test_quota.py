# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a real API server takes of pods in a namespace with a quota of ours."""

from typing import Any

from tests.functional.keystone_auth.site import Site
from tests.functional.kubernetes.running import eventually


def test_a_quota_of_cpu_refuses_no_large_request_and_one_of_limits_no_pod_without(
    site: Site,
) -> None:
    bio, record = site.namespace(site.bio), site.keystone.state.get("projects", site.bio)
    before, small = record["tags"], {"cpu": "1", "memory": "4Gi"}
    large = {"cpu": "8", "memory": "32Gi"}

    def becomes(resources: dict[str, Any], wanted: dict[str, Any]) -> None:
        container = {"name": "main", "image": "example.org/none", "resources": resources}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "job"},
            "spec": {"containers": [container]},
        }
        path, seen = f"/api/v1/namespaces/{bio}/pods?dryRun=All", [""]

        def is_taken() -> bool:
            with site.client("") as client:
                answer = client.post(path, json=body)
            seen[0] = answer.text
            if answer.status_code != 201:
                return False
            return bool(answer.json()["spec"]["containers"][0]["resources"] == wanted)

        # Admission reads quotas and ranges a moment later than they are there.
        eventually(is_taken, f"a pod with {resources} has {wanted}", saw=lambda: seen[0])

    try:
        record["tags"] = ["k8s", "k8s:cpu=16", "k8s:memory=64Gi"]
        assert site.lead("sync")["problems"] == []
        becomes({"requests": large}, {"requests": large})
        becomes({}, {"requests": small})
        record["tags"] = ["k8s", "k8s:limits.cpu=16", "k8s:limits.memory=64Gi"]
        assert site.lead("sync")["problems"] == []
        becomes({}, {"requests": small, "limits": small})
    finally:
        record["tags"] = before
    assert site.lead("sync")["problems"] == []
