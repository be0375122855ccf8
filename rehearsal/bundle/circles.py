# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which nodes of a graph wait for themselves, by the method of Kosaraju; no recursion. Pure."""

from collections.abc import Iterable, Mapping


def on_circles(graph: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the nodes from which a way leads back to them, in time linear in the edges.

    Args:
        graph: From each node to the nodes that it waits for, all of them keys.
    """
    back: dict[str, list[str]] = {name: [] for name in graph}
    for name, needs in graph.items():
        for need in needs:
            back[need].append(name)
    found = {name for name, needs in graph.items() if name in needs}
    seen: set[str] = set()
    for name in reversed(_finished(graph)):
        component = _reached(name, back, seen)
        if len(component) > 1:
            found |= component
    return found


def _finished(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the nodes in the order in which a walk in depth leaves them."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(graph[start]))]
        while stack:
            name, rest = stack[-1]
            step = next((need for need in rest if need not in seen), None)
            if step is None:
                order.append(name)
                stack.pop()
            else:
                seen.add(step)
                stack.append((step, iter(graph[step])))
    return order


def _reached(start: str, graph: Mapping[str, Iterable[str]], seen: set[str]) -> set[str]:
    """Return the nodes that can be reached and are not seen yet, and mark them."""
    pending = [start] if start not in seen else []
    seen.update(pending)
    found: set[str] = set()
    while pending:
        name = pending.pop()
        found.add(name)
        new = [step for step in graph[name] if step not in seen]
        seen.update(new)
        pending.extend(new)
    return found
