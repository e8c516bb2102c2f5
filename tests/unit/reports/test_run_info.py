"""What of a run's surroundings is on record."""

from __future__ import annotations

import pytest

from pytest_rageval.reports.write_run import ci_attempt, ci_commit


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"GITHUB_SHA": "C0FFEE" + "0" * 34}, "c0ffee" + "0" * 34),
        ({"CI_COMMIT_SHA": "1234567"}, "1234567"),
        ({"GITHUB_SHA": "", "CI_COMMIT_SHA": "1234567"}, "1234567"),
        ({"GITHUB_SHA": "main; rm -rf"}, None),
        ({"GIT_COMMIT": "1234567"}, None),
    ],
)
def test_the_commit_is_what_the_service_names(
    environ: dict[str, str], expected: str | None
) -> None:
    """E15."""
    assert ci_commit(environ) == expected


@pytest.mark.parametrize(("said", "expected"), [("2", 2), ("", 0), ("x", 0), ("²", 0)])
def test_the_attempt_is_what_github_counts(said: str, expected: int) -> None:
    assert ci_attempt({"GITHUB_RUN_ATTEMPT": said}) == expected
    assert ci_attempt({}) == 0
