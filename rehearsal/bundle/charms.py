# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Finds the charm of each application: a packed file, a source folder, or the facts; V6."""

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path as FilePath

from rehearsal.bundle.charmfiles import read_charm
from rehearsal.bundle.findings import Findings
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import CHARM, RISKS
from rehearsal.bundle.verification import application_path, closest, last_overlay
from rehearsal.facts import CharmFacts, CharmFileError, find_facts, known_names
from rehearsal.paths import is_file, is_folder, is_there

_SERIES = re.compile(r"trusty|xenial|bionic|focal|jammy|noble|resolute|centos\d|kubernetes")
MAX_FILES = 500
"""Files beside a misspelt path that are looked at."""
_RENAMED = {"kubernetes-master": "kubernetes-control-plane"}
"""Charms that have another name today. Source: Charmed Kubernetes 1.24 release notes."""
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
    return folder if is_file(folder / "charmcraft.yaml") else None


def nearest_file(path: FilePath) -> FilePath | None:
    """Return the charm file beside a path that is spelt most like it, None when none is.

    ``./gpu-worker.charm`` means ``./gpu-worker_ubuntu-24.04-amd64.charm``.
    """
    try:
        files = {file.name: file for file in islice(path.parent.glob("*.charm"), MAX_FILES)}
    except (OSError, ValueError):
        return None
    stem = path.name.removesuffix(".charm")
    longer = sorted(name for name in files if name.startswith(f"{stem}_"))
    close = longer[0] if longer else closest(path.name, files, 0.75)
    return files.get(close)


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
            if not is_there(path):
                return self._unpacked(path)
            if is_folder(path):
                return self._folder(path)
            return self._packed(path)
        except CharmFileError as error:
            self.error(str(error), "name a packed .charm file")
        return None

    def _unpacked(self, path: FilePath) -> CharmFacts | None:
        source = source_of(path)
        if source is None:
            return self._nearest(path)
        self.warning(f"{path.name} is not packed yet", "run make pack before juju deploy")
        return read_charm(source)

    def _nearest(self, path: FilePath) -> CharmFacts | None:
        """Return the charm that a misspelt path most likely means, so that the rest is checked."""
        message = f"the charm file does not exist: {path}"
        meant = nearest_file(path)
        if meant is None:
            self.error(message, f"pack it, or mend the path; it is relative to {path.parent}")
            return None
        self.error(message, f"did you mean {meant.name}?")
        try:
            return read_charm(meant.resolve())
        except CharmFileError:
            return None

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
        """Report a revision or a channel of a charm file.

        Source: 4.0 bundlehandler.go, addApplication: an uploaded charm is looked up under the
        channel of the bundle, and is there under stable alone; record cp-revision-neg.
        """
        channel = self.application.channel
        if self.application.revision is not None:
            self.warning(
                "revision is ignored for a charm file", "delete revision:", key="revision"
            )
        if channel == "stable" or (channel and self.juju == "3.6"):
            self.warning("channel is ignored for a charm file", "delete channel:", key="channel")
        elif channel:
            message = "Juju 4.0 finds no charm file under a channel other than stable"
            self.error(message, "delete channel:", key="channel")

    def remote(self, facts: FilePath | None) -> CharmFacts | None:
        """Return the facts on a Charmhub charm."""
        text = self.application.charm
        if not text:
            self._no_charm()
            return None
        if text.startswith("local:"):
            name = text.removeprefix("local:").removeprefix("./").removesuffix(".charm")
            self.error(f"{text} names no file", f"write the path: ./{name}.charm")
            return None
        if text.startswith("cs:"):
            self._of_the_store(text)
            return None
        name = self._name(text.removeprefix("ch:"))
        if name is None:
            return None
        self._version()
        charm = find_facts(name, facts)
        if charm is None:
            message = f"there are no facts on the charm {name}: endpoints, options are unchecked"
            close = _RENAMED.get(name) or closest(name, known_names(facts), 0.75)
            remedy = "add them with rehearse facts CHARM, from its packed file or metadata.yaml"
            hint = f"did you mean {close}? If not: {remedy}" if close else remedy
            self.warning(message, hint, rule="facts")
        return charm

    def _of_the_store(self, text: str) -> None:
        """Report a charm of the Charm Store; its revisions are not those of Charmhub."""
        last = re.sub(r"-\d+$", "", text.rpartition("/")[2].removeprefix("cs:"))
        name = _RENAMED.get(last, last)
        message = f"{text} is of the Charm Store, which Juju no longer knows"
        self.error(message, f"write charm: {name} with a channel, and no revision of the store")

    def _no_charm(self) -> None:
        taken = self.bundle.removed.get(self.application.name)
        if taken is None:
            self.error("the application has no charm", self._what_is_meant())
            return
        message = f"the application has no charm: an earlier overlay takes it out ({taken})"
        self.error(message, last_overlay(taken, self.bundle.at(self.path)))

    def _what_is_meant(self) -> str:
        """Return what to do about an application without a charm: its name may be misspelt."""
        others = [a.name for a in self.bundle.applications.values() if a.charm]
        close = closest(self.application.name, others, 0.75)
        hint = f"did you mean {close}? A new application needs one: " if close else ""
        return f"{hint}write charm: ./x.charm or a Charmhub name"

    def _no_name(self) -> str:
        """Return what to do about a charm that is neither a file nor a name."""
        text = self.application.charm
        last = text.rstrip("/").rpartition("/")[2]
        if self._is_beside(text):
            return f"write ./{text}: a file begins with ./ or /"
        if "://" in text and CHARM.fullmatch(last):
            return f"write the name alone: {last}"
        if CHARM.fullmatch(text.lower().replace("_", "-")):
            return f"write {text.lower().replace('_', '-')}: letters are small, dashes join words"
        return "write ./ before a file, else a name of Charmhub; ~ and variables are not expanded"

    def _is_beside(self, text: str) -> bool:
        return is_there(self.application.folder / text)

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
            self.error(f'"{self.application.charm}" is no Charmhub name', self._no_name())
            return None
        return name

    def _version(self) -> None:
        revision = self.application.revision
        if revision is not None and revision < 0:
            self.error(
                "the revision must be zero or greater",
                "write a revision of the charm",
                key="revision",
            )
        elif revision is not None and not self.application.channel:
            message = "a revision needs a channel to be refreshed from"
            self.error(message, "add channel: 1.35/stable or the like", key="revision")
        self._channel()

    def _channel(self) -> None:
        channel = self.application.channel
        parts = channel.split("/")
        risk = parts[1:2] if len(parts) == 3 or parts[0] not in RISKS else parts[:1]
        wrong = len(parts) > 3 or "" in parts or any(part not in RISKS for part in risk)
        if channel and wrong:
            message = f'"{channel}" is no channel'
            self.error(message, "write track/risk: 1.35/stable", key="channel")
        elif len(parts) == 2 and parts[0] in RISKS:
            message = f'"{channel}" means the branch {parts[1]} of {parts[0]}'
            self.warning(message, f"write track/risk: {parts[1]}/{parts[0]}", key="channel")
