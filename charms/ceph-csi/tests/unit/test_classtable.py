# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The table of classes: what it takes, and how it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charmkit.errors import MESSAGE_LIMIT, ConfigError
from classtable import ClassRow, find_old_kernels, find_row_warnings, parse_table


def test_a_row_has_sensible_defaults() -> None:
    (row,) = parse_table("- {name: ceph-rbd, kind: rbd}")
    assert row == ClassRow("ceph-rbd", "rbd")
    assert (row.reclaim, row.binding, row.fs_type, row.expand) == (
        "Delete",
        "Immediate",
        "ext4",
        True,
    )


def test_every_key_of_a_row_is_read() -> None:
    (rbd, cephfs) = parse_table(
        "[{name: a, kind: rbd, cluster: ceph-mon, pool: p, data-pool: ec, reclaim: Retain,"
        " binding: WaitForFirstConsumer, fs-type: xfs, mounter: rbd-nbd, image-features: layering,"
        " encrypted: true, expand: false, default: true},"
        " {name: b, kind: cephfs, file-system: fs, pool: d, mounter: fuse}]"
    )
    assert rbd.data_pool == "ec"
    assert (rbd.mounter, rbd.encrypted, rbd.expand, rbd.default) == ("rbd-nbd", True, False, True)
    assert (cephfs.file_system, cephfs.pool, cephfs.mounter) == ("fs", "d", "fuse")


@pytest.mark.parametrize("text", ["", "[]", "# nothing", "null"])
def test_an_empty_table_has_no_row(text: str) -> None:
    assert parse_table(text) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: b", "must be a list"),
        ("[a]", "entry 1 must be a map"),
        ("[{kind: rbd}]", "entry 1: name"),
        ("[{name: Ceph, kind: rbd}]", "entry 1: name"),
        ("[{name: a, kind: nfs}]", "a: kind must be rbd or cephfs, not 'nfs'"),
        ("[{name: a, kind: rbd, poool: x}]", "a: kind rbd has no 'poool'"),
        ("[{name: a, kind: cephfs, fs-type: xfs}]", "a: kind cephfs has no 'fs-type'"),
        ("[{name: a, kind: rbd, binding: Late}]", "a: binding must be Immediate or Wait"),
        ("[{name: a, kind: rbd, fs-type: btrfs}]", "a: fs-type must be ext4 or xfs"),
        ("[{name: a, kind: rbd, mounter: fuse}]", "a: mounter must be rbd or rbd-nbd"),
        ("[{name: a, kind: rbd, encrypted: 'yes'}]", "a: encrypted must be true or false"),
        ("[{name: a, kind: rbd, pool: 'x, allow *'}]", "a: pool must be a name"),
        (
            "[{name: a, kind: cephfs, mounter: fuse, encrypted: true}]",
            "a: encrypted needs mounter kernel, fuse cannot encrypt",
        ),
        ("[{name: a, kind: rbd, pool: 3}]", "a: pool must be a name"),
        ("[{name: a, kind: rbd}, {name: a, kind: cephfs}]", "a is listed twice"),
        ("[{", "no YAML"),
        ("[&a {name: x, kind: rbd, pool: *a}]", "YAML alias"),
    ],
)
def test_a_mistake_is_named_with_class_and_key(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_table(text)


def test_c04_an_invalid_reclaim_policy_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(ValueError, match="ceph-xfs: reclaim must be Delete or Retain, not 'keep'"):
        parse_table("[{name: ceph-xfs, kind: rbd, reclaim: keep}]")


def test_c05_two_default_rows_are_named_both() -> None:
    with pytest.raises(ValueError, match="a, b are all default, keep one"):
        parse_table("[{name: a, kind: rbd, default: true}, {name: b, kind: rbd, default: true}]")


@pytest.mark.parametrize(
    ("kind", "key", "meant"),
    [
        ("rbd", "reclaimPolicy", "reclaim"),
        ("rbd", "volumeBindingMode", "binding"),
        ("rbd", "fsType", "fs-type"),
        ("rbd", "imageFeatures", "image-features"),
        ("rbd", "dataPool", "data-pool"),
        ("cephfs", "fsName", "file-system"),
        ("rbd", "poool", "pool"),
        ("cephfs", "mount-options", ""),
    ],
)
def test_a_key_that_is_spelt_as_the_api_does_is_told_with_ours(
    kind: str, key: str, meant: str
) -> None:
    hint = f", did you mean {meant}" if meant else ""
    with pytest.raises(ValueError, match=f"a: kind {kind} has no '{key}'{hint}$"):
        parse_table(f"[{{name: a, kind: {kind}, {key}: x}}]")


@pytest.mark.parametrize(
    "text",
    [
        "'layering, exclusive-lock'",
        "[layering, ' exclusive-lock ']",
        "layering exclusive-lock",
    ],
)
def test_c09_blanks_around_image_features_do_not_count(text: str) -> None:
    (row,) = parse_table(f"[{{name: a, kind: rbd, image-features: {text}}}]")
    assert row.features == ("layering", "exclusive-lock")


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        ("'layering,stripy'", "image-features has no 'stripy'"),
        ("object-map", "object-map needs exclusive-lock"),
        ("'exclusive-lock,fast-diff'", "fast-diff needs object-map"),
        ("'exclusive-lock,journaling'", "journaling needs mounter rbd-nbd"),
    ],
)
def test_c09_features_that_no_image_can_have_are_refused(features: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_table(f"[{{name: a, kind: rbd, image-features: {features}}}]")


def test_c09_nodes_whose_kernel_is_too_old_are_named() -> None:
    row = ClassRow("a", "rbd", features=("layering", "exclusive-lock", "object-map"))
    assert find_old_kernels(row, {"old": (4, 15), "new": (6, 8)}) == ["old"]
    assert find_old_kernels(ClassRow("a", "rbd"), {"old": (4, 4)}) == []


@pytest.mark.parametrize(
    ("row", "warning"),
    [
        (ClassRow("a", "cephfs", encrypted=True), "a: encrypted needs a newer kernel on jammy"),
        (ClassRow("a", "cephfs"), ""),
        (ClassRow("a", "rbd", encrypted=True), ""),
        (ClassRow("a", "rbd", features=("exclusive-lock",)), "a: image-features lack layering"),
        (ClassRow("a", "rbd", features=()), "a: image-features lack layering"),
    ],
    ids=["cephfs-encrypted", "cephfs", "rbd-encrypted", "no-layering", "no-feature"],
)
def test_what_volumes_of_a_class_lack_is_a_warning(row: ClassRow, warning: str) -> None:
    found = find_row_warnings(row, {"jammy": (5, 15), "noble": (6, 8)})
    assert len(found) == bool(warning)
    assert all(text.startswith(warning) for text in found)


@given(st.text())
def test_any_text_is_a_table_or_one_line_that_names_the_option(text: str) -> None:
    try:
        parse_table(text)
    except ValueError as error:
        line = str(ConfigError("storage-classes", str(error)))
        assert len(line) <= MESSAGE_LIMIT
        assert "\n" not in line


LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@given(st.lists(st.dictionaries(st.sampled_from(["name", "kind", "pool", "default"]), LEAF)))
def test_any_rows_are_a_table_or_refused(rows: list[dict[str, object]]) -> None:
    import json

    try:
        parse_table(json.dumps(rows))
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either is right
