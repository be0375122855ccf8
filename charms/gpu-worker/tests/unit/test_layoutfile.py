# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Files of layouts: the format, and one line for each mistake."""

import pytest
import yaml

from layout import Entry, Layout
from layoutfile import parse_layouts
from profiles import ProfileName

GOOD = """
version: v1
mig-configs:
  team-a:
    - devices: [1, 0]
      mig-enabled: true
      mig-devices:
        1g.10gb: 2
        1g.10gb+me: 1
    - device-filter: ["0X20B210DE", "0x20b510de:0x146310DE"]
      devices: all
      mig-enabled: false
  empty:
    - devices: all
      mig-enabled: true
      mig-devices: {}
"""


def test_a_file_is_read_as_it_stands():
    assert parse_layouts(GOOD) == {
        "team-a": Layout(
            "team-a",
            (
                Entry((0, 1), True, ((ProfileName(1, 10), 2), (ProfileName(1, 10, "+me"), 1))),
                Entry(None, False, (), ((0x20B210DE, None), (0x20B510DE, 0x146310DE))),
            ),
        ),
        "empty": Layout("empty", (Entry(None, True),)),
    }


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_text_is_no_layout(text):
    assert parse_layouts(text) == {}


def in_team(entry: str) -> str:
    return f"version: v1\nmig-configs:\n  team:\n    - {{{entry}}}\n"


BUNDLE = """
options:
  mig-layouts: {mark}
    version: v1
    mig-configs:
      team:
        - devices: all
          mig-enabled: false{end}
"""
JOINED = "its lines were joined into one; in a bundle write 'mig-layouts: |'"


@pytest.mark.parametrize(
    ("mark", "end"),
    [(">", ""), (">-", ""), ("'", "'"), ('"', '"')],
    ids=["fold", "strip", "1", "2"],
)
def test_a_file_that_a_bundle_folded_is_refused_with_the_mark_to_write(mark: str, end: str):
    text = yaml.safe_load(BUNDLE.format(mark=mark, end=end))["options"]["mig-layouts"]
    with pytest.raises(ValueError, match=r"^its lines were joined") as refused:
        parse_layouts(text)
    assert str(refused.value) == JOINED


def test_a_file_in_single_quotes_with_line_ends_as_words_is_refused_with_the_mark_to_write():
    with pytest.raises(ValueError, match=r"^its lines were joined"):
        parse_layouts("version: v1\\nmig-configs:\\n  team: []")


def test_a_file_that_a_bundle_keeps_as_it_stands_is_read():
    text = yaml.safe_load(BUNDLE.format(mark="|", end=""))["options"]["mig-layouts"]
    assert list(parse_layouts(text)) == ["team"]


@pytest.mark.parametrize("after", [" \n", "  \n\n", "\r\n", " \r\n", " # ours\n"], ids=repr)
def test_blanks_at_the_end_of_a_line_join_nothing(after: str):
    text = f"version: v1{after}mig-configs:\n  team:\n  - {{devices: all, mig-enabled: false}}\n"
    assert list(parse_layouts(text)) == ["team"]


YAML_WITH_TABS = """
version:TABv1TAB
mig-configs:
  team:TAB# ours
  - devices:TABall
    mig-enabled: falseTAB
""".replace("TAB", "\t")
JSON_WITH_TABS = """
{
TAB"version": "v1",
TAB"mig-configs": {"team": [
TABTAB{"devices": "all", "mig-enabled": false}
TAB]}
}
""".replace("TAB", "\t")


@pytest.mark.parametrize("text", [YAML_WITH_TABS, JSON_WITH_TABS], ids=["YAML", "JSON"])
def test_tabs_between_words_are_spaces(text: str):
    assert parse_layouts(text) == {"team": Layout("team", (Entry(None, False),))}


