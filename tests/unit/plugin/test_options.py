"""The table of options: which of them cannot be given together."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


STRICT = "--rag-strict"
OFTEN = [
    ([STRICT], "", True),
    ([f"{STRICT}=true"], "", True),
    (["-q", "@args.txt"], "-q", False),
    (["@args.txt"], "-k\na --rag-strict b", False),  # an argument a line, as pytest reads it
    (["@args.txt"], f"{STRICT}er", False),
    (["@gone.txt"], STRICT, False),  # pytest's own error
    (["@."], STRICT, False),
    (["@/dev/null"], STRICT, False),
    (["-k=@args.txt"], STRICT, False),
    (["--rag-output=@args.txt", "user@args.txt"], STRICT, False),
    ([], STRICT, False),
    (["@args.txt"], "größer\n-q", False),
]
IN_FILES = [
    (["@args.txt"], f"-q\n{STRICT}\n", True),
    (["test_x.py", "@args.txt"], f"größer\r\n{STRICT}=1\r\n", True),
    (["@more.txt"], STRICT, True),
]


@pytest.mark.parametrize(("typed", "text", "expected"), [*OFTEN, *IN_FILES])
def test_what_is_typed_is_on_the_command_line_or_in_a_file_that_it_names(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: Sequence[str],
    text: str,
    expected: bool,
) -> None:
    """[G5] Not in addopts, nor in a file that they name; found wherever the run has gone since."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "@args.txt")
    (tmp_path / "args.txt").write_bytes(text.encode("latin-1"))
    (tmp_path / "more.txt").write_text("-q\n@args.txt\n")
    config = config_of(tmp_path / "x", STRICT, folder=tmp_path, addopts=[STRICT], typed=typed)
    assert options.STRICT.is_typed(config) is expected


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
