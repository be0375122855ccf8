# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How much a project may use: from text, tags and limits of Keystone to quota keys. Pure.

A quota counts extended resources only by requests, so `nvidia.com/gpu: 4` and
`limits.nvidia.com/gpu: 4`, which a ResourceQuota would ignore or refuse, both mean
`requests.nvidia.com/gpu: 4`. GPU resources that a project is not given are 0: one that is left out
would be without a limit.

Source: kubernetes.io, "Resource Quotas": "Resource quota for extended resources", "Object count
quota"; resource names of MIG as NVIDIA's device plugin builds them (strategy mixed).
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

GPU = "nvidia.com/gpu"
_MIG = re.compile(r"mig-[12347]g\.[1-9][0-9]*gb(\.me(\.all)?|\.gfx|-me)?")
"""Compute slices that GPU instances have. Gigabytes are not held against the table: a GPU that is
newer than the charm has its own, and is known by what nodes offer (`find_unknown`)."""

_PROFILE = re.compile(r"(?:mig-)?([12347]g\.[1-9][0-9]*gb)((?:\+[a-z.]+)?)")
"""A profile as NVIDIA writes it, which is no name of a resource."""

_MOST = 10**9
_LEAST_BYTES = 1024**2
_SEVERAL = re.compile(r"[=:][^=:]*[\s;]\S*[=:]")
_PROFILES = """
    1g.10gb 1g.10gb.me 1g.12gb 1g.12gb.me 1g.18gb 1g.18gb.me 1g.20gb 1g.23gb 1g.23gb.me
    1g.24gb 1g.24gb-me 1g.24gb.gfx 1g.24gb.me 1g.24gb.me.all 1g.34gb 1g.34gb.me 1g.35gb
    1g.35gb.me 1g.36gb 1g.45gb 1g.47gb 1g.5gb 1g.5gb.me 1g.67gb 1g.6gb 1g.6gb.me 1g.70gb
    2g.10gb 2g.12gb 2g.12gb.me 2g.20gb 2g.24gb 2g.35gb 2g.36gb 2g.45gb 2g.47gb 2g.48gb
    2g.48gb-me 2g.48gb.gfx 2g.48gb.me.all 2g.67gb 2g.70gb 3g.135gb 3g.139gb 3g.20gb 3g.40gb
    3g.47gb 3g.48gb 3g.71gb 3g.72gb 3g.90gb 3g.93gb 3g.95gb 4g.135gb 4g.139gb 4g.20gb 4g.24gb
    4g.40gb 4g.47gb 4g.48gb 4g.71gb 4g.72gb 4g.90gb 4g.93gb 4g.95gb 4g.96gb 4g.96gb.gfx
    7g.141gb 7g.144gb 7g.180gb 7g.186gb 7g.189gb 7g.269gb 7g.278gb 7g.40gb 7g.80gb 7g.94gb
    7g.96gb
"""
MIG_PROFILES = tuple(_PROFILES.split())
"""Profiles that nodes may offer after a layout changes. Source: NVIDIA MIG User Guide, "Supported
MIG Profiles", the boards of this suite; what nodes offer beside them is added when it is seen."""

