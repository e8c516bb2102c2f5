"""E22: what a red run says is to be run next: how the command is to be changed, and when not."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from decided_result import decided
from fake_config import configured

from pytest_rageval.model import GateResult, SampleResult, ScenarioResult
from pytest_rageval.plugin.show.next_steps import Ended, Step, fold, next_hint, next_step

TABLES = tomllib.loads(Path(__file__).with_name("next_steps.toml").read_text("utf-8"))


def result(*gates: GateResult, **counts: int) -> ScenarioResult:
    made = decided({"em": [1.0, 0.0]}, {})
    return replace(made, gates=gates, counts=replace(made.counts, **counts))


def gate(name: str = "em.mean", outcome: Any = "failed", message: str = "0.5 < 0.9") -> GateResult:
    return GateResult(name, outcome, 0.5, 0.9, message)


def asked(made: ScenarioResult) -> ScenarioResult:
    return replace(made, info=replace(made.info, target="app:answer"))


def unwritten(*overridden: str) -> ScenarioResult:
    """Return the result of a scenario whose function is still to be written."""
    made = asked(result(gate(), error=1))
    error = {"target": "app:answer: NotImplementedError: write it"}
    samples = [replace(one, errors=error) for one in made.samples]
    return replace(made, samples=samples, info=replace(made.info, overridden=overridden))


STRICT = gate(message="2 of 9 samples ran (strict: undecided fails)")


@pytest.mark.parametrize(
    ("results", "more", "step"),
    [
        ([result()], {}, None),
        ([result(gate(outcome="passed")), result(gate(outcome="skipped"))], {}, None),
        ([result(failed=1)], {}, "failed"),
        ([result(), result(error=1)], {}, "failed"),
        # The same samples would fail a gate again.
        ([result(gate())], {}, "page"),
        ([result()], {"gates": [gate("best")]}, "page"),
        ([result()], {"has_broken_cases": True}, "failed"),
        # Samples that were left over have to run: only then a gate is decided, or a run saved.
        ([result(STRICT)], {}, "whole"),
        ([result(STRICT, gate("save:main"))], {}, "whole"),
        ([result(STRICT, failed=1)], {}, "failed"),
        ([result(STRICT, gate("f1.mean"))], {}, "page"),
        ([result(failed=1)], {"is_stopped": True}, "stopped"),
        ([result(STRICT)], {"is_stopped": True}, "stopped"),
        ([result()], {"is_stopped": True}, None),
        ([], {"refusals": ["qa.yaml:3: metrics.0: no metric"]}, "check"),
        ([result(failed=1)], {"refusals": ["qa.yaml:3: metrics.0: no metric"]}, "check"),
        ([], {"refusals": ["qa.csv: not UTF-8. Here: --rag-set=x=VALUE: or"]}, "check"),
        ([unwritten()], {}, "answers"),
        ([unwritten(), result()], {"is_stopped": True}, "answers"),
        ([unwritten(), result(failed=1)], {}, "failed"),
        ([unwritten("target")], {}, "failed"),
        ([unwritten("target.import")], {}, "failed"),
        # The same option would be refused again.
        ([], {"refusals": ["my bot.yaml: --rag-where a=b: unknown field 'a'"]}, None),
        ([], {"refusals": ["\nRAGEVAL_SET judge=x: no model"]}, None),
        (
            [],
            {"refusals": ["metric 'em' needs 'answer'; no. Or under 'target'"]},
            "answers",
        ),
    ],
)
def test_what_is_next(
    results: list[ScenarioResult], more: dict[str, Any], step: Step | None
) -> None:
    """[E22] What failed; after ``-x`` that first and then the rest, else some would never run."""
    assert next_step(Ended([(one, "no folder") for one in results], **more)) == step


@pytest.mark.parametrize(
    ("given", "step", "expected"),
    TABLES["how_the_command_is_to_be_changed"],
)  # fmt: skip
def test_how_the_command_is_to_be_changed(
    tmp_path: Path, given: str, step: Step, expected: str
) -> None:
    """[E22] By the options that the user gave; their values, which may be secret, are not said."""
    (tmp_path / "a.yaml").touch()
    found = next_hint(configured(tmp_path, *shlex.split(given)), step, Ended())
    assert found == (f"the same command {expected}" if expected else "")


def test_what_is_not_on_the_command_line_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E22] Else the command would leave out the same samples, or fail for what it left out."""
    monkeypatch.setenv("RAGEVAL_LIMIT", "2")
    monkeypatch.setenv("RAGEVAL_SET", "dataset.limit=2; seed=1 ")
    config = configured(tmp_path, ini={"rageval_strict": True})
    assert next_hint(config, "whole", Ended()) == (
        "the same command without RAGEVAL_LIMIT and the limit in RAGEVAL_SET"
    )
    assert (
        next_hint(config, "failed", Ended()) == "the same command with --lf, without rageval_strict"
    )
    monkeypatch.setenv("RAGEVAL_STRICT", "0")
    config = configured(tmp_path, ini={"rageval_strict": True}, lf=True)
    assert next_hint(config, "failed", Ended()) == ""
    assert next_hint(config, "stopped", Ended()) == "the same command with --ff, without --lf"


