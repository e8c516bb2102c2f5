"""Scores in the cache: what finds them again, what does not, and in which mode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients import score_cache as scores
from pytest_rageval.clients.accounting import Ledger
from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.cache import Cache
from pytest_rageval.clients.score_cache import (
    ScoreCache,
    cached_definitions,
    define,
    score_key,
)
from pytest_rageval.clients.settings import CacheMode, ClientSettings, RunSettings
from pytest_rageval.model import Score

JUDGE = ClientSettings("m", base_url="http://host/v1")
EMBEDDING = ClientSettings("e", role="embedding", base_url="http://host/v1")
PARTS = {"metric": "f", "version": 1, "options": {"mode": "f1"}}
FIELDS = {"answer": "60 days"}
SCORE = Score("f", 0.1 + 0.2, "1 of 2 claims", {"claims": [{"claim": "\ud800 天", "verdict": 1}]})


def key(
    fields: Mapping[str, Any] = FIELDS, repeat: int = 0, parts: Mapping[str, Any] = PARTS
) -> str:
    return score_key(define(parts, JUDGE, EMBEDDING), fields, repeat)


class Run:
    """One run over a cache folder: find and keep scores in it."""

    def __init__(self, folder: Path, mode: CacheMode = "readwrite", **run: Any) -> None:
        self.settings = RunSettings(cache_dir=folder, cache_mode=mode, **run)
        self.cache = Cache(self.settings)
        self.ledger = Ledger()
        self.kept = ScoreCache(self.cache, self.ledger)

    def keep(self, score: Score = SCORE, at: str | None = None, answers: int = 2) -> None:
        self.kept.keep(at or key(), score, answers)

    def find(self, at: str | None = None) -> Score | None:
        return self.kept.find(at or key())


def the_file(folder: Path) -> Path:
    (found,) = folder.glob("*.score.jsonl")
    return found


def test_a_kept_score_is_found_by_a_later_run_to_the_last_digit(tmp_path: Path) -> None:
    Run(tmp_path).keep()
    found = Run(tmp_path).find()
    assert found is not None
    assert (found.value, found.reason, found.details) == (
        0.30000000000000004,
        SCORE.reason,
        SCORE.details,
    )
    assert found.error is None


def test_the_replies_that_it_was_made_of_count_as_cached(tmp_path: Path) -> None:
    """Two replies, and none where the texts alone decided."""
    run = Run(tmp_path)
    run.keep(answers=2)
    run.keep(at=key(repeat=1), answers=0)
    later = Run(tmp_path)
    later.find()
    later.find(key(repeat=1))
    assert later.ledger.usage == Usage(cached=2)


def test_what_is_unscored_for_a_reason_is_kept_too(tmp_path: Path) -> None:
    reason = "the judge found no claim in the answer"
    Run(tmp_path).keep(Score("f", None, reason, left_out="answer"))
    found = Run(tmp_path).find()
    assert found is not None
    assert (found.value, found.reason, found.left_out) == (None, reason, "answer")


def test_a_score_with_an_error_is_not_kept(tmp_path: Path) -> None:
    Run(tmp_path).keep(Score("f", None, error="budget: spent"))
    assert list(tmp_path.glob("*.score.jsonl")) == []
    assert Run(tmp_path).find() is None


@pytest.mark.parametrize(
    "other",
    [
        key({"answer": "60 days "}),
        key({"question": "60 days"}),
        key(repeat=1),
        key(parts={**PARTS, "version": 2}),
        key(parts={**PARTS, "options": {"mode": "recall"}}),
        score_key(define(PARTS, None, EMBEDDING), FIELDS, 0),
        score_key(define(PARTS, JUDGE, None), FIELDS, 0),
        score_key(define(PARTS, EMBEDDING, JUDGE), FIELDS, 0),
        *(
            score_key(define(PARTS, replace(JUDGE, **change), EMBEDDING), FIELDS, 0)
            for change in (
                {"base_url": "http://other/v1"},
                {"model": "n"},
                {"temperature": 0.5},
                {"max_tokens": 9},
                {"seed": 1},
                {"extra_body": {"top_p": 0.5}},
            )
        ),
        *(
            score_key(define(PARTS, JUDGE, replace(EMBEDDING, **change)), FIELDS, 0)
            for change in ({"model": "n"}, {"extra_body": {"dimensions": 8}})
        ),
    ],
    ids=(
        "text field repeat version options no-judge no-embedding swapped endpoint model "
        "temperature max_tokens seed extra_body embedding embedding-body"
    ).split(),
)
def test_everything_that_changes_a_score_has_a_key_of_its_own(other: str) -> None:
    assert other != key()


@pytest.mark.parametrize(
    "change",
    [
        {"concurrency": 1},
        {"timeout_s": 1.0},
        {"headers": {"X": "y"}},
        {"api_key_env": "KEY"},
        {"base_url": "http://user:password@host/v1"},
        {"provider": "openai_compatible"},
    ],
    ids=str,
)
def test_what_changes_no_reply_changes_no_key(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the alias of a provider; the first name is the provider's own."""
    monkeypatch.setattr(scores.CHAT_REGISTRY, "_aliases", {"openai_compatible": "openai"})
    assert score_key(define(PARTS, replace(JUDGE, **change), EMBEDDING), FIELDS, 0) == key()


