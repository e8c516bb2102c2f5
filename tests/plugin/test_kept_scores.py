"""A run whose every score is in the cache asks nobody and loads no package of its metrics."""

from __future__ import annotations

import pytest
from fake_judge import judge
from judged_project import JudgedProject

from pytest_rageval.extras import installed

pytest_plugins = ["judged_project"]

ANSWERS = ["0.1", "0.2", "0.3"]

KEEPING = """
class Keeping(Graded):
    def follows_from(self, language):
        return {"language": language}

    def reads(self, sample):
        return {"answer": sample.answer}


def begin():
    with (HERE / "begun.txt").open("a") as log:
        log.write("begun" + chr(10))


if METRIC_REGISTRY.canonical("keeping") is None:
    fields, asks = frozenset({"answer"}), frozenset({"judge"})
    info = MetricInfo("keeping", fields, asks=asks, keeps_scores=True)
    METRIC_REGISTRY.add(MetricDefinition(info, Keeping, preload=begin))
"""
"""A metric that keeps its scores, and leaves a trace when what it needs is loaded."""

WITNESS = """
import sys


def pytest_unconfigure(config):
    with (HERE / "imported.txt").open("a") as log:
        log.write(("ragas" if "ragas" in sys.modules else "no ragas") + chr(10))
"""

ROW = {
    "question": "How long may I return opened items?",
    "answer": "Opened items can be returned within 60 days. Bring the receipt.",
    "references": ["Opened items can be returned within 30 days."],
    "contexts": ["Unopened items can be returned within 60 days.", "Bring the receipt."],
}
RAGAS = ["faithfulness", "answer_relevancy", "context_precision", "context_recall"]


@pytest.fixture
def keeping(judged: JudgedProject) -> JudgedProject:
    """Return a project whose metric keeps its scores."""
    judged.with_conftest(KEEPING)
    judged.scenario(ANSWERS, metrics=["keeping"])
    return judged


def _begun(judged: JudgedProject) -> int:
    """Return how often loading was begun since the last look."""
    path = judged.path / "begun.txt"
    count = path.read_text().count("begun") if path.exists() else 0
    path.unlink(missing_ok=True)
    return count


@pytest.mark.full
def test_scores_are_found_without_their_replies(keeping: JudgedProject) -> None:
    """The bytes are equal, nobody is asked, and the summary counts the replies behind them."""
    keeping.loop_back().assert_outcomes(passed=3)
    assert _begun(keeping) > 0
    for path in keeping.cache.glob("*.reply*.jsonl"):
        path.unlink()
    keeping.server.forget()
    result = keeping.loop_back()
    result.assert_outcomes(passed=3)
    assert keeping.asked == []
    assert _begun(keeping) == 0
    first, second = keeping.project.folders()
    assert keeping.without_run(first) == keeping.without_run(second)
    assert (keeping.usage["calls"], keeping.usage["cached"]) == (0, 3)
    result.stdout.fnmatch_lines(["models: 0 calls, 3 answers from the cache, 0 tokens*"])


@pytest.mark.full
def test_a_reply_that_changed_is_not_hidden_by_the_score_of_the_old_one(
    keeping: JudgedProject,
) -> None:
    """Refreshed, then read again: the judge has changed its mind in between."""
    keeping.pytest()
    keeping.server.options.answer = lambda body: "0.9"
    keeping.pytest("--rag-cache=refresh").assert_outcomes(passed=3)
    keeping.server.forget()
    keeping.pytest().assert_outcomes(passed=3)
    assert keeping.asked == []
    scores = [sample["scores"]["keeping"] for sample in keeping.project.results()["samples"]]
    assert scores == [0.9] * 3


@pytest.mark.skipif(not installed("ragas"), reason="needs the extra ragas")
def test_a_second_run_of_ragas_metrics_imports_no_ragas(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, no request, with the cache and in replay, plain and with workers."""
    monkeypatch.delenv(
        "PYTHONPYCACHEPREFIX", raising=False
    )  # compiling ragas anew takes half a minute
    judged.with_conftest(WITNESS)
    judged.server.options.answer = judge
    other = {"question": "Where is the shop?", "answer": "Bring them. The shop is in Berlin."}
    rows = [ROW, {**ROW, **other}]
    embedding = {"model": "e", "base_url": judged.server.base_url}
    judged.scenario(rows, metrics=RAGAS, embedding=embedding)

    def run(*args: str) -> str:
        """Return what was imported, by any process."""
        options = ("-p", "no:langsmith_plugin", *args)
        judged.project.pytester.runpytest_subprocess(*options).assert_outcomes(passed=2)
        path = judged.path / "imported.txt"
        found = ", ".join(sorted(set(path.read_text().splitlines())))
        path.unlink()
        return found

    assert run() == "ragas"
    # Two, three, one for each of two contexts, one; of each of two samples.
    assert len(judged.asked) == 16
    # Both samples embed question and guesses; the judge guesses one question three times.
    answers = 16 + 2
    judged.server.forget()
    for options in ((), ("--rag-cache=replay",), ("--rag-cache=read",), ("-n", "2")):
        assert run(*options) == "no ragas", options
        assert (judged.asked, judged.server.embeddings) == ([], [])
        assert (judged.usage["calls"], judged.usage["cached"]) == (0, answers)
    first, *others = [judged.without_run(folder) for folder in judged.project.folders()]
    assert others == [first] * 4
    judged.scenario([*rows, {**ROW, "answer": "Bring the receipt."}], metrics=RAGAS[:1])
    judged.project.pytester.runpytest_subprocess("-p", "no:langsmith_plugin")
    assert len(judged.asked) == 2


@pytest.mark.skipif(not installed("ragas"), reason="needs the extra ragas")
def test_several_verdicts_on_a_statement_are_several_calls(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[F8] The claims once, the verdicts three times; all four are kept, and their score."""
    monkeypatch.delenv(
        "PYTHONPYCACHEPREFIX", raising=False
    )  # compiling ragas anew takes half a minute
    judged.server.options.answer = judge
    judged.scenario([ROW], metrics=[{"faithfulness": {"reproducibility": 3}}])
    run = judged.project.pytester.runpytest_subprocess
    run("-p", "no:langsmith_plugin").assert_outcomes(passed=1)
    assert (len(judged.asked), judged.usage["calls"], judged.usage["cached"]) == (4, 4, 0)
    run("-p", "no:langsmith_plugin", "--rag-cache=replay").assert_outcomes(passed=1)
    assert (judged.usage["calls"], judged.usage["cached"]) == (0, 4)
