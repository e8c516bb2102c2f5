"""``--rag-init --rag-from=DOCS --rag-questions=N`` makes a checked test set of documents."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.errors import RagevalError, did_you_mean
from pytest_rageval.first_scenario.scenario_text import FUNCTION, shell_word, target_text
from pytest_rageval.import_path import module_in
from pytest_rageval.plugin.making import (
    LISTED,
    PRICES,
    Progress,
    TestedJudge,
    judge_keys,
    judge_of,
    listed,
    made,
    misused,
    not_done,
    say_lines,
)
from pytest_rageval.plugin.options import JUDGE_MODEL
from pytest_rageval.plugin.run.run_settings import remove_shared, run_settings
from pytest_rageval.plugin.settings import SETTINGS, Settings
from pytest_rageval.plugin.show.forecast_lines import NOTHING, model_line
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.questions.base import REASONS, SHARES, Documents, QuestionType, Slot
from pytest_rageval.questions.calls import Asked, expected_calls
from pytest_rageval.questions.documents.read import read_documents
from pytest_rageval.questions.make import Outcome, WriterAndJudge, make_all
from pytest_rageval.questions.nearest import Nearest
from pytest_rageval.questions.nugget_rows import answered_in, lines_of, nuggets_beside, with_nuggets
from pytest_rageval.questions.nuggets import NuggetList, failures_of, make_lists
from pytest_rageval.questions.rows import NUGGETS, QUESTIONS, REJECTED, Known, QuestionSet, settled
from pytest_rageval.questions.scenario_text import SCENARIO, TARGET, scenario_text
from pytest_rageval.questions.slots import draw_slots
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable

_HOW: Final = "pytest --rag-init --rag-from=docs/ --rag-questions=50 --rag-judge-model=NAME"


@dataclass(frozen=True)
class _Asked:
    """What the command line asks for; the documents and the folder are seen from ``here``."""

    here: Path
    folder: Path
    documents: Path
    count: int
    seed: int
    shares: Mapping[QuestionType, float]
    writer: ClientSettings
    judge: TestedJudge
    has_nuggets: bool
    """Whether each question gets a list of what an answer has to say."""

    def shown(self, path: Path) -> str:
        """Return a path as the user would type it."""
        return os.path.relpath(path, self.here)

    @property
    def own_files(self) -> list[Path]:
        """The files that are written, which are no documents."""
        lists = nuggets_beside(self.folder / QUESTIONS)
        names = (QUESTIONS, REJECTED, SCENARIO, TARGET, lists)
        return [self.folder / name for name in names]


def make_questions(config: pytest.Config) -> int:
    """Make the questions that are not there yet, and return the exit status.

    That is 0 if each has become a row or is rejected, 1 if calls failed, 2 after Ctrl-C. Then
    nothing is written, and the same command goes on with what the cache has. A dry run says what
    would be asked. Raises UsageError for what cannot be.
    """
    config.stash[SETTINGS] = Settings.of(config)
    run = run_settings(config)
    try:
        asked = _asked(config, run)
        documents = read_documents(asked.documents, skip=asked.own_files)
        known = Known.of(asked.folder)
    except RagevalError as error:
        raise misused(str(error)) from error
    say("".join(f"{printable(line)}\n" for line in _found(asked, documents)))
    if not documents.passages:
        raise misused(f"--rag-from={config.getoption('rag_from')}: no document could be read")
    search = Nearest(documents.passages)
    slots = draw_slots(documents.passages, search, asked.count, asked.shares, asked.seed)
    making = _Making(asked, run, documents, known, slots, search)
    try:
        return making.forecast() if config.getoption("rag_dry_run") else making.make()
    finally:
        remove_shared(config)


_Made = tuple[list[Outcome], QuestionSet | None, dict[str, NuggetList]]
"""What became of the slots; what counts of them, None after a failure; lists by the slot's id."""


