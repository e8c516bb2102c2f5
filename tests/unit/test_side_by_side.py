"""[E20] Variants, and saved runs of anything, side by side from Python."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import compare_saved_runs, evaluate, evaluate_variants
from pytest_rageval.errors import BaselineError, OptionError, ScenarioError
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.results.stored_result import stored_result
from pytest_rageval.scenario.overrides import set_override


def rows(right: int, count: int = 12) -> list[dict[str, Any]]:
    """Return rows of which the first ``right`` are right: em is 1 there, else 0."""
    return [
        {"id": f"q{at}", "question": f"{at}?", "answer": str(at < right), "references": ["True"]}
        for at in range(count)
    ]


SCENARIO: dict[str, Any] = {
    "name": "bot",
    "metrics": ["em"],
    "dataset": rows(3),
    "variants": {"low": {}, "high": {"dataset": rows(12)}},
    "best": {"of": "em", "at_least": "low"},
}


def test_variants_are_evaluated_and_ranked() -> None:
    """Nine of twelve differ, all one way: p = 2 ** -8, below 0.05, so ``low`` is beaten."""
    found = evaluate_variants(SCENARIO)
    assert list(found.results) == ["low", "high"]
    assert [(one.name, one.mean, one.letters) for one in found.ranking.variants] == [
        ("high", 1.0, "a"),
        ("low", 0.25, "b"),
    ]
    pair = found.ranking.pair("low", "high")
    assert pair is not None
    assert pair.p_value == 2**-8
    assert found.gate is not None
    assert found.gate.outcome == "failed"


def test_variants_may_be_given_and_chosen() -> None:
    """A mapping takes the place of the scenario's own; a list chooses among them."""
    plain = {key: value for key, value in SCENARIO.items() if key not in ("variants", "best")}
    variants = {"a": {}, "b": {"dataset": rows(6)}, "c": {"dataset": rows(9)}}
    found = evaluate_variants(plain, variants=variants)
    assert [one.name for one in found.ranking.variants] == ["c", "b", "a"]
    chosen = evaluate_variants({**plain, "variants": variants}, variants=["c", "a"])
    assert list(chosen.results) == ["a", "c"]
    assert not chosen.ranking.complete


def test_a_function_answers_for_a_variant() -> None:
    """Those of ``targets`` take the place of the target; the others keep theirs."""
    found = evaluate_variants(SCENARIO, targets={"low": lambda question: "True"})
    assert [one.mean for one in found.ranking.variants] == [1.0, 1.0]
    assert found.results["low"].info.target == "function '<lambda>'"
    given = {"low": {"target": lambda question: "True"}, "high": {"dataset": rows(12)}}
    for again in (
        evaluate_variants(SCENARIO, variants=given),
        evaluate_variants({**SCENARIO, "variants": given}),
    ):
        assert [one.mean for one in again.ranking.variants] == [1.0, 1.0]


def test_functions_that_look_alike_keep_the_answers_of_their_variant() -> None:
    """Also without a cache folder: replies are kept until the end of the call."""

    def ask(question: str, says: str) -> str:
        return says

    said = {"low": "no", "high": "True"}
    found = evaluate_variants(
        {**SCENARIO, "target": {"type": "hook", "cache_answers": True, "version": "1"}},
        variants={name: {} for name in said},
        targets={name: partial(ask, says=text) for name, text in said.items()},
    )
    assert {one.name: one.mean for one in found.ranking.variants} == {"low": 0.0, "high": 1.0}


