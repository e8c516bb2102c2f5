"""A3, A4, A10, A14: names in a scenario are bound, and every mistake found before anything runs."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import BaselineError, ScenarioError
from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import Bound, InvalidRow, Sample, ScenarioResult
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.overrides import number_override, set_override

TABLES = tomllib.loads(Path(__file__).with_name("plan.toml").read_text("utf-8"))

MakePlan = Callable[..., Plan]
Problems = Callable[..., list[str]]

ROWS = (
    "dataset:\n"
    "  - {id: a, answer: x, references: [x], doc_name: d1, level: 1}\n"
    "  - {id: b, answer: y, references: [x], doc_name: d2, level: 2}\n"
)
BASE = "name: s\nmetrics: [em, f1]\n" + ROWS  # five lines


def weights_of(made: Plan) -> dict[str, float]:
    return {metric.name: metric.weight for metric in made.info.metrics}


def test_without_weights_every_metric_and_document_weighs_one(plan: MakePlan) -> None:
    """A3, A4, A5."""
    made = plan(BASE)
    assert weights_of(made) == {"em": 1.0, "f1": 1.0}
    assert made.info.doc_weights == {}
    assert made.info.warnings == ()


def test_weights_go_to_their_metrics(plan: MakePlan) -> None:
    """A3: by any name of the metric."""
    made = plan(BASE + "metric_weights: {exact_match: 3, f1: 0}\n")
    assert weights_of(made) == {"em": 3.0, "f1": 0.0}


def test_weights_for_some_metrics_only_are_one_warning(plan: MakePlan) -> None:
    """A3."""
    made = plan("name: s\nmetrics: [em, f1, acc]\n" + ROWS + "metric_weights: {em: 3}\n")
    (warning,) = made.info.warnings
    assert warning.startswith("s.yaml: metric_weights names some metrics only")
    assert warning.endswith("f1, acc")
    assert weights_of(made) == {"em": 3.0, "f1": 1.0, "acc": 1.0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("metric_weights: {em: -1}", "metric_weights.em: expected a number >= 0, found -1"),
        ("metric_weights: {em: .nan}", "metric_weights.em: expected a "),
        ("metric_weights: {em: .inf}", "metric_weights.em: expected a finite number, found inf"),
        ("metric_weights: {em: true}", "metric_weights.em: expected a number, found true"),
        (
            "metric_weights: {em: 0, f1: 0}",
            "metric_weights: all weights are 0; at least one metric",
        ),
        ("metric_weights: {emm: 1}", "metric_weights: unknown metric 'emm'. Did you mean 'em'?"),
        (
            "metric_weights: {acc: 1}",
            "metric_weights: metric 'acc' is not among the scenario's metrics",
        ),
        ("metric_weights: {em: 1, exact_match: 2}", "metric_weights: 'em' is named twice"),
        (
            "metric_weights: {weighted_score: 1}",
            "metric_weights: unknown metric 'weighted_score'",
        ),
        ("doc_weights: {d1: -1}", "doc_weights.d1: expected a number >= 0, found -1"),
        ("doc_weights: {d1: 0, d2: 0}", "doc_weights: every row weighs 0"),
        ("thresholds: {em: 1.5}", "thresholds.em: min 1.5 is outside the range 0..1"),
        (
            "thresholds: {em: 1.0000000005}",
            "thresholds.em: min 1.0000000005 is outside the range 0..1",
        ),
        ("thresholds: {em: -0.5}", "thresholds.em: min -0.5 is outside the range 0..1"),
        (
            "thresholds: {weighted_score: 2}",
            "thresholds.weighted_score: min 2 is outside the range",
        ),
        ("thresholds: {emm: 0.5}", "thresholds: unknown metric 'emm'. Did you mean 'em'?"),
        ("thresholds: {em: .nan}", "thresholds.em"),
        # E12: one mistake, one problem; the gate pass_rate has nothing to do with it.
        ("thresholds: {emm: 0.5}\ngates: {pass_rate: 0.9}", "thresholds"),
        ("thresholds: {em: high}\ngates: {pass_rate: 0.9}", "thresholds"),
        ("thresholds: em\ngates: {by: {doc_name: {pass_rate: 0.9}}}", "thresholds"),
        (
            "skip: [{where: {levle: 1}}]",
            "skip[0].where: unknown field 'levle'. Did you mean 'level'",
        ),
    ],
)
def test_a_weight_threshold_or_condition_that_cannot_be_is_refused(
    problems: Problems, line: str, message: str
) -> None:
    """A3, A4, A10: refused at collection."""
    (problem,) = problems(BASE + f"{line}\n")
    assert problem.startswith(f"s.yaml:6: {message}")


def test_a_zero_weight_beside_metrics_without_one_is_fine(plan: MakePlan) -> None:
    """A3: f1 still weighs 1.0."""
    assert weights_of(plan(BASE + "metric_weights: {em: 0}\n")) == {"em": 0.0, "f1": 1.0}


def test_a_document_that_no_row_has_is_a_warning(plan: MakePlan) -> None:
    """A4."""
    made = plan(BASE + "doc_weights: {d1: 2, d9: 3}\n")
    (warning,) = made.info.warnings
    assert warning == "s.yaml: doc_weights names documents that no row has: d9"
    assert made.info.doc_weights == {"d1": 2.0, "d9": 3.0}


def test_a_document_is_found_in_either_unicode_form(plan: MakePlan) -> None:
    """A4: NFC and NFD of one name."""
    text = BASE.replace("d1", "Pru\u0308fung") + "doc_weights: {Pr\u00fcfung: 2}\n"
    assert plan(text).info.warnings == ()


def test_a_blank_around_a_name_takes_no_weight_away(plan: MakePlan) -> None:
    """A4: in a row it is no part of the name, in a scenario it matches all the same."""
    made = plan(BASE.replace("d1", "'d1 '") + "doc_weights: {' d1': 2}\n")
    assert [case.doc_name for case in made.cases].count("d1") > 0
    assert made.info.warnings == ()


@pytest.mark.parametrize(
    ("metrics", "message"),
    TABLES["a_metric_that_cannot_be_is_refused"],
)
def test_a_metric_that_cannot_be_is_refused(problems: Problems, metrics: str, message: str) -> None:
    (problem, *rest) = problems(f"name: s\nmetrics: {metrics}\n" + ROWS)
    assert message in problem
    assert rest == []


def test_a_metric_may_be_used_twice_under_two_names(plan: MakePlan) -> None:
    made = plan(
        "name: s\nmetrics: [f1, {f1: {normalizer: squad, name: f1-squad}}]\n"
        + ROWS
        + "metric_weights: {f1-squad: 2}\nthresholds: {f1-squad: 0.5}\ngates: {f1-squad: 0.5}\n"
    )
    assert weights_of(made) == {"f1": 1.0, "f1-squad": 2.0}
    assert made.required == {"f1-squad"}


def test_a_row_without_a_line_has_that_of_the_data(plan: MakePlan) -> None:
    """Of the lines 10, 11 and none for row 2, as an override brings it; 1 without any."""
    made = plan("name: s\nmetrics: [f1]\n" + ROWS)
    lined = replace(made, lines=[10, 11, None])
    assert [lined.line_of(row) for row in (1, 2, 3)] == [11, 10, 10]
    assert replace(made, lines=[None, None]).line_of(1) == 1


def test_shared_options_go_to_every_metric_that_knows_them(
    run: Callable[..., Any], problems: Problems
) -> None:
    rows = "dataset: [{answer: '1,000', references: ['1000']}]\n"
    shared = "metric_options: {normalizer: squad}\n"
    text = "name: s\nmetrics: [em, {f1: {normalizer: ultrarag}}]\n" + rows
    assert run(text + shared).samples[0].scores == {"em": 1.0, "f1": 0.0}
    assert run(text).samples[0].scores == {"em": 0.0, "f1": 0.0}
    (problem,) = problems(text + "metric_options: {normalizr: squad}\n")
    assert "metric_options: unknown option 'normalizr'. Did you mean 'normalizer'?" in problem
    (problem,) = problems(BASE + "metric_options:\n  normalizer: sqad\n")
    assert problem.startswith("s.yaml:7: metric_options.normalizer: expected 'ultrarag', 'squad'")


def test_thresholds_become_bounds(plan: MakePlan) -> None:
    """A10."""
    made = plan(BASE + "thresholds: {exact_match: 0.5, f1: {max: 1}, weighted_score: {min: 0.1}}\n")
    assert made.info.thresholds == {
        "em": Bound(min=0.5),
        "f1": Bound(max=1.0),
        "weighted_score": Bound(min=0.1),
    }
    assert made.required == {"em", "f1", "weighted_score"}


def test_keys_of_the_users_own_are_no_thresholds(problems: Problems) -> None:
    """The gate needs one, and says so in the user's words."""
    (problem,) = problems(BASE + "thresholds: {x-note: 0.5}\ngates: {pass_rate: 0.9}\n")
    assert problem.startswith("s.yaml:7: gates.pass_rate: needs 'thresholds'")


