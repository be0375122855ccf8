# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The container toolkit: packages, settings, and what containerd says of it."""

import pytest

import toolkit
from charmkit.errors import InterventionError
from standins.charms.toml import render

OFFERED = dict.fromkeys(toolkit.list_packages(), "1.20.0-1")

SHIPPED = """#accept-nvidia-visible-devices-as-volume-mounts = false
#accept-nvidia-visible-devices-envvar-when-unprivileged = true
disable-require = false

[nvidia-container-cli]
environment = []
"""
"""Shape of the file that the toolkit's package ships: settings in comments, then tables."""

OURS = """accept-nvidia-visible-devices-envvar-when-unprivileged = false
accept-nvidia-visible-devices-as-volume-mounts = true
"""


def test_the_toolkit_is_installed_with_all_its_parts_at_one_version() -> None:
    assert toolkit.plan_packages({}, OFFERED) == OFFERED


def test_parts_of_another_version_are_left_to_apt() -> None:
    offered = {**OFFERED, "libnvidia-container1": "1.13.5-1"}
    assert "libnvidia-container1" not in toolkit.plan_packages({}, offered)


def test_a_toolkit_that_is_there_is_not_touched() -> None:
    assert toolkit.plan_packages({"nvidia-container-toolkit": "1.13.5-1"}, OFFERED) == {}


def test_sources_without_a_toolkit_are_named_by_their_options() -> None:
    with pytest.raises(InterventionError) as caught:
        toolkit.plan_packages({}, {})
    assert str(caught.value) == (
        "no nvidia-container-toolkit in the apt sources: set repository and repository-key"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", OURS),
        (SHIPPED, OURS + "disable-require = false\n\n[nvidia-container-cli]\nenvironment = []\n"),
        (
            "accept-nvidia-visible-devices-envvar-when-unprivileged = true\n[a]\nb = 1\n",
            OURS + "[a]\nb = 1\n",
        ),
        (
            "[a]\naccept-nvidia-visible-devices-as-volume-mounts = 1\n",
            OURS + "[a]\naccept-nvidia-visible-devices-as-volume-mounts = 1\n",
        ),
    ],
    ids=["no-file", "as-shipped", "edited", "same-word-in-a-table"],
)
def test_a_container_that_asked_for_nothing_sees_no_gpu(before: str, after: str) -> None:
    assert toolkit.render_config(before) == after
    assert toolkit.render_config(after) == after


@pytest.mark.parametrize(
    ("text", "handler"),
    [
        (None, ""),
        ("", ""),
        (render("runc"), ""),
        (render("nvidia-container-runtime"), "nvidia-container-runtime"),
        ('[plugins."io.containerd.grpc.v1.cri".containerd.runtimes."nvidia".options]\n', "nvidia"),
    ],
    ids=["none-yet", "empty", "runc", "charmed-kubernetes", "quoted"],
)
def test_containerds_configuration_tells_the_handler(text: str | None, handler: str) -> None:
    assert toolkit.find_handler(text) == handler


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        (None, False),
        (render("runc"), True),
        (render("nvidia-container-runtime"), False),
        ('imports = ["/etc/containerd/conf.d/*.toml"]\n', False),
    ],
    ids=["none-yet", "runc", "nvidia", "canonical-kubernetes"],
)
def test_a_node_whose_containerd_knows_no_nvidia_runtime_is_named(
    text: str | None, gap: bool
) -> None:
    message = (
        "containerd has no NVIDIA runtime: set runtime=nvidia-container-runtime on its application"
    )
    assert toolkit.find_containerd_gap(text) == (message if gap else None)


def test_a_toolkit_that_containerd_names_must_stay() -> None:
    assert toolkit.is_named_by_containerd(render("nvidia-container-runtime"))
    assert not toolkit.is_named_by_containerd(None)