def test_files_are_written_for_each_and_for_all(tmp_path: Path) -> None:
    """As a run of pytest writes them."""
    found = evaluate_variants(SCENARIO, write_to=tmp_path)
    assert sorted(one.name for one in (tmp_path / "bot").iterdir()) == [
        "high",
        "low",
        "variants.json",
    ]
    plain = json.loads((tmp_path / "bot/variants.json").read_text("utf-8"))
    assert plain["pairs"] == [asdict(pair) for pair in found.ranking.pairs]
    latest = {name: (tmp_path / "bot" / name / "latest") for name in ("low", "high")}
    assert (latest["high"] / "results.json").is_file()
    assert plain["runs"] == {name: run.resolve().name for name, run in latest.items()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variants": ["low"]}, "two at least are needed to compare, found 1; use evaluate()"),
        ({"variants": ["low", "hihg"]}, "unknown variant 'hihg'. Did you mean 'high'?"),
        ({"targets": {"hihg": str}}, "unknown variant 'hihg'. Did you mean 'high'?"),
        ({"variants": {}}, "two at least are needed to compare, found 0"),
    ],
)
def test_other_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    """Before anything is asked."""
    with pytest.raises(OptionError, match="variants: ") as caught:
        evaluate_variants(SCENARIO, **arguments)
    assert message in str(caught.value)


def test_variants_of_a_scenario_without_any_are_refused() -> None:
    plain = {key: value for key, value in SCENARIO.items() if key != "variants"}
    with pytest.raises(OptionError, match="variants: the scenario has no variants"):
        evaluate_variants(plain, variants=["low", "high"])


def test_evaluate_takes_one_variant() -> None:
    """It must be named, and exist."""
    result = evaluate(SCENARIO, variant="high")
    assert (result.info.title, result.mean_of("em")) == ("bot::high", 1.0)
    with pytest.raises(ScenarioError, match="name one of its variants: low, high"):
        evaluate(SCENARIO)
    with pytest.raises(ScenarioError, match="unknown variant 'hihg'. Did you mean 'high'"):
        evaluate(SCENARIO, variant="hihg")
    with pytest.raises(ScenarioError, match="no variants, so no 'high'"):
        evaluate({**SCENARIO, "variants": {}, "best": None}, variant="high")


def test_saved_runs_of_two_scenarios_are_compared(tmp_path: Path) -> None:
    """Run folders, saved files and results alike; they rank as variants do."""
    for name, right in (("old", 3), ("new", 12)):
        plain = {"name": name, "metrics": ["em"], "dataset": rows(right), "gates": {"em": 0.5}}
        evaluate(plain, write_to=tmp_path)
    runs = {
        "before": tmp_path / "old/latest",
        "after": tmp_path / "new/latest/results.json",
        "now": evaluate({"name": "third", "metrics": ["em"], "dataset": rows(12)}),
    }
    found = compare_saved_runs(
        runs, of="em", at_least="after", min_pairs=0.7, write_to=tmp_path / "both"
    )
    assert [(one.name, one.mean, one.letters) for one in found.ranking.variants] == [
        ("after", 1.0, "a"),
        ("now", 1.0, "a"),
        ("before", 0.25, "b"),
    ]
    assert found.gate is not None
    assert found.gate.outcome == "passed"
    assert found.results["before"].samples[3].answer == "False"
    red = {name: one.is_red for name, one in found.results.items()}
    assert red == {"before": True, "after": False, "now": False}  # the verdict of each
    assert (tmp_path / "both/variants.json").is_file()
    assert (tmp_path / "both/variants.html").is_file()


def test_too_few_common_samples_give_no_letters() -> None:
    """Of 12 samples 8 are in both: fewer than 0.9 of them, and more than 0.5."""
    runs = {
        name: evaluate({"name": name, "metrics": ["em"], "dataset": rows(right)[:count]})
        for name, right, count in (("whole", 3, 12), ("part", 12, 8))
    }
    assert "8 of 12" in compare_saved_runs(runs, of="em").ranking.undecided
    assert not compare_saved_runs(runs, of="em", min_pairs=0.5).ranking.undecided


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    """One run, an unknown metric or name, a file that is no run."""
    one = evaluate({"name": "a", "metrics": ["em"], "dataset": rows(3)})
    with pytest.raises(OptionError, match="expected two or more, found 1"):
        compare_saved_runs({"a": one})
    with pytest.raises(OptionError, match="'a' has no metric 'f1'; it has em, weighted_score"):
        compare_saved_runs({"a": one, "b": one}, of="f1")
    with pytest.raises(OptionError, match="unknown variant 'c'"):
        compare_saved_runs({"a": one, "b": one}, at_least="c")
    with pytest.raises(BaselineError, match="no saved run 'b': .* is no run folder, and no file"):
        compare_saved_runs({"a": one, "b": tmp_path / "nowhere.json"})
    for path in ("v1.2", "v1.2.json", "v1.2/"):
        with pytest.raises(BaselineError, match="no saved run 'v1.2': "):
            stored_result(tmp_path / path)
    (tmp_path / "bad.json").write_text("{}", "utf-8")
    with pytest.raises(BaselineError, match="cannot be read as a results.json"):
        compare_saved_runs({"a": one, "b": tmp_path / "bad.json"})


