# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The steps that change GPUs, and what is remembered when one of them is refused or put off."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import refusal
from charmkit.errors import CharmkitError, InterventionError, UnsupportedError
from gate import Store
from observed import Observed, Wish
from plan import Change
from ports import Gpus
from reset import HeldError, PutOffError, RebootNeededError, RefusedError
from situation import Assessment, find_pending


class Cutter:
    """Changes the GPUs of one machine, in one pass."""

    def __init__(self, gpus: Gpus, store: Store) -> None:
        self._gpus = gpus
        self._store = store
        self._done: tuple[Change, ...] = ()

    def recut(self, found: Assessment, wish: Wish, observed: Observed) -> bool:
        """Do what can be done now; GPUs that refuse rest, and the pass goes on.

        Raises:
            CharmkitError: Something that time may cure: the same change is tried again soon.
        """
        changes = found.ready.now
        again = self._is_again(observed.now)
        try:
            self._apply(changes, alone=not found.holders, again=again)
        except (HeldError, RebootNeededError) as error:
            self._note_pending(error, changes, wish, observed)
        except (InterventionError, UnsupportedError) as error:
            self._note_refusal(error, changes, wish, observed)
        except PutOffError as error:
            self._put_off(error, error.gpus, wish, observed)
        return True

    def prepare_reboot(self, found: Assessment) -> bool:
        """Ask for the modes that the reboot is to bring about; the pass ends."""
        self._gpus.request_modes(*found.ready.now)
        return False

    def restore_modes(self, observed: Observed) -> bool:
        """Ask for the present mode again where another one is pending."""
        gpus = find_pending(observed.gpus, self._store.read_progress())
        self._gpus.request_modes(*(Change(gpu, mode=gpu.mig) for gpu in gpus))
        return True

    def _apply(self, changes: tuple[Change, ...], *, alone: bool, again: bool) -> None:
        """Make changes; what changed nothing the first time is not done twice."""
        if changes and self._done == changes:
            text = f"GPU {changes[0].gpu.index}: NVML accepted a change and did nothing"
            raise RefusedError(text, [change.gpu.uuid for change in changes])
        self._done = changes
        self._gpus.apply(*changes, alone=alone, again=again)

    def _note_pending(
        self,
        error: HeldError | RebootNeededError,
        changes: tuple[Change, ...],
        wish: Wish,
        observed: Observed,
    ) -> None:
        """Remember that only a reboot helps; a request gets one and no other."""
        progress = self._store.read_progress()
        if wish.may_reboot and error.reboot_helps:
            if progress.stuck != wish.key or progress.may_reboot(observed.boot):
                self._store.write_progress(replace(progress, stuck=wish.key))
                return
            asked = [change.gpu.uuid for change in changes if change.mode is not None]
            error = RebootNeededError(f"{error}, after a reboot too", asked)
        elif isinstance(error, HeldError):
            asked = [change.gpu.uuid for change in changes if change.mode is not None]
            self._put_off(error, asked, wish, observed)
            return
        else:
            error = RebootNeededError(f"{error}; reboot=when-needed allows it", error.gpus)
        self._note_refusal(error, changes, wish, observed)

    def _put_off(
        self, error: CharmkitError, gpus: Sequence[str], wish: Wish, observed: Observed
    ) -> None:
        """Let GPUs rest that were in the way for a minute, where a node is closed for them.

        Where nothing was on offer yet, as at a first boot, nobody is kept from anything: it is
        tried until it is done, with all that may help once an hour.

        Raises:
            CharmkitError: It is to be tried again soon.
        """
        progress = self._store.read_progress()
        lasts = observed.now - (progress.put_off or observed.now)
        if progress.since and lasts >= refusal.PATIENCE_SECONDS:
            self._rest(error, gpus, wish, observed, passes=True)
            return
        if not self._is_again(observed.now):
            self._store.write_progress(replace(progress, put_off=observed.now))
        raise error

    def _is_again(self, now: float) -> bool:
        """Say whether what is put off was tried lately, with the services that watch away."""
        first = self._store.read_progress().put_off
        return bool(first) and now - first < refusal.LONGEST_PUT_OFF_SECONDS

    def _note_refusal(
        self,
        error: CharmkitError,
        changes: Iterable[Change],
        wish: Wish,
        observed: Observed,
    ) -> None:
        gpus = error.gpus if isinstance(error, RefusedError) else [c.gpu.uuid for c in changes]
        if not gpus:
            raise error
        self._rest(error, gpus, wish, observed, passes=False)

    def _rest(
        self,
        error: CharmkitError,
        gpus: Iterable[str],
        wish: Wish,
        observed: Observed,
        *,
        passes: bool,
    ) -> None:
        progress = self._store.read_progress()
        attempt, boot, now = wish.attempt, observed.boot, observed.now
        noted = refusal.note(progress.refusal, gpus, str(error), attempt, boot, now, passes=passes)
        self._store.write_progress(replace(progress, refusal=noted, put_off=0.0))
