# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The service that wakes the unit when what it waits for has happened; it never acts itself.

While the unit waits for nothing, a look is one GET of its own node, for the label by which people
choose a layout; only while it waits for the GPUs it opens an NVML session: that is a client which
keeps a GPU from changing its MIG mode.
"""

from collections.abc import Mapping

import topics
from charmkit import account, watcher
from charmkit.errors import NotReadyError
from charmkit.host import Host
from charmkit.kinds import NODE, POD
from charmkit.kube import Kube
from gateways import Gateways
from hardware import MachineGpus
from node import Node, Pod, parse_node, parse_pod
from nvmlerror import MismatchError

MODULE = "watch"
"""How `charmkit.services` finds this module."""


_MODULE_VERSION = "/proc/driver/nvidia/version"


class StaleLibraryError(Exception):
    """The driver was changed under this process, which keeps the library that it mapped first.

    Nothing catches it: the process ends, and the one that systemd starts maps the new library.
    """


class Eyes:
    """Looks at what units wait for, with the account that the charm has made."""

    _driver: str | None = None
    """Version of the module at the first session, which mapped the library of then."""

    def __init__(self, gateways: Gateways, host: Host, application: str) -> None:
        self._gateways = gateways
        self._host = host
        self._application = application

    def observers(self) -> Mapping[str, watcher.Observer]:
        """Return how to look at each topic."""
        return {
            topics.NODE: self.see_node,
            topics.PODS: self.see_pods,
            topics.GPUS: self.see_gpus,
            topics.FILES: self.see_files,
            topics.EVERY_POD: self.see_every_pod,
            topics.LABEL: self.see_label,
        }

    def see_node(self) -> str:
        """Return the fingerprint of the node. Raises CharmkitError: it cannot be seen now."""
        return topics.see_node(self._node())

    def see_label(self) -> str:
        """Return the fingerprint of its label. Raises CharmkitError: it cannot be seen now."""
        return topics.see_label(self._node())

    def see_pods(self) -> str:
        """Return the fingerprint of its pods. Raises CharmkitError: they cannot be seen now."""
        return topics.see_pods(self._pods(), self._application)

    def see_every_pod(self) -> str:
        """Return the fingerprint of all of them. Raises CharmkitError: they cannot be seen now."""
        return topics.see_every_pod(self._pods())

    def see_gpus(self) -> str:
        """Return the fingerprint of the GPUs.

        Raises:
            CharmkitError: NVML cannot be asked now.
            StaleLibraryError: Nor by this process ever again.
        """
        loaded = self._host.files.find_text(_MODULE_VERSION) or ""
        self._driver = loaded if self._driver is None else self._driver
        try:
            hardware = MachineGpus(self._host, usable=True).look()
        except MismatchError as error:
            if loaded != self._driver:
                raise StaleLibraryError("the driver was changed, starting anew") from error
            raise
        return topics.see_gpus(hardware.gpus, hardware.processes)

    def see_files(self) -> str:
        """Return the fingerprint of who has the GPUs open, without NVML."""
        return topics.see_gpus((), MachineGpus(self._host, usable=False).look().processes)

    def _node(self) -> Node | None:
        found = self._kube().find(NODE, self._host.node_name())
        return parse_node(found) if found else None

    def _pods(self) -> list[Pod]:
        pods = self._kube().list(POD, fields=f"spec.nodeName={self._host.node_name()}")
        return [parse_pod(pod) for pod in pods]

    def _kube(self) -> Kube:
        credentials = account.find_account(self._host, self._application)
        if credentials is None:
            raise NotReadyError("no account in the cluster yet")
        return self._gateways.kube(credentials, self._application)


def main(gateways: Gateways, application: str, unit: str) -> None:
    """Run the service: look again and again, and wake the unit when it is due."""
    del unit  # The waits file names the unit to wake.
    host = gateways.host()
    watcher.loop(host, application, Eyes(gateways, host, application).observers())
