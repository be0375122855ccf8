# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The table of event semantics is about tests that exist."""

import pytest

from rehearsal.tests.engine.semantics import Sentence, known_tests, main, read

SENTENCES = read()


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.text[:60])
def test_a_sentence_names_tests_that_exist_or_says_why_there_is_none(sentence: Sentence) -> None:
    assert set(sentence.tests) <= known_tests()
    assert sentence.tests or len(sentence.why.split()) > 4
    assert sentence.juju in ("3.6", "4.0", "both")


def test_the_table_is_printed_with_its_count(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    last = capsys.readouterr().out.splitlines()[-1]
    covered = sum(sentence.is_covered for sentence in SENTENCES)
    assert last == f"{covered} of {len(SENTENCES)} sentences are covered"