@pytest.mark.parametrize("text", ["layouts.yaml", "./my/layouts.yml", "@layouts.yaml"])
def test_the_name_of_a_file_is_refused_with_how_to_give_what_is_in_it(text: str):
    with pytest.raises(ValueError, match="is a name; for the file write") as refused:
        parse_layouts(text)
    assert str(refused.value).endswith(f" mig-layouts=@{text.removeprefix('@')}")


ON = "devices: all, mig-enabled: true"
MISTAKES = {
    "m12_a": (
        in_team("devices: 7, mig-enabled: false"),
        "team: devices must be a list or 'all', not 7",
    ),
    "m12_b": (
        "version: v1\nmig-configs:\n  team:\n    devices: all\n    mig-enabled: false\n",
        "team: must be a list of entries, each beginning with '-'",
    ),
    "m12_c": (
        in_team("devices: all, mig-enabled: false") + "  - devices: [1]\n",
        "team: line 5 is no YAML: expected <block end>, but found '-'",
    ),
    "m12_e": ("version: v2\nmig-configs: {}\n", "version must be v1, not 'v2'"),
    "m12_f": (in_team("devices: all"), "team: mig-enabled is missing"),
    "m12_g": (
        in_team(f"{ON}, mig-devices: {{1g.10gb: 0}}"),
        "team: '1g.10gb' needs a count of 1 or more, as in 1g.10gb: 2",
    ),
    "m14_split": (
        in_team(f"{ON}, mig-devices: {{4c.7g.80gb: 1, 3c.7g.80gb: 1}}"),
        "team: 4c.7g.80gb: compute instance profiles not supported",
    ),
    "m14_six": (
        in_team(f"{ON}, mig-devices: {{1c.3g.40gb: 6}}"),
        "team: 1c.3g.40gb: compute instance profiles not supported",
    ),
    "no_count": (
        in_team(f"{ON}, mig-devices: {{1g.10gb}}"),
        "team: '1g.10gb' needs a count of 1 or more, as in 1g.10gb: 2",
    ),
    "text_count": (
        in_team(f"{ON}, mig-devices: {{1g.10gb: '2'}}"),
        "team: '1g.10gb' needs a count of 1 or more, as in 1g.10gb: 2",
    ),
    "list_of_profiles": (
        in_team(f"{ON}, mig-devices: [1g.10gb]"),
        "team: mig-devices must map profiles to counts, as in {1g.10gb: 2}",
    ),
    "no_profile": (
        in_team(f"{ON}, mig-devices: {{1g.10: 2}}"),
        "team: '1g.10' is no profile name, as in 1g.5gb or 1g.5gb+me",
    ),
    "nothing_to_make": (
        in_team(ON),
        "team: mig-devices is missing; write {} for no instance",
    ),
    "nothing_written": (
        in_team(f"{ON}, mig-devices: "),
        "team: mig-devices is missing; write {} for no instance",
    ),
    "none_of_it": (
        in_team(f"{ON}, mig-devices: {{0c.1g.10gb: 2}}"),
        "team: '0c.1g.10gb' is no profile name, as in 1g.5gb or 1g.5gb+me",
    ),
    "digits_of_another_script": (
        in_team(f"{ON}, mig-devices: {{\N{ARABIC-INDIC DIGIT ONE}g.10gb: 2}}"),
        "team: '\N{ARABIC-INDIC DIGIT ONE}g.10gb' is no profile name, as in 1g.5gb or 1g.5gb+me",
    ),
    "off_with_instances": (
        in_team("devices: all, mig-enabled: false, mig-devices: {1g.10gb: 7}"),
        "team: mig-devices must be empty where mig-enabled is false",
    ),
    "mode_in_words": (
        in_team("devices: all, mig-enabled: 'true'"),
        "team: mig-enabled must be true or false, not 'true'",
    ),
    "typing_mistake": (
        in_team("devices: all, mig-enable: false"),
        "team: unknown key 'mig-enable', did you mean mig-enabled",
    ),
    "foreign_key": (
        in_team("devices: all, mig-enabled: false, owner: x"),
        "team: unknown key 'owner', known: devices, mig-enabled, mig-devices, device-filter",
    ),
    "no_devices": (in_team("mig-enabled: false"), "team: devices is missing"),
    "empty_devices": (
        in_team("devices: [], mig-enabled: false"),
        "team: devices must be a list or 'all', not []",
    ),
    "negative": (
        in_team("devices: [-1], mig-enabled: false"),
        "team: devices must be numbers from 0, not -1",
    ),
    "bool_index": (
        in_team("devices: [true], mig-enabled: false"),
        "team: devices must be numbers from 0, not True",
    ),
    "twice": (in_team("devices: [1, 1], mig-enabled: false"), "team: devices names a GPU twice"),
    "filter": (
        in_team("devices: all, mig-enabled: false, device-filter: 0x20B010DE"),
        "team: device-filter must be like '0x20B010DE' (quoted), not 548409566",
    ),
    "entry_is_text": (
        "version: v1\nmig-configs:\n  team: [all]\n",
        "team: an entry must have devices, mig-enabled, mig-devices",
    ),
    "no_entry": (
        "version: v1\nmig-configs:\n  team: []\n",
        "team: must be a list of entries, each beginning with '-'",
    ),
    "no_version": ("mig-configs: {}\n", "version is missing"),
    "no_layouts": ("version: v1\n", "mig-configs is missing"),
    "empty_layouts": (
        "version: v1\nmig-configs: {}\n",
        "mig-configs must name at least one layout",
    ),
    "foreign_top": (
        "version: v1\nmig-configs: {}\nmig_configs: {}\n",
        "unknown key 'mig_configs', did you mean mig-configs",
    ),
    "list": ("- 1\n", "the file must have version and mig-configs"),
    "text": ("team\n", "the file must have version and mig-configs"),
    "tab": (
        "version: v1\n\tx: 1\n",
        "line 2 is no YAML: found character '\\t' that cannot start any token",
    ),
    "same_name": (
        "version: v1\nmig-configs:\n  a: []\n  a: []\n",
        "'a' is there twice, line 4",
    ),
    "binary": (
        "version: \x00\n",
        "no YAML: unacceptable character #x0000: special characters are not allowed",
    ),
    "object": ("version: !!python/object:os.system {}\n", None),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_is_one_line_that_names_layout_and_key(text, message):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        parse_layouts(text)
    if message is not None:
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("[" * 5000, "nested too deeply", id="lists in lists"),
        pytest.param("{a: " * 3000, "nested too deeply", id="maps in maps"),
        pytest.param(
            'version: v1\nmig-configs: {"\\ud800": []}',
            "is no name of a layout",
            id="half a letter",
        ),
        pytest.param(
            'version: v1\nmig-configs: {"\\e[31m": []}', "is no name of a layout", id="an escape"
        ),
        pytest.param("a" * 70_000, "longer than 65536 characters", id="a book"),
        pytest.param(
            "version: v1\nmig-configs:\n  a: &l [&e {devices: all, mig-enabled: false}"
            + ", *e" * 2000
            + "]\n"
            + "".join(f"  l{n}: *l\n" for n in range(2000)),
            "mig-configs has more than 2048 entries",
            id="millions of entries by alias",
        ),
        pytest.param(
            in_team(f"devices: {list(range(65))}, mig-enabled: false"),
            "team: devices names more than 64 GPUs",
            id="more GPUs than a machine has",
        ),
        pytest.param(
            in_team(f"{ON}, mig-devices: {{{', '.join(f'1g.{n}gb: 1' for n in range(1, 66))}}}"),
            "team: mig-devices names more than 64 profiles",
            id="more profiles than a board has",
        ),
    ],
)
def test_hostile_text_is_refused_in_one_line(text: str, reason: str):
    with pytest.raises(ValueError, match=reason) as refusal:
        parse_layouts(text)
    assert len(str(refusal.value).splitlines()) == 1
