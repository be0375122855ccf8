# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Finds the charm of each application: a packed file, a source folder, or the facts; V6."""

import re
from collections.abc import Mapping
from pathlib import Path as FilePath

from rehearsal.bundle.charmfiles import read_charm
from rehearsal.bundle.findings import Findings
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import CHARM, RISKS
from rehearsal.bundle.verification import application_path
from rehearsal.facts import CharmFacts, CharmFileError, find_facts

_SERIES = re.compile(r"trusty|xenial|bionic|focal|jammy|noble|resolute|centos\d|kubernetes")
_ARCH = re.compile(r"amd64|arm64|armhf|i386|ppc64el|riscv64|s390x")


def find_charms(
    bundle: Bundle,
    juju: JujuVersion,
    findings: Findings,
    facts: FilePath | None = None,
    deployed: Mapping[str, CharmFacts] | None = None,
) -> dict[str, CharmFacts]:
    """Return the charm of each application that is known; what is wrong becomes findings.

    Args:
        bundle: A merged bundle.
        juju: Whose rules apply.
        findings: Where faults go.
        facts: Folder of facts instead of the repository's own.
        deployed: Charms that the model has, by application: whatever the bundle names, they stay.
    """
    found: dict[str, CharmFacts] = {}
    for application in bundle.applications.values():
        known = (deployed or {}).get(application.name)
        search = _Search(bundle, juju, findings, application)
        is_named = known is not None and application.charm.startswith("local:")
        charm = None
        if not is_named:
            charm = search.local() if application.is_local else search.remote(facts)
        charm = known or charm
        if charm is not None:
            found[application.name] = charm
    return found


def source_of(path: FilePath) -> FilePath | None:
    """Return the source folder of a charm that is to be packed into ``dist``, None when not ours.

    ``dist/gpu-worker_ubuntu-24.04-amd64.charm`` comes from ``charms/gpu-worker``.
    """
    if path.parent.name != "dist":
        return None
    folder = path.parent.parent / "charms" / path.stem.partition("_")[0]
    return folder if (folder / "charmcraft.yaml").is_file() else None


class _Search:
    """Finds one charm."""

    def __init__(
        self, bundle: Bundle, juju: JujuVersion, findings: Findings, application: Application
    ) -> None:
        self.bundle, self.juju = bundle, juju
        self.findings, self.application = findings, application
        self.path = application_path(application, "charm")

    def error(self, message: str, remedy: str, *, key: str = "charm", rule: str = "V6") -> None:
        """Add an error on this application."""
        path = application_path(self.application, key)
        self.findings.error(rule, path, message, remedy, self.bundle.at(path))

    def warning(self, message: str, remedy: str, *, key: str = "charm", rule: str = "V6") -> None:
        """Add a warning on this application."""
        path = application_path(self.application, key)
        self.findings.warning(rule, path, message, remedy, self.bundle.at(path))

    def local(self) -> CharmFacts | None:
        """Return the charm of a path."""
        self._ignored()
        self._channel()
        path = self.application.charm_path or FilePath()
        try:
            exists, is_folder = path.exists(), path.is_dir()
        except (OSError, ValueError):
            exists, is_folder = False, False
        try:
            if not exists:
                return self._unpacked(path)
            if is_folder:
                return self._folder(path)
            return self._packed(path)
        except CharmFileError as error:
            self.error(str(error), "name a packed .charm file")
        return None

    def _unpacked(self, path: FilePath) -> CharmFacts | None:
        source = source_of(path)
        if source is None:
            self.error(f"the charm file does not exist: {path}", "pack it, or mend the path")
            return None
        self.warning(f"{path.name} is not packed yet", "run make pack before juju deploy")
        return read_charm(source)

    def _folder(self, path: FilePath) -> CharmFacts:
        charm = read_charm(path)
        if self.juju == "4.0":
            self.error("Juju 4.0 deploys packed charms alone, not a folder", "run charmcraft pack")
        return charm

    def _packed(self, path: FilePath) -> CharmFacts:
        charm = read_charm(path.resolve())
        if charm.problem == "no-manifest":
            self.error("the charm has no manifest.yaml", "pack it with charmcraft")
        elif charm.problem:
            self.error(f"Juju refuses the charm: {charm.problem}", "mend its metadata")
        return charm

    def _ignored(self) -> None:
        for key in ("revision", "channel"):
            if self.bundle.data["applications"][self.application.name].get(key):
                message = f"{key} is ignored for a charm file"
                self.warning(message, f"delete {key}:", key=key)

    def remote(self, facts: FilePath | None) -> CharmFacts | None:
        """Return the facts on a Charmhub charm."""
        text = self.application.charm
        if not text:
            self.error("the application has no charm", "write charm: ./x.charm or a Charmhub name")
            return None
        if text.startswith("local:"):
            self.error(f"{text} names no file", "write the path: ./x.charm")
            return None
        name = self._name(text.removeprefix("ch:"))
        if name is None:
            return None
        self._version()
        charm = find_facts(name, facts)
        if charm is None:
            message = f"there are no facts on the charm {name}: endpoints, options are unchecked"
            self.warning(message, "add them with rehearse facts", rule="facts")
        return charm

    def _name(self, text: str) -> str | None:
        *prefix, name = text.split("/")
        revision = re.fullmatch(r"(.+)-(\d+)", name)
        if revision and CHARM.fullmatch(revision[1]):
            self.error(
                f"the charm's name holds the revision {revision[2]}",
                f"write charm: {revision[1]} and revision: {revision[2]} with a channel",
            )
            return None
        known = [bool(_ARCH.fullmatch(part) or _SERIES.fullmatch(part)) for part in prefix]
        if not CHARM.fullmatch(name) or not all(known) or len(prefix) > 2:
            remedy = "write ./ before a file; ~ and variables are not expanded"
            self.error(f'"{self.application.charm}" is no Charmhub name', remedy)
            return None
        return name

    def _version(self) -> None:
        revision = self.application.revision
        if revision is not None and revision < 0:
            self.error("the revision must be zero or greater", "mend it", key="revision")
        elif revision is not None and not self.application.channel:
            message = "a revision needs a channel to be refreshed from"
            self.error(message, "add channel: 1.35/stable or the like", key="revision")
        self._channel()

    def _channel(self) -> None:
        channel = self.application.channel
        parts = channel.split("/")
        risks = [part for part in parts if part in RISKS]
        wrong = len(parts) > 3 or "" in parts or (len(parts) > 1 and not risks)
        if channel and wrong:
            message = f'"{channel}" is no channel'
            self.error(message, "write track/risk: 1.35/stable", key="channel")
