# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A control plane of real Kubernetes: etcd, API server, and if wanted controllers and scheduler.

    with control_plane(Options(controllers=ALL_BUT_NODE_LIFECYCLE, scheduler=True)) as cluster:
        cluster.kube(cluster.admin).list(NODE)

Everything of it is in one folder, listens on one address and ends with it. RBAC is on, requests
are written to an audit log, and nobody but the users made here gets in.
"""

import contextlib
import secrets
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from charmkit.credentials import Credentials
from charmkit.kube import Kube
from tests.functional.kubernetes import binaries, readiness
from tests.functional.kubernetes.certificates import Authority
from tests.functional.kubernetes.processes import Program, held_ports

START_SECONDS = 120.0
"""Ready after 3 s on idle cores, 8 s on busy ones; the rest is for a machine that swaps."""

READ_SECONDS = 60.0
"""A test waits for a server on a machine that is busy; a hook would not."""

SERVICE_ADDRESS = "10.96.0.1"
"""Of the Service `kubernetes`: the first of the range that the API server is given."""

ALL_BUT_NODE_LIFECYCLE = "*,-node-lifecycle-controller,-taint-eviction-controller"
"""For nodes made by hand: with these two they turn NotReady for want of heartbeats and their pods
are evicted, both by the clock on the wall."""

ADMIN, VISITOR = "admin", "visitor"
MASTERS = "system:masters"
MANAGER, SCHEDULER = "system:kube-controller-manager", "system:kube-scheduler"
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Options:
    """What a control plane is made of.

    Attributes:
        controllers: Those of kube-controller-manager; empty leaves it out. Without it nobody
            counts disruption budgets, makes pods or default ServiceAccounts, or collects garbage.
        scheduler: Whether kube-scheduler runs.
        address: Where everything listens.
        within: Command that starts a program somewhere else, such as a network namespace.
        api_flags: Further flags of the API server; a later one wins.
        tokens: Further static tokens with the user and the groups that each stands for.
    """

    controllers: str = ""
    scheduler: bool = False
    address: str = "127.0.0.1"
    within: Sequence[str] = ()
    api_flags: Sequence[str] = ()
    tokens: Sequence[tuple[str, str, Sequence[str]]] = ()


@dataclass(slots=True)
class ControlPlane:
    """One that runs.

    Attributes:
        folder: Everything of it: logs, keys, `audit.log`.
        ports: Those of etcd's peers, the controllers and the scheduler.
        url: Where the API is.
        authority: Signs for further users and servers of this cluster.
        admin_token: Opens everything.
        visitor_token: Of a user who may do nothing.
        store: Where etcd is.
        programs: In the order in which they started.
    """

    folder: Path
    ports: Sequence[int]
    url: str
    authority: Authority
    admin_token: str
    visitor_token: str
    store: str
    programs: list[Program] = field(default_factory=list)

    @property
    def admin(self) -> Credentials:
        """Credentials of the administrator."""
        return self.credentials(self.admin_token, ADMIN)

    @property
    def audit_log(self) -> Path:
        """One JSON document a line for each request."""
        return self.folder / "audit.log"

    @property
    def kubeconfig(self) -> Path:
        """Of the administrator, for kubectl."""
        return self.authority.folder / f"{ADMIN}.kubeconfig"

    def credentials(self, token: str, user: str, source: str = "test") -> Credentials:
        """Return credentials for a token of this cluster."""
        return Credentials((self.url,), token, self.authority.certificate, user, source)

    def kube(self, credentials: Credentials, manager: str = "charm-a") -> Kube:
        """Return the gateway of the charms, more patient than theirs; close it at the end."""
        return Kube(credentials, manager=manager, read_seconds=READ_SECONDS)

    def client(self, token: str = "") -> httpx2.Client:
        """Return a client for raw requests, the administrator's unless a token is given."""
        tls = ssl.create_default_context(cadata=self.authority.certificate)
        headers = {"Authorization": f"Bearer {token or self.admin_token}"}
        return httpx2.Client(
            base_url=self.url,
            verify=tls,
            headers=headers,
            trust_env=False,
            timeout=READ_SECONDS,
        )

    def stop(self) -> None:
        """Stop everything, the last first: an API server whose etcd is gone hangs in its end."""
        while self.programs:
            self.programs.pop().stop()


@contextlib.contextmanager
def control_plane(
    options: Options | None = None, folder: Path | None = None
) -> Iterator[ControlPlane]:
    """Run a control plane for the time of a block.

    Args:
        options: What it is made of; an API server alone by default.
        folder: Where it lives, empty or not there yet, with a short path; it stays. None means
            a temporary one that goes with the block.

    Raises:
        MissingProgramError: A program is not to be had.
        StartError: One did not start.
    """
    wanted = options or Options()
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kube-")))
        # Of a place somewhere else nothing can be kept here; nobody else is there either.
        address = "127.0.0.1" if wanted.within else wanted.address
        ports = stack.enter_context(held_ports(5, address))
        cluster = _prepare(folder, wanted, ports)
        stack.callback(cluster.stop)
        _start(cluster, wanted)
        yield cluster


