# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which number each GPU has, also while one of them cannot be seen. Pure.

Layouts name GPUs by their position in PCI order. A GPU that fell off the bus, or that a boot did
not find, must not give its number to the next one: another GPU would be cut in its place. So what
was there is remembered, by UUID, until somebody says that it was taken out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from charmkit.errors import CharmkitError
from gpu import Fault, Gpu

_UNSEEN = "is on the bus and not in the driver; power-cycle the machine"
_GONE = "is gone from the bus; power-cycle the machine, or run forget-gpus"


@dataclass(frozen=True, slots=True, order=True)
class Known:
    """A GPU that was there, and where: its PCI address as sysfs writes it."""

    address: str
    uuid: str


def number(
    gpus: Sequence[Gpu], lost: Mapping[int, CharmkitError], addresses: Iterable[str]
) -> tuple[tuple[Gpu, ...], tuple[Fault, ...]]:
    """Return the GPUs with the numbers that they have among all on the bus, and the faults.

    Args:
        gpus: What NVML shows, by its numbers.
        lost: What it says of those that it lists and cannot show.
        addresses: Where the bus shows a GPU.
    """
    there = {gpu.address for gpu in gpus}
    known = sorted({*addresses, *there})
    if len(known) < len(gpus) + len(lost):
        return tuple(gpus), tuple(Fault(n, "", _reason(lost[n])) for n in sorted(lost))
    reasons = [_reason(lost[index]) for index in sorted(lost)]
    faults: list[Fault] = []
    for index, address in enumerate(known):
        if address not in there:
            faults.append(Fault(index, address, reasons.pop(0) if reasons else _UNSEEN))
    return tuple(replace(gpu, index=known.index(gpu.address)) for gpu in gpus), tuple(faults)


def add_gone(
    gpus: tuple[Gpu, ...], faults: tuple[Fault, ...], known: Iterable[Known]
) -> tuple[tuple[Gpu, ...], tuple[Fault, ...]]:
    """Return GPUs and faults with those that were there and that the bus does not show any more.

    A board that was replaced is none of them, and neither is one on a bus that numbers anew, as
    long as there are as many as before. Where the bus numbers anew since one is gone, the others
    keep the numbers that they had; where they come in another order too, those that are gone come
    last. Where none is seen at all, nothing is known.

    Args:
        gpus: What there is, in the order of the bus and numbered by it.
        faults: What the bus shows and NVML does not.
        known: What was there.
    """
    was = tuple(sorted(known))
    short = max(len(was) - len(gpus) - len(faults), 0)
    if not gpus or not short:
        return gpus, faults
    places = _find_places(gpus, was)
    placed = () if _is_moved(gpus, was) else tuple(fault for fault in faults if fault.address)
    blank = tuple(fault for fault in faults if fault not in placed)
    spots = _find_missing(gpus, placed, was)[: len(blank) + short]
    gone = tuple(Fault(-1, each.address, _GONE) for each in spots[len(blank) :])
    if not gone:
        return gpus, faults
    if not places or len(gone) < short:
        first = len(gpus) + len(faults)
        return gpus, (*faults, *(replace(f, index=first + n) for n, f in enumerate(gone)))
    where = sorted((*places.values(), *(each.address for each in (*placed, *spots))))
    moved = zip((*blank, *gone), spots, strict=True)
    found = [replace(fault, index=where.index(spot.address)) for fault, spot in moved]
    found += [replace(fault, index=where.index(fault.address)) for fault in placed]
    return (
        tuple(replace(gpu, index=where.index(places[gpu.uuid])) for gpu in gpus),
        tuple(sorted(found, key=lambda fault: fault.index)),
    )


def remember(
    known: Iterable[Known], gpus: Sequence[Gpu], faults: Sequence[Fault]
) -> tuple[Known, ...]:
    """Return what to know from now on: what there is, and what is missed.

    While one is missed on a bus that numbers anew, its old address says nothing beside the new
    ones of the others, so that all is kept as it was known.

    Args:
        known: What was known.
        gpus: What there is.
        faults: What is missed, as `number` and `add_gone` found it.
    """
    was = tuple(sorted(known))
    if faults and _is_moved(gpus, was):
        return was
    seen = {gpu.uuid: Known(gpu.address, gpu.uuid) for gpu in gpus}
    missed = {fault.address for fault in faults}
    kept = [k for k in was if k.uuid not in seen and (k.address in missed or "" in missed)]
    return tuple(sorted((*seen.values(), *kept)))


def forget(
    known: Iterable[Known], gpus: Sequence[Gpu], faults: Sequence[Fault]
) -> tuple[tuple[Known, ...], tuple[Fault, ...]]:
    """Return what to know when boards that are gone were taken out, and which these are.

    One that is on the bus and of no use is no board that was taken out.
    """
    gone = tuple(fault for fault in faults if fault.reason == _GONE)
    taken = {fault.address for fault in gone}
    was = () if _is_moved(gpus, known) else [k for k in known if k.address not in taken]
    return remember(was, gpus, [fault for fault in faults if fault not in gone]), gone


def _find_places(gpus: Sequence[Gpu], known: Sequence[Known]) -> dict[str, str]:
    """Return by which address each GPU is numbered, by UUID; nothing where none is known."""
    if not _is_moved(gpus, known):
        return {gpu.uuid: gpu.address for gpu in gpus}
    was = {each.uuid: each.address for each in known}
    old = [was.get(gpu.uuid, "") for gpu in gpus]
    is_same_order = all(old) and old == sorted(old)
    return {gpu.uuid: was[gpu.uuid] for gpu in gpus} if is_same_order else {}


def _find_missing(
    gpus: Sequence[Gpu], placed: Sequence[Fault], known: Sequence[Known]
) -> tuple[Known, ...]:
    """Return what was there and is not, by its old address; a board in its place replaced it."""
    seen = {gpu.uuid for gpu in gpus}
    taken = () if _is_moved(gpus, known) else [each.address for each in (*gpus, *placed)]
    return tuple(k for k in known if k.uuid not in seen and k.address not in taken)


def _is_moved(gpus: Iterable[Gpu], known: Iterable[Known]) -> bool:
    """Say whether the bus shows a GPU elsewhere than it was, so that addresses mean nothing."""
    was = {each.uuid: each.address for each in known}
    return any(was.get(gpu.uuid, gpu.address) != gpu.address for gpu in gpus)


def _reason(error: CharmkitError) -> str:
    return str(error).partition(": ")[2]
