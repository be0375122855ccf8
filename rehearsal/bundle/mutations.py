# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Single faults for a bundle: what a tired admin mistypes, with the path where it must be found.

``python3 -m rehearsal.bundle.mutations BUNDLE [OVERLAY ...]`` prints the share that is found.
"""

import copy
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from rehearsal.bundle.check import check
from rehearsal.bundle.findings import Finding
from rehearsal.maas.inventory import default_inventory


@dataclass(frozen=True, slots=True)
class Mutation:
    """One fault: its kind, the path of a finding that names it, the data with the fault."""

    kind: str
    path: str
    data: dict[str, Any]
    other: str = ""
    """Another path that names the fault as well: the second end of a relation."""


def mutate(data: dict[str, Any]) -> Iterator[Mutation]:
    """Yield every single fault of one document, the document itself unchanged."""
    for maker in (
        _sections,
        _applications,
        _options,
        _placements,
        _relations,
        _charms,
        _added,
        _constraints,
        _machines,
        _omissions,
        _values,
    ):
        yield from maker(data)


def _with(data: dict[str, Any], path: Sequence[Any], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def _renamed(data: dict[str, Any], path: Sequence[Any], name: str) -> dict[str, Any]:
    changed = copy.deepcopy(data)
    place = changed
    for step in path[:-1]:
        place = place[step]
    items = [(name if key == path[-1] else key, value) for key, value in place.items()]
    place.clear()
    place.update(items)
    return changed


def _typo(text: str) -> str:
    """Return a text with its last two letters swapped, or one letter more."""
    swapped = text[:-2] + text[-1] + text[-2] if len(text) > 1 else text
    return swapped if swapped != text else text + "x"


def _bodies(data: dict[str, Any], key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the applications that have a key; one that an overlay takes out has none."""
    for name, body in data.get("applications", {}).items():
        if not key or key in (body or {}):
            yield name, body or {}


def _sections(data: dict[str, Any]) -> Iterator[Mutation]:
    for key in data:
        if key not in ("description", "tags"):
            yield Mutation("section name", _typo(key), _renamed(data, [key], _typo(key)))
    if "default-base" in data:
        for text in ("ubuntu", "noble", "ubuntu@", "ubuntu@24.4", "debian@12"):
            yield Mutation("base", "default-base", _with(data, ["default-base"], text))


def _applications(data: dict[str, Any]) -> Iterator[Mutation]:
    for name, body in _bodies(data):
        at = ["applications", name]
        for key, value in body.items():
            path = f"applications.{name}.{_typo(key)}"
            yield Mutation("key name", path, _renamed(data, [*at, key], _typo(key)))
            wrong = 7 if isinstance(value, list | dict) else ["x"]
            path = f"applications.{name}.{key}"
            yield Mutation("type", path, _with(data, [*at, key], wrong))
        if "charm" in body:
            path = f"applications.{name}"
            for text in ("ubuntu@22.4", "ubuntu"):
                changed = _with(data, [*at, "base"], text)
                yield Mutation("base", f"{path}.base", changed)
            changed = _with(data, [*at, "constraints"], "memory=8G")
            yield Mutation("constraints", f"{path}.constraints", changed)


def _options(data: dict[str, Any]) -> Iterator[Mutation]:
    for name, body in _bodies(data):
        for option, value in (body.get("options") or {}).items():
            at = ["applications", name, "options", option]
            path = f"applications.{name}.options.{option}"
            typo = f"applications.{name}.options.{_typo(option)}"
            yield Mutation("option name", typo, _renamed(data, at, _typo(option)))
            wrong: list[Any] = [["x"]]
            wrong += [1.35, True] if isinstance(value, str) else ["many", {"a": 1}]
            for item in wrong:
                yield Mutation("option type", path, _with(data, at, item))


