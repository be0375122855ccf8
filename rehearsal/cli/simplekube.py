# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A small kubectl for machines that have none: get, apply -f, delete, cordon, uncordon.

It asks the API as kubectl does: discovery for the names of resources, the server's own tables,
server-side apply. Everything else is refused by name.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import yaml

from rehearsal.cli import table
from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer

Object = dict[str, Any]
FORMS = ("", "wide", "json", "yaml", "name")


class KubectlError(Exception):
    """What kubectl prints after `error:` or `Error from server`."""


@dataclass(slots=True)
class Words:
    """The words of a command and the options that are understood."""

    words: list[str] = field(default_factory=lambda: list[str]())
    namespace: str = "default"
    everywhere: bool = False
    form: str = ""
    labels: str = ""
    files: list[str] = field(default_factory=lambda: list[str]())


def run(api: ApiServer, words: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Run one command; return its exit status."""
    verbs = {"get": _get, "apply": _apply, "delete": _delete, "cordon": _cordon}
    verbs["uncordon"] = _cordon
    try:
        parsed = _parse(words)
        if not parsed.words or parsed.words[0] not in verbs:
            known = ", ".join(sorted(verbs))
            raise KubectlError(f"error: without a kubectl on PATH there are only {known}")
        verbs[parsed.words[0]](Client(api), parsed, out)
    except KubectlError as error:
        err.write(f"{error}\n")
        return 1
    return 0


_VALUED = {"-n": "namespace", "--namespace": "namespace", "-o": "form", "--output": "form"}
_VALUED |= {"-l": "labels", "--selector": "labels", "-f": "files", "--filename": "files"}


def _parse(words: Sequence[str]) -> Words:
    parsed, rest = Words(), list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if len(name) > 2 and name[:2] in ("-n", "-o", "-l", "-f") and not name.startswith("--"):
            name, equals, value = word[:2], "=", word[2:]
        if name in ("-A", "--all-namespaces"):
            parsed.everywhere = True
        elif name in _VALUED:
            if not equals and not rest:
                raise KubectlError(f"error: flag needs an argument: {name}")
            given = value if equals else rest.pop(0)
            key = _VALUED[name]
            setattr(parsed, key, [*parsed.files, given] if key == "files" else given)
        elif word.startswith("-") and word != "-":
            raise KubectlError(f"error: unknown flag: {name}")
        else:
            parsed.words.append(word)
    if parsed.form not in FORMS:
        raise KubectlError(f"error: unable to match a printer suitable for {parsed.form!r}")
    return parsed


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource of the API, by discovery."""

    base: str
    plural: str
    kind: str
    namespaced: bool
    group: str

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of an object or a list; the namespace may be empty."""
        where = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{self.base}{where}/{self.plural}" + (f"/{name}" if name else "")

    @property
    def title(self) -> str:
        """Return how messages call the resource."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Client:
    """Asks the API as the cluster's administrator."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def ask(
        self, method: str, path: str, query: Mapping[str, str], body: bytes, **headers: str
    ) -> Object:
        """Return the document that the API answers.

        Raises:
            KubectlError: The API refused, in kubectl's words.
        """
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given |= {"authorization": f"Bearer {ADMIN_TOKEN}"}
        response = self._api.handle(ApiRequest(method, path, dict(query), given, body))
        document: Object = json.loads(response.body)
        if response.status >= 400:
            reason, message = document.get("reason", ""), document.get("message", "")
            raise KubectlError(f"Error from server ({reason}): {message}")
        return document

    def kinds(self) -> Iterator[Kind]:
        """Yield every resource that can be listed."""
        bases = {"/api/v1": ""}
        for group in self.ask("GET", "/apis", {}, b"")["groups"]:
            version = group["preferredVersion"]["groupVersion"]
            bases[f"/apis/{version}"] = group["name"]
        for base, group in bases.items():
            for item in self.ask("GET", base, {}, b"")["resources"]:
                if "/" not in item["name"]:
                    names = (item["name"], item["kind"], item["namespaced"])
                    yield Kind(base, names[0], names[1], names[2], group)

    def find(self, word: str) -> Kind:
        """Return the resource that a word means.

        Raises:
            KubectlError: There is none.
        """
        for kind in self.kinds():
            names = {kind.plural, kind.kind.lower(), kind.title, SHORT.get(kind.plural, "")}
            if word.lower() in names:
                return kind
        raise KubectlError(f'error: the server doesn\'t have a resource type "{word}"')


SHORT = {
    "nodes": "no", "pods": "po", "namespaces": "ns", "daemonsets": "ds", "configmaps": "cm",
    "services": "svc", "serviceaccounts": "sa", "deployments": "deploy",
    "persistentvolumeclaims": "pvc", "persistentvolumes": "pv", "storageclasses": "sc",
    "customresourcedefinitions": "crd",
}  # fmt: skip


def _targets(client: Client, words: Sequence[str]) -> list[tuple[Kind, str]]:
    """Return kinds and names: `nodes`, `node a b`, `node/a pod/b`."""
    if not words:
        raise KubectlError("error: you must specify the type of resource")
    if any("/" in word for word in words):
        pairs = [word.partition("/") for word in words]
        return [(client.find(kind), name) for kind, _, name in pairs]
    kinds = [client.find(word) for word in words[0].split(",")]
    return [(kind, name) for kind in kinds for name in (words[1:] or [""])]


def _get(client: Client, parsed: Words, out: TextIO) -> None:
    targets = _targets(client, parsed.words[1:])
    query = {"labelSelector": parsed.labels} if parsed.labels else {}
    namespace = "" if parsed.everywhere else parsed.namespace
    found: list[Object] = []
    for kind, name in targets:
        path = kind.path(namespace, name)
        if parsed.form in ("", "wide"):
            accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
            rows = client.ask("GET", path, query, b"", accept=accept)
            _print_table(rows, parsed, namespace, kind, out)
            continue
        document = client.ask("GET", path, query, b"")
        items = document.get("items", [document])
        head = {"apiVersion": kind.base.removeprefix("/apis/").removeprefix("/api/")}
        found += [{**head, "kind": kind.kind, **item} for item in items]
    if parsed.form == "name":
        kinds = {kind.kind: kind for kind, _ in targets}
        for item in found:
            group = kinds[item["kind"]].group
            title = item["kind"].lower() + (f".{group}" if group else "")
            out.write(f"{title}/{item['metadata']['name']}\n")
    elif parsed.form in ("json", "yaml"):
        one = len(targets) == 1 and targets[0][1]
        whole = found[0] if one else {"apiVersion": "v1", "items": found, "kind": "List"}
        text = json.dumps(whole, indent=4) if parsed.form == "json" else yaml.safe_dump(whole)
        out.write(text.rstrip("\n") + "\n")


def _print_table(rows: Object, parsed: Words, namespace: str, kind: Kind, out: TextIO) -> None:
    """Print the server's table; columns of less weight only when asked for."""
    wide = parsed.form == "wide"
    columns = [
        index
        for index, column in enumerate(rows["columnDefinitions"])
        if wide or not column.get("priority")
    ]
    where = kind.namespaced and not namespace
    header = [rows["columnDefinitions"][index]["name"].upper() for index in columns]
    lines = [[str(row["cells"][index]) for index in columns] for row in rows["rows"]]
    if where:
        spaces = [row["object"]["metadata"].get("namespace", "") for row in rows["rows"]]
        header = ["NAMESPACE", *header]
        lines = [[space, *line] for space, line in zip(spaces, lines, strict=True)]
    if not lines:
        within = f" in {namespace} namespace" if kind.namespaced and namespace else ""
        sys.stderr.write(f"No resources found{within}\n")
        return
    out.write(table.render(header, lines) + "\n")


def _documents(files: Sequence[str]) -> list[Object]:
    """Return the objects of files; `-` is what comes in."""
    if not files:
        raise KubectlError("error: must specify -f")
    found: list[Object] = []
    for name in files:
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text()
            found += [item for item in yaml.safe_load_all(text) if item]
        except (OSError, yaml.YAMLError) as error:  # noqa: PERF203  (names the file)
            raise KubectlError(f"error: {name}: {error}") from error
    return [inner for item in found for inner in item.get("items", [item])]


def _place(client: Client, item: Object, parsed: Words) -> tuple[Kind, str]:
    """Return kind and path of an object of a file."""
    kind = next(
        (
            found
            for found in client.kinds()
            if found.kind == item.get("kind")
            and found.base in (f"/api/{item.get('apiVersion')}", f"/apis/{item.get('apiVersion')}")
        ),
        None,
    )
    if kind is None:
        raise KubectlError(f'error: no matches for kind "{item.get("kind")}"')
    metadata = item.setdefault("metadata", {})
    if kind.namespaced:
        metadata.setdefault("namespace", parsed.namespace)
    return kind, kind.path(metadata.get("namespace", ""), str(metadata.get("name", "")))


def _apply(client: Client, parsed: Words, out: TextIO) -> None:
    for item in _documents(parsed.files):
        kind, path = _place(client, item, parsed)
        query = {"fieldManager": "kubectl", "force": "true"}
        kinds = "application/apply-patch+yaml"
        client.ask("PATCH", path, query, json.dumps(item).encode(), content_type=kinds)
        title = kind.kind.lower() + (f".{kind.group}" if kind.group else "")
        out.write(f"{title}/{item['metadata']['name']} serverside-applied\n")


def _delete(client: Client, parsed: Words, out: TextIO) -> None:
    if parsed.files:
        places = [_place(client, item, parsed) for item in _documents(parsed.files)]
    else:
        targets = _targets(client, parsed.words[1:])
        if any(not name for _, name in targets):
            raise KubectlError("error: resource(s) were provided, but no name was specified")
        places = [(kind, kind.path(parsed.namespace, name)) for kind, name in targets]
    for kind, path in places:
        client.ask("DELETE", path, {}, b"")
        title = kind.kind.lower() + (f".{kind.group}" if kind.group else "")
        out.write(f'{title} "{path.rpartition("/")[2]}" deleted\n')


def _cordon(client: Client, parsed: Words, out: TextIO) -> None:
    verb, *names = parsed.words
    if not names:
        raise KubectlError(f"error: USAGE: {verb} NODE")
    kind = client.find("nodes")
    for word in names:
        name = word.removeprefix("node/")
        patch = {"spec": {"unschedulable": True if verb == "cordon" else None}}
        kinds = "application/merge-patch+json"
        client.ask(
            "PATCH", kind.path(name=name), {}, json.dumps(patch).encode(), content_type=kinds
        )
        out.write(f"node/{name} {verb}ed\n")
