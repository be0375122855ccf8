# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Storage and device directives, as core/storage and core/devices of Juju 4.0 read them."""

import pytest

from rehearsal.bundle.directives import (
    DeviceDirective,
    DirectiveError,
    StorageDirective,
    parse_device,
    parse_storage,
)


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        ("1G", StorageDirective(size=1024)),
        ("1.5G", StorageDirective(size=1536)),
        ("1GB", StorageDirective(size=1024)),
        ("1MiB", StorageDirective(size=1)),
        ("2", StorageDirective(count=2)),
        ("rootfs", StorageDirective("rootfs")),
        ("2,1G,rootfs", StorageDirective("rootfs", 2, 1024)),
        (",1G,", StorageDirective(size=1024)),
        ("lxd-zfs,1T", StorageDirective("lxd-zfs", 0, 1024**2)),
    ],
)
def test_storage_is_pool_count_and_size_in_any_order(text: str, directive: StorageDirective):
    assert parse_storage(text) == directive


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing"), (",", "nothing"), ("0G", "nothing"), ("0", "1 or more"),
        ("-1,1G", "1 or more"), ("1g", "no pool"), ("1.5.5G", "no pool"), ("-1G", "no pool"),
        ("1K", "no pool"), (" 1G", "no pool"), ("a_b", "no pool"), ("9" * 30, "no pool"),
        ("rootfs,tmpfs", "one too many"), ("1,2", "one too many"), ("1G,2G", "one too many"),
    ],
)  # fmt: skip
def test_what_is_no_storage_directive(text: str, why: str):
    with pytest.raises(DirectiveError, match=why):
        parse_storage(text)


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        ("", DeviceDirective("")),
        ("gpu", DeviceDirective("gpu")),
        ("2,nvidia.com/gpu", DeviceDirective("nvidia.com/gpu", 2)),
        ("+2,gpu,a=b;c=d", DeviceDirective("gpu", 2, has_attributes=True)),
    ],
)
def test_a_device_is_a_type_after_its_count(text: str, directive: DeviceDirective):
    assert parse_device(text) == directive


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x,gpu", "no count"), ("0,gpu", "no count"), ("-1,gpu", "no count"),
        ("1,gpu,a", "key=value"), ("1,gpu,a=b=c", "key=value"), ("1,gpu,", "key=value"),
        ("1,gpu,a=b,c=d", "more than"),
    ],
)  # fmt: skip
def test_what_is_no_device_directive(text: str, why: str):
    with pytest.raises(DirectiveError, match=why):
        parse_device(text)
