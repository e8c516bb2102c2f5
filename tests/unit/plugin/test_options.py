"""The table of options: which of them cannot be given together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fake_config import config_of

from pytest_rageval.plugin import options
from pytest_rageval.plugin.option_values import Command, Option, Overriding, value_at, whole
from pytest_rageval.plugin.options import ALL_OPTIONS, COMMANDS
from pytest_rageval.plugin.settings import Settings, refuse_misplaced


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--rag-save=a --rag-save-failed=b", "--rag-save and --rag-save-failed: give one of them"),
        ("--rag-merge=d --rag-label=3", "--rag-merge and --rag-label are two commands: "),
        ("--rag-serve --rag-mcp", "--rag-serve and --rag-mcp are two commands: run one after"),
        ("--rag-shard=1/2 --rag-keep=2 --rag-report=html", "--rag-report, --rag-keep: a shard is"),
        ("--rag-shard=1/2 --rag-save=a --rag-save-answers=b", "--rag-save-answers: a shard is"),
        ("--rag-shard=1/2 --rag-save-failed=a", "--rag-save-failed: a shard is a part of a run"),
        ("--rag-shard=1/2 --rag-merge=d", "--rag-shard 1/2: a merge runs no cases; leave it out"),
    ],
)
def test_pairs_that_do_not_go_together_are_wrong_use(
    tmp_path: Path, given: str, message: str
) -> None:
    """[E12] Each names both."""
    with pytest.raises(pytest.UsageError, match=re.escape(message)):
        refuse_misplaced(config_of(tmp_path, *given.split()))


@pytest.mark.parametrize(
    "given",
    [
        "--rag-init --rag-from=a.csv --rag-ci=github",
        "--rag-merge=d --rag-merge-commits --rag-save=main --rag-gate=f1=0.5",
        "--rag-shard=1/2 --rag-limit=2 --rag-strict",
    ],
)
def test_others_may_be_given_together(tmp_path: Path, given: str) -> None:
    refuse_misplaced(config_of(tmp_path, *given.split()))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_that_is_left_over_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """[E22] In addopts, a variable or a file of it, every run would be green without a verdict."""
    words = [command.flag] if command.alone or command.metavar is None else [command.flag, "20"]
    refuse_misplaced(config_of(tmp_path, *words))
    (tmp_path / "words.txt").write_text("\n".join(words))
    refuse_misplaced(config_of(tmp_path, addopts=words, typed=["-q", "@words.txt"]))
    (tmp_path / "words.txt").write_bytes("\n".join([*words, "größer"]).encode("latin-1"))
    refuse_misplaced(config_of(tmp_path, addopts=words, typed=["-q", "@words.txt"]))
    with pytest.raises(pytest.UsageError) as caught:
        refuse_misplaced(config_of(tmp_path, addopts=words))
    where = f"{command.flag}: found in addopts in {tmp_path / 'pytest.ini'}: every run would"
    assert str(caught.value).startswith(where)
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(["-q", *words]))
    with pytest.raises(pytest.UsageError, match="found in PYTEST_ADDOPTS: "):
        refuse_misplaced(config_of(tmp_path, addopts=words))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k user@x -q")
    with pytest.raises(pytest.UsageError, match="found in addopts in "):
        refuse_misplaced(config_of(tmp_path, addopts=words))
    monkeypatch.setenv("PYTEST_ADDOPTS", "-q @words.txt")
    with pytest.raises(pytest.UsageError, match="found in a file that PYTEST_ADDOPTS names: "):
        refuse_misplaced(config_of(tmp_path, addopts=words))


def test_a_new_option_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12: also for a value that is in no section of the scenario."""
    row = Overriding("top-k", "N", value_at("top_k", whole), "how many contexts count", "scores")
    monkeypatch.setattr(options, "ALL_OPTIONS", (*options.ALL_OPTIONS, row))
    (found,) = Settings.of(config_of(tmp_path, "--rag-top-k=3")).overrides
    assert (found.path, found.value, found.flag) == (("top_k",), 3, "--rag-top-k 3")
    monkeypatch.setenv("RAGEVAL_TOP_K", "two")
    with pytest.raises(pytest.UsageError, match="^RAGEVAL_TOP_K two: expected a whole number$"):
        Settings.of(config_of(tmp_path))


@pytest.mark.parametrize("row", ALL_OPTIONS, ids=lambda row: row.variable)
@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_variable_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Option[Any], text: str
) -> None:
    """V4: each is read, and the message says how to take it away."""
    monkeypatch.setenv(row.variable, text)
    with pytest.raises(pytest.UsageError, match=f"^{row.variable}: expected .*found nothing"):
        Settings.of(config_of(tmp_path))


@pytest.mark.parametrize("flag", [row.flag for row in ALL_OPTIONS if row.metavar is not None])
def test_an_empty_option_is_wrong_use(tmp_path: Path, flag: str) -> None:
    """V4: a script may not have set what it gives."""
    with pytest.raises(pytest.UsageError, match=f"^{flag}: expected .*found nothing$"):
        Settings.of(config_of(tmp_path, flag, " "))