def _placements(data: dict[str, Any]) -> Iterator[Mutation]:
    for name, body in _bodies(data):
        at, path = ["applications", name], f"applications.{name}"
        for index, _ in enumerate(body.get("to") or []):
            for text in ("nosuch/0", "lxd:", "99", "zone=a", "kvm:nosuch"):
                changed = _with(data, [*at, "to", index], text)
                yield Mutation("placement", f"{path}.to.{index}", changed)
        if "num_units" in body:
            yield Mutation("units", f"{path}.num_units", _with(data, [*at, "num_units"], -1))
            yield Mutation("units", f"{path}.num_units", _with(data, [*at, "num_units"], "3"))
            if body.get("to"):
                changed = _with(data, [*at, "num_units"], len(body["to"]) - 1)
                yield Mutation("units", f"{path}.to", changed)


def _relations(data: dict[str, Any]) -> Iterator[Mutation]:
    relations = data.get("relations") or []
    for index, ends in enumerate(relations):
        path = f"relations.{index}"
        for side, end in enumerate(ends):
            application, _, endpoint = end.partition(":")
            at = ["relations", index, side]
            for text in (f"{_typo(application)}:{endpoint}", f"{application}:{_typo(endpoint)}"):
                yield Mutation("end of a relation", path, _with(data, at, text))
        yield Mutation("relation", path, _with(data, ["relations", index], ends[:1]))
        changed = _with(data, ["relations"], [*relations, ends[::-1]])
        yield Mutation("relation twice", f"relations.{len(relations)}", changed)


def _charms(data: dict[str, Any]) -> Iterator[Mutation]:
    for name, body in _bodies(data, "charm"):
        at, path = ["applications", name, "charm"], f"applications.{name}.charm"
        for text in (f"{body['charm']}-7", f"dist/{name}.charm", "./nosuch.charm", "", "A_b"):
            yield Mutation("charm", path, _with(data, at, text))
        if "channel" in body:
            changed = _with(data, [*at[:-1], "channel"], "1.35/stabel")
            yield Mutation("channel", f"applications.{name}.channel", changed)


def _added(data: dict[str, Any]) -> Iterator[Mutation]:
    for name, body in _bodies(data, "charm"):
        at, path = ["applications", name], f"applications.{name}"
        for key, item, value in (
            ("bindings", "nosuch", "alpha"),
            ("resources", "nosuch", 3),
            ("storage", "nosuch", "1G"),
            ("options", "nosuch", "x"),
        ):
            changed = _with(data, [*at, key], {**(body.get(key) or {}), item: value})
            yield Mutation(f"unknown name in {key}", f"{path}.{key}.{item}", changed)
        yield Mutation("placement", f"{path}.to", _with(data, [*at, "to"], ["0", "1", "2", "3"]))


def _omissions(data: dict[str, Any]) -> Iterator[Mutation]:
    """Yield lines left out and values that are well formed but wrong."""
    for ends in data.get("relations") or []:
        rest = [other for other in data["relations"] if other is not ends]
        first, second = (f"applications.{end.partition(':')[0]}" for end in ends)
        yield Mutation("relation left out", first, _with(data, ["relations"], rest), second)
    for name, body in _bodies(data):
        at, path = ["applications", name], f"applications.{name}"
        for key in ("num_units", "charm"):
            if key in body:
                rest = {other: value for other, value in body.items() if other != key}
                yield Mutation(f"{key} left out", f"{path}.{key}", _with(data, at, rest))
        if "tags=" in str(body.get("constraints", "")):
            changed = _with(data, [*at, "constraints"], _typo(body["constraints"]))
            yield Mutation("tag", path, changed)


def _constraints(data: dict[str, Any]) -> Iterator[Mutation]:
    for name, _ in _bodies(data, "charm"):
        at, path = ["applications", name, "constraints"], f"applications.{name}.constraints"
        for text in ("cores=two", "mem=8GB", "mem=4G,cores=2", "cores=2 cores=4", "arch=x86_64"):
            yield Mutation("constraint value", path, _with(data, at, text))


