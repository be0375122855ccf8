"""What the command tells people: help of verbs, and what became of what they let happen."""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.cli import main, parser
from rehearsal.cli.examples import EXAMPLES, TEXTS
from rehearsal.tests.cli.conftest import Command

STANDIN = """
class Charm:
    def handle(self, event, unit, world):
        unit.status = ("active", "written by hand")
"""


def test_every_verb_has_an_example() -> None:
    assert set(EXAMPLES) == set(parser.verbs())


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_is_a_command_line_that_is_understood(example: str) -> None:
    words = shlex.split(example)
    assert parser.verbs()[words[0]].parse(words[1:]).verb == words[0]


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_help_of_a_verb_names_what_it_does_and_an_example(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"usage: rehearse {verb}" in told
    assert parser.verbs()[verb].text in told
    assert f"example: rehearse {EXAMPLES[verb]}" in told


def test_a_word_that_is_one_of_a_few_is_named_by_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["job", "--help"]) == 0
    assert "usage: rehearse job [options] run|end NAME RESOURCES..." in capsys.readouterr().out


def test_a_text_for_options_of_many_verbs_belongs_to_an_option() -> None:
    known = {
        name
        for grammar in parser.verbs().values()
        for option in grammar.options
        if option.text in ("", argparse.SUPPRESS) or "--home" in option.names
        for name in option.names
    }
    assert set(TEXTS) <= known


def test_a_job_a_reboot_and_time_say_what_came_of_them(rehearse: Command) -> None:
    resource = "nvidia.com/gpu=1"
    node = rehearse("job", "run", "team-a/train", resource)[1]
    assert node.startswith(("team-a/train is ", "team-a/train waits: "))
    many = rehearse("job", "run", "team-a/huge", "nvidia.com/gpu=512")[1]
    assert many.startswith("team-a/huge waits: 0/")
    assert rehearse("job", "end", "team-a/train")[1] == "team-a/train has ended\n"
    assert rehearse("reboot", "0")[1].startswith("machine 0 was restarted; ")
    assert rehearse("advance", "90")[1].startswith("90 s have passed; ")


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*words: str) -> tuple[int, str]:
        status = main([words[0], "--home", str(tmp_path / "home"), *words[1:]])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return run


def test_stand_ins_of_a_folder_are_kept_with_the_model(
    tmp_path: Path, site: Callable[..., tuple[int, str]]
) -> None:
    folder = tmp_path / "ours"
    folder.mkdir()
    status, told = site("deploy", "nfs-server-provisioner", "--standins", str(folder))
    assert (status, "it holds no NAME.py" in told) == (1, True)
    described = folder / "our-ldap"
    described.mkdir()
    (described / "standin.py").write_text(STANDIN)
    (described / "metadata.yaml").write_text("name: our-ldap\nsummary: ours\n")
    assert site("deploy", "our-ldap", "--standins", str(folder))[0] == 0
    assert "written by hand" in site("status")[1]
    assert site("deploy", "our-ldap", "again")[0] == 0
    assert "again/0" in site("status")[1]


def test_a_folder_of_stand_ins_that_is_none_is_refused(
    site: Callable[..., tuple[int, str]],
) -> None:
    status, told = site("deploy", "our-ldap", "--standins", "./nowhere")
    assert (status, told) == (1, "ERROR --standins nowhere: no such folder\n")
