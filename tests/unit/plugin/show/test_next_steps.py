"""E22: what a red run says is to be run next: which command, spelled how, and when none."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Any

import pytest
from decided_result import decided

from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.plugin.show.next_steps import Ended, Step, next_command, next_step


@pytest.fixture(autouse=True)
def _started_as_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])


def result(*gates: GateResult, **counts: int) -> ScenarioResult:
    made = decided({"em": [1.0, 0.0]}, {})
    return replace(made, gates=gates, counts=replace(made.counts, **counts))


def gate(name: str = "em.mean", outcome: Any = "failed", message: str = "0.5 < 0.9") -> GateResult:
    return GateResult(name, outcome, 0.5, 0.9, message)


STRICT = gate(message="2 of 9 samples ran (strict: undecided fails)")


@pytest.mark.parametrize(
    ("results", "more", "step"),
    [
        ([result()], {}, None),
        ([result(gate(outcome="passed")), result(gate(outcome="skipped"))], {}, None),
        ([result(failed=1)], {}, "failed"),
        ([result(), result(error=1)], {}, "failed"),
        ([result(gate())], {}, "failed"),
        ([result()], {"gates": [gate("best")]}, "failed"),
        ([result()], {"has_broken_cases": True}, "failed"),
        # Samples that were left over have to run: only then a gate is decided, or a run saved.
        ([result(STRICT)], {}, "whole"),
        ([result(STRICT, gate("save:main"))], {}, "whole"),
        ([result(STRICT, failed=1)], {}, "failed"),
        ([result(STRICT, gate("f1.mean"))], {}, "failed"),
        ([result(failed=1)], {"is_stopped": True}, "stopped"),
        ([result(STRICT)], {"is_stopped": True}, "stopped"),
        ([result()], {"is_stopped": True}, None),
        ([], {"is_broken": True}, "check"),
        ([result(failed=1)], {"is_broken": True}, "check"),
    ],
)
def test_what_is_next(
    results: list[ScenarioResult], more: dict[str, Any], step: Step | None
) -> None:
    """[E22] What failed; after ``-x`` that first and then the rest, else some would never run."""
    assert next_step(Ended([(one, "no folder") for one in results], **more)) == step


@pytest.mark.parametrize(
    ("given", "step", "expected"),
    [
        # As the user named it, from the folder where the user is.
        ("", "failed", "--lf"),
        ("'my bot/qa.yaml' -n 2 -v", "failed", "'my bot/qa.yaml' -n 2 -v --lf"),
        ("--rag-scenario='eval/**/*.yaml' -c o.ini", "failed", "'--rag-scenario=eval/**/*.yaml' "
         "-c o.ini --lf"),
        ("--rag-scenario qa.yaml::q1 --rag-gate f1=0.5", "failed", "--rag-scenario qa.yaml::q1 "
         "--rag-gate f1=0.5 --lf"),
        # Once, and without what a part of the samples cannot do.
        ("--lf -k fees", "failed", "-k fees --lf"),
        ("--last-failed --sw a.yaml", "failed", "a.yaml --lf"),
        ("a.yaml --rag-save main --rag-strict -q", "failed", "a.yaml -q --lf"),
        ("--rag-save=main --rag-save-answers=x.csv a.yaml", "failed", "a.yaml --lf"),
        ("-x --lf a.yaml --rag-save main", "stopped", "-x a.yaml --rag-save main --ff"),
        # Every sample: nothing that chooses some, and no sample's name after a path.
        ("-k fees -mslow a.yaml --rag-strict", "whole", "a.yaml --rag-strict"),
        ("--rag-where=t=a --rag-where t=b --rag-limit 3 a.yaml", "whole", "a.yaml"),
        ("a.yaml::q1 a.yaml::q2 t.py::test_it", "whole", "a.yaml t.py::test_it"),
        ("--rag-scenario=a.yaml::v::q1 --rag-variant v", "whole", "--rag-scenario=a.yaml"),
        ("--deselect a.yaml::gate:x --rag-save m", "whole", "--rag-save m"),
        ("a.yaml --rag-label=20", "check", "a.yaml --rag-dry-run"),
        ("a.yaml --rag-dry-run", "check", "a.yaml --rag-dry-run"),
    ],
)  # fmt: skip
def test_the_command_is_the_users_own(given: str, step: Step, expected: str) -> None:
    """[E22]"""
    assert next_command(shlex.split(given), step) == f"pytest {expected}"


@pytest.mark.parametrize(
    "given",
    [
        ["--api-key=hunter2hunter2"],
        ["--password", "hunter2hunter2"],
        ["--rag-set", "judge.extra_body.api_key=hunter2hunter2"],
        ["--rag-set=judge.headers.Authorization=Bearer hunter2hunter2"],
        ["--rag-set", "judge={api_key: hunter2hunter2}"],
        ["--rag-set=judge.base_url=https://me:hunter2hunter2@host/v1"],
        ["--url=https://host/?q=hunter2hunter2"],
        ["https://me:hunter2hunter2@host/"],
    ],
)
def test_a_secret_is_not_repeated(given: list[str]) -> None:
    """[E22] What a script puts on the command line would stand in the log of CI."""
    said = next_command(["a.yaml", *given], "failed")
    assert "hunter2" not in said
    assert "***" in said


def test_what_only_sounds_like_a_secret_stays() -> None:
    given = ["--rag-set", "judge.max_tokens=5", "--rag-set=judge.base_url=http://host:8000/v1"]
    assert next_command(given, "failed") == f"pytest {shlex.join(given)} --lf"


def test_a_module_is_started_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/site-packages/pytest/__main__.py"])
    assert next_command(["a.yaml"], "stopped") == "python -m pytest a.yaml --ff"