@pytest.mark.parametrize(
    ("more", "step", "expected"),
    [
        # What chooses samples, wherever it was given: typed, in a file of arguments, in addopts.
        ({"keyword": "fees", "deselect": ["a"]}, "whole", "without -k and --deselect"),
        ({"markexpr": "slow", "lf": True}, "whole", "without -m and --lf"),
        ({"stepwise": True}, "whole", "without --sw"),
        ({"file_or_dir": ["a.yaml::q1", "a.yaml::q2"]}, "whole", "without names of samples"),
        ({"file_or_dir": ["t.py::test_it", "a.yaml"]}, "whole", ""),
        ({"maxfail": 1}, "stopped", "with --ff"),
        ({"maxfail": 1, "failedfirst": True}, "stopped", "without -x"),
        ({"maxfail": 3, "failedfirst": True}, "stopped", "without --maxfail"),
        ({"stepwise": True, "failedfirst": True}, "stopped", "without --sw"),
        ({"failedfirst": True}, "stopped", ""),
        ({"failedfirst": True}, "failed", "with --lf"),
        ({"lf": True}, "failed", ""),
    ],
)
def test_options_of_pytest_are_named_and_none_is_to_be_added_that_was_given(
    tmp_path: Path, more: dict[str, Any], step: Step, expected: str
) -> None:
    """[E22] With --ff, all that failed and the rest run where nothing ends the run at a failure."""
    found = next_hint(configured(tmp_path, **more), step, Ended())
    assert found.removeprefix("the same command ") == expected


def test_a_judge_that_fails_its_control_rows_is_not_made_green(tmp_path: Path) -> None:
    """[E22] Only a strict run is red for it; ``--lf`` runs all cases of its scenario."""
    ended = Ended([(result(gate("controls:faithfulness"), failed=1), "no folder")])
    config = configured(tmp_path, "--rag-strict", "--rag-save=main")
    assert next_hint(config, "failed", ended) == "the same command with --lf, without --rag-save"


def reports(*errors: dict[str, str]) -> tuple[list[Any], dict[str, Any]]:
    """Return the reports of cases that could not be judged, and their results."""
    names = [f"qa.yaml::q{at}" for at in range(len(errors))]
    results = {
        name: SampleResult(name, at, "error", scores=dict.fromkeys(found), errors=found)
        for at, (name, found) in enumerate(zip(names, errors, strict=True))
    }
    return [pytest.TestReport(n, ("", 0, ""), {}, "failed", n, "setup") for n in names], results


def test_what_the_cache_lacks_is_not_replayed_again(tmp_path: Path) -> None:
    """[E22] ``--lf`` with the same cache, and no request, would end with the same errors."""
    made = result(error=1)
    samples = [replace(one, errors={"em": "replay: no reply"}) for one in made.samples]
    config = configured(tmp_path, "--rag-strict", "--rag-cache=replay")
    ended = Ended([(replace(made, samples=samples), tmp_path)])
    hint = "the same command with --lf, without --rag-strict and --rag-cache"
    assert next_hint(config, "failed", ended) == hint
    other = Ended([(made, tmp_path)])
    assert next_hint(config, "failed", other) == hint.removesuffix(" and --rag-cache")


def test_forty_misses_of_a_replay_are_one_block() -> None:
    """[P10] Their texts differ; another error, and one that is alone, are shown in full."""
    misses = [{"f": f"replay: no entry for q{at}"} for at in range(40)]
    made, results = reports(*misses, {"f": "refused"}, {"f": "refused"}, {"target": "boom"})
    shown, lines = fold(made, results)
    assert [one.nodeid for one in shown] == ["qa.yaml::q0", "qa.yaml::q40", "qa.yaml::q42"]
    assert lines == [
        "q0 and 39 more cases: ERROR (f: not in the cache that is replayed); -v shows each",
        "q40 and 1 more case: ERROR (f: refused); -v shows each",
    ]