def test_a_partial_run_is_never_the_best(tmp_path: Path) -> None:
    """Samples that did not run might have turned the comparison."""
    one = evaluate({"name": "a", "metrics": ["em"], "dataset": rows(12)}, write_to=tmp_path)
    file = tmp_path / "a/latest/results.json"
    text = file.read_text("utf-8").replace('"complete": true', '"complete": false')
    file.write_text(text, "utf-8")
    found = compare_saved_runs({"a": one, "b": file}, of="em", at_least="a")
    assert found.gate is not None
    assert found.gate.outcome == "failed"


def test_a_mistake_in_the_last_variant_is_found_before_anything_is_asked() -> None:
    """Judges and targets cost money; the message names the variant."""
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "True"

    broken = {**SCENARIO["variants"], "last": {"dataset": "nowhere.jsonl"}}
    with pytest.raises(ScenarioError, match="variant last: .*nowhere.jsonl"):
        evaluate_variants({**SCENARIO, "variants": broken}, targets={"low": answer})
    assert asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variants": 3}, "variants: expected a list of names, found 3"),
        ({"variants": True}, "variants: expected a list of names, found True"),
        ({"variants": [1, "high"]}, "variants: a name must be text, found 1"),
        ({"variants": [None, "high"]}, "variants: a name must be text, found None"),
        ({"variants": [{"low": {}}, {"high": {}}]}, "variants: a name must be text, found {"),
        ({"variants": {1: {}, 2: {}}}, "variants: a name must be text, found 1"),
        ({"targets": {1: len}}, "variants: a name must be text, found 1"),
        ({"targets": len}, "targets: expected a mapping of variants' names to functions"),
        ({"targets": [len, len]}, "targets: expected a mapping of variants' names to functions"),
        ({"overrides": 3}, "overrides: expected a list of texts, or a mapping, found 3"),
        ({"overrides": None}, "overrides: expected a list of texts, or a mapping, found None"),
        ({"overrides": [{"limit": 1}]}, "overrides: expected a list of texts, or a mapping, found"),
        ({"variants": ("low", "high"), "targets": {}, "overrides": []}, ""),
        ({"variants": {"low": 1, "high": 2}.keys(), "targets": None}, ""),
        ({"variants": iter(["low", "high"]), "targets": []}, ""),
        ({"variants": {"low": None, "high": {}}, "overrides": ["dataset.limit=2"]}, ""),
        ({"overrides": iter([set_override("it", "dataset.limit=2"), "dataset.seed=2"])}, ""),
        ({"variants": None, "overrides": {"dataset.limit": 2}, "reports": []}, ""),
    ],
)
def test_arguments_of_other_types_are_refused_with_what_is_allowed(
    arguments: dict[str, Any], message: str
) -> None:
    if not message:
        assert set(evaluate_variants(SCENARIO, **arguments).results) == {"low", "high"}
        return
    with pytest.raises(OptionError) as caught:
        evaluate_variants(SCENARIO, **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("run", "arguments", "message"),
    [
        (3, {}, "runs: 'b': expected a path or a result, found a value of type int"),
        (None, {}, "runs: 'b': expected a path or a result, found a value of type NoneType"),
        ({}, {}, "runs: 'b': expected a path or a result, found a value of type dict"),
        (b"x", {}, "runs: 'b': expected a path or a result, found a value of type bytes"),
        ("same", {"write_to": 3}, "write_to: expected a path, found a value of type int"),
        ("same", {"at_least": 3}, "at_least: unknown variant '3'. Known: a, b"),
        # As in a scenario: an alpha of 0 would look for infinitely many samples.
        ("same", {"alpha": 0}, "alpha: expected a number between 0 and 1, found 0"),
        ("same", {"alpha": 1}, "alpha: expected a number between 0 and 1, found 1"),
        ("same", {"alpha": float("nan")}, "alpha: expected a"),
        ("same", {"min_pairs": -1}, "min_pairs: expected a number >= 0, found -1"),
        ("same", {"min_pairs": "x"}, "min_pairs: expected a number, found 'x'"),
    ],
)
def test_runs_and_arguments_of_other_types_are_refused(
    run: Any, arguments: Any, message: str
) -> None:
    one = evaluate({"name": "a", "metrics": ["em"], "dataset": rows(3)})
    with pytest.raises(OptionError) as caught:
        compare_saved_runs({"a": one, "b": one if run == "same" else run}, **arguments)
    assert message in str(caught.value)


