"""What the commands that have a model make something share: the judge, its test, and the waiting.

Nothing is written if a call fails; the replies are in the cache, for the same command again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, Protocol, TypeVar

import pytest
from pydantic import ValidationError

from pytest_rageval.clients.base import ChatClient, cost_text
from pytest_rageval.clients.clients import check_chat
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.settings import ClientSettings, RunSettings, client_settings
from pytest_rageval.engine.scoring.counting_models import ModelUse
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.engine.scoring.window import waited_for
from pytest_rageval.errors import RagevalError, listed
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.options import JUDGE_MODEL
from pytest_rageval.plugin.run.run_settings import remove_shared, run_settings
from pytest_rageval.plugin.settings import SETTINGS, Settings
from pytest_rageval.plugin.show.forecast_lines import NOTHING, model_line
from pytest_rageval.plugin.show.terminal import say
from pytest_rageval.questions.base import Slot
from pytest_rageval.questions.checks import untold
from pytest_rageval.scenario.model_specs import JudgeSpec
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable

LISTED: Final = 10
_PRICES: Final = (
    "is known; give --rag-set='judge.price={input: USD, output: USD}', of a million tokens"
)
_SAY_S: Final = 10.0

T = TypeVar("T")


@dataclass(frozen=True)
class CheckingJudge:
    """The model that checks each ``what``: a question, or a list.

    ``controls`` says what becomes of one that fails its control rows: ``require`` ends the command,
    ``warn`` says so and goes on, ``off`` does not ask them.
    """

    settings: ClientSettings
    controls: str
    what: str

    async def test(self, slots: Sequence[Slot], client: ChatClient) -> None:
        """Ask control rows for ``slots``; a judge that fails raises, or a warning is printed."""
        if self.controls == "off" or not slots or not (weak := await untold(slots, client)):
            return
        message = f"{self.settings.shown} does not tell {'; nor '.join(weak)}"
        if self.controls == "require":
            raise _WeakJudgeError(
                f"{message}: its checks would let wrong {self.what}s through. Name another model, "
                "or write --rag-set=judge.controls=warn to go on all the same"
            )
        say_lines([f"WARNING: {message}: have a person read every {self.what}"])


class _WeakJudgeError(RagevalError):
    """A judge that failed its control rows."""


class Progress:
    """Says at most every ten seconds how many are done, and after an early end how to go on.

    ``unkept`` says why replies could not be kept, "" if all were.
    """

    def __init__(self, run: RunSettings, total: int, what: str) -> None:
        self.run, self.unkept = run, ""
        self._said_at = time.monotonic()
        self.begin(total, what)

    def begin(self, total: int, what: str) -> None:
        """Count something else from now on: ``total`` of ``what``, a word in the singular."""
        self._total, self._what, self._done = total, what, 0

    def count_one(self) -> None:
        """Note that one more is done."""
        self._done += 1

    def tell(self, live: LiveRun) -> None:
        """Say how many are done, and what is waited for, if ten seconds have passed."""
        clients = live.opened
        if time.monotonic() - self._said_at > _SAY_S and clients is not None:
            self._said_at = time.monotonic()
            done = f"{self._done} of {counted(self._total, self._what)}"
            waiting = f"; waiting up to {clients.waiting}" if clients.waiting else ""
            calls = counted(clients.usage.calls, "call")
            say_lines([f"{done}, {calls}{clients.flight}{waiting}"])
            # Said before the end: whoever makes room now loses no more replies.
            say_lines([clients.unkept])

    def wait(self, live: LiveRun, work: Coroutine[Any, Any, T]) -> T:
        """Return what ``work`` makes, and say meanwhile how far it is."""
        try:
            return waited_for(live.loop.submit(work), partial(self.tell, live))
        finally:
            self.unkept = live.opened.unkept if live.opened is not None else ""

    @property
    def is_kept(self) -> bool:
        """Whether the same command is given all replies so far, and asks for the rest alone."""
        return self.run.cache_mode == "readwrite" and not self.unkept

    @property
    def goes_on(self) -> str:
        """A sentence: whether the same command goes on where this one ended, else what does."""
        mode = self.run.cache_mode
        if self.is_kept:
            return "With the replies in the cache, the same command goes on where this one ended"
        if self.unkept:
            return "Replies could not be kept: the same command pays for them again"
        if mode == "refresh":
            again = "With --rag-cache=refresh all is asked again"
            return f"{again}: leave it out to go on where this one ended"
        if mode == "replay":
            return "--rag-cache=replay asks nobody: leave it out to have the rest asked"
        return f"--rag-cache={mode} keeps no reply: leave it out to pay nothing twice"


class Making(Protocol):
    """What a command is about to make."""

    def expected(self) -> Sequence[ModelUse]:
        """Return what would be asked, and ask nobody."""

    def make(self) -> pytest.ExitCode:
        """Ask, check, write the files, and return the exit status."""


def make_or_forecast(config: pytest.Config, prepare: Callable[[RunSettings], Making]) -> int:
    """Make what was asked for, and return the exit status.

    That is 0 if all of it is made or rejected, 1 if no row is left. If calls or the judge's test
    failed (1), or after Ctrl-C (2), nothing is written; the same command goes on with what the
    cache has. A dry run says what would be asked. Raises UsageError for what cannot be made.
    """
    config.stash[SETTINGS] = Settings.of(config)
    making = prepare(run_settings(config))
    try:
        if not config.getoption("rag_dry_run"):
            return int(making.make())
        lines = [model_line(use, prices=_PRICES) for use in making.expected()]
        say_lines([*lines, f"{NOTHING}; no file was written"])
        return int(pytest.ExitCode.OK)
    finally:
        remove_shared(config)


def made(
    work: Callable[[Progress, LiveRun], Coroutine[Any, Any, T]], progress: Progress
) -> T | pytest.ExitCode:
    """Return what ``work`` makes with models, or the exit status if it ended early; says why."""
    live = LiveRun(progress.run)
    result: T | pytest.ExitCode = pytest.ExitCode.TESTS_FAILED
    why = ""
    try:
        result = progress.wait(live, work(progress, live))
    except KeyboardInterrupt:
        result = pytest.ExitCode.INTERRUPTED
        why = f"stopped; nothing is written. {progress.goes_on}"
    except _WeakJudgeError as error:
        why = f"NOT DONE: {error}; nothing is written"
    except ClientError as error:
        why = f"NOT DONE: {error}; nothing is written. {progress.goes_on}"
    finally:
        usage = live.usage
        live.close()
    if usage is not None:
        cost = cost_text(usage.cost_usd, usage.unpriced)
        said = [counted(usage.calls, "call"), f"{usage.cached} from the cache", cost]
        say_lines([", ".join(filter(None, said))])
    say_lines([*live.problems, why])
    return result


def not_done(
    progress: Progress, failures: Sequence[ClientError], total: int, what: str
) -> Iterator[str]:
    """Yield how many of ``total`` could not be made, why, and that nothing is written."""
    yield f"NOT DONE: {len(failures)} of {counted(total, what)} could not be made:"
    causes = Counter(map(str, failures))
    yield from (f"  {count}x {one_line(text)}" for text, count in causes.most_common(LISTED))
    yield f"nothing is written. {progress.goes_on}"


@contextmanager
def nothing_lost(progress: Progress) -> Iterator[None]:
    """Raise UsageError for what fails within, after all was paid for, with how to go on."""
    try:
        yield
    except RagevalError as error:
        raise misused(f"{error}; nothing is written. {progress.goes_on}") from error
    except OSError as error:
        raise misused(f"--rag-init: {error}. {progress.goes_on}") from error


def judge_of(keys: Mapping[str, Any], run: RunSettings, flag: str, what: str) -> CheckingJudge:
    """Return the judge that checks each ``what`` made by the option ``flag``; raises UsageError."""
    if "model" not in keys:
        raise misused(
            f"{flag} needs a model that writes and checks them: {JUDGE_MODEL.flag}=NAME, and "
            "for another server --rag-set judge.base_url=http://localhost:8000/v1"
        )
    try:
        spec = JudgeSpec.model_validate(keys)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, ("judge", *problem["loc"])))
        raise misused(f"--rag-set={place}: {problem['msg']}") from None
    settings = client_settings("judge", spec)
    if problems := check_chat(settings, run):
        raise misused(f"judge.{problems[0]}")
    # A run warns by default; what a weak judge lets through here would stay in the data.
    controls = spec.controls.mode if "controls" in keys else "require"
    return CheckingJudge(settings, controls, what)


def check_writable(folder: Path) -> None:
    """Raise UsageError if no file can be written to a folder, which may still have to be made.

    To be called before anything is paid for.
    """
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise misused(f"--rag-init: nothing can be written to {folder}: {error}") from error


def named(ids: Iterable[str]) -> str:
    """Return the first LISTED ids, and how many more there are."""
    return listed(map(one_line, ids), LISTED)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines that are not empty."""
    say("".join(f"{printable(line)}\n" for line in lines if line))