def test_another_version_of_this_package_makes_them_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wording of reasons may be another one."""
    before = key()
    monkeypatch.setattr(scores, "__version__", "99")
    assert key() != before


@pytest.mark.parametrize(
    ("mode", "finds", "keeps"),
    [
        ("off", False, False),
        ("read", True, False),
        ("readwrite", True, True),
        ("refresh", False, True),
        ("replay", True, False),
    ],
)
def test_modes_are_those_of_replies(
    mode: CacheMode, finds: bool, keeps: bool, tmp_path: Path
) -> None:
    Run(tmp_path).keep()
    run = Run(tmp_path, mode)
    assert run.kept.is_used == (mode != "off")
    if run.kept.is_used:
        assert (run.find() is not None) == finds
    run.keep(at=key(repeat=1))
    assert (Run(tmp_path).find(key(repeat=1)) is not None) == keeps
    definition = define(PARTS, JUDGE, EMBEDDING)
    assert cached_definitions(run.settings, [definition]) == ({definition} if finds else set())


def test_refresh_finds_what_the_run_itself_has_kept(tmp_path: Path) -> None:
    run = Run(tmp_path, "refresh")
    run.keep()
    assert run.find() is not None


def test_a_refresh_that_gets_no_score_takes_the_old_one_away(tmp_path: Path) -> None:
    """Its replies may be there by then: the next run must read them, and not go back behind."""
    Run(tmp_path).keep()
    Run(tmp_path, "refresh").kept.find(key())
    assert Run(tmp_path).find() is None
    Run(tmp_path).keep()
    assert Run(tmp_path).find() is not None


def test_in_other_modes_nothing_is_taken_away(tmp_path: Path) -> None:
    Run(tmp_path).keep()
    Run(tmp_path).kept.find(key())
    assert Run(tmp_path).find() is not None


@pytest.mark.parametrize(
    "value",
    [
        None,
        "0.5",
        {},
        {"value": "0.5", "reason": None, "details": None, "answers": 1},
        {"value": True, "reason": None, "details": None, "answers": 1},
        {"value": 0.5, "reason": 7, "details": None, "answers": 1},
        {"value": 0.5, "reason": None, "details": [1], "answers": 1},
        {"value": 0.5, "reason": None, "details": None},
        {"value": 0.5, "reason": None, "details": None, "answers": True},
        {"value": 0.5, "reason": None, "details": None, "answers": -1},
    ],
    ids=str,
)
def test_an_entry_that_holds_no_score_is_none(value: Any, tmp_path: Path) -> None:
    line = json.dumps({"sha256": key(), "value": value})
    (tmp_path / "1.score.jsonl").write_text(line + "\n")
    run = Run(tmp_path)
    assert run.find() is None
    assert run.ledger.usage == Usage()


def test_a_file_that_was_cut_loses_its_last_line_only(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.keep()
    run.keep(at=key(repeat=1))
    path = the_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-7])
    later = Run(tmp_path)
    assert later.find() is not None
    assert later.find(key(repeat=1)) is None


def test_other_processes_of_the_run_see_it_at_once(tmp_path: Path) -> None:
    shared = {"shared_dir": tmp_path / "run", "started_at": 1.0}
    one, other = (Run(tmp_path / "cache", **shared) for _ in range(2))
    assert other.find() is None
    one.keep()
    assert other.find() is not None


def test_a_folder_that_cannot_be_written_is_reported_and_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = Run(tmp_path / "file" / "cache")
    run.keep()
    assert "replies are not kept" in (run.cache.problem or "")
    assert run.find() is None


def test_of_which_definitions_there_are_scores(tmp_path: Path) -> None:
    """Two runs have kept scores of two of three definitions."""
    first, second, third = (define({**PARTS, "version": at}, JUDGE, EMBEDDING) for at in range(3))
    settings = Run(tmp_path).settings
    assert cached_definitions(settings, [first, second, third]) == set()
    for definition in (first, second):
        Run(tmp_path).keep(at=score_key(definition, FIELDS, 0))
    assert cached_definitions(settings, [first, second, third]) == {first, second}
    assert cached_definitions(settings, [third]) == set()
    assert cached_definitions(settings, [second]) == {second}