def test_a_metric_with_a_mistake_is_told_once(problems: Problems) -> None:
    """E12: not again wherever else it is named. Another name that is unknown is."""
    named = (
        "metric_weights: {emm: 2}\nthresholds: {emm: 0.5, zz: 1}\n"
        "gates: {emm: 0.5, f1: {quantil: 0.5}}\n"
    )
    found = problems(BASE.replace("[em,", "[emm,") + named)
    assert [problem.partition("Known")[0] for problem in found] == [
        "s.yaml:2: metrics[0]: unknown metric 'emm'. Did you mean 'em'? ",
        "s.yaml:7: thresholds: unknown metric 'zz'. ",
        "s.yaml:8: gates.f1.quantil: unknown check of 'f1' 'quantil'. Did you mean 'quantile'? ",
    ]


def test_every_bad_gate_is_reported_with_its_line(problems: Problems) -> None:
    found = problems(BASE + "gates:\n  em: 1.5\n  zz: 1\n  by:\n    doc_name:\n      f1: 7\n")
    assert [problem.partition(": ")[0] for problem in found] == [
        "s.yaml:7",
        "s.yaml:8",
        "s.yaml:11",
    ]
    assert found[2] == "s.yaml:11: gates.by.doc_name.f1: min 7 is outside the range 0..1"


