# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Volumes that a node holds which is away: said, with the way to free them."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from storagesite import Site

RBD = "rbd.csi.ceph.com"


@pytest.fixture
def served(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    return site


def attach(site: Site, volume: str, node: str, attacher: str = RBD, **status: Any) -> None:
    """Attach a volume to a node, as the attach-detach controller and the driver do."""
    site.world.api.put(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": f"csi-{volume}"},
            "spec": {
                "attacher": attacher,
                "nodeName": node,
                "source": {"persistentVolumeName": volume},
            },
            "status": {"attached": True, **status},
        }
    )


def set_ready(site: Site, node: str, status: str, **more: str) -> None:
    def change(obj: Any) -> None:
        obj["status"]["conditions"] = [{"type": "Ready", "status": status, **more}]

    site.world.api.edit("nodes", node, "", change)


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_a_volume_on_a_node_that_is_not_ready_is_named_with_its_claim(
    served: Site, ready: str
) -> None:
    attach(served, "pv-1", "node-1")
    assert served.update() == ("active", "1 class on ceph-mon, 1 volume")
    set_ready(served, "node-1", ready)
    text = "team-a/claim-pv-1 held by node node-1, which is not ready, see list-volumes"
    assert served.update() == ("active", f"1 class on ceph-mon, 1 volume; {text}")
    assert served.act("list-volumes")["held"] == (
        "node-1 is not ready: if it is switched off, kubectl taint node node-1 "
        "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    )
    set_ready(served, "node-1", "True")
    assert served.update() == ("active", "1 class on ceph-mon, 1 volume")
    assert "held" not in served.act("list-volumes")


def test_a_node_that_was_taken_out_is_told_apart_and_no_taint_is_asked_for(served: Site) -> None:
    attach(served, "pv-1", "node-9")
    assert "held by node node-9, which is gone" in served.update()[1]
    held = served.act("list-volumes")["held"]
    assert held == "node-9 is gone: its volumes are let go within 6 minutes"


@pytest.mark.parametrize(
    ("attacher", "status"),
    [("ebs.csi.aws.com", {}), (RBD, {"attached": False})],
    ids=["of another driver", "not attached yet"],
)
def test_what_is_nobodys_or_not_there_yet_is_passed_over(
    served: Site, attacher: str, status: dict[str, Any]
) -> None:
    attach(served, "pv-1", "node-9", attacher, **status)
    assert served.update() == ("active", "1 class on ceph-mon, 1 volume")


def test_several_are_counted(served: Site) -> None:
    served.add_volume("pv-2", pool="ceph-csi-rbd")
    for volume in ("pv-1", "pv-2"):
        attach(served, volume, "node-9")
    assert "team-a/claim-pv-1 and 1 more held by node node-9" in served.update()[1]


@pytest.mark.parametrize(("seconds", "said"), [(0, False), (599, False), (600, True)])
def test_a_node_that_reboots_is_worth_no_word_but_the_actions(
    served: Site, seconds: int, said: bool
) -> None:
    attach(served, "pv-1", "node-1")
    lost = datetime.fromtimestamp(served.world.now - seconds, timezone.utc)
    since = lost.strftime("%Y-%m-%dT%H:%M:%SZ")
    set_ready(served, "node-1", "Unknown", lastTransitionTime=since)
    status = served.update()
    assert status[0] == "active"
    assert ("held by node node-1, which is not ready" in status[1]) is said
    assert served.act("list-volumes")["held"].startswith("node-1 is not ready: if it is")


@pytest.mark.parametrize("text", ["", "soon"])
def test_a_time_that_is_none_hides_nothing(served: Site, text: str) -> None:
    attach(served, "pv-1", "node-1")
    set_ready(served, "node-1", "False", lastTransitionTime=text)
    assert "held by node node-1" in served.update()[1]


def test_a_memory_of_an_earlier_charm_is_read(served: Site) -> None:
    attach(served, "pv-1", "node-9")
    served.update()
    path = "/var/lib/ceph-csi/surroundings.json"
    files = served.machine.host.files
    content = json.loads(files.read_text(path))
    content["data"]["read"].pop("held")
    files.ensure_text(path, json.dumps(content), mode=0o600)
    assert served.configure() == ("active", "1 class on ceph-mon, 1 volume")
    assert "held by node node-9" in served.update()[1]
