# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Apache's side of one machine: the module, its files, and what keystone is told to restart for.

Files belong to root and the group of Apache, which comes from the folder (setgid), so that a file
is complete the moment it appears. Apache itself belongs to the keystone charm: it restarts when
the nonce changes, and a configuration that Apache would refuse is taken back before that.
"""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from attributes import Attributes
from charmkit.commands import CommandError
from charmkit.errors import InterventionError
from charmkit.host import Host
from serviceprovider import (
    FOLDER,
    GROUP,
    Choices,
    Provider,
    list_files,
    render_locations,
    render_metadata,
)
from spkeys import KeyRing

PACKAGE = "libapache2-mod-auth-mellon"
_MODULE = "/usr/lib/apache2/modules/mod_auth_mellon.so"
_ENABLED = "/etc/apache2/mods-enabled/auth_mellon.load"
_CHGRP, _A2ENMOD, _APACHE = "/usr/bin/chgrp", "/usr/sbin/a2enmod", "/usr/sbin/apache2ctl"
_FOLDER_MODE, _FILE_MODE = 0o2750, 0o640


@dataclass(frozen=True, slots=True)
class Content:
    """What the files hold.

    Attributes:
        metadata: The service provider's own.
        locations: Apache's configuration.
        idp: The identity provider's EntityDescriptor.
        key: Private key, PEM.
        certificate: Of that key, in base64.
    """

    metadata: str
    locations: str
    idp: str
    key: str = field(repr=False)
    certificate: str

    @property
    def nonce(self) -> str:
        """A UUID that differs when anything differs; the private key is not in it."""
        parts = (self.metadata, self.locations, self.idp, self.certificate)
        digest = hashlib.sha256("\0".join(parts).encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))


def render(
    application: str,
    provider: Provider,
    choices: Choices,
    ring: KeyRing,
    attributes: Attributes,
    idp: str,
) -> Content:
    """Return what the files of a service provider hold."""
    encryption = (ring.current.body,) if choices.encryption else ()
    return Content(
        render_metadata(provider, choices, ring.signing(), encryption),
        render_locations(provider, choices, list_files(application), attributes.variables()),
        idp,
        ring.current.key,
        ring.current.body,
    )


class Keeper:
    """The service provider of one machine."""

    def __init__(self, host: Host, application: str) -> None:
        self._host = host
        self._application = application

    def install(self) -> bool:
        """Install and enable Apache's module. Return whether anything was done.

        Raises:
            InterventionError: apt or Apache refuses.
            NotReadyError: Another process holds dpkg's lock.
        """
        changed = False
        if not self._host.files.exists(_MODULE):
            offered = self._host.packages.candidates([PACKAGE])
            if PACKAGE not in offered:
                raise InterventionError(f"no {PACKAGE} in the apt sources")
            self._host.packages.install({PACKAGE: offered[PACKAGE]})
            changed = True
        if self._host.files.find_link(_ENABLED) is None:
            self._host.run([_A2ENMOD, "--quiet", "auth_mellon"])
            changed = True
        return changed

    def write(self, content: Content, *, is_known: bool = False) -> bool:
        """Make the files hold their content. Return whether any changed.

        Args:
            content: What they are to hold.
            is_known: Whether keystone was told of this very content, so that Apache has taken it.

        Raises:
            InterventionError: Apache refuses the result, which is taken back.
        """
        self._make_folder()
        paths, files = list_files(self._application), self._host.files
        before = {kind: files.find_text(path) for kind, path in paths.items()}
        texts = {"idp": content.idp, "sp": content.metadata, "key": content.key}
        texts["location"] = content.locations
        changed = [files.ensure_text(paths[k], text, mode=_FILE_MODE) for k, text in texts.items()]
        if any(changed) or not is_known:
            self._test(paths, before)
        return any(changed)

    def remove(self) -> bool:
        """Take the files away; the module stays. Return whether there were any."""
        paths = list_files(self._application).values()
        return sum(self._host.files.ensure_absent(path) for path in paths) > 0

    def find_release(self) -> int | None:
        """Return the major version of Keystone on the machine, None when it has none.

        Source: Ubuntu's version of the package keystone, such as 2:25.0.0-0ubuntu1 for 2024.1.
        """
        version = self._host.packages.installed().get("keystone", "")
        major = version.rpartition(":")[2].partition(".")[0]
        return int(major) if major.isdecimal() else None

    def _make_folder(self) -> None:
        files = self._host.files
        path = files.path(FOLDER)
        if path.is_dir() and path.stat().st_mode & 0o7777 == _FOLDER_MODE:
            return
        files.ensure_directory(FOLDER, mode=0o700)
        self._host.run([_CHGRP, GROUP, FOLDER])
        files.ensure_directory(FOLDER, mode=_FOLDER_MODE)

    def _test(self, paths: Mapping[str, str], before: Mapping[str, str | None]) -> None:
        try:
            self._host.run([_APACHE, "configtest"])
        except CommandError as error:
            for kind, path in paths.items():
                text = before[kind]
                if text is None:
                    self._host.files.ensure_absent(path)
                else:
                    self._host.files.ensure_text(path, text, mode=_FILE_MODE)
            raise InterventionError(f"Apache refuses its configuration: {_why(error)}") from error


def _why(error: CommandError) -> str:
    lines = [line.strip() for line in error.stderr.splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("AH00558", "Action", "The Apache"))]
    return useful[0] if useful else str(error)
