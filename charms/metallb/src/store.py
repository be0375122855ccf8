# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a unit remembers between hooks: its last clean look, a confirmation, a silent webhook."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from charmkit.errors import InterventionError
from charmkit.files import Files
from charmkit.journal import StateFile
from charmkit.manifests import rendered_hash
from usage import Loss


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered.

    Attributes:
        clean: What the last look without a problem was about, see `fingerprint`; empty for none.
        confirmed: The losses that an operator allowed, see `digest`; empty for none.
        silent_since: When MetalLB's webhook was first found silent, seconds since 1970; 0 for not.
        silent: The same of served services that nobody announces, by name.
    """

    clean: str = ""
    confirmed: str = ""
    silent_since: float = 0.0
    silent: Mapping[str, float] = field(default_factory=dict[str, float])


class Store:
    """The memory of a unit on its machine."""

    def __init__(self, files: Files, application: str) -> None:
        self._file = StateFile(files, f"/var/lib/{application}/record.json", schema=1)

    def read(self) -> Memory:
        """Return what is remembered; a damaged file is as good as none, all of it is seen again.

        Raises:
            UnsupportedError: A newer charm wrote it.
        """
        try:
            return self._file.read_as(Memory) or Memory()
        except InterventionError:
            return Memory()

    def change(self, **fields: str | float | Mapping[str, float]) -> None:
        """Remember something else; what is not named stays."""
        self._file.write(asdict(replace(self.read(), **fields)))  # type: ignore[arg-type]

    def clear(self) -> None:
        """Forget everything."""
        self._file.clear()


def digest(losses: Sequence[Loss]) -> str:
    """Return what identifies a list of losses: a confirmation is for these and no others."""
    return rendered_hash([asdict(loss) for loss in losses]) if losses else ""