def test_keys_of_the_users_own_are_ignored_wherever_keys_are_ours(plan: MakePlan) -> None:
    """As the reference says; a metric may have such a name all the same."""
    text = (
        "name: s\nmetrics: [em, {f1: {name: x-f1, x-why: German}}]\nmetric_options: {x-why: 1}\n"
        "dataset: [{answer: a, references: a, doc_name: d}]\n"
        "metric_weights: {em: 2, x-f1: 3, x-old: 1}\nthresholds: {x-f1: 0.4, x-em: {min: 0.3}}\n"
        "gates: {x-why: 3, x-f1: 0.5, by: {doc_name: {em: 0.1, x-why: 1}, x-a: 1}, unscored: 0}\n"
    )
    made = plan(text)
    assert [gate.name for gate in make_gates(made.info.gates, made.info)] == [
        "x-f1.mean",
        "by.doc_name.em.mean",
        "unscored",
    ]
    assert weights_of(made) == {"em": 2.0, "x-f1": 3.0}
    assert made.info.thresholds == {"x-f1": Bound(min=0.4)}


def test_an_option_of_a_gate_that_cannot_be_is_told_with_its_own_line(problems: Problems) -> None:
    text = "gates:\n  no_regression:\n    baseline: main\n    alpha: high\n"
    (problem,) = problems(BASE + text)
    expected = "gates.no_regression.alpha: expected a number between 0 and 1, found 'high'"
    assert problem == f"s.yaml:9: {expected}"


def test_gates_may_name_a_metric_by_any_of_its_names(plan: MakePlan) -> None:
    made = plan(BASE + "gates: {exact_match: 0.5, by: {level: {token_f1: 0.1}}}\n")
    assert made.required == {"em", "f1"}
    assert "em" in made.info.gates


@pytest.mark.parametrize("gates", ["{unscored: 0.2}", "{f1: {agreement: {kappa: 0.4}}}"])
def test_a_check_that_nothing_else_judges_is_required(plan: MakePlan, gates: str) -> None:
    """A gate on how well a score agrees with people has a target, and judges no answer."""
    made = plan(
        "name: s\nmetrics: [must_include, f1]\nhuman: {column: lab, of: f1, drawn: random}\n"
        "dataset: [{answer: a, references: a, must_include: [a], lab: 1}]\n"
        f"gates: {gates}\n"
    )
    assert made.required >= {"must_include", "weighted_score"}