@dataclass(frozen=True)
class _Making:
    asked: _Asked
    run: RunSettings
    documents: Documents
    known: Known
    slots: Sequence[Slot]
    search: Nearest

    @property
    def open(self) -> list[Slot]:
        """The slots that are neither a row nor rejected yet."""
        return [slot for slot in self.slots if slot.id not in self.known.ids]

    def forecast(self) -> int:
        """Say what would be asked, and ask nobody."""
        asked = self.asked
        lines = list(self._drawn())
        uses = expected_calls(
            self.slots,
            self.known.ids,
            Asked(asked.writer, asked.judge.settings, asked.judge.controls != "off"),
            self.search,
            self.run,
            nuggets_beside=self.known if asked.has_nuggets else None,
        )
        lines += [model_line(use, prices=PRICES) for use in uses]
        say_lines([*lines, f"{NOTHING}; no file was written"])
        return int(pytest.ExitCode.OK)

    def make(self) -> int:
        """Ask, check, and write the files."""
        say_lines(self._drawn())
        progress = Progress(len(self.open), "questions")
        found = made(self.run, partial(self._made, progress), progress.tell)
        if isinstance(found, pytest.ExitCode):
            return int(found)
        outcomes, questions, lists = found
        if questions is None:
            say_lines(self._failed(outcomes))
            return int(pytest.ExitCode.TESTS_FAILED)
        if failures := failures_of(lists.values()):
            say_lines(not_done(self.run, failures, len(lists), "lists of nuggets"))
            return int(pytest.ExitCode.TESTS_FAILED)
        return self._write(questions, lists)

    async def _made(self, progress: Progress, live: LiveRun) -> _Made:
        clients, asked = live.clients(), self.asked
        models = WriterAndJudge(clients.chat(asked.writer), clients.chat(asked.judge.settings))
        await asked.judge.test(self.open, models.judge)
        outcomes = await make_all(self.open, models, self.search, progress.count_one)
        if failures_of(outcomes):
            return outcomes, None, {}
        questions = settled(outcomes, self.known)
        of_lists = answered_in(outcomes, questions) if asked.has_nuggets else []
        progress.begin(len(of_lists), "lists of nuggets")
        lists = await make_lists(of_lists, models, progress.count_one)
        return (
            outcomes,
            questions,
            {one.slot.id: found for one, found in zip(of_lists, lists, strict=True)},
        )

    def _drawn(self) -> Iterator[str]:
        kinds = Counter(slot.type for slot in self.slots)
        of_kinds = ", ".join(f"{kinds[kind]} {kind}" for kind in SHARES if kinds[kind])
        yield f"drawn: {counted(len(self.slots), 'question')} to make: {of_kinds}"
        if len(self.slots) < self.asked.count:
            yield f"the documents hold no more than {len(self.slots)} of {self.asked.count}"
        if there := len(self.slots) - len(self.open):
            yield f"{there} of them are made or rejected already: {QUESTIONS}, {REJECTED}"
        if self.asked.has_nuggets and (bare := self.known.without_nuggets):
            folder = self.asked.folder
            into, rows = (
                shell_word(self.asked.shown(path)) for path in (folder, folder / QUESTIONS)
            )
            yield (
                f"{QUESTIONS} has {counted(len(bare), 'question')} without nuggets from before; to "
                f"make theirs later: pytest --rag-init={into} --rag-from={rows} --rag-nuggets "
                f"{JUDGE_MODEL.flag}=NAME"
            )
        if old := self.known.outdated(self.documents.passages):
            what = "quotes" if len(old) == 1 else "quote"
            yield (
                f"{counted(len(old), 'question')} of {QUESTIONS} {what} what the documents do not "
                f"hold any more: {listed(old)}; look whether they still hold"
            )

    def _failed(self, outcomes: Sequence[Outcome]) -> Iterator[str]:
        yield from not_done(self.run, failures_of(outcomes), len(outcomes), "questions")
        whole = next(at for at, outcome in enumerate(outcomes) if outcome.failure is not None)
        first = self.slots.index(self.open[whole])
        if first and self.run.cache_mode in ("readwrite", "refresh"):
            cost = "for the nuggets alone" if self.asked.has_nuggets else "at no cost"
            yield f"the first {first} are complete: --rag-questions={first} writes them {cost}"

    def _write(self, found: QuestionSet, lists: Mapping[str, NuggetList]) -> int:
        asked = self.asked
        found = replace(found, rows=[with_nuggets(row, lists) for row in found.rows])
        counts = Counter(one.reason for one in found.rejected)
        lines = [f"{len(found.rows)} of {counted(len(self.open), 'question')} passed all checks"]
        lines += [f"  {counts[name]} rejected: {REASONS[name]}" for name in REASONS if counts[name]]
        known_too = sum(bool(row["common_knowledge"]) for row in found.rows)
        if known_too:
            lines.append(f"  {known_too} marked as common knowledge: answered without the passage")
        if asked.has_nuggets:
            lines += lines_of(lists.values(), "question")
        written = []
        if found.rows:
            written.append((asked.folder / QUESTIONS, "".join(found.questions_text(self.known))))
        if found.rejected:
            written.append((asked.folder / REJECTED, "".join(found.rejected_text(self.known))))
        rows = [*self.known.rows, *found.rows]
        if rows:
            written += self._new_files(rows)
        for path, text in written:
            write_atomically(path, [text])
            lines.append(f"wrote {asked.shown(path)}")
        say_lines([*lines, *self._next(rows)])
        return int(pytest.ExitCode.OK if rows else pytest.ExitCode.TESTS_FAILED)

    def _new_files(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Path, str]]:
        """Yield the scenario and the module with its target, unless they are there."""
        folder = self.asked.folder
        target = f"{module_in(folder, TARGET.removesuffix('.py'))}:{FUNCTION}"
        unanswerable = any(row.get("answerable") is False for row in rows)
        scenario = scenario_text(
            target,
            self.asked.judge.settings.model,
            has_unanswerable=unanswerable,
            has_nuggets=any(NUGGETS in row for row in rows),
        )
        module = target_text(TARGET, SCENARIO, ("contexts", "answer"))
        for name, text in ((SCENARIO, scenario), (TARGET, module)):
            if not (folder / name).exists():
                yield folder / name, text

    def _next(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        if not rows:
            yield f"no question is left; read the reasons in {self.asked.folder / REJECTED}"
            return
        command = f"pytest {shell_word(self.asked.shown(self.asked.folder / SCENARIO))}"
        yield f"read them:  {command} --rag-label={len(rows)}"
        yield f"write in {self.asked.shown(self.asked.folder / TARGET)} how your system is asked"
        yield f"run it:     {command}"


def _found(asked: _Asked, documents: Documents) -> Iterator[str]:
    read = ", ".join(f"{count} {name}" for name, count in documents.read.items())
    total = counted(sum(documents.read.values()), "document")
    of_formats = f" ({read})" if read else ""
    passages = counted(len(documents.passages), "passage")
    yield f"{asked.shown(asked.documents)}: {total}{of_formats}, {passages}"
    if documents.left_out:
        yield f"{counted(len(documents.left_out), 'file')} left out:"
        listed = documents.left_out[:LISTED]
        yield from (f"  {one_line(left.name)}: {one_line(left.reason)}" for left in listed)
        if more := len(documents.left_out) - LISTED:
            yield f"  and {more} more" if more > 0 else ""


def _asked(config: pytest.Config, run: RunSettings) -> _Asked:
    named, folder = config.getoption("rag_from"), config.getoption("rag_init")
    if folder is None or named is None:
        raise misused(f"--rag-questions goes with --rag-init and --rag-from: {_HOW}")
    here = config.invocation_params.dir
    if not named or not (here / named).exists():
        raise misused(f"--rag-from={named}: no such file or folder; name that of your documents")
    if (here / folder).exists() and not (here / folder).is_dir():
        raise misused(f"--rag-init={folder} is no folder; the documents go to --rag-from: {_HOW}")
    keys, seed, shares = _given(config)
    judge = judge_of(keys, run, "--rag-questions needs a model that writes and checks them")
    writer = judge.settings
    if (model := config.getoption("rag_questions_model")) is not None:
        writer = replace(writer, role="writer", model=model)
    count = _count(config.getoption("rag_questions"))
    has_nuggets = bool(config.getoption("rag_nuggets"))
    return _Asked(
        here, here / folder, here / named, count, seed, shares, writer, judge, has_nuggets
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise misused(f"--rag-questions={text}: expected a whole number from 1 on, such as 50")
    return int(text)


def _given(config: pytest.Config) -> tuple[dict[str, Any], int, dict[QuestionType, float]]:
    """Return what is set of the judge, the seed, and the shares of types; raises UsageError."""
    judge, others = judge_keys(config.stash[SETTINGS].overrides)
    seed, shares = 0, dict(SHARES)
    for override in others:
        match override.path:
            case ("questions", "seed") if type(override.value) is int:
                seed = override.value
            case ("questions", "types"):
                shares = _shares(override.flag, override.value)
            case _:
                raise misused(
                    f"{override.flag}: with --rag-questions, keys of 'judge' can be set, "
                    "'questions.seed', a whole number, and 'questions.types', such as "
                    "{single: 0.5, unanswerable: 0.5}"
                )
    return judge, seed, shares


def _shares(flag: str, value: object) -> dict[QuestionType, float]:
    given = value if isinstance(value, dict) else {}
    for name in given:
        if name not in SHARES:
            hint = did_you_mean(str(name), SHARES)
            raise misused(f"{flag}: unknown type {name!r}.{hint} Known: {', '.join(SHARES)}")
    numbers = [share for share in given.values() if type(share) in (int, float) and share >= 0]
    total = sum(numbers)
    if len(numbers) < len(given) or not 0 < total < float("inf"):
        raise misused(
            f"{flag}: expected shares from 0 on, such as {{single: 0.7, paraphrase: 0.3}}"
        )
    return {name: given.get(name, 0.0) / total for name in SHARES}
