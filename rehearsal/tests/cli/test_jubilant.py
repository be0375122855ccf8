"""Which calls of jubilant the command understands, and that the page for operators says so."""

import inspect
import json
import re

import jubilant
import pytest

from rehearsal.cli import parser
from rehearsal.tests.cli.conftest import HERE, ROOT

SENT = [json.loads(line) for line in (HERE / "jubilant-argv.jsonl").read_text().splitlines()]
VERB = re.compile(r"""(?:args(?:: list\[str\])? = \[|cli\()\s*['"]([a-z-]+)['"]""")
PAGE = (ROOT / "docs/operate/rehearse.md").read_text()


def verbs_of_calls() -> dict[str, set[str]]:
    """Return the verbs that each call of jubilant sends, as its source names them."""
    calls = inspect.getmembers(jubilant.Juju, inspect.isfunction)
    found = {name: set(VERB.findall(inspect.getsource(call))) for name, call in calls}
    return {name: verbs for name, verbs in found.items() if verbs and not name.startswith("_")}


def test_the_page_lists_the_calls_whose_verb_there_is_not() -> None:
    known = {*parser.verbs(), *parser.ALIASES}
    lacking = {name for name, verbs in verbs_of_calls().items() if not verbs <= known}
    sentence = PAGE.partition("calls are not supported: ")[2].partition(" (no such verb)")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == lacking


def test_the_page_names_the_version_of_jubilant_that_was_tried() -> None:
    assert f"Of jubilant {jubilant.__version__.rpartition('.')[0]} these calls" in PAGE


@pytest.mark.parametrize("sent", SENT, ids=[sent["m"] for sent in SENT])
def test_the_words_that_jubilant_sends_are_understood(sent: dict[str, list[str]]) -> None:
    words = sent["argv"]
    verb = parser.ALIASES.get(words[0], words[0])
    assert parser.verbs()[verb].parse(words[1:]).verb == verb


def test_every_recorded_call_is_one_of_jubilant() -> None:
    calls = verbs_of_calls()
    for sent in SENT:
        name = sent["m"].partition("-")[0]
        assert name in calls
        assert sent["argv"][0] in calls[name]