def _machines(data: dict[str, Any]) -> Iterator[Mutation]:
    if not data.get("applications"):
        return
    for name, body in (("gpu", {}), ("0", {}), ("0", {"constraints": "tag=gpu"})):
        machines = {**(data.get("machines") or {}), name: body}
        path = f"machines.{name}" + (".constraints" if body else "")
        yield Mutation("machine", path, _with(data, ["machines"], machines))
    for key in ("relations", "applications"):
        if key in data:
            yield Mutation("type", key, _with(data, [key], "none"))


_OUR_VALUES = (
    ("mig-profile", "all-9g.90gb"),
    ("drain", "sometimes"),
    ("address-pools", "research=10.0.0.300-10.0.0.310"),
    ("image-registry", "http://registry/"),
    ("channel", "latest/bleeding"),
)
"""Texts that only a charm can tell from right ones: to Juju an option is a text or it is not."""


def _values(data: dict[str, Any]) -> Iterator[Mutation]:
    """Yield values of the right type that the charm refuses later, in its status."""
    for name, body in _bodies(data):
        for option, value in _OUR_VALUES:
            if option in (body.get("options") or {}):
                at = ["applications", name, "options", option]
                path = ".".join(at)
                yield Mutation("value that is text to Juju", path, _with(data, at, value))


def is_caught(mutation: Mutation, findings: Sequence[Finding], known: Collection[Finding]) -> bool:
    """Return whether a finding that the correct bundle lacks stands at the path or below it."""
    paths = tuple(f"{path}." for path in (mutation.path, mutation.other) if path)
    return any(
        finding not in known and f"{finding.path}.".startswith(paths) for finding in findings
    )


def run(
    bundle: Path, overlays: Sequence[Path], *, every: int = 1
) -> Iterator[tuple[Mutation, bool]]:
    """Check mutations of the bundle and of each overlay, beside the files they came from.

    Args:
        bundle: A bundle without errors.
        overlays: Its overlays.
        every: Which to take: 2 for every second one.
    """
    files = [bundle, *overlays]
    site = default_inventory()
    known = check(bundle, overlays, juju="4.0", inventory=site)
    relations = 0
    for file in files:
        data = next(part for part in yaml.safe_load_all(file.read_text()) if part)
        for mutation in islice(mutate(data), 0, None, every):
            with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".yaml") as changed:
                changed.write(yaml.safe_dump(mutation.data, sort_keys=False))
                changed.flush()
                names = [Path(changed.name) if name == file else name for name in files]
                found = check(names[0], names[1:], juju="4.0", inventory=site)
            yield mutation, is_caught(_shifted(mutation, relations), found, known)
        relations += len(data.get("relations") or [])


def _shifted(mutation: Mutation, earlier: int) -> Mutation:
    """Return a mutation whose relations count from where an overlay's are appended."""
    if not mutation.path.startswith("relations.") or not earlier:
        return mutation
    index = int(mutation.path.partition(".")[2]) + earlier
    return replace(mutation, path=f"relations.{index}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share caught by kind, and what was not."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        sys.stderr.write("usage: python3 -m rehearsal.bundle.mutations BUNDLE [OVERLAY ...]\n")
        return 2
    total: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    for mutation, is_found in run(Path(words[0]), [Path(word) for word in words[1:]]):
        total[mutation.kind] += 1
        caught[mutation.kind] += is_found
        if not is_found:
            sys.stdout.write(f"not caught: {mutation.kind} at {mutation.path}\n")
    for kind, count in sorted(total.items()):
        sys.stdout.write(f"{kind:28} {count:4} {caught[kind]:4}\n")
    share = 100 * sum(caught.values()) / max(1, sum(total.values()))
    counts = f"{sum(total.values()):4} {sum(caught.values()):4}"
    sys.stdout.write(f"{'all':28} {counts} = {share:.1f} %\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
