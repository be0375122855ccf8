# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a check loads: it is used at every change of a file, so it must start at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cli import parser

ROOT = Path(__file__).parents[2]
CODE = (
    "import sys; from rehearsal.cli import main; main(sys.argv[1:]); print(*sorted(sys.modules))"
)


def _loaded(*words: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", CODE, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(run.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    [["check", "bundles/charmed-kubernetes.yaml"], ["facts", "charms/gpu-worker", "--dry-run"]],
    ids=["check", "facts"],
)
def test_verbs_without_a_model_load_nothing_of_the_simulated_world(words: list[str]) -> None:
    loaded = _loaded(*words)
    assert "rehearsal.bundle.check" in loaded
    assert not loaded & {"rehearsal.site", "rehearsal.juju.engine", "standins", "lightkube"}


def test_each_quick_verb_is_brought_by_the_module_that_it_names() -> None:
    for verb, module in parser.QUICK.items():
        assert verb in parser.verbs([module])


def test_a_quick_verb_has_the_same_grammar_alone_and_among_all() -> None:
    every = parser.verbs()
    for verb, module in parser.QUICK.items():
        assert parser.verbs([module])[verb].usage() == every[verb].usage()