GPU_RESOURCES = (GPU, *(f"nvidia.com/mig-{profile}" for profile in MIG_PROFILES))

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_COUNTS = (
    "configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas",
    "secrets", "services", "services.loadbalancers", "services.nodeports",
)  # fmt: skip
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_NAME = re.compile(
    r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
_TAG = "k8s:"
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"

Quota = Mapping[str, str]
"""Key of a ResourceQuota to quantity, such as `requests.nvidia.com/gpu` to `4`."""


def parse_quota(text: str) -> Quota:
    """Return what an option gives a project.

    Args:
        text: Pairs `name=quantity` or `name: quantity`, separated by commas or line ends.

    Raises:
        ValueError: A pair is none, or its name or quantity cannot be one, or a name has two.
    """
    found: dict[str, str] = {}
    for item in re.split(r"[,\n]", text):
        if not item.strip():
            continue
        if _SEVERAL.search(item):
            raise ValueError(f"'{item.strip()[:40]}' is several pairs, put commas between them")
        name, divider, quantity = re.sub(r"[=:]", "=", item, count=1).partition("=")
        if not divider:
            raise ValueError(f"'{item.strip()[:40]}' is no pair, as in nvidia.com/gpu=4")
        _add(found, name.strip(), quantity.strip())
    return found


def parse_tags(tags: Iterable[str]) -> tuple[Quota, list[str]]:
    """Return what the tags of a project give it, and what is wrong with those that give nothing.

    `k8s:gpu=4`, `k8s:mig-1g.10gb=7`, `k8s:cpu=32`; other tags are none of ours.
    """
    pairs = [tag.removeprefix(_TAG) for tag in sorted(tags) if tag.startswith(_TAG) and "=" in tag]
    return _parse_each(tuple(part.strip() for part in pair.split("=", 1)) for pair in pairs)


def parse_limits(limits: Mapping[str, int]) -> tuple[Quota, list[str]]:
    """Return what unified limits of Keystone give, and what is wrong with those that give nothing.

    -1 means no limit and gives nothing.
    """
    return _parse_each((name, str(value)) for name, value in sorted(limits.items()) if value >= 0)


def find_unknown(quota: Quota, offered: Iterable[str]) -> str:
    """Return what is wrong with the MIG resources of a quota; empty where each may exist.

    Args:
        quota: What somebody is given.
        offered: Resources of NVIDIA that nodes offer now; they may be newer than the table.
    """
    names = tuple(sorted(offered))
    for key in sorted(quota):
        name = key.removeprefix("requests.")
        if name.startswith("nvidia.com/mig-") and name not in (*GPU_RESOURCES, *names):
            return f"no GPU is cut into {_short(name)}; nodes offer {describe_offer(names)}"
    return ""


def find_uncut(quota: Quota, cut: Iterable[str]) -> tuple[str, ...]:
    """Return the MIG profiles that a quota gives and that no GPU is cut into, sorted.

    Args:
        quota: What somebody is given.
        cut: Resources of NVIDIA of which nodes have some now.
    """
    names = {key.removeprefix("requests.") for key, value in quota.items() if amount(value)}
    missing = sorted(names.difference(cut))
    return tuple(_short(name) for name in missing if name.startswith("nvidia.com/mig-"))


def describe_offer(offered: Iterable[str]) -> str:
    """Return the first of what nodes offer, in short words."""
    return ", ".join(map(_short, sorted(offered)[:4])) or "no GPU"


def _short(name: str) -> str:
    return name.removeprefix("nvidia.com/")


def merge(*layers: Quota) -> Quota:
    """Return one quota of several; a later one goes before the earlier ones, key by key."""
    return {key: value for layer in layers for key, value in layer.items()}


def find_closed(quota: Quota, offered: Iterable[str]) -> Quota:
    """Return 0 for every GPU resource that a quota does not give: an object of its own.

    Args:
        quota: What a project is given.
        offered: Resources of NVIDIA that nodes offer now.
    """
    names = sorted({f"requests.{name}" for name in (*GPU_RESOURCES, *offered)})
    return {name: "0" for name in names if name not in quota}


def shut(quota: Quota) -> Quota:
    """Return a quota under which nothing new can run; what runs goes on."""
    return {**{key: "0" for key in quota if key.startswith("requests.nvidia.com/")}, "pods": "0"}


def normalize_key(name: str) -> str:
    """Return the key under which a ResourceQuota counts something.

    Raises:
        ValueError: It counts nothing of that name.
    """
    bare = name
    for prefix in ("requests.", "limits."):
        bare = bare.removeprefix(prefix)
    if bare == "gpu" or _MIG.fullmatch(bare):
        bare = f"nvidia.com/{bare}"
    if bare.startswith("nvidia.com/"):
        return f"requests.{_gpu(bare)}"
    if name in _COUNTS or name.startswith("count/"):
        return name
    return _plain_key(name, bare)


def _plain_key(name: str, bare: str) -> str:
    if bare in _COMPUTE:
        return name if name != bare else f"requests.{bare}"
    if bare == "storage" or _STORAGE_CLASS in name or bare.startswith("hugepages-"):
        return (
            name if name.startswith("requests.") or _STORAGE_CLASS in name else f"requests.{bare}"
        )
    if "/" in bare and _NAME.fullmatch(bare):
        return f"requests.{bare}"
    profile = _PROFILE.fullmatch(name)
    if profile:
        meant = f"mig-{profile[1]}{profile[2].replace('+', '.')}"
        raise ValueError(f"a quota counts nothing called '{name[:40]}', write {meant}")
    raise ValueError(f"a quota counts nothing called '{name[:40]}', as in gpu, mig-1g.10gb or cpu")


def _gpu(name: str) -> str:
    bare = name.removeprefix("nvidia.com/")
    if bare in ("gpu", "gpu.shared") or _MIG.fullmatch(bare):
        return name
    raise ValueError(
        f"'{name[:40]}' is no resource of a GPU, as in {GPU} or nvidia.com/mig-1g.10gb"
    )


def check_quantity(key: str, quantity: str) -> str:
    """Return a quantity that a key can have.

    Raises:
        ValueError: It is none, or GPUs are not whole.
    """
    found = _NUMBER.fullmatch(quantity)
    if not found:
        raise ValueError(f"{key}: '{quantity[:20]}' is no quantity, as in 4 or 128Gi")
    whole = ("/" in key and not key.endswith("requests.storage")) or key in _COUNTS
    if whole and (found[2] or Decimal(found[1]) != int(Decimal(found[1]))):
        raise ValueError(f"{key}: '{quantity}' is no whole number")
    if whole and Decimal(found[1]) > _MOST:
        raise ValueError(f"{key}: '{quantity[:20]}' is more than there is")
    is_bytes = key.endswith(("memory", "storage"))
    if is_bytes and 0 < amount(quantity) < _LEAST_BYTES:
        raise ValueError(f"{key}: '{quantity}' is less than 1Mi, as in {found[1]}Gi")
    return str(int(Decimal(found[1]))) if whole else quantity


def amount(quantity: str) -> Fraction:
    """Return a quantity as a number, so that `1` and `1000m` compare equal.

    Raises:
        ValueError: It is none.
    """
    found = _NUMBER.fullmatch(quantity)
    if not found:
        raise ValueError(f"'{quantity[:20]}' is no quantity")
    unit = found[2] or ""
    factors = {"": Fraction(1), "m": Fraction(1, 1000)}
    factors |= {name: Fraction(1000**power) for power, name in enumerate("kMGTPE", 1)}
    factors |= {f"{name}i": Fraction(1024**power) for power, name in enumerate("KMGTPE", 1)}
    return Fraction(found[1]) * factors[unit]


def _parse_each(pairs: Iterable[tuple[str, ...]]) -> tuple[Quota, list[str]]:
    """Return what pairs of name and quantity give; one that gives nothing takes none along."""
    found: dict[str, str] = {}
    reasons = (_refuse(found, name, quantity) for name, quantity in pairs)
    wrong = [reason for reason in reasons if reason]
    return found, wrong


def _refuse(found: dict[str, str], name: str, quantity: str) -> str:
    """Add a pair, or return why not."""
    try:
        _add(found, name, quantity)
    except ValueError as error:
        return str(error)
    return ""


def _add(found: dict[str, str], name: str, quantity: str) -> None:
    key = normalize_key(name)
    value = check_quantity(key, quantity)
    if key in found and amount(found[key]) != amount(value):
        raise ValueError(f"{key} is given twice, as {found[key]} and {value}")
    found[key] = value
