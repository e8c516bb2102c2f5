"""``--rag-init --rag-from=DOCS --rag-questions=N`` makes a checked test set of documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.scoring.counting_models import ModelUse
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.errors import RagevalError, did_you_mean, shorten
from pytest_rageval.first_scenario.scenario_text import FUNCTION, shell_word, target_text
from pytest_rageval.import_path import module_in
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.from_data import FirstFiles, check_service, write_new
from pytest_rageval.plugin.making import (
    LISTED,
    CheckingJudge,
    Progress,
    check_writable,
    judge_of,
    made,
    make_or_forecast,
    named,
    not_done,
    nothing_lost,
    say_lines,
)
from pytest_rageval.plugin.options import JUDGE_MODEL
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.questions.base import REASONS, SHARES, Documents, QuestionType, Slot
from pytest_rageval.questions.calls import AskedModels, expected_calls
from pytest_rageval.questions.documents.read import read_documents
from pytest_rageval.questions.make import Outcome, WriterAndJudge, make_all
from pytest_rageval.questions.nearest import Nearest
from pytest_rageval.questions.nugget_rows import answered_in, lines_of, nuggets_beside, with_nuggets
from pytest_rageval.questions.nuggets import NuggetList, failures_of, make_lists
from pytest_rageval.questions.rows import NUGGETS, QUESTIONS, REJECTED, Known, QuestionSet, settled
from pytest_rageval.questions.scenario_text import SCENARIO, TARGET, scenario_text
from pytest_rageval.questions.slots import Rules, draw_slots, still_there
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.run_paths import folder_name
from pytest_rageval.scenario.yaml.tree import YamlTree
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable

_READ: Final = 10
"""How many questions the user is told to read, to see how good all are."""


def make_questions(config: pytest.Config) -> int:
    """Make the questions that are not there yet, and return the exit status."""
    return make_or_forecast(config, partial(_making, config))


def _making(config: pytest.Config, run: RunSettings) -> _Making:
    """Return what is to be made, and say what was read; raises UsageError."""
    try:
        asked = asked_of(config, run)
        documents = read_documents(asked.documents, skip=asked.own_files)
        known = Known.of(asked.folder)
    except RagevalError as error:
        raise misused(str(error)) from error
    say("".join(f"{printable(line)}\n" for line in _found(asked, documents)))
    if not documents.passages:
        raise misused(f"--rag-from={config.getoption('rag_from')}: no document could be read")
    search = Nearest(documents.passages, documents.short)
    rules = Rules(asked.shares, asked.seed, known.filled, known.ids)
    slots = draw_slots(documents.passages, search, asked.count, rules)
    making = _Making(asked, run, documents, known, slots, search)
    say_lines(making.drawn())
    return making


_Made = tuple[list[Outcome], QuestionSet | None, dict[str, NuggetList]]
"""What became of the slots; what counts of them, None after a failure; lists by the slot's id."""


