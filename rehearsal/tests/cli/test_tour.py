"""The README's story holds, on the reference bundle."""

from pathlib import Path

import pytest

from rehearsal import tour


def test_the_tour_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tour.play(tmp_path / "tour") == 0
    out = capsys.readouterr().out
    assert "NOT SO" not in out
    assert "waiting for team-a/train-7 on GPU 0" in out


def test_a_story_that_is_not_so_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(told: tour.Tour) -> None:
        told.expect("a thing", 1, 2)

    monkeypatch.setattr(tour, "STEPS", (("Be wrong", wrong),))
    assert tour.play(tmp_path / "tour") == 1
    assert "NOT SO: a thing: found 1, expected 2" in capsys.readouterr().out