def test_what_is_no_mapping_of_names_is_refused() -> None:
    """A list of runs, a name that is none, a text in place of a list, keys that are none."""
    one = evaluate({"name": "a", "metrics": ["em"], "dataset": rows(3)})
    with pytest.raises(OptionError, match="expected a mapping of names to runs"):
        compare_saved_runs([one, one])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="a run's name must be text"):
        compare_saved_runs({"": one, "b": one})
    with pytest.raises(OptionError, match="expected a list of names, found 'low'"):
        evaluate_variants(SCENARIO, variants="low")
    with pytest.raises(OptionError, match="'x': expected the keys that it changes"):
        evaluate_variants(SCENARIO, variants={"x": "foo", "y": {}})  # type: ignore[dict-item]


def test_causes_of_saved_runs_are_compared(tmp_path: Path) -> None:
    """[E21] As those of variants: what the newer one mends."""
    plain = {"metrics": ["em"], "diagnose": True, "thresholds": {"em": 0.5}}
    data = [{"id": "q", "question": "?", "answer": "Rome", "references": ["Paris"]}]
    wrong = [{**data[0], "contexts": ["Rome is a city"]}]
    right = [{**data[0], "answer": "Paris", "contexts": ["Paris is a city"]}]
    evaluate({"name": "old", "dataset": wrong, **plain}, write_to=tmp_path)
    evaluate({"name": "new", "dataset": right, **plain}, write_to=tmp_path)
    found = compare_saved_runs({"old": tmp_path / "old/latest", "new": tmp_path / "new/latest"})
    changes = [(one.cause, one.mended, one.new) for one in found.ranking.causes if one.mended]
    assert changes == [("retrieval", 1, 0)]


def test_saved_runs_are_red_or_not_judged_as_they_were(tmp_path: Path) -> None:
    """A test function may have failed any sample: a run of one was judged."""
    gates = {"red": {"em": 0.9}, "plain": {}, "green": {"em": 0.1}}
    for name, bounds in gates.items():
        plain = {"name": name, "dataset": rows(3, 8), "metrics": ["em"], "gates": bounds}
        evaluate(plain, write_to=tmp_path)
    files = {name: tmp_path / name / "latest" for name in gates}
    head = json.loads((files["plain"] / "results.json").read_text("utf-8"))
    head["scenario"]["test"] = "test_bot.py::test_bot"
    files["of a test"] = tmp_path / "test.json"
    files["of a test"].write_text(json.dumps(head), "utf-8")
    found = compare_saved_runs(files, min_pairs=0)
    assert {name: RunView(one).verdict for name, one in found.results.items()} == {
        "red": "FAILED",
        "plain": "not judged",
        "green": "passed",
        "of a test": "passed",
    }


def without_answers(right: int, **fields: object) -> list[dict[str, object]]:
    """Return 20 rows, of which the last three have no answer."""
    made: list[dict[str, object]] = [
        {"id": f"r{at}", "answer": str(at < right), "references": ["True"]} for at in range(17)
    ]
    return made + [{"id": f"r{at}", "references": ["True"], **fields} for at in range(17, 20)]


