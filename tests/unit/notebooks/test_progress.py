"""[E23, B11] Progress in a notebook or at a terminal; an interrupt leaves everything usable."""

from __future__ import annotations

import asyncio
import sys
import threading
import warnings
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.notebooks.progress import ProgressBar, shown_progress

ROWS = [{"id": str(at), "question": f"{at}?", "references": ["x"]} for at in range(3)]
SCENARIO: dict[str, Any] = {"name": "s", "metrics": ["em"], "dataset": ROWS}


def test_a_bar_is_shown_where_tqdm_is_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is closed, starts no thread that stays, and warns of nothing."""
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    before = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(SCENARIO, target=lambda question: "x", progress=True)
    assert set(threading.enumerate()) <= before | set(asyncio_threads())
    shown = capsys.readouterr().err
    assert "s: 100%" in shown
    assert "3/3" in shown
    assert shown.endswith("\n")


def test_without_stderr_no_progress_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under pythonw."""
    monkeypatch.setattr(sys, "stderr", None)
    with shown_progress(True, "bot") as progress:
        assert progress is None


def test_a_bar_that_ends_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    """Also when it is kept, as a traceback keeps it; one that never began has nothing to close."""
    pytest.importorskip("tqdm")
    bar = ProgressBar("s")
    bar.end()
    bar(1, 2)
    assert not bar._bar.disable
    bar.end()
    assert bar._bar.disable
    assert "s:  50%" in capsys.readouterr().err


def asyncio_threads() -> list[threading.Thread]:
    """Return the idle threads that functions were asked in, which are kept for the next."""
    return [one for one in threading.enumerate() if "tqdm" not in one.name.lower()]


def test_a_notebook_counts_as_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with shown_progress(True, "bot") as progress:
        assert progress is not None
        progress(1, 2)
    assert capsys.readouterr().err == "\rbot: 1/2 samples\n"


def test_a_bar_is_closed_when_an_evaluation_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next one begins anew, in the same process."""
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_rageval.engine.evaluate.run_case", interrupt)
    with pytest.raises(KeyboardInterrupt):
        evaluate(SCENARIO, target=lambda question: "x", progress=True)
    assert capsys.readouterr().err.endswith("\n")
    monkeypatch.undo()
    assert evaluate(SCENARIO, target=lambda question: "x").mean_of("em") == 1.0


def test_it_can_be_awaited_in_a_thread() -> None:
    """The loop goes on meanwhile; each call has its own result."""

    async def answer(question: str) -> str:
        await asyncio.sleep(0)
        return "x" if question == "0?" else "y"

    async def notebook() -> list[float | None]:
        calls = [asyncio.to_thread(evaluate, SCENARIO, target=answer) for _ in range(2)]
        return [result.mean_of("em") for result in await asyncio.gather(*calls)]

    assert asyncio.run(notebook()) == [pytest.approx(1 / 3)] * 2
