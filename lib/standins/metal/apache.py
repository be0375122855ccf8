# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Apache's programs as far as a service provider needs them: modules, and the test of its files.

Source: Debian's apache2 2.4 with libapache2-mod-auth-mellon 0.18.1: a2enmod links what the package
brought; `apache2ctl configtest` stops at the first directive that no module knows, at a section
that is not closed, and at a file of mellon that is not there.
"""

import re
from collections.abc import Sequence

from standins.metal.system import ProgramError, System

_AVAILABLE, _ENABLED = "/etc/apache2/mods-available", "/etc/apache2/mods-enabled"
_INCLUDED = "/etc/apache2/mellon*/sp-location*.conf"
_KNOWN = re.compile(
    r"AuthType|Require|ServerName|UseCanonicalName|<Location .+>|</Location>|"
    r"Mellon(Enable|SPPrivateKeyFile|SPMetadataFile|IdPMetadataFile|DiscoveryURL|EndpointPath|IdP|"
    r"MergeEnvVars|SubjectConfirmationDataAddressCheck|SignatureMethod|SecureCookie|"
    r"CookieSameSite|SetEnvNoPrefix)"
)
_FILES = re.compile(r"Mellon(?:SPPrivateKey|SPMetadata|IdPMetadata)File (\S+)")


def a2enmod(system: System, argv: Sequence[str]) -> str:
    """Enable a module that is installed."""
    name = argv[-1]
    if not system.files.exists(f"{_AVAILABLE}/{name}.load"):
        raise ProgramError(1, f"ERROR: Module {name} does not exist!\n")
    system.files.ensure_link(f"{_ENABLED}/{name}.load", f"../mods-available/{name}.load")
    return ""


def apache2ctl(system: System, argv: Sequence[str]) -> str:
    """Test the files that keystone's site includes."""
    del argv
    for path in system.files.glob(_INCLUDED):
        lines = (system.files.find_text(path) or "").splitlines()
        for number, line in enumerate(lines, 1):
            problem = _find_problem(system, line.strip())
            if problem:
                where = f"AH00526: Syntax error on line {number} of {path}:"
                raise ProgramError(1, f"{where}\n{problem}\nAction 'configtest' failed.\n")
    return ""


def _find_problem(system: System, line: str) -> str:
    if not line or line.startswith("#"):
        return ""
    if not _KNOWN.match(line):
        return f"Invalid command '{line.split()[0]}', perhaps misspelled"
    named = _FILES.match(line)
    if named and not system.files.exists(named[1]):
        return f"file {named[1]} does not exist"
    return ""
