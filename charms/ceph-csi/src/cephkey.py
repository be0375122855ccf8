# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keys of Ceph users: whether a text is one, and which kernels can use it. Pure.

A key is base64 of: type (2 bytes, little-endian), time (8), length (2), secret. Type 1 is AES,
which every client knows; type 2 is AES-256 (`aes256k`, Ceph 19.2.6 and 20.2.4 make it by default),
which kernels before 7.0, and the library of the drivers up to 3.17 and of `ceph` of the same age,
refuse with `Malformed input`.

Source: Ceph, src/auth/Crypto.h and CryptoKey::encode_base64; ceph-csi issue 6493.
"""

import base64
import binascii
import re
import struct
from collections.abc import Iterable, Sequence

AES, AES256K = 1, 2
_KNOWN = {AES: 16, AES256K: 32}
"""Types, and how many bytes the secret of each has."""

AES256K_KERNEL = (7, 0)
"""First kernel whose rbd and CephFS clients know AES-256 keys."""

_HEAD = struct.Struct("<HIIH")


def key_type(key: str) -> int:
    """Return the type of a key.

    Raises:
        ValueError: It is none. The reason does not quote it.
    """
    try:
        raw = base64.b64decode(key, validate=True)
        kind, _, _, length = _HEAD.unpack_from(raw)
    except (binascii.Error, ValueError, struct.error) as error:
        raise ValueError("is no key of a Ceph user") from error
    if kind not in _KNOWN:
        raise ValueError(f"is a key of type {kind}, which is not known")
    if length != _KNOWN[kind] or len(raw) != _HEAD.size + length:
        raise ValueError("is no whole key of a Ceph user")
    return kind


def without_prefix(user: str) -> str:
    """Return a user as the drivers want it: `client.` is theirs to add."""
    return user.strip().removeprefix("client.")


def explain_modern(name: str, kernels: Sequence[str] = ()) -> str:
    """Return what is wrong with an AES-256 key of a cluster, and what to do.

    Args:
        name: Of the cluster.
        kernels: Those of the nodes that cannot use it; the drivers cannot with any kernel.
    """
    what = f"kernel {kernels[0]}" if kernels else "the driver"
    return f"{name}: key is aes256k, which {what} cannot use, make one with --key-type aes"


def find_refusing_kernels(kind: int, kernels: Iterable[str]) -> tuple[str, ...]:
    """Return the kernels, of some nodes, that cannot use keys of a type; sorted, each once.

    Args:
        kind: As from `key_type`.
        kernels: Releases as nodes report them: `6.8.0-90-generic`.
    """
    if kind != AES256K:
        return ()
    return tuple(sorted({text for text in kernels if _version(text) < AES256K_KERNEL}))


def _version(kernel: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", kernel)
    return (int(match[1]), int(match[2])) if match else (0, 0)