@pytest.mark.parametrize(
    ("on_invalid", "fields", "common", "total"),
    [
        ("fail", {}, 17, 20),  # ERROR: scores were to be had
        ("fail", {"xfail": "known"}, 17, 20),  # a bad answer is expected, not none
        ("fail", {"skip": "later"}, 17, 17),
        ("skip", {}, 17, 17),
        ("xfail", {"answer": "True"}, 20, 20),
        ("xfail", {"answer": "True", "xfail": "known"}, 20, 20),
        ("xfail", {"answer": "True", "skip": "later"}, 17, 17),
        ("xfail", {"answer": ""}, 20, 20),
        ("xfail", {}, 17, 17),
        ("xfail", {"xfail": "known"}, 17, 17),
    ],
)
def test_saved_runs_with_invalid_rows_are_compared_as_their_results(
    tmp_path: Path, on_invalid: str, fields: dict[str, object], common: int, total: int
) -> None:
    """What a file says of an invalid row is its error."""
    results = {}
    for name, right in (("before", 5), ("after", 17)):
        data = {"rows": without_answers(right, **fields), "on_invalid": on_invalid}
        scenario = {"name": name, "metrics": ["em"], "dataset": data}
        results[name] = evaluate(scenario, write_to=tmp_path)
    files = {name: tmp_path / name / "latest" for name in results}
    kept = compare_saved_runs(files, at_least="after")
    fresh = compare_saved_runs(results, at_least="after")
    for found in (fresh, kept):
        assert (found.ranking.common, found.ranking.total) == (common, total)
        assert found.gate is not None
        assert found.gate.outcome == ("passed" if common == total else "failed")
    assert kept.ranking.undecided == fresh.ranking.undecided
    for name, result in results.items():
        assert kept.results[name].metrics == result.metrics


@pytest.mark.parametrize(
    ("weights", "mean"),
    [
        ({}, 0.25),
        ({"a.pdf": 1}, 0.25),
        ({"a.pdf": 9}, 0.75),
        ({"a.pdf": 0}, 0.0),
        ({"b.pdf": 0}, 0.5),
        ({"other.pdf": 5}, 0.25),
        ({"指南.pdf": 9}, 0.25 / 3),
        ({"a.pdf": 9, "指南.pdf": 9}, 0.45),
    ],
)
def test_saved_runs_keep_the_weights_of_their_documents(
    tmp_path: Path, weights: dict[str, float], mean: float
) -> None:
    """The page weighs by them: its figures were those of weights of 1, beside other means.

    And it calls a mean good or bad by the bands, which are kept, too.
    """
    names = ["a.pdf", "b.pdf", "b.pdf", "指南.pdf"]
    found = [{**row, "doc_name": name} for row, name in zip(rows(1, 4), names, strict=True)]
    bands = {"good": 0.5, "warn": 0.25}
    head = {"name": "s", "metrics": ["em"], "dataset": found, "doc_weights": weights}
    head = {**head, "bands": bands}
    run = evaluate(head, write_to=tmp_path)
    results = compare_saved_runs({"a": tmp_path / "s/latest", "b": run}, min_pairs=0).results
    for result in results.values():
        assert result.mean_of("em") == pytest.approx(mean)
        assert result.info.bands == (0.5, 0.25)
    assert dict(results["a"].info.doc_weights) == dict(results["b"].info.doc_weights) == weights


@pytest.mark.parametrize("written", ["null", "{}", None])
def test_a_saved_run_without_weights_of_documents_has_none(
    tmp_path: Path, written: str | None
) -> None:
    """Nor has one of an earlier version, which did not save them."""
    evaluate({"name": "s", "metrics": ["em"], "dataset": rows(1, 4)}, write_to=tmp_path)
    file = tmp_path / "s/latest/results.json"
    head = json.loads(file.read_text("utf-8"))
    del head["scenario"]["doc_weights"], head["scenario"]["bands"]
    head["scenario"] |= {} if written is None else {"doc_weights": json.loads(written)}
    file.write_text(json.dumps(head), "utf-8")
    found = compare_saved_runs({"a": file, "b": file}, min_pairs=0).results["a"]
    assert (found.mean_of("em"), dict(found.info.doc_weights)) == (0.25, {})
    assert found.info.bands == (0.8, 0.6)