def test_an_override_by_another_name_replaces_what_the_scenario_says(plan: MakePlan) -> None:
    """A14: by the name that the table shows, or any other."""
    text = (
        "name: s\nmetrics: [nDCG@10, RR]\ndataset: [{retrieved_ids: [a], reference_ids: [a]}]\n"
        "metric_weights: {nDCG@10: 1, RR: 2}\nthresholds: {nDCG@10: 0.1}\ngates: {nDCG@10: 0.1}\n"
    )
    given = [
        number_override("metric_weights")("--rag-metric-weight", "mrr=3"),
        number_override("thresholds")("--rag-threshold", "ndcg@10=0.2"),
        number_override("gates")("--rag-gate", "NDCG@10=0.3"),
    ]
    made = plan(text, overrides=given)
    assert weights_of(made) == {"ndcg@10": 1.0, "mrr": 3.0}
    assert made.info.thresholds == {"ndcg@10": Bound(min=0.2)}
    assert made.info.gates == {"ndcg@10": 0.3}
    assert made.info.overridden == ("metric_weights.RR", "thresholds.nDCG@10", "gates.nDCG@10")


def test_two_gates_for_one_metric_are_refused_and_none_is_lost(problems: Problems) -> None:
    """A10: otherwise the second would take the place of the first in silence."""
    found = problems(BASE + "gates: {compare_fail: {em: 0.1, exact_match: 0.2}}\n")
    assert found[0].endswith("gates.compare_fail: 'em' is named twice")
    (problem,) = problems(BASE + "gates: {em: 0.9, exact_match: 0.1}\n")
    assert "gates" in problem
    assert "named twice" in problem


def test_lines_stay_right_after_an_invalid_item(problems: Problems) -> None:
    """E12: what is left of a list is still called by its place in the file."""
    text = "name: s\nmetrics:\n  - {a: 1, b: 2}\n  - em\n  - f11\n" + ROWS
    found = problems(text)
    assert found[0].startswith("s.yaml:3: metrics[0]: write a metric as")
    assert found[1].startswith("s.yaml:5: metrics[2]: unknown metric 'f11'")
    found = problems(BASE + "skip:\n  - 5\n  - {where: {levle: 1}}\n")
    assert found[0].startswith("s.yaml:7: skip[0]: expected a mapping")
    assert found[1].startswith("s.yaml:8: skip[1].where: unknown field 'levle'. Did you mean")


def test_mistakes_of_schema_names_and_data_come_together(problems: Problems) -> None:
    """E12: all problems of a file at once."""
    text = (
        "name: s\n"
        "metrics: [em, f11]\n"
        "dataset: nope.jsonl\n"
        "bands: {good: x}\n"
        "metric_weights: {zz: 1}\n"
        "gates: {zz: 1}\n"
    )
    found = problems(text)
    assert len(found) == 5
    for part in ("f11", "nope.jsonl", "bands.good", "metric_weights", "gates.zz"):
        assert any(part in problem for problem in found), part


def test_a_metric_that_needs_a_column_that_no_row_has(problems: Problems) -> None:
    """E12: the columns are named, and the nearest one."""
    rows = "dataset:\n  - {answr: x, references: [x]}\n"
    found = problems("name: s\nmetrics: [em]\n" + rows)
    assert found[0] == (
        "s.yaml:2: metric 'em' needs 'answer'; s.yaml has no such field. Columns: answr, "
        "references. If 'answr' is 'answer', write key_map: {answer: answr} (in 'dataset', with "
        "the rows under dataset.rows)"
    )


