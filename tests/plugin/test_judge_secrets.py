"""E10: no key, header or URL with credentials gets into a file, report, cache or message."""

from __future__ import annotations

import pytest
from judged_project import JudgedProject

from pytest_rageval.reports.base import REPORT_REGISTRY

pytest_plugins = ["judged_project"]

KEY = "sk-live-0123456789abcdef"
HEADER = "literal-header-value"
GATE = "gate-token-from-the-environment"
TOKEN = "token-in-the-query"
BODY = "value-added-to-the-body"
SECRETS = (KEY, HEADER, GATE, TOKEN)

FAULTS = ["401", "400 bad", "404", "429:9", "500", "html", "html_502", "error_in_200", "reset"]
FAULTS += ["redirect", "not_json", "prose", "length", "filter_400", "quota", "cut", "close", "late"]
FAULTS += ["stall", "no_choices", "empty_choices", "null", "refusal", "filtered", "429", "503"]


@pytest.fixture
def keyed(judged: JudgedProject, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    """Return a project whose judge is given secrets in all the ways there are."""
    monkeypatch.setenv("GATE_TOKEN", GATE)
    judged.server.hang_s = 3.0
    judged.scenario(
        ["0.9", "0.1", *(f"{fault}|0.5" for fault in FAULTS)],
        judge={
            "base_url": f"{judged.server.base_url}?token={TOKEN}",
            "headers": {"X-Gate": "${GATE_TOKEN}", "X-Literal": HEADER},
            "retries": 0,
            "reasks": 0,
            "max_wait_s": 1,
            "timeout_s": 2,
        },
        thresholds={"graded": 0.5},
        gates={"graded": 0.2},
    )
    return judged


def _leaks(judged: JudgedProject, result: pytest.RunResult) -> list[str]:
    """Return where a secret got: files, or the lines that were printed."""
    printed = [*result.outlines, *result.errlines]
    return judged.files_with(*SECRETS) + [
        line for line in printed if any(secret in line for secret in SECRETS)
    ]


def test_no_secret_gets_anywhere(keyed: JudgedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """[E10] After successes and every fault; the server repeats the key in its messages.

    Run folder with all reports, cache, JUnit XML, pytest's own cache, what GitHub is told, terminal
    with full tracebacks and locals.
    """
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(keyed.path / "step.md"))
    reports = [f"--rag-report={report.name}" for report in REPORT_REGISTRY if report.on_request]
    assert "--rag-report=report.html" in reports
    result = keyed.loop_back(
        "-vv", "--junitxml=junit.xml", "--showlocals", "--tb=long", "-rA", *reports
    )
    assert result.parseoutcomes()["errors"] == len(FAULTS)
    seen = keyed.server.chats[0]
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["x-gate"] == GATE
    assert seen.headers["x-literal"] == HEADER
    assert TOKEN in seen.path
    written = {path.name for path in keyed.path.rglob("*") if path.is_file()}
    assert {"results.json", "scores.csv", "summary.md", "junit.xml", "metadata.json"} <= written
    assert {"report.html", "step.md"} <= written
    assert any(keyed.cache.iterdir())
    assert _leaks(keyed, result) == []


def test_the_snapshot_shows_names_only(keyed: JudgedProject) -> None:
    """[E10] Of headers and of what is added to requests; of the URL, where it leads."""
    keyed.scenario(
        ["0.9"],
        judge={
            "base_url": f"{keyed.server.base_url}?token={TOKEN}",
            "headers": {
                "X-Gate": "${GATE_TOKEN}",
                "X-Literal": HEADER,
                "X-Mixed": "a ${GATE_TOKEN}",
            },
            "extra_body": {"safety": BODY},
        },
    )
    keyed.pytest().assert_outcomes(passed=1)
    snapshot = (keyed.project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    for shown in ("X-Gate: ${GATE_TOKEN}", "X-Literal: '***'", "X-Mixed: '***'", "safety: '***'"):
        assert shown in snapshot
    assert f"base_url: {keyed.server.base_url}\n" in snapshot
    assert "JUDGE_KEY" in snapshot
    assert BODY not in snapshot
    assert any(keyed.cache.iterdir())
    assert keyed.files_with(BODY) == []


def test_a_metric_that_is_broken_shows_no_secret(keyed: JudgedProject) -> None:
    """[E10] Its text is anyone's; the client that it holds shows nothing of itself."""
    keyed.with_conftest(
        """
class Leaky(Graded):
    async def ascore(self, sample, models):
        await grade(models.judge, "graded: 0.5")
        raise RuntimeError(f"{models!r} {vars(models.judge)!r}"[-250:])

METRIC_REGISTRY.add(
    MetricDefinition(MetricInfo("leaky", frozenset({"answer"}), asks=frozenset({"judge"})), Leaky)
)
"""
    )
    keyed.scenario(["x"], metrics=["leaky"], judge={"headers": {"X-Literal": HEADER}})
    result = keyed.pytest("--showlocals")
    result.assert_outcomes(errors=1, failed=1)
    assert _leaks(keyed, result) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "option",
    [
        f"judge.base_url=http://user:{TOKEN}@h/v1",
        f"judge.headers.X-Literal=[{HEADER}]",
        f"judge.api_key={KEY}",
        f"models.odd.headers={HEADER}",
    ],
)
def test_an_option_that_is_refused_is_not_repeated(keyed: JudgedProject, option: str) -> None:
    """[E10, E12] ``--rag-set``; shells and CI show what was typed, we do not."""
    keyed.scenario(["0.5"], models={"odd": {"model": "m"}})
    result = keyed.pytest("--rag-set", option)
    assert result.ret != pytest.ExitCode.OK
    output = result.stdout.str() + result.stderr.str()
    assert f"--rag-set {option.partition('=')[0]}" in output
    assert not any(secret in output for secret in SECRETS)


def test_an_option_that_is_taken_is_not_written_down(keyed: JudgedProject) -> None:
    """[E10] results.json says what was overridden, not by what."""
    keyed.scenario(["0.5"])
    url = f"judge.base_url={keyed.server.base_url}?token={TOKEN}"
    result = keyed.pytest("--rag-set", url, "--rag-set", f"judge.headers.X-Literal={HEADER}")
    result.assert_outcomes(passed=1)
    overridden = keyed.project.results()["scenario"]["overridden"]
    assert overridden == ["judge.base_url", "judge.headers.X-Literal"]
    assert _leaks(keyed, result) == []


@pytest.mark.full
def test_a_miss_in_replay_shows_no_secret(keyed: JudgedProject) -> None:
    """[E9, E10] It says that the endpoint differs, of both without the query."""
    keyed.scenario(["0.5"])
    keyed.pytest()
    keyed.scenario(["0.5"], judge={"base_url": f"http://elsewhere.test/v1?token={TOKEN}"})
    result = keyed.pytest("--rag-cache=replay")
    result.assert_outcomes(errors=1, failed=1)
    assert "endpoint: 'http://elsewhere.test/v1' here" in keyed.errors["s0"]
    assert _leaks(keyed, result) == []
    keyed.scenario(["0.5"], judge={"extra_body": {"safety": BODY}})
    result = keyed.pytest("--rag-cache=replay")
    assert "the nearest entry differs: extra_body differs: safety" in keyed.errors["s0"]
    assert BODY not in result.stdout.str()
    assert _leaks(keyed, result) == []
