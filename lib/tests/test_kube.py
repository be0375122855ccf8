# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gateway to a cluster: which errors come out, and how servers that fail are survived."""

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2
import lightkube
import pytest

from charmkit import connection, errors
from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ConflictError, ForbiddenError, NotReadyError
from charmkit.kinds import CONFIG_MAP, KINDS, NODE, POD, Kind, kind_of
from charmkit.kube import Kube
from charmkit.refusals import (
    Action,
    Answer,
    Cause,
    InvalidObjectError,
    MalformedRequestError,
    UnauthorizedError,
    error_of,
)
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.eviction import count_budgets
from standins.kubernetes.transport import ApiTransport

TOKEN = "s3cret-of-the-unit"
NOW = 1_796_000_000.0
STATUS = '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s","code":%d}'


Behaviour = Callable[[httpx2.Request], httpx2.Response]


class Servers(httpx2.BaseTransport):
    """Several servers: each says what it does with a request, and what it got is kept."""

    def __init__(self, **servers: Behaviour) -> None:
        self._servers = servers
        self.seen: list[str] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(f"{request.method} {request.url.host}")
        return self._servers[request.url.host](request)


def down(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("connection refused", request=request)


def says(code: int, body: str = "", kind: str = "application/json") -> Behaviour:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(code, headers={"Content-Type": kind}, content=body.encode())

    return answer


def node(request: httpx2.Request) -> httpx2.Response:
    content = '{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","resourceVersion":"1"}}'
    return httpx2.Response(200, headers={"Content-Type": "application/json"}, content=content)


LONG = 60.0
"""Seconds for a read and its connection: more than any machine needs for them."""


@pytest.fixture(autouse=True)
def one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a read ask each server once, however long that takes: a pause would last too long."""
    monkeypatch.setattr(connection, "PAUSE_SECONDS", 2 * LONG)
    monkeypatch.setattr(connection, "CONNECT_SECONDS", LONG)


def kube_of(transport: httpx2.BaseTransport, *hosts: str) -> Kube:
    servers = tuple(f"https://{host}" for host in hosts or ("a",))
    credentials = Credentials(servers, TOKEN, "", "someone", "kube-control")
    return Kube(credentials, manager="m", transport=transport, read_seconds=LONG)


# What an answer means


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (401, "Unauthorized", UnauthorizedError),
        (403, 'User "x" cannot get resource "nodes" in API group ""', ForbiddenError),
        (409, "the object has been modified", ConflictError),
        (410, "too old resource version", NotReadyError),
        (429, "too many requests", NotReadyError),
        (500, 'failed calling webhook "w": connection refused', NotReadyError),
        (503, "apiserver is shutting down", NotReadyError),
        (422, "policy 'p' denied request: at most 5", ForbiddenError),
        (400, "bad", MalformedRequestError),
        (415, "no such format", MalformedRequestError),
        (422, "spec.x: Invalid value", InvalidObjectError),
        (422, 'admission webhook "w" denied the request: no', ForbiddenError),
        (400, 'admission webhook "w" denied the request: no', ForbiddenError),
        (500, "failed to create typed patch object (a/b; v1): .x: field", MalformedRequestError),
        (501, "not implemented", MalformedRequestError),
    ],
)
def test_the_status_code_decides_the_error(code: int, message: str, kind: type) -> None:
    kube = kube_of(Servers(a=says(code, STATUS % (message.replace('"', r"\""), code))))
    with pytest.raises(Exception) as refusal:  # noqa: PT011 - the class is what is tested
        kube.find(NODE, "n1")
    assert type(refusal.value) is kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html>gateway time-out</html>", "text/html"),
        ("<html>gateway time-out</html>", "application/json"),
        ('{"error": "no healthy upstream"}', "application/json"),
        ("null", "application/json"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("code", [502, 503])
def test_a_proxy_that_answers_in_its_own_way_means_waiting(
    code: int, body: str, kind: str
) -> None:
    with pytest.raises(NotReadyError, match=f"answers {code}"):
        kube_of(Servers(a=says(code, body, kind))).find(NODE, "n1")


def test_a_portal_that_answers_200_to_everything_is_no_api_server() -> None:
    with pytest.raises(NotReadyError, match="https://a is no API server"):
        kube_of(Servers(a=says(200, "<html>log in</html>", "text/html"))).find(NODE, "n1")


@pytest.mark.parametrize(
    "failure",
    [httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ReadTimeout, httpx2.ReadError,
     httpx2.RemoteProtocolError],
    ids=lambda kind: kind.__name__,
)  # fmt: skip
@pytest.mark.parametrize("call", ["find", "list", "patch", "delete", "evict"])
def test_no_failure_of_the_library_leaves_the_gateway(
    failure: type[httpx2.TransportError], call: str
) -> None:
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise failure("broken", request=request)

    kube = kube_of(Servers(a=fail))
    calls: dict[str, Callable[[], object]] = {
        "find": lambda: kube.find(NODE, "n"),
        "list": lambda: kube.list(NODE),
        "patch": lambda: kube.patch(NODE, "n", {}),
        "delete": lambda: kube.delete(NODE, "n"),
        "evict": lambda: kube.evict("p", "ns"),
    }
    with pytest.raises(NotReadyError, match="no answer from https://a"):
        calls[call]()


def test_our_errors_are_no_errors_of_the_library() -> None:
    theirs = (httpx2.HTTPError, httpx2.InvalidURL, lightkube.ApiError)
    ours = (CharmkitError, MalformedRequestError, UnauthorizedError)
    assert not any(issubclass(own, foreign) for own in ours for foreign in theirs)
    assert not any(issubclass(foreign, CharmkitError) for foreign in theirs)
    assert not issubclass(MalformedRequestError, CharmkitError)


def test_a_namespace_that_ends_means_waiting_and_not_forbidden() -> None:
    causes = (Cause("NamespaceTerminating", "x"),)
    answer = Answer(403, "unable to create new content in namespace t1", causes)
    credentials = Credentials(("https://a",), "", "", "u", "account")
    error = error_of(Action("patch", "configmaps", "t1/m"), answer, credentials)
    assert isinstance(error, NotReadyError)
    assert str(error) == "configmaps t1/m: waiting for its namespace to be gone"


def test_a_refusal_that_is_no_role_names_the_reason_of_the_cluster() -> None:
    message = 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=9'
    credentials = Credentials(("https://a",), "", "", "u", "account")
    error = error_of(Action("create", "pods", "t1/p"), Answer(403, message), credentials)
    assert str(error).startswith("pods t1/p: refused by the cluster: exceeded quota: q")


def test_b14_a_missing_verb_is_named_with_its_cure_in_one_line() -> None:
    message = 'services is forbidden: User "u" cannot list resource "services" in API group ""'
    for source, cure in (
        ("account", "role dgx lacks it, it is written again at the next update"),
        ("cluster-secret", "user a:b:dgx of cluster-secret lacks it, grant it"),
    ):
        credentials = Credentials(("https://a",), TOKEN, "", "a:b:dgx", source)
        error = error_of(Action("list", "services"), Answer(403, message), credentials)
        assert str(error) == f"not allowed to list services; {cure}"
        assert isinstance(error, ForbiddenError)


def test_several_conflicts_are_one_line() -> None:
    causes = tuple(
        Cause("FieldManagerConflict", 'conflict with "b"', field)
        for field in (".spec.a", ".spec.b", ".spec.c")
    )
    credentials = Credentials(("https://a",), "", "", "u", "account")
    error = error_of(Action("patch", "nodes", "n"), Answer(409, "…", causes), credentials)
    assert str(error) == 'nodes n: "b" owns .spec.a and 2 more, let one of us go'


# Several servers


def test_a_read_goes_on_to_the_server_that_answers_and_stays_there() -> None:
    servers = Servers(a=down, b=says(503), c=node)
    kube = kube_of(servers, "a", "b", "c")
    assert kube.find(NODE, "n1") is not None
    kube.find(NODE, "n1")
    assert servers.seen == ["GET a", "GET b", "GET c", "GET c"]


def test_a_refusal_is_no_reason_to_ask_another_server() -> None:
    servers = Servers(a=says(403, STATUS % ("no", 403)), b=node)
    with pytest.raises(ForbiddenError):
        kube_of(servers, "a", "b").find(NODE, "n1")
    assert servers.seen == ["GET a"]


def test_a_write_is_sent_once_whatever_happens() -> None:
    servers = Servers(a=says(503))
    with pytest.raises(NotReadyError):
        kube_of(servers).patch(NODE, "n1", {})
    assert servers.seen == ["PATCH a"]


def test_the_first_write_looks_for_a_server_that_answers() -> None:
    def only_reads(request: httpx2.Request) -> httpx2.Response:
        return node(request)

    servers = Servers(a=down, b=only_reads)
    kube_of(servers, "a", "b").patch(NODE, "n1", {})
    assert servers.seen == ["GET a", "GET b", "PATCH b"]


def test_a_server_that_comes_back_in_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PAUSE_SECONDS", 0.01)
    answers = iter([down, down, node])

    def late(request: httpx2.Request) -> httpx2.Response:
        return next(answers)(request)

    assert kube_of(Servers(a=late)).find(NODE, "n1") is not None
    assert list(answers) == []


def test_one_read_gives_up_after_its_time() -> None:
    servers = Servers(a=down, b=down)
    with pytest.raises(NotReadyError, match="no answer from https://a, https://b"):
        kube_of(servers, "a", "b").find(NODE, "n1")
    assert servers.seen == ["GET a", "GET b"]


# The log


def test_requests_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        assert kube_of(Servers(a=node)).find(NODE, "n1") is not None
    assert caplog.records == []


# Secrets


def test_the_token_is_in_no_text_of_the_gateway() -> None:
    kube = kube_of(Servers(a=down))
    with pytest.raises(NotReadyError) as refusal:
        kube.find(NODE, "n1")
    texts = [repr(kube), repr(kube.credentials), str(kube.credentials), repr(refusal.value)]
    cause: BaseException | None = refusal.value
    while cause is not None:
        texts.append(repr(cause))
        cause = cause.__cause__ or cause.__context__
    assert not any(TOKEN in text for text in texts)


# What is asked for


def test_a_namespaced_kind_without_a_namespace_is_a_bug() -> None:
    with pytest.raises(ValueError, match="ConfigMap needs a namespace"):
        kube_of(Servers(a=node)).find(CONFIG_MAP, "m")


def test_a_delete_without_a_selector_is_a_bug() -> None:
    with pytest.raises(ValueError, match="empty selector"):
        kube_of(Servers(a=node)).delete_labelled((NODE,), "")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_kind_is_spelt_as_the_api_spells_it(kind: Kind) -> None:
    resource = ApiServer(lambda: NOW).resource(kind)
    assert (resource.plural, resource.namespaced) == (kind.plural, kind.namespaced)
    assert (resource.group, resource.version) == (kind.group, kind.version)
    assert kind_of(kind.api_version, kind.kind) == kind


def test_a_kind_that_is_not_listed_is_a_bug() -> None:
    with pytest.raises(LookupError, match="v1 Nodule is not listed"):
        kind_of("v1", "Nodule")


def test_every_error_of_the_gateway_has_a_status() -> None:
    assert issubclass(UnauthorizedError, errors.NotReadyError)


# Evictions


def test_an_eviction_under_a_budget_names_the_budget() -> None:
    api = ApiServer(lambda: NOW)
    kube = Kube(
        Credentials(("http://k",), ADMIN_TOKEN, "", "admin", "test"),
        manager="m",
        transport=ApiTransport(api),
    )
    ready = [{"type": "Ready", "status": "True"}]
    for name in ("g1", "g2"):
        api.put(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default", "labels": {"app": "gpu"}},
                "spec": {"containers": [{"name": "c", "image": "x"}]},
                "status": {"phase": "Running", "conditions": ready},
            }
        )
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "gpu", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "gpu"}}},
    }
    api.put(budget)
    with pytest.raises(NotReadyError, match="budget gpu is still being processed by the server"):
        kube.evict("g1", "default")
    count_budgets(api)
    kube.evict("g1", "default")
    with pytest.raises(NotReadyError) as refusal:
        kube.evict("g2", "default")
    assert str(refusal.value) == (
        "pods/eviction default/g2: The disruption budget gpu needs 1 healthy pods and has 2 "
        "currently"
    )
    count_budgets(api)
    assert kube.find(POD, "g1", "default") is None
    with pytest.raises(NotReadyError, match="needs 1 healthy pods and has 1 currently"):
        kube.evict("g2", "default")


# TLS


class _Quiet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","resourceVersion":"1"}}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


def _authority(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "tls.key", folder / "tls.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, str]]:
    key, certificate = _authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = HTTPServer(("127.0.0.1", 0), _Quiet)
    listener.socket = context.wrap_socket(
        listener.socket, server_side=True, do_handshake_on_connect=True
    )
    thread = threading.Thread(target=listener.serve_forever, args=(0.02,))
    thread.start()
    yield f"https://127.0.0.1:{listener.server_address[1]}", certificate.read_text()
    listener.shutdown()
    thread.join()
    listener.server_close()


def test_a_server_of_the_given_authority_is_trusted(server: tuple[str, str]) -> None:
    url, ca = server
    credentials = Credentials((url,), TOKEN, ca, "u", "kube-control")
    kube = Kube(credentials, manager="m", read_seconds=LONG)
    assert kube.find(NODE, "n") is not None
    kube.close()


def test_a_server_of_another_authority_gets_no_token(
    server: tuple[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    ca = _authority(other)[1].read_text()
    credentials = Credentials((server[0],), TOKEN, ca, "u", "kube-control")
    kube = Kube(credentials, manager="m", read_seconds=LONG)
    with pytest.raises(NotReadyError, match="not signed by the CA of kube-control"):
        kube.find(NODE, "n")
    kube.close()


def test_a_ca_that_is_no_certificate_is_named_by_its_source() -> None:
    kube = Kube(Credentials(("https://a",), TOKEN, "nonsense", "u", "cluster-secret"), manager="m")
    with pytest.raises(NotReadyError, match="cluster-secret: its CA is no certificate"):
        kube.find(NODE, "n")
