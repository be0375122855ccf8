# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the rehearsal refuses; the message is what the command prints after `ERROR`."""


class RehearsalError(Exception):
    """The root: something that a command reports in one line."""


class UsageError(RehearsalError):
    """The command names something that cannot be done."""


class NotFoundError(RehearsalError):
    """An application, unit, machine, action or relation of that name is not in the model."""


class ExistsError(RehearsalError):
    """There is one already."""


class BusyError(RehearsalError):
    """Another command holds the model."""


class FormatError(RehearsalError):
    """The folder is not a model, or one of a newer version."""


class PingPongError(RehearsalError):
    """Charms keep answering each other; the message names who."""


class RunawayError(RehearsalError):
    """Juju would make units without end; the message names the two applications."""


class CharmError(RehearsalError):
    """A charm's code could not be loaded."""
