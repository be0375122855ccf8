# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm of gamma, delta, sub1 and sub2: its options and actions make it fail or talk."""

import os
import subprocess
from pathlib import Path

import ops


class TalkingCharm(ops.CharmBase):
    """Is active and ready, and does what its actions say."""

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        for name, event in self.on.events().items():
            if name.endswith("_action"):
                framework.observe(event, getattr(self, f"_on_{name}"))
            elif not name.startswith(("collect_", "pre_commit", "commit")):
                framework.observe(event, self._on_any)

    def _on_any(self, event: ops.EventBase) -> None:
        hook = Path(os.environ.get("JUJU_DISPATCH_PATH", "")).name
        if isinstance(event, ops.StartEvent | ops.UpgradeCharmEvent):
            self.unit.set_workload_version(Path("version").read_text().strip())
        if hook in str(self.config.get("fail-on") or "").split(","):
            raise RuntimeError(f"told to fail in {hook}")
        if not isinstance(event, ops.StopEvent | ops.RemoveEvent):
            self.unit.status = ops.ActiveStatus("ready")

    def _on_ok_action(self, event: ops.ActionEvent) -> None:
        event.log("working on it")
        event.log("second line")
        params = dict(sorted(event.params.items()))
        nested = {"a": "1", "b": {"c": "2"}}
        name = params.get("name", "none")
        event.set_results({"name": name, "params": str(params), "nested": nested})

    def _on_fail_action(self, event: ops.ActionEvent) -> None:
        event.set_results({"partial": "yes"})
        event.fail("failed as asked")

    def _on_fail_empty_action(self, event: ops.ActionEvent) -> None:
        event.fail()

    def _on_raise_action(self, event: ops.ActionEvent) -> None:
        event.set_results({"partial": "yes"})
        raise RuntimeError("raised as asked")

    def _on_slow_action(self, event: ops.ActionEvent) -> None:
        event.set_results({"slept": str(event.params.get("seconds", 5))})

    def _on_sh_action(self, event: ops.ActionEvent) -> None:
        ran = subprocess.run(
            ["/bin/sh", "-c", event.params["cmd"]], capture_output=True, text=True, check=False
        )
        event.set_results({"rc": str(ran.returncode), "out": ran.stdout.strip()})
        if event.params.get("then") == "fail":
            event.fail("failed after sh")


ops.main(TalkingCharm)
