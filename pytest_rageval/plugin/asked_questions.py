"""What the command line asks for with ``--rag-questions``: models, documents, folder and shares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.from_data import FirstFiles, check_service, path_from
from pytest_rageval.plugin.making import CheckingJudge, judge_of
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.questions.base import SHARES, QuestionType
from pytest_rageval.questions.nugget_rows import nuggets_beside
from pytest_rageval.questions.rows import QUESTIONS, REJECTED
from pytest_rageval.questions.scenario_text import SCENARIO, TARGET
from pytest_rageval.scenario.yaml.tree import YamlTree

_HOW: Final = "pytest --rag-init --rag-from=docs/ --rag-questions=50 --rag-judge-model=NAME"


@dataclass(frozen=True)
class AskedQuestions:
    """What the command line asks for; documents and folder are seen from ``here``."""

    here: Path
    folder: Path
    documents: Path
    count: int
    seed: int
    shares: Mapping[QuestionType, float]
    writer: ClientSettings
    judge: CheckingJudge
    service: str | None
    """Of CI, for which a workflow is written."""
    has_nuggets: bool = False
    """Whether each question gets a list of what an answer has to say."""

    def shown(self, path: Path) -> str:
        """Return a path as the user would type it."""
        return path_from(path, self.here)

    @property
    def first(self) -> FirstFiles:
        """The files that are written once."""
        return FirstFiles(self.here, self.folder, self.folder / QUESTIONS, self.service)

    @property
    def own_files(self) -> list[Path]:
        """The files that are written, which are no documents."""
        lists = nuggets_beside(self.folder / QUESTIONS)
        names = (QUESTIONS, REJECTED, SCENARIO, TARGET, lists.name)
        return [self.folder / name for name in names]


def asked_of(config: pytest.Config, run: RunSettings) -> AskedQuestions:
    """Return what is asked for; raises UsageError for what cannot be."""
    here, folder, documents = _places(config)
    judge_keys, seed, shares = _given(config)
    judge = judge_of(judge_keys, run, "--rag-questions", "question")
    writer = judge.settings
    if (model := config.getoption("rag_questions_model")) is not None:
        if not model.strip():
            raise misused("--rag-questions-model=: expected the name of a model")
        writer = replace(writer, role="writer", model=model)
    count = _count(config.getoption("rag_questions"))
    service = config.getoption("rag_ci")
    check_service(service)
    return AskedQuestions(
        here,
        folder,
        documents,
        count,
        seed,
        shares,
        writer,
        judge,
        service,
        has_nuggets=bool(config.getoption("rag_nuggets")),
    )


def _places(config: pytest.Config) -> tuple[Path, Path, Path]:
    """Return where the command runs, the folder to write to, and the documents."""
    named, folder = config.getoption("rag_from"), config.getoption("rag_init")
    if folder is None or named is None:
        raise misused(f"--rag-questions goes with --rag-init and --rag-from: {_HOW}")
    here = config.invocation_params.dir
    if not named or not (here / named).exists():
        raise misused(f"--rag-from={named}: no such file or folder; name that of your documents")
    if (here / folder).is_file():
        raise misused(f"--rag-init={folder} is no folder; the documents go to --rag-from: {_HOW}")
    return here, here / folder, here / named


def _count(text: str) -> int:
    if not re.fullmatch("0*[1-9][0-9]{0,8}", text):
        shown = shorten(text, 40)
        raise misused(f"--rag-questions={shown}: expected a whole number from 1 on, such as 50")
    return int(text)


def _given(config: pytest.Config) -> tuple[dict[str, Any], int, dict[QuestionType, float]]:
    """Return what is said of the judge, the seed, and the shares of types; raises UsageError."""
    tree = YamlTree({}, "")
    for override in config.stash[SETTINGS].overrides:
        override.apply(tree)
        if not {*tree.data} <= {"judge", "questions"}:
            raise misused(
                f"{override.flag}: with --rag-questions, keys of 'judge' can be set, "
                "'questions.seed' and 'questions.types'"
            )
    judge, questions = tree.data.get("judge") or {}, tree.data.get("questions") or {}
    seed = questions.pop("seed", 0) if isinstance(questions, dict) else None
    types = questions.pop("types", SHARES) if isinstance(questions, dict) else None
    if questions or type(seed) is not int or not isinstance(judge, dict):
        raise misused(
            "--rag-set: with --rag-questions, 'questions.seed' is a whole number, and "
            "'questions.types' the shares of types, such as {single: 0.5, unanswerable: 0.5}"
        )
    return judge, seed, _shares(types)


def _shares(given: object) -> dict[QuestionType, float]:
    shares: Mapping[Any, Any] = given if isinstance(given, Mapping) else {"": None}
    for name in shares:
        if name not in SHARES:
            hint = did_you_mean(str(name), SHARES)
            known = ", ".join(SHARES)
            raise misused(f"questions.types: unknown type {name!r}.{hint} Known: {known}")
    numbers = [share for share in shares.values() if type(share) in (int, float) and share >= 0]
    total = sum(numbers)
    if len(numbers) < len(shares) or not 0 < total < float("inf"):
        message = "expected shares from 0 on, such as {single: 0.7, paraphrase: 0.3}"
        raise misused(f"questions.types: {message}")
    return {name: shares.get(name, 0.0) / total for name in SHARES}