@pytest.mark.parametrize(
    ("row", "path", "message"),
    [
        (
            "{meta: {source: x}}",
            "meta.sorce",
            "at meta there are 'source'. Did you mean 'source'?",
        ),
        (
            "{out: {a: [{t: x}]}}",
            "out.a.t",
            "at out.a there is a list of 1; write 'out.a[0].t' for one item, 'out.a[*].t' for all",
        ),
        ("{out: x}", "out[0]", "at out there is 'x'"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem_of_the_scenario(
    problems: Problems, row: str, path: str, message: str
) -> None:
    """F5: at the line of the key_map, also where no metric needs the field."""
    found = problems(
        "name: s\nmetrics: [em]\ndataset:\n"
        f"  rows: [{{answer: x, references: x}}, {{answer: x, references: x, {row[1:]}]\n"
        f"  key_map:\n    doc_name: {path}\n"
    )
    assert found == [
        f"s.yaml:6: key_map: for 'doc_name', no row has anything at {path!r}: {message}"
    ]


@pytest.mark.parametrize(
    ("dataset", "metric", "message"),
    TABLES["what_is_proposed_for_a_missing_column"],
    ids=[
        *("gold", "taken", "whole line", "nothing", "ids", "the other alternative"),
        *("a second file", "an object", "training data", "judgements"),
    ],
)
def test_what_is_proposed_for_a_missing_column(
    problems: Problems, dataset: str, metric: str, message: str
) -> None:
    """W2, F10, W8: unused columns, each for the one field that it is named for."""
    found = problems(f"name: s\nmetrics: [{metric}]\ndataset: {dataset}\n")
    assert message in found[0]
    assert sum("Columns: " in problem for problem in found) <= 1


@pytest.mark.parametrize(
    ("given", "right"),
    [
        *(("answer", "references"), ("contexts", "factual"), ("retrieved_ids", "qrels")),
        *(("answer", name) for name in ("must_include", "answer_checks", "must_satisfy")),
    ],
)
def test_one_column_cannot_be_what_was_given_and_what_is_right(
    problems: Problems, given: str, right: str
) -> None:
    """W2: with its line; nDCG was 1.0 for who obeyed a hint."""
    text = "name: s\nmetrics: [em]\ndataset:\n  rows: [{x: a}]\n  key_map: {%s: x, %s: x}\n"
    (problem,) = (found for found in problems(text % (given, right)) if "key_map: gives" in found)
    assert problem.startswith("s.yaml:5: dataset.key_map: gives the column 'x' to ")
    assert "name another column for one of them" in problem


@pytest.mark.parametrize(
    ("given", "right", "is_one"),
    [
        ("o.x", 'o["x"]', True),
        ("x", "$.x", True),
        ("o[0]", "o[*]", True),
        ("o[0]", "o[1]", False),
        ("o.x", "o.y", False),
    ],
)
def test_one_value_is_one_however_its_path_is_written(
    problems: Problems, given: str, right: str, is_one: bool
) -> None:
    """W2: the spelling does not tell whether something is compared with itself."""
    text = "name: s\nmetrics: [em]\ndataset:\n  rows: [{x: a}]\n  key_map: {answer: %s}\n"
    found = problems(text % f"'{given}', references: '{right}'")
    assert any("compared with itself" in one for one in found) == is_one


@pytest.mark.parametrize(
    ("file", "row", "metric", "is_said"),
    [
        ("s.rageval.yaml", "question: x, references: [x]", "em", True),
        ("s.yaml", "question: x, references: [x]", "em", False),
        ("s.rageval.yaml", "answr: x, references: [x]", "em", False),
        ("s.rageval.yaml", "answer: x", "em", False),
        ("s.rageval.yaml", "question: x", "mrr", False),
    ],
    ids=["no answers", "another name", "a misspelt column", "no references", "no search"],
)
def test_a_file_that_a_test_function_uses_should_not_be_run_by_itself(
    tmp_path: Path, file: str, row: str, metric: str, is_said: bool
) -> None:
    """Its data hold no answers, and its name makes pytest collect it."""
    path = tmp_path / file
    path.write_text(f"name: s\nmetrics: [{metric}]\ndataset:\n  - {{{row}}}\n", encoding="utf-8")
    with pytest.raises(ScenarioError) as error:
        make_plan(path, shown=file)
    hint = "if a test function asks it (rag_scenario), name this file otherwise, like s.yaml"
    assert (hint in str(error.value)) is is_said


def test_a_plan_of_another_name_differs_in_its_name_alone(tmp_path: Path) -> None:
    """The samples are the same objects; the node id and the snapshot go with the name."""
    path = tmp_path / "s.yaml"
    path.write_text(BASE, encoding="utf-8")
    made = make_plan(path, shown="s.yaml", nodeid="t.py::test", answers_given=True)
    named = made.named("s[a]", "t.py::test(a)")
    assert named.cases is made.cases
    assert (named.info.name, named.info.nodeid) == ("s[a]", "t.py::test(a)")
    assert named.info.snapshot == made.info.snapshot.replace("name: s\n", "name: s[a]\n")
    assert named.info.snapshot_sha256 == sha256(named.info.snapshot.encode()).hexdigest()
    same = ("name", "nodeid", "snapshot", "snapshot_sha256")
    assert replace(named.info, **{name: getattr(made.info, name) for name in same}) == made.info


def test_a_plan_is_compared_with_nothing_before_it_has_a_name(tmp_path: Path) -> None:
    """What is saved nowhere is missed under the name that the run has, and under no other."""
    path = tmp_path / "s.yaml"
    path.write_text(BASE + "gates: {no_regression: {baseline: main}}\n", encoding="utf-8")
    run_paths = RunPaths(tmp_path)
    made = make_plan(path, shown="s.yaml", run_paths=run_paths, answers_given=True)
    with pytest.raises(BaselineError, match="main"):
        made.named("s[a]", "t.py::test(a)")
    with pytest.raises(BaselineError, match="main"):
        make_plan(path, shown="s.yaml", run_paths=run_paths)


def test_a_row_that_no_metric_can_score_is_invalid(plan: MakePlan) -> None:
    """A19: with its line, for invalid.csv; [U1] with its question, for every report."""
    made = plan(BASE + "  - {id: c, question: 'why?', answer: x}\n")
    case = made.cases[2]
    assert isinstance(case, InvalidRow)
    assert (case.id, case.index, case.row, case.question) == ("c", 2, 3, "why?")
    assert case.reason == "no references, without which no metric can score it"
    assert case.line == 6


def test_a_data_set_without_any_valid_row_is_refused_with_the_reasons(problems: Problems) -> None:
    found = problems(
        "name: s\nmetrics: [em]\ndataset: r.jsonl\n", {"r.jsonl": "[]\n{\n" + "3\n" * 10}
    )
    assert found[0] == "r.jsonl: none of 12 rows is valid"
    assert found[1].startswith("r.jsonl:1: expected a JSON object, found a list")
    assert len(found) == 6


def test_skip_and_xfail_conditions_mark_rows(plan: MakePlan) -> None:
    """E7: a reason of the row itself comes first; text and numbers compare as text."""
    text = (
        BASE.replace("level: 2", "level: '2', xfail: own")
        + "  - {id: c, answer: x, references: [x], level: 1, skip: mine}\n"
        + "skip: [{where: {level: 1}, reason: easy}]\n"
        + "xfail: [{where: {level: [2, 3], doc_name: d2}, reason: hard}]\n"
    )
    marks = [(case.skip, case.xfail) for case in plan(text).cases if isinstance(case, Sample)]
    assert marks == [("easy", None), (None, "own"), ("mine", None)]
    hard = text.replace(", xfail: own", "")
    assert [getattr(case, "xfail", None) for case in plan(hard).cases] == [None, "hard", None]


def test_the_case_ids_are_those_of_the_rows(plan: MakePlan) -> None:
    """A2."""
    made = plan(BASE)
    assert [case.id for case in made.cases] == ["a", "b"]
    assert (made.info.total, made.info.selected) == (2, 2)
    assert made.info.metadata_columns == ("level",)


def test_the_snapshot_says_what_ran_and_what_was_overridden(plan: MakePlan) -> None:
    """A12, A14."""
    import yaml

    overrides = [
        number_override("metric_weights")("--rag-metric-weight", "f1=2"),
        number_override("thresholds")("--rag-threshold", "em=0.5"),
        set_override("--rag-set", "dataset.rows.0.answer=z"),
    ]
    text = BASE.replace("dataset:\n", "dataset:\n  rows:\n").replace("  - ", "    - ")
    made = plan(text, overrides=overrides)
    ran = yaml.safe_load(made.info.snapshot)
    assert ran["metric_weights"] == {"f1": 2.0}
    assert ran["thresholds"] == {"em": 0.5}
    assert ran["dataset"]["rows"][0]["answer"] == "z"
    assert made.info.overridden == ("metric_weights.f1", "thresholds.em", "dataset.rows.0.answer")
    plain = plan(text)
    assert plain.info.snapshot_sha256 != made.info.snapshot_sha256
    assert plan(text).info == plain.info


def test_the_snapshot_is_a_scenario_that_runs_the_same(plan: MakePlan) -> None:
    """A12."""
    text = BASE + (
        "thresholds: {em: 0.5, f1: {max: 1}}\n"
        "gates: {em: 0.1, by: {doc_name: {f1: {min: 0.1}}}}\n"
        "metric_options: {normalizer: squad}\n"
        "description: 'Grüße: \"x\"'\n"
    )
    first = plan(text)
    second = plan(first.info.snapshot)
    assert second.info.snapshot == first.info.snapshot
    assert second.cases == first.cases


def test_a_metric_whose_package_is_missing_is_a_problem_with_the_command(
    problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_rageval import extras

    monkeypatch.setattr(extras, "installed", lambda module: module != "jieba")
    (problem,) = problems("name: s\nmetrics: [em, {f1: {tokenizer: jieba}}]\n" + ROWS)
    assert problem.startswith("s.yaml:2: metrics[1]: ")
    assert 'pip install "pytest-rageval[zh]"' in problem


def test_data_stand_relative_to_the_scenario_file(tmp_path: Any) -> None:
    """A18: not relative to where pytest was started."""
    from pytest_rageval import evaluate

    folder = tmp_path / "deep" / "down"
    folder.mkdir(parents=True)
    (tmp_path / "deep" / "rows.csv").write_text("answer,references\nx,x\n")
    (folder / "s.yaml").write_text("name: s\nmetrics: [em]\ndataset: ../rows.csv\n")
    assert evaluate(folder / "s.yaml").counts.scored == 1


GROUPED = """
name: s
metrics: [em]
dataset:
  - {id: a, answer: x, references: [x], question_id: 1, doc_name: d}
  - {id: b, answer: y, references: [x], question_id: 1}
  - {id: c, answer: y, references: [x]}
"""


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("question_ids", "no row has a field 'question_ids'. Did you mean 'question_id'?"),
        ("doc", "no row has a field 'doc'. Known: doc_name, question_id"),
    ],
)
def test_a_field_to_group_by_that_no_row_has_is_refused(
    plan: Callable[..., Plan], field: str, message: str
) -> None:
    """S2: as ``by`` refuses it, with the line and the nearest name."""
    with pytest.raises(ScenarioError) as caught:
        plan(f"{GROUPED}group_by: {field}\n")
    (problem,) = caught.value.problems
    assert problem.where == "s.yaml:8"
    assert problem.message.startswith(f"group_by: {message}")


def test_a_document_may_be_a_group_but_not_where_no_row_has_one(plan: Callable[..., Plan]) -> None:
    """S2: rows without the field are groups of their own, and that is said."""
    found = plan(f"{GROUPED}group_by: doc_name\n").info
    assert found.group_by == "doc_name"
    assert found.remarks == (
        "2 of 3 rows have no 'doc_name': each is a group of its own (group_by)",
    )
    without = GROUPED.replace(", doc_name: d", "")
    with pytest.raises(ScenarioError, match=r"has a field 'doc_name'\. Known: question_id$"):
        plan(f"{without}group_by: doc_name\n")


def test_one_group_has_no_lower_bound(run: Callable[..., ScenarioResult]) -> None:
    """S2: failed, with the reason; the mean stays by sample."""
    one = GROUPED.replace("x]}", "x], question_id: 1}")
    (gate, _) = run(f"{one}group_by: question_id\ngates: {{em: {{lower_bound: 0.1}}}}\n").gates
    assert (gate.outcome, gate.message) == (
        "failed",
        "3 scores of em in 1 group (question_id) are too few for an interval: "
        "at least 2 groups with a weight above 0 are needed",
    )


def test_a_second_file_is_for_rows(problems: Problems) -> None:
    """W5: TREC files would leave it unread."""
    (problem,) = problems(
        "name: s\nanswers: a.csv\nqrels_path: q.txt\nrun_path: r.txt\nmetrics: [ndcg]\n",
        {"q.txt": "q1 0 d1 1\n", "r.txt": "q1 Q0 d1 1 1.5 x\n"},
    )
    assert "answers: a second file is for rows; TREC files have 'run_path'" in problem


def test_a_second_file_that_is_missing_is_named_where_it_is_written(problems: Problems) -> None:
    """W5."""
    rows = "dataset: [{id: a, question: q, reference: x}]"
    (problem,) = problems(f"name: s\nmetrics: [em]\n{rows}\nanswers: a.csv\n", {"b.csv": "id\n"})
    assert problem.startswith("s.yaml:4: answers: no file 'a.csv' in")


def test_a_second_file_completes_rows_in_the_scenario(plan: Any) -> None:
    """W5: with its short form."""
    rows = "dataset: [{id: a, question: q, reference: x}]"
    made = plan(f"name: s\nmetrics: [em]\n{rows}\nanswers: a.csv\n", {"a.csv": "id,answer\na,x\n"})
    (case,) = made.cases
    assert (case.answer, case.references) == ("x", ("x",))


def test_gates_and_conditions_know_a_mapped_column_by_its_own_name(plan: MakePlan) -> None:
    """W6: and only a scenario that names it shows it once more, as metadata."""
    rows = (
        "  rows:\n"
        "    - {id: a, answer: x, references: [x], source: d1}\n"
        "    - {id: b, answer: x, references: [x], source: d2}\n"
    )
    base = f"name: s\nmetrics: [em]\ndataset:\n  key_map: {{doc_name: source}}\n{rows}"
    made = plan(base)
    assert made.info.metadata_columns == ()
    assert made.own_names == {"references": "references", "source": "doc_name"}
    named = "gates: {by: {source: {em: 0.5}}}\nskip: [{where: {source: d2}, reason: old}]\n"
    made = plan(f"{base}{named}group_by: source\n")
    assert made.info.metadata_columns == ("source",)
    assert [(case.doc_name, case.metadata, case.skip) for case in made.cases] == [
        ("d1", {"source": "d1"}, None),
        ("d2", {"source": "d2"}, "old"),
    ]


@pytest.mark.parametrize("column", ["mustInclude", "must_inclde"])
def test_a_check_with_another_name_is_an_invalid_row(plan: MakePlan, column: str) -> None:
    """A28: the other rows are checked, and this one would be left out, or lose a check."""
    rows = [
        {"id": "a", "answer": "x", "references": ["x"], "must_include": ["x"]},
        {"id": "b", "answer": "x", "references": ["x"], column: ["y"]},
        {"id": "c", "answer": "x", "references": ["x"], column: []},
        {"id": "d", "answer": "x", "references": ["x"], column: ["y"], "skip": "old"},
        {"id": "e", "answer": "x", "references": ["x"], "expected_keywords": ["y"]},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    made = plan("name: s\nmetrics: [em, must_include]\ndataset: r.jsonl\n", {"r.jsonl": text})
    invalid = [case for case in made.cases if isinstance(case, InvalidRow)]
    assert [(case.id, case.line) for case in invalid] == [("b", 2)]
    assert invalid[0].reason == f"no 'must_include', and {column!r} is not read: the same?"
    only = plan("name: s\nmetrics: [em]\ndataset: r.jsonl\n", {"r.jsonl": text})
    assert not any(isinstance(case, InvalidRow) for case in only.cases)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ("dataset:\n  - {ROW}\n\n  - {ROW}\n", [4, 6]),
        ("dataset:\n  limit: 2\n  rows:\n  - {ROW}\n  - {ROW}\n", [6, 7]),
        ("gates: {em: 0}\ndataset: rows.jsonl\n", [4, 4]),
    ],
    ids=["rows", "below rows", "file"],
)
def test_a_case_is_at_its_row_or_at_the_data(
    plan: MakePlan, tmp_path: Path, data: str, lines: list[int]
) -> None:
    """[C2] From 1, below ``name`` and ``metrics``; what is in no row of the file is at the data."""
    row = {"question": "q", "answer": "x", "references": ["x"]}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 2, "utf-8")
    made = plan("name: s\nmetrics: [em]\n" + data.replace("{ROW}", json.dumps(row)))
    assert [made.line_of(case.row) for case in made.cases] == lines
    assert made.line_of(99) == made.lines[0]
