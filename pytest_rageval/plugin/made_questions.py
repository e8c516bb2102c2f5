"""``--rag-init --rag-from=DOCS --rag-questions=N`` makes a checked test set of documents."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.clients.base import ChatClient
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.engine.scoring.window import waited_for
from pytest_rageval.errors import RagevalError
from pytest_rageval.first_scenario.scenario_text import FUNCTION, shell_word, target_text
from pytest_rageval.import_path import module_in
from pytest_rageval.plugin.asked_questions import AskedQuestions, asked_of, misused
from pytest_rageval.plugin.from_data import write_new
from pytest_rageval.plugin.run.run_settings import remove_shared, run_settings
from pytest_rageval.plugin.settings import SETTINGS, Settings
from pytest_rageval.plugin.show.forecast_lines import NOTHING, model_line
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.questions.base import REASONS, SHARES, Documents, Slot
from pytest_rageval.questions.calls import Asked, expected_calls
from pytest_rageval.questions.documents.read import read_documents
from pytest_rageval.questions.make import Outcome, WriterAndJudge, make_all
from pytest_rageval.questions.nearest import Nearest
from pytest_rageval.questions.rows import QUESTIONS, REJECTED, Known, QuestionSet, settled
from pytest_rageval.questions.scenario_text import SCENARIO, TARGET, scenario_text
from pytest_rageval.questions.slots import draw_slots
from pytest_rageval.questions.tested_judge import untold
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable

_LISTED: Final = 10
_SAY_S: Final = 10.0
_PRICES: Final = (
    "is known; give --rag-set='judge.price={input: USD, output: USD}', of a million tokens"
)


def make_questions(config: pytest.Config) -> int:
    """Make the questions that are not there yet, and return the exit status.

    That is 0 if each has become a row or is rejected, 1 if calls failed, 2 after Ctrl-C. Then
    nothing is written, and the same command goes on with what the cache has. A dry run says what
    would be asked. Raises UsageError for what cannot be.
    """
    config.stash[SETTINGS] = Settings.of(config)
    run = run_settings(config)
    try:
        asked = asked_of(config, run)
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


@dataclass(frozen=True)
class _Making:
    asked: AskedQuestions
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
            Asked(asked.writer, asked.judge, asked.controls != "off"),
            self.search,
            self.run,
        )
        lines += [model_line(use, prices=_PRICES) for use in uses]
        _say([*lines, f"{NOTHING}; no file was written"])
        return int(pytest.ExitCode.OK)

    def make(self) -> int:
        """Ask, check, and write the files."""
        _say(self._drawn())
        live, progress = LiveRun(self.run), _Progress(len(self.open))
        try:
            outcomes = waited_for(live.loop.submit(self._outcomes(live, progress)), progress.tell)
        except KeyboardInterrupt:
            _say([f"\nstopped; nothing is written. {self._goes_on()}"])
            return int(pytest.ExitCode.INTERRUPTED)
        except _WeakJudgeError as error:
            _say([f"NOT DONE: {error}; nothing is written"])
            return int(pytest.ExitCode.TESTS_FAILED)
        except ClientError as error:
            _say([f"NOT DONE: {error}; nothing is written. {self._goes_on()}"])
            return int(pytest.ExitCode.TESTS_FAILED)
        finally:
            usage = live.usage
            live.close()
        if usage is not None:
            cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.4f} USD"
            _say([f"{counted(usage.calls, 'call')}, {usage.cached} from the cache{cost}"])
        _say(live.problems)
        failed = [outcome for outcome in outcomes if outcome.failure is not None]
        if failed:
            _say(self._failed(outcomes, failed))
            return int(pytest.ExitCode.TESTS_FAILED)
        return self._write(settled(outcomes, self.known))

    async def _outcomes(self, live: LiveRun, progress: _Progress) -> list[Outcome]:
        clients = live.clients()
        writer, judge = clients.chat(self.asked.writer), clients.chat(self.asked.judge)
        if self.asked.controls != "off" and self.open:
            await self._test(judge)
        return await make_all(
            self.open, WriterAndJudge(writer, judge), self.search, progress.count_one
        )

    async def _test(self, judge: ChatClient) -> None:
        """Ask control rows; a judge that fails them is an error, unless it is only to be said."""
        if not (weak := await untold(self.open, judge)):
            return
        message = f"{self.asked.judge.shown} does not tell {'; nor '.join(weak)}"
        if self.asked.controls == "require":
            raise _WeakJudgeError(
                f"{message}: its checks would let wrong questions through. Name another model, or "
                "write --rag-set=judge.controls=warn to go on all the same"
            )
        _say([f"WARNING: {message}: have a person read every question"])

    def _drawn(self) -> Iterator[str]:
        kinds = Counter(slot.type for slot in self.slots)
        of_kinds = ", ".join(f"{kinds[kind]} {kind}" for kind in SHARES if kinds[kind])
        yield f"drawn: {counted(len(self.slots), 'question')} to make: {of_kinds}"
        if len(self.slots) < self.asked.count:
            yield f"the documents hold no more than {len(self.slots)} of {self.asked.count}"
        if there := len(self.slots) - len(self.open):
            yield f"{there} of them are made or rejected already: {QUESTIONS}, {REJECTED}"
        if old := self.known.outdated(self.documents.passages):
            what = "quotes" if len(old) == 1 else "quote"
            names = _listed([one_line(name) for name in old])
            yield (
                f"{counted(len(old), 'question')} of {QUESTIONS} {what} what the documents do not "
                f"hold any more: {names}; look whether they still hold"
            )

    def _goes_on(self) -> str:
        if self.run.cache_mode in ("readwrite", "refresh"):
            return "All replies are in the cache: the same command goes on where this one ended"
        return "Without the cache (--rag-cache) no reply is kept"

    def _failed(self, outcomes: Sequence[Outcome], failed: Sequence[Outcome]) -> Iterator[str]:
        whole = next(at for at, outcome in enumerate(outcomes) if outcome.failure is not None)
        yield f"NOT DONE: {len(failed)} of {counted(len(outcomes), 'question')} could not be made:"
        causes = Counter(str(outcome.failure) for outcome in failed)
        yield from (f"  {count}x {one_line(text)}" for text, count in causes.most_common(_LISTED))
        yield f"nothing is written. {self._goes_on()}"
        first = self.slots.index(self.open[whole])
        if first and self.run.cache_mode in ("readwrite", "refresh"):
            yield f"the first {first} are complete: --rag-questions={first} writes them at no cost"

    def _write(self, found: QuestionSet) -> int:
        asked = self.asked
        counts = Counter(one.reason for one in found.rejected)
        lines = [f"{len(found.rows)} of {counted(len(self.open), 'question')} passed all checks"]
        if not self.open:
            lines = ["nothing is left to make"]
        lines += [f"  {counts[name]} rejected: {REASONS[name]}" for name in REASONS if counts[name]]
        known_too = sum(bool(row["common_knowledge"]) for row in found.rows)
        if known_too:
            lines.append(f"  {known_too} marked as common knowledge: answered without the passage")
        try:
            for name, has_new, chunks in (
                (REJECTED, found.changes_rejected(self.known), found.rejected_text(self.known)),
                (QUESTIONS, found.rows, found.questions_text(self.known)),
            ):
                if has_new:
                    write_atomically(asked.folder / name, chunks)
                    lines.append(f"wrote {asked.shown(asked.folder / name)}")
        except OSError as error:
            raise misused(f"--rag-init: {error}") from error
        rows = [*self.known.rows, *found.rows]
        if rows:
            lines += write_new(asked.first, self._new_files(rows))
        _say([*lines, *self._next(rows)])
        return int(pytest.ExitCode.OK if rows else pytest.ExitCode.TESTS_FAILED)

    def _new_files(self, rows: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
        """Return what is written once: the scenario, its target, and a workflow if asked for."""
        folder, first = self.asked.folder, self.asked.first
        target = f"{module_in(folder, TARGET.removesuffix('.py'))}:{FUNCTION}"
        unanswerable = any(row.get("answerable") is False for row in rows)
        scenario = scenario_text(target, self.asked.judge.model, has_unanswerable=unanswerable)
        module = target_text(TARGET, SCENARIO, ("contexts", "answer"))
        files = {folder / SCENARIO: scenario, folder / TARGET: module}
        if first.workflow is not None:
            files[first.workflow] = first.workflow_text(asks=True)
        return files

    def _next(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        if not rows:
            yield f"no question is left; read the reasons in {self.asked.folder / REJECTED}"
            return
        command = f"pytest {shell_word(self.asked.shown(self.asked.folder / SCENARIO))}"
        yield f"read them:  {command} --rag-label={len(rows)}"
        yield f"write in {self.asked.shown(self.asked.folder / TARGET)} how your system is asked"
        yield f"run it:     {command}"


class _WeakJudgeError(RagevalError):
    """A judge that failed its control rows."""


class _Progress:
    """Says every few seconds how many questions are done."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._said_at = time.monotonic()

    def count_one(self) -> None:
        """Note that one more question is done."""
        self._done += 1

    def tell(self) -> None:
        """Say it, if it is time again."""
        if time.monotonic() - self._said_at > _SAY_S:
            self._said_at = time.monotonic()
            say(f"{self._done} of {self._total} questions\n")


def _found(asked: AskedQuestions, documents: Documents) -> Iterator[str]:
    read = ", ".join(f"{count} {name}" for name, count in documents.read.items())
    total = counted(sum(documents.read.values()), "document")
    of_formats = f" ({read})" if read else ""
    passages = counted(len(documents.passages), "passage")
    yield f"{asked.shown(asked.documents)}: {total}{of_formats}, {passages}"
    if documents.too_short:
        yield f"{counted(documents.too_short, 'part')} too short to ask about, in no passage"
    if documents.left_out:
        yield f"{counted(len(documents.left_out), 'file')} left out:"
        listed = documents.left_out[:_LISTED]
        yield from (f"  {one_line(left.name)}: {one_line(left.reason)}" for left in listed)
        if more := len(documents.left_out) - _LISTED:
            yield f"  and {more} more" if more > 0 else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _say(lines: Iterator[str] | Sequence[str]) -> None:
    say("".join(f"{printable(line)}\n" for line in lines if line))
