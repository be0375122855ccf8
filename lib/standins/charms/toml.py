# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The shape of /etc/containerd/config.toml on Charmed Kubernetes. Pure.

Source: charm-containerd 82d0953, config_v2.toml: no `imports` line, so files in conf.d count for
nothing, and `SystemdCgroup` is false.
"""

_CRI = 'plugins."io.containerd.grpc.v1.cri".containerd'


def render(runtime: str) -> str:
    """Return the configuration whose default runtime is the one named."""
    lines = [
        "version = 2",
        'root = "/var/lib/containerd"',
        'state = "/run/containerd"',
        "",
        f"[{_CRI}]",
        f'default_runtime_name = "{runtime}"',
        "",
        *_section("runc", ""),
    ]
    if runtime != "runc":
        lines += ["", *_section(runtime, f"/usr/bin/{runtime}")]
    return "\n".join(lines) + "\n"


def _section(runtime: str, binary: str) -> list[str]:
    """Return the tables of one runtime."""
    options = [f'BinaryName = "{binary}"'] if binary else []
    return [
        f"[{_CRI}.runtimes.{runtime}]",
        'runtime_type = "io.containerd.runc.v2"',
        f"[{_CRI}.runtimes.{runtime}.options]",
        *options,
        "SystemdCgroup = false",
    ]
