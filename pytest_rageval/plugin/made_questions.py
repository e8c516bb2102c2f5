"""``--rag-init --rag-from=DOCS --rag-questions=N`` makes a checked test set of documents."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from pytest_rageval.clients.base import ChatClient
from pytest_rageval.clients.clients import check_chat
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.planning.bind_metrics import client_settings
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.engine.scoring.window import waited_for
from pytest_rageval.errors import RagevalError, did_you_mean
from pytest_rageval.first_scenario.scenario_text import FUNCTION, shell_word, target_text
from pytest_rageval.import_path import module_in
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
from pytest_rageval.questions.rows import QUESTIONS, REJECTED, Known, QuestionSet, settled
from pytest_rageval.questions.scenario_text import SCENARIO, TARGET, scenario_text
from pytest_rageval.questions.slots import draw_slots
from pytest_rageval.questions.tested_judge import untold
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.scenario.model_specs import JudgeSpec
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable

_LISTED: Final = 10
_SAY_S: Final = 10.0
_PRICES: Final = (
    "is known; give --rag-set='judge.price={input: USD, output: USD}', of a million tokens"
)
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
    judge: ClientSettings
    controls: str
    """Whether the judge has to pass control rows first: require, warn or off."""

    def shown(self, path: Path) -> str:
        """Return a path as the user would type it."""
        return os.path.relpath(path, self.here)

    @property
    def own_files(self) -> list[Path]:
        """The files that are written, which are no documents."""
        return [self.folder / name for name in (QUESTIONS, REJECTED, SCENARIO, TARGET)]


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
        raise _misused(str(error)) from error
    say("".join(f"{printable(line)}\n" for line in _found(asked, documents)))
    if not documents.passages:
        raise _misused(f"--rag-from={config.getoption('rag_from')}: no document could be read")
    search = Nearest(documents.passages)
    slots = draw_slots(documents.passages, search, asked.count, asked.shares, asked.seed)
    making = _Making(asked, run, documents, known, slots, search)
    try:
        return making.forecast() if config.getoption("rag_dry_run") else making.make()
    finally:
        remove_shared(config)


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
        yield f"NOT DONE: {len(failed)} of {len(outcomes)} questions could not be made; "
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
        lines += [f"  {counts[name]} rejected: {REASONS[name]}" for name in REASONS if counts[name]]
        known_too = sum(bool(row["common_knowledge"]) for row in found.rows)
        if known_too:
            lines.append(f"  {known_too} marked as common knowledge: answered without the passage")
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
        _say([*lines, *self._next(rows)])
        return int(pytest.ExitCode.OK if rows else pytest.ExitCode.TESTS_FAILED)

    def _new_files(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Path, str]]:
        """Yield the scenario and the module with its target, unless they are there."""
        folder = self.asked.folder
        target = f"{module_in(folder, TARGET.removesuffix('.py'))}:{FUNCTION}"
        unanswerable = any(row.get("answerable") is False for row in rows)
        scenario = scenario_text(target, self.asked.judge.model, has_unanswerable=unanswerable)
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


def _found(asked: _Asked, documents: Documents) -> Iterator[str]:
    read = ", ".join(f"{count} {name}" for name, count in documents.read.items())
    total = counted(sum(documents.read.values()), "document")
    of_formats = f" ({read})" if read else ""
    passages = counted(len(documents.passages), "passage")
    yield f"{asked.shown(asked.documents)}: {total}{of_formats}, {passages}"
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


def _asked(config: pytest.Config, run: RunSettings) -> _Asked:
    named, folder = config.getoption("rag_from"), config.getoption("rag_init")
    if folder is None or named is None:
        raise _misused(f"--rag-questions goes with --rag-init and --rag-from: {_HOW}")
    here = config.invocation_params.dir
    if not named or not (here / named).exists():
        raise _misused(f"--rag-from={named}: no such file or folder; name that of your documents")
    if (here / folder).exists() and not (here / folder).is_dir():
        raise _misused(f"--rag-init={folder} is no folder; the documents go to --rag-from: {_HOW}")
    judge_keys, seed, shares = _given(config)
    spec = _judge(judge_keys)
    judge = client_settings("judge", spec)
    writer = replace(judge, role="writer")
    if (model := config.getoption("rag_questions_model")) is not None:
        writer = replace(writer, model=model)
    else:
        writer = judge
    problems = check_chat(judge, run)
    if problems:
        raise _misused(f"judge.{problems[0]}")
    count = _count(config.getoption("rag_questions"))
    controls = spec.controls.mode if "controls" in judge_keys else "require"
    return _Asked(here, here / folder, here / named, count, seed, shares, writer, judge, controls)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise _misused(f"--rag-questions={text}: expected a whole number from 1 on, such as 50")
    return int(text)


def _judge(keys: Mapping[str, Any]) -> JudgeSpec:
    if "model" not in keys:
        raise _misused(
            f"--rag-questions needs a model that writes and checks them: {JUDGE_MODEL.flag}=NAME, "
            f"and for another server --rag-set judge.base_url=http://localhost:8000/v1"
        )
    try:
        return JudgeSpec.model_validate(keys)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, ("judge", *problem["loc"])))
        raise _misused(f"--rag-set={place}: {problem['msg']}") from None


def _given(config: pytest.Config) -> tuple[dict[str, Any], int, dict[QuestionType, float]]:
    """Return what is set of the judge, the seed, and the shares of types; raises UsageError."""
    judge: dict[str, Any] = {}
    seed, shares = 0, dict(SHARES)
    for override in config.stash[SETTINGS].overrides:
        match override.path:
            case ("judge", key):
                judge[key] = override.value
            case ("judge", key, part):
                judge.setdefault(key, {})[part] = override.value
            case ("embedding", "concurrency"):
                pass  # --rag-concurrency is for both
            case ("questions", "seed") if type(override.value) is int:
                seed = override.value
            case ("questions", "types"):
                shares = _shares(override.flag, override.value)
            case _:
                raise _misused(
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
            raise _misused(f"{flag}: unknown type {name!r}.{hint} Known: {', '.join(SHARES)}")
    numbers = [share for share in given.values() if type(share) in (int, float) and share >= 0]
    total = sum(numbers)
    if len(numbers) < len(given) or not 0 < total < float("inf"):
        raise _misused(
            f"{flag}: expected shares from 0 on, such as {{single: 0.7, paraphrase: 0.3}}"
        )
    return {name: given.get(name, 0.0) / total for name in SHARES}


def _misused(message: str) -> pytest.UsageError:
    return pytest.UsageError(printable(message))