@dataclass(frozen=True)
class _Making:
    asked: AskedQuestions
    run: RunSettings
    documents: Documents
    known: Known
    slots: Sequence[Slot]
    search: Nearest

    @property
    def there(self) -> int:
        """How many slots were filled before, of passages that the documents still hold."""
        return len(still_there(self.known.filled, self.documents.passages))

    @property
    def _of_before(self) -> list[Slot]:
        """The first slots of the draw: those in the cache show how many questions go on."""
        rules = Rules(self.asked.shares, self.asked.seed)
        return draw_slots(self.documents.passages, self.search, self.there, rules)

    def expected(self) -> Sequence[ModelUse]:
        asked = self.asked
        return expected_calls(
            [*{slot.id: slot for slot in (*self._of_before, *self.slots)}.values()],
            self.known.ids,
            AskedModels(asked.writer, asked.judge.settings, asked.judge.controls != "off"),
            self.search,
            self.run,
            nuggets_beside=self.known if asked.has_nuggets else None,
        )

    def make(self) -> pytest.ExitCode:
        """Ask, check, and write the files; TESTS_FAILED if a call failed, or no row is there."""
        check_writable(self.asked.folder)
        progress = Progress(self.run, len(self.slots), "question")
        found = made(self._made, progress)
        if isinstance(found, pytest.ExitCode):
            return found
        outcomes, questions, lists = found
        if questions is None:
            say_lines(self._failed(progress, outcomes))
            return pytest.ExitCode.TESTS_FAILED
        if failures := failures_of(lists.values()):
            say_lines(not_done(progress, failures, len(lists), "list"))
            return pytest.ExitCode.TESTS_FAILED
        return self._write(progress, questions, lists)

    async def _made(self, progress: Progress, live: LiveRun) -> _Made:
        clients, asked = live.clients(), self.asked
        models = WriterAndJudge(clients.chat(asked.writer), clients.chat(asked.judge.settings))
        await asked.judge.test(self.slots, models.judge)
        outcomes = await make_all(self.slots, models, self.search, progress.count_one)
        if failures_of(outcomes):
            return outcomes, None, {}
        questions = settled(outcomes, self.known)
        of_lists = answered_in(outcomes, questions) if asked.has_nuggets else []
        progress.begin(len(of_lists), "list")
        lists = await make_lists(of_lists, models, progress.count_one)
        by_id = {one.slot.id: found for one, found in zip(of_lists, lists, strict=True)}
        return outcomes, questions, by_id

    def drawn(self) -> Iterator[str]:
        """Yield how many questions are to be made, and what is odd about those from before."""
        kinds = Counter(slot.type for slot in self.slots)
        of_kinds = ", ".join(f"{kinds[kind]} {kind}" for kind in SHARES if kinds[kind])
        if self.there:
            names = [QUESTIONS] * bool(self.known.rows) + [REJECTED] * bool(self.known.rejected)
            made = counted(self.there, "question")
            yield f"made or rejected before: {made} of {self.asked.count} ({', '.join(names)})"
        drawn = counted(len(self.slots), "question")
        yield f"drawn: {drawn}: {of_kinds}" if self.slots else "drawn: no more questions"
        if (most := self.there + len(self.slots)) < self.asked.count:
            yield f"the documents hold no more than {most} of {self.asked.count}"
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
                f"hold any more: {named(old)}; look whether they still hold"
            )

    def _failed(self, progress: Progress, outcomes: Sequence[Outcome]) -> Iterator[str]:
        yield from not_done(progress, failures_of(outcomes), len(outcomes), "question")
        whole = next(at for at, outcome in enumerate(outcomes) if outcome.failure is not None)
        first = self.there + whole
        if first and progress.is_kept:
            cost = "for the cost of their nuggets" if self.asked.has_nuggets else "at no cost"
            yield f"the first {first} are complete: --rag-questions={first} writes them {cost}"

    def _write(
        self, progress: Progress, found: QuestionSet, lists: Mapping[str, NuggetList]
    ) -> pytest.ExitCode:
        asked = self.asked
        with nothing_lost(progress):  # people may have changed the files, or another command
            known = Known.of(asked.folder)
        found = replace(found, rows=[with_nuggets(row, lists) for row in found.rows])
        taken = [slot.id for slot in self.slots if slot.id in known.ids]
        found = found.without(known.ids)
        counts = Counter(one.reason for one in found.rejected)
        lines = [f"{len(found.rows)} of {counted(len(self.slots), 'question')} passed all checks"]
        if not self.slots:
            lines = ["nothing is left to make"]
        lines += [
            f"  {counts[name]} rejected ({name}): {why}"
            for name, why in REASONS.items()
            if counts[name]
        ]
        is_taken = f"  {len(taken)} not written, since a row has the id: {named(taken)}"
        lines += [is_taken] * bool(taken)
        known_too = sum(bool(row["common_knowledge"]) for row in found.rows)
        if known_too:
            lines.append(f"  {known_too} marked as common knowledge: answered without the passage")
        if asked.has_nuggets and lists:
            lines += lines_of(lists.values(), "question")
        with nothing_lost(progress):
            for name, has_new, chunks in (
                (REJECTED, found.changes_rejected(known), found.rejected_text(known)),
                (QUESTIONS, found.rows, found.questions_text(known)),
            ):
                if has_new:
                    write_atomically(asked.folder / name, chunks)
                    lines.append(f"wrote {asked.shown(asked.folder / name)}")
        rows = [*known.rows, *found.rows]
        is_written = (asked.folder / TARGET).exists()
        if rows:
            lines += write_new(asked, self._new_files(rows))
        say_lines([*lines, *self._next(rows, is_written=is_written)])
        return pytest.ExitCode.OK if rows else pytest.ExitCode.TESTS_FAILED

    def _new_files(self, rows: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
        """Return what is written once: the scenario, its target, and a workflow if asked for."""
        folder, workflow = self.asked.folder, self.asked.workflow
        target = f"{module_in(folder, TARGET.removesuffix('.py'))}:{FUNCTION}"
        unanswerable = any(row.get("answerable") is False for row in rows)
        is_here = folder.resolve() == self.asked.here.resolve()
        scenario = scenario_text(
            "questions" if is_here else folder_name(folder.resolve().name),
            target,
            self.asked.judge.settings,
            has_unanswerable=unanswerable,
            has_nuggets=any(NUGGETS in row for row in rows),
        )
        module = target_text(TARGET, SCENARIO, ("contexts", "answer"))
        files = {folder / SCENARIO: scenario, folder / TARGET: module}
        files = {path: text for path, text in files.items() if not path.exists()}
        if workflow is not None:
            files[workflow] = self.asked.workflow_text(asks=True)
        return files

    def _next(self, rows: Sequence[Mapping[str, Any]], *, is_written: bool) -> Iterator[str]:
        if not rows:
            yield f"no question is left; read the reasons in {self.asked.folder / REJECTED}"
            return
        command = f"pytest {shell_word(self.asked.shown(self.asked.folder / SCENARIO))}"
        yield f"read some:  {command} --rag-label={min(len(rows), _READ)}"
        if not is_written:
            target = self.asked.shown(self.asked.folder / TARGET)
            yield f"write in {target} how your system is asked"
        yield f"run it:     {command}"


def _found(asked: AskedQuestions, documents: Documents) -> Iterator[str]:
    read = ", ".join(f"{count} {name}" for name, count in documents.read.items())
    total = counted(sum(documents.read.values()), "document")
    of_formats = f" ({read})" if read else ""
    passages = counted(len(documents.passages), "passage")
    yield f"{asked.shown(asked.documents)}: {total}{of_formats}, {passages}"
    if documents.too_short:
        yield f"{counted(documents.too_short, 'part')} too short to ask about, in no passage"
    if documents.left_out:
        yield f"{counted(len(documents.left_out), 'file')} not read, or not as a whole:"
        first = documents.left_out[:LISTED]
        yield from (f"  {one_line(left.name)}: {one_line(left.reason)}" for left in first)
        if more := len(documents.left_out) - LISTED:
            yield f"  and {more} more" if more > 0 else ""


_HOW: Final = "pytest --rag-init --rag-from=docs/ --rag-questions=50 --rag-judge-model=NAME"


@dataclass(frozen=True)
class AskedQuestions(FirstFiles):
    """What the command line asks for; its ``data`` are the file of the questions."""

    documents: Path
    count: int
    seed: int
    shares: Mapping[QuestionType, float]
    writer: ClientSettings
    judge: CheckingJudge
    has_nuggets: bool = False
    """Whether each question gets a list of what an answer has to say."""

    @property
    def own_files(self) -> list[Path]:
        """The files that are written, which are no documents."""
        lists = nuggets_beside(self.data)
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
        folder / QUESTIONS,
        service,
        documents,
        count,
        seed,
        shares,
        writer,
        judge,
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
    """Return the keys of the judge, the seed, and the shares of types; raises UsageError."""
    tree = YamlTree({}, "")
    for override in config.stash[SETTINGS].overrides:
        override.apply(tree)
        if not {*tree.data} <= {"judge", "questions"}:
            raise misused(
                f"{override.flag}: with --rag-questions, only keys of 'judge', 'questions.seed' "
                "and 'questions.types' can be set"
            )
    judge, questions = tree.data.get("judge") or {}, tree.data.get("questions") or {}
    if not isinstance(judge, dict):
        raise misused(
            "--rag-set: with --rag-questions, keys of 'judge' are set one by one, such as "
            "judge.model=NAME"
        )
    if not isinstance(questions, dict):
        raise misused(f"questions: expected keys 'seed' and 'types', found {questions!r}")
    if others := sorted({*map(str, questions)} - {"seed", "types"}):
        raise misused(
            "--rag-set: with --rag-questions, of 'questions' only 'seed' and 'types' can be set, "
            f"not {', '.join(map(repr, others))}"
        )
    seed = questions.get("seed", 0)
    if type(seed) is not int:
        raise misused(f"questions.seed: expected a whole number, found {seed!r}")
    return judge, seed, _shares(questions.get("types", SHARES))


def _shares(given: object) -> dict[QuestionType, float]:
    """Return the share of each type, together 1; raises UsageError."""
    example = "expected shares from 0 on, such as {single: 0.7, paraphrase: 0.3}"
    if not isinstance(given, Mapping):
        raise misused(f"questions.types: {example}")
    shares: Mapping[Any, Any] = given
    for name in shares:
        if name not in SHARES:
            hint = did_you_mean(str(name), SHARES)
            known = ", ".join(SHARES)
            raise misused(f"questions.types: unknown type {name!r}.{hint} Known: {known}")
    numbers = [share for share in shares.values() if type(share) in (int, float) and share >= 0]
    total = sum(numbers)
    if len(numbers) < len(shares) or not 0 < total < float("inf"):
        raise misused(f"questions.types: {example}")
    return {name: shares.get(name, 0.0) / total for name in SHARES}