def _prepare(folder: Path, options: Options, ports: Sequence[int]) -> ControlPlane:
    """Make the keys, kubeconfigs and tokens of a cluster at ports that are kept for it."""
    folder.mkdir(parents=True, exist_ok=True)
    authority = Authority(folder / "pki")
    port, store, *others = ports
    url = f"https://{options.address}:{port}"
    names = ["localhost", "kubernetes.default.svc", "127.0.0.1", SERVICE_ADDRESS]
    authority.server("apiserver", [*dict.fromkeys([*names, options.address])])
    authority.key_pair("accounts")
    for name, user, groups in (
        (ADMIN, ADMIN, (MASTERS,)),
        ("manager", MANAGER, ()),
        ("scheduler", SCHEDULER, ()),
    ):
        authority.client(name, user, groups)
        authority.kubeconfig(name, url)
    admin, visitor = secrets.token_hex(16), secrets.token_hex(16)
    where = f"http://{options.address}:{store}"
    cluster = ControlPlane(folder, others, url, authority, admin, visitor, where)
    _write_tokens(cluster, options)
    return cluster


def _write_tokens(cluster: ControlPlane, options: Options) -> None:
    rows = [
        (cluster.admin_token, ADMIN, (MASTERS,)),
        (cluster.visitor_token, VISITOR, ()),
        *options.tokens,
    ]
    lines = [
        f'{token},{user},uid-{number},"{",".join(groups)}"\n'
        for number, (token, user, groups) in enumerate(rows)
    ]
    path = cluster.authority.folder / "tokens.csv"
    path.touch(mode=0o600)
    path.write_text("".join(lines))


def _start(cluster: ControlPlane, options: Options) -> None:
    peer, manager, scheduler = cluster.ports
    _run(cluster, options, "etcd", _etcd_flags(cluster, f"http://{options.address}:{peer}"))
    api = _run(cluster, options, "kube-apiserver", _api_flags(cluster, options))
    read = _reader(cluster, options)
    api.wait_for(lambda: _is_ready(cluster, read), START_SECONDS)
    if options.controllers:
        flags = _manager_flags(cluster, options, manager)
        program = _run(cluster, options, "kube-controller-manager", flags)
        if "*" in options.controllers.split(","):
            program.wait_for(lambda: readiness.is_furnished(read), START_SECONDS)
    if options.scheduler:
        flags = _common_flags(cluster, options, "scheduler", scheduler)
        _run(cluster, options, "kube-scheduler", flags)


def _is_ready(cluster: ControlPlane, read: readiness.Read) -> bool:
    """Ask the API server, while etcd runs: one that ended would be known by no word of its own."""
    for program in cluster.programs:
        program.require_running()
    return readiness.is_ready(read)


def _run(cluster: ControlPlane, options: Options, name: str, flags: Sequence[str]) -> Program:
    command = [*options.within, str(binaries.find(name)), *flags]
    program = Program(name, command, cluster.folder)
    cluster.programs.append(program)
    return program


def _etcd_flags(cluster: ControlPlane, peer: str) -> list[str]:
    return [
        f"--data-dir={cluster.folder / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={cluster.store}",
        f"--advertise-client-urls={cluster.store}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]


def _api_flags(cluster: ControlPlane, options: Options) -> list[str]:
    """Flags of the API server.

    There is no endpoint reconciler, as Endpoints may not hold an address of loopback.
    """
    pki = cluster.authority.folder
    return [
        f"--etcd-servers={cluster.store}",
        f"--bind-address={options.address}",
        f"--secure-port={cluster.url.rpartition(':')[2]}",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--token-auth-file={pki / 'tokens.csv'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki / 'accounts.pub'}",
        f"--service-account-signing-key-file={pki / 'accounts.key'}",
        f"--audit-policy-file={_HERE / 'audit-policy.yaml'}",
        f"--audit-log-path={cluster.audit_log}",
        "--profiling=false",
        *options.api_flags,
    ]


def _manager_flags(cluster: ControlPlane, options: Options, port: int) -> list[str]:
    pki = cluster.authority.folder
    return [
        *_common_flags(cluster, options, "manager", port),
        f"--controllers={options.controllers}",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={pki / 'accounts.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
    ]


def _common_flags(cluster: ControlPlane, options: Options, user: str, port: int) -> list[str]:
    return [
        f"--kubeconfig={cluster.authority.folder / f'{user}.kubeconfig'}",
        f"--bind-address={options.address}",
        f"--secure-port={port}",
        "--leader-elect=false",
    ]


def _reader(cluster: ControlPlane, options: Options) -> readiness.Read:
    """Return the way to ask the API server from the place where it is."""
    if not options.within:
        return readiness.over(cluster.client)
    kubectl = [str(binaries.find("kubectl")), f"--kubeconfig={cluster.kubeconfig}"]
    return readiness.by([*options.within, *kubectl])
