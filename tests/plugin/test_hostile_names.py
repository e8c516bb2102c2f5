"""Names of scenarios, gates, baselines and tests that try to be more than text."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Project, Run, red

EVIL = "e\x1b[2J\n::error::x\u202e ##[group]\x9b\u2067 \ud800"
FORBIDDEN = ("\x1b", "\x9b", "\u202e", "\u2067", "##[", "\ud800")

TESTS = """
import pytest

@pytest.mark.rag_scenario("qa.rageval.json")
def test_it(rag_sample, rageval):
    rageval.check(rag_sample.answer)
"""


@pytest.mark.full
def test_a_hostile_name_reaches_no_output_as_it_is(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R4] Plain and with workers: headings, gates, JUnit, annotations, the step summary."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    summary = project.path / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    row = {"references": ["Paris"], "topic": EVIL}
    scenario = {
        "name": EVIL[:-1],  # old versions of pydantic refuse lone surrogates in fields
        "dataset": [
            {"id": "good", "answer": "Paris", **row},
            {"id": "bad", "answer": "Rome", **row},
        ],
        "metrics": ["em"],
        "thresholds": {"em": 1},
        "gates": {"em": 1, "by": {"topic": {"em": 1}}},
    }
    project.file("qa.rageval.json", json.dumps(scenario))
    project.file("test_it.py", TESTS)
    args = (
        "--rag-scenario=qa.rageval.json",
        "test_it.py",
        "--junitxml=junit.xml",
        "--rag-report=badge",
        "-v",
    )
    result = red(run(*args, "--rag-save-failed=main"))
    result.assert_outcomes(passed=4, failed=7)
    texts = [result.stdout.str(), result.stderr.str(), summary.read_text("utf-8")]
    texts.append((project.path / "junit.xml").read_text("utf-8"))
    runs = next(path for path in (project.path / ".rageval").iterdir() if path.is_dir())
    pages = [*runs.rglob("2*/summary.md"), *runs.rglob("2*/badge.svg")]
    assert len(pages) >= 2
    texts += [path.read_text("utf-8") for path in pages]
    for text in texts:
        assert "INTERNALERROR" not in text
        assert not [one for one in FORBIDDEN if one in text]
    ours = ("::error file=", "::warning file=")
    commands = [line for line in result.outlines if line.lstrip().startswith("::")]
    assert all(line.startswith(ours) for line in commands)
